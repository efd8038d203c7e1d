"""Marking points as the controller sees them: one module beside each P4 file that has a table of its own.

`Scheme.marking` names those of a scheme. A new one is a module here, a `PortTable`; nothing lists them. NP-ECN by the
counter of paused packets (np_ecn.p4) has no table, and so no module.
"""

from __future__ import annotations

import importlib
import pkgutil
from typing import cast

from controller.errors import UnknownNameError
from controller.port_tables import PortTable


def names() -> list[str]:
    """Of all that there are."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__))


def find(name: str) -> PortTable:
    """Raises UnknownNameError."""
    if name not in names():
        raise UnknownNameError("marking point", name, names())
    return cast(PortTable, importlib.import_module(f"{__name__}.{name}"))
