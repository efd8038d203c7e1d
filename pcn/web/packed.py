"""A recording's frames in a few bytes, for the page: columns of whole numbers, each as its
difference from the frame before, deflated.

The text is JSON: `time_s`, `over_s`, and for `ports`, `flows` and `hosts` their `count` and an
object of `fields`. A field is `{"is": v}`, the same everywhere, or `{"rows": [...]}`, a list for
each port (flow, host) with a difference for each frame, the first from 0, without the zeros at its
end; null is an unknown value. With `per` values are these whole numbers over it, with `of` they are
places in that list. `in_use`: whether the frame has the port."""

from __future__ import annotations

import base64
import itertools
import json
import zlib
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from pcn.experiments.data.frames import FrameColumns
from pcn.web.history import AS_USUAL, USE

_PER = (("_bps", 1e-3), ("_share", 1e4), ("utilisation", 1e4), ("_per_s", 1.0))
"""What is kept of a number, by the end of its field's name: kbit/s, hundredths of a per cent, which
the page shows to two digits of Gbit/s (Mbit/s: to three) and to a tenth; all others whole."""
_MOST = 2.0**53 - 1
"""Whole numbers up to which the page's are exact; a hostile recording has larger ones."""
_Rows = Sequence[Mapping[str, Sequence[Any]]]


def packed(columns: FrameColumns) -> str:
    """Returns the frames as text of letters, digits, `+`, `/` and `=`: base64."""
    kinds = {
        "ports": _used(columns.ports, USE, AS_USUAL),
        "flows": columns.flows,
        "hosts": _used(columns.hosts, ("rate_bps",)),
    }
    content = {
        "time_s": columns.time_s,
        "over_s": columns.over_s,
        **{kind: {"count": len(rows), "fields": _fields(rows)} for kind, rows in kinds.items()},
    }
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return base64.b64encode(zlib.compress(text.encode(), 9)).decode()


def _used(rows: _Rows, use: Sequence[str], as_usual: Sequence[str] = ()) -> _Rows:
    """Returns the rows that are in use in some frame, with a field of these frames: the rule of
    `port_in_use`, for all frames at once."""
    marked = []
    for row in rows:
        usual = all(all(row[field]) for field in as_usual)
        if not usual or any(any(row[field]) for field in use):
            # None is NaN, which isn't something either
            used = [np.nan_to_num(np.array(row[field], dtype=float)) != 0 for field in use]
            unusual = [~np.array(row[field], dtype=bool) for field in as_usual]
            marked.append({**row, "in_use": np.any([*used, *unusual], axis=0).tolist()})
    return marked


def _fields(rows: _Rows) -> dict[str, Any]:
    if not rows:
        return {}
    return {field: _field(field, [row[field] for row in rows]) for field in rows[0]}


def _field(name: str, table: Sequence[Sequence[Any]]) -> dict[str, Any]:
    first = table[0][0]
    if all(row.count(first) == len(row) for row in table):
        return {"is": first}
    if set(map(type, itertools.chain.from_iterable(table))) & {str, bool}:
        places: defaultdict[Any, int] = defaultdict(itertools.count().__next__)
        numbers = [list(map(places.__getitem__, row)) for row in table]
        return {"of": list(places), "rows": _differences(np.array(numbers, dtype=float))}
    per = next((per for end, per in _PER if name.endswith(end)), 1.0)
    values = np.array(table, dtype=float)  # None is NaN there
    return {"per": per, "rows": _differences(np.clip(np.rint(values * per), -_MOST, _MOST))}


def _differences(values: np.ndarray[Any, np.dtype[np.float64]]) -> list[list[int | None]]:
    unknown = np.isnan(values)
    # a difference is from the last known number
    known = np.maximum.accumulate(np.where(unknown, -1, np.arange(values.shape[1])), axis=1)
    filled = np.where(known < 0, 0.0, np.take_along_axis(values, np.maximum(known, 0), axis=1))
    steps = np.diff(filled, axis=1, prepend=0.0).astype(np.int64)
    last = values.shape[1] - np.argmax(((steps != 0) | unknown)[:, ::-1], axis=1)
    last[~((steps != 0) | unknown).any(axis=1)] = 0
    rows: list[list[int | None]] = []
    for row, gaps, end in zip(steps, unknown, last.tolist(), strict=True):
        numbers: list[int | None] = row[:end].tolist()
        for place in np.flatnonzero(gaps[:end]).tolist():
            numbers[place] = None
        rows.append(numbers)
    return rows
