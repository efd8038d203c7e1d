"""What a run's folder holds, entry by entry. It may be another user's work: reading it ends with
values of the types that a run writes, or with an ExperimentError."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from pcn.base import inputs
from pcn.base.errors import LabError
from pcn.experiments.data.errors import ExperimentError

_FAULTS = (
    OSError,
    ValueError,
    LookupError,
    TypeError,
    AttributeError,
    ArithmeticError,
    RecursionError,
)
"""Of a file that can't be read, of an entry that is missing or of another type."""


@contextmanager
def reading(place: Path) -> Iterator[None]:
    """Reads a stored result. Raises ExperimentError, with its place, where the block finds what no
    run writes; a LabError of the block goes on."""
    try:
        yield
    except LabError:
        raise
    except _FAULTS as error:
        message = f"{type(error).__name__}: {' '.join(str(error).split())}"
        raise ExperimentError(f"{place}: no result that can be read: {message}") from None


def stored_json(path: Path) -> Any:
    """Returns a JSON file of a result. Raises OSError, ValueError."""
    return json.loads(inputs.read_text(path))


def stored_text(value: Any) -> str:
    """Returns a text of one line, without control characters. Raises ValueError."""
    if not isinstance(value, str) or not value.isprintable():
        raise ValueError(f"{value!r} is no name")
    return value


def stored_number(value: Any) -> float:
    """Returns a number as it is, neither infinite nor NaN. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(f"{value!r} is no number")
    return value


def stored_curve(x: Sequence[Any], y: Sequence[Any]) -> tuple[list[float], list[float]]:
    """Returns the points of a curve, as many x as y. Raises ValueError."""
    if len(x) != len(y):
        raise ValueError(f"a curve of {len(x)} x and {len(y)} y")
    return list(map(stored_number, x)), list(map(stored_number, y))
