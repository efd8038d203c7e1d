"""What a p4info describes: a file's, or that of the switch that a client is connected to."""

from __future__ import annotations

from typing import TYPE_CHECKING, SupportsBytes

if TYPE_CHECKING:
    from pcn.base.p4rt.p4i import P4Info
    from pcn.controller.p4info import Schema


def schema_of(info: P4Info, data: SupportsBytes | None = None) -> Schema:
    """Returns the names of a p4info; `data` is what a switch loads with it. Raises ValueError where
    its parts don't fit each other."""
    from pcn.controller.p4info import Schema  # protobuf: who looks for a program may not need it

    try:
        return Schema(info, data)
    except (ValueError, RecursionError) as error:
        raise ValueError(f"its parts don't fit: {error}") from None
