"""The error of a field that needs a number."""

from __future__ import annotations

import contextlib
from dataclasses import fields
from typing import Any, SupportsFloat

from pcn.base.errors import TopologyError


def number_needed(subject: str, spec: Any, *names: str) -> TopologyError:
    """Returns the error of the first field that is no number, with the number that a text may
    mean."""
    from pcn.base.units import kind_of, quantity  # only here

    defaults = {field.name: field.default for field in fields(spec)}
    values = {name: getattr(spec, name) for name in names}
    name, value = next(
        (name, value)
        for name, value in values.items()
        if not isinstance(value, SupportsFloat) and value is not defaults[name]
    )
    meant = ""
    if isinstance(value, str):
        with contextlib.suppress(ValueError):
            meant = f": write {quantity(kind_of(name), value):g}"
    return TopologyError(f"{subject}: {name} {value!r} is no number{meant}")
