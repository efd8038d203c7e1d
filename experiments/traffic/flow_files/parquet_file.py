"""Parquet: flows.parquet of a run, or a table with the columns of the CSV format in SI units."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from pcn.experiments.traffic.flow_files.base import MOST_FLOWS, FlowFile, FlowFormat
from pcn.topologies import extras, lossless
from pcn.topologies.model import FlowSpec

_NEEDED = ("src", "dst", "size_bytes")
_KNOWN = (*_NEEDED, "start_s", "rate_bps", "class", "id")
_MOST_BYTES = 2**30


def _read(file: FlowFile) -> Iterator[FlowSpec]:
    table = _table(file)
    missing = [name for name in _NEEDED if name not in table]
    if missing:
        raise file.error(
            f"no column {', '.join(missing)}: flows have src, dst, size_bytes, and may have start_s"
        )
    count = len(table["src"])
    columns = [table.get(name, [None] * count) for name in _KNOWN]
    for number, (src, dst, size, start_s, rate_bps, traffic_class, flow_id) in enumerate(
        zip(*columns, strict=True)
    ):
        try:
            flow = FlowSpec(
                number if flow_id is None else _whole(flow_id),
                _text(src),
                _text(dst),
                0.0 if start_s is None else _number(start_s),
                _whole(size),
                None if rate_bps is None else _number(rate_bps),
                traffic_class=lossless.DATA_CLASS
                if traffic_class is None
                else _whole(traffic_class),
            )
        except (TypeError, ValueError) as error:
            raise file.error(f"row {number}: {error}") from None
        yield file.checked(flow, where=f"row {number}: ")


def _table(file: FlowFile) -> dict[str, list[Any]]:
    extras.require("parquet")
    from pcn.experiments.data import parquet

    try:
        if file.path.stat().st_size > _MOST_BYTES:
            raise file.error(f"more than {_MOST_BYTES // 2**20} MiB")
        return parquet.read_of_others(file.path, _KNOWN, MOST_FLOWS)
    except OSError as error:
        raise file.error(error.strerror or str(error)) from None
    except ValueError as error:
        raise file.error(str(error)) from None


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no host's name")
    return value


def _number(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        raise TypeError(f"{value!r} is no number")
    return float(value)


def _whole(value: object) -> int:
    number = value if isinstance(value, int) else _number(value)
    if isinstance(value, bool) or number != int(number) or number < 0:
        raise TypeError(f"{value!r} is no whole number")
    return int(number)


PARQUET = FlowFormat(
    name="parquet",
    recognises=lambda file: file.head[:4] == b"PAR1",
    read=_read,
    fields={
        "`src`, `dst`": "hosts' names",
        "`start_s`": "in seconds; without the column 0",
        "`size_bytes`": "payload",
        "`class`, `rate_bps`, `id`": "as in CSV",
        (
            "other columns"
        ): "left out: a run's flows.parquet is read as the flows of another one, each from the "
        "time at "
        "which it started",
    },
)
