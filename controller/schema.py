"""What a p4info describes: a file's, or that of the switch that a client is connected to.

finsy's entities encode and decode by a P4Schema. finsy's refuses p4infos that P4Runtime allows: two
keys of a table, or two actions, whose names end in one word, an alias with two dots, members of the
types error and enum, an action profile without a table. This one reads them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsBytes

if TYPE_CHECKING:
    from finsy import P4Schema
    from finsy.proto.p4.config.v1.p4info_pb2 import P4Info


def schema_of(info: P4Info, data: SupportsBytes | None = None) -> P4Schema:
    """Returns the names of a p4info; `data` is what a switch loads with it. Raises ValueError where
    its parts don't fit each other."""
    # slow to load; who looks for a program may not need it
    from pcn.controller.p4info import (
        Schema,
    )

    try:
        return Schema(info, data)
    except (
        Exception
    ) as error:  # finsy checks some of them, asserts others, and takes the rest as they are
        raise ValueError(f"its parts don't fit: {type(error).__name__}: {error}") from None
