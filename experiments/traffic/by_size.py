"""What becomes of flows by their size, as HPCC's fct_analysis.py prints it: bins of equally many flows; and the tables
and curves of a run that show it."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from pcn.experiments.data.series_math import Array
from pcn.experiments.define import size_bins
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Curve
from pcn.experiments.define.tables import Measured, Table
from pcn.experiments.traffic import collective
from pcn.experiments.traffic.flows import ALL, PERCENTILES

BINS, _LEAST = 20, 10
"""How many bins there are at most; how many flows are in one at least, except for flows of one size."""
STATISTICS = ("mean", *(f"p{q:g}" for q in PERCENTILES))
_UNITS = {"ms": "completion time (ms)", "slowdown": "slowdown"}
_DRAIN = (
    "Most of a run is drain here, at a load that falls: numbers are of a transient. `--set span=10ms` has drawn flows "
    "start for that long."
)
_BESIDE = 3
"""Runs in one table."""
_SHARES = np.linspace(0, 100, 201)


def curves(sizes: Array, fct_s: Array, slowdown: Array) -> dict[str, Curve]:
    """Returns curves over the largest size of each bin: the number of flows, and mean and percentiles of completion
    time (ms) and slowdown; and the distribution of completion times. `fct_s` and `slowdown`: NaN where a flow hasn't
    arrived. A bin with such a flow has neither mean nor percentile."""
    found: dict[str, Curve] = {}
    limits = _limits(sizes)
    which = np.searchsorted(limits, sizes)
    found[size_bins.FLOWS] = (limits.tolist(), np.bincount(which, minlength=limits.size).astype(float).tolist())
    for unit, values in (("ms", fct_s * 1e3), ("slowdown", slowdown)):
        bins = [values[which == number] for number in range(limits.size)]
        known = [(limit, own) for limit, own in zip(limits, bins, strict=True) if not np.isnan(own).any()]
        for name in STATISTICS:
            points = [(float(limit), _rounded(_statistic(name, own))) for limit, own in known]
            found[f"{name} {unit} by size"] = ([x for x, _ in points], [y for _, y in points])
    times = np.sort(fct_s[~np.isnan(fct_s)]) * 1e3
    if times.size:
        places = np.minimum((_SHARES / 100 * times.size).astype(int), times.size - 1)
        shares = (places + 1) / fct_s.size * 100
        found["completion time"] = ([_rounded(x) for x in times[places]], [_rounded(y) for y in shares])
    return found


def _limits(sizes: Array) -> Array:
    """Returns the largest size of each bin."""
    ordered = np.sort(sizes)
    bins = max(1, min(BINS, ordered.size // _LEAST))
    limits: Array = np.unique(ordered[np.arange(1, bins + 1) * ordered.size // bins - 1])
    return limits


def _statistic(name: str, values: Array) -> float:
    return float(values.mean() if name == "mean" else np.percentile(values, float(name[1:])))


def _rounded(value: float) -> float:
    return float(f"{value:.6g}")


def tables(runs: Mapping[str, Measured]) -> list[Table]:
    """Returns the tables of one run, or of several side by side, by their names; a terminal of 80 columns shows them
    whole."""
    whole = [_counts(runs), _spans(runs), *collective.tables(runs), *(_times(runs, unit) for unit in _UNITS)]
    if len(runs) == 1:
        (one,) = runs.values()
        return [*whole, *(_bins(one, unit) for unit in _UNITS)]
    names = list(runs)
    beside = [names[place : place + _BESIDE] for place in range(0, len(names), _BESIDE)]
    return [*whole, *(_bins_of({name: runs[name] for name in some}) for some in beside)]


def charts(runs: Mapping[str, Measured]) -> list[Chart]:
    """Returns the slowdown by size: of one run a line a percentile, of several a chart a percentile with a line
    each."""
    if len(runs) == 1:
        (one,) = runs.values()
        return size_bins.one_chart(one.curves)
    return size_bins.charts(
        {
            name: [
                curve(label(run), *found, run)
                for run, one in runs.items()
                if (found := one.curves.get(f"{name} slowdown{size_bins.BY_SIZE}"))
            ]
            for name in size_bins.SHOWN
        }
    )


def _counts(runs: Mapping[str, Measured]) -> Table:
    """Returns how many flows, what they got, what PFC and the queues did."""
    names = dict.fromkeys(name for one in runs.values() for name in one.numbers if name.startswith("pause_frames "))
    tiers = [name for name in names if not name.startswith("pause_frames class")]
    tiers = tiers if len(tiers) > 1 else []
    columns = ["", "flows", "done", "largest queue, KB", "PAUSE"]
    return Table(
        "flows",
        [*columns, *(f"PAUSE of {name.partition(' ')[2] or 'switches'}*" for name in tiers)],
        [
            [
                label(name),
                *(_count(value) for value in (flows, None if flows is None else flows - (missing or 0))),
                _number(one.numbers.get("largest_queue_kb")),
                *(_count(one.numbers.get(number, 0.0)) for number in ("pause_frames", *tiers)),
            ]
            for name, one in runs.items()
            for flows, missing in [(one.numbers.get(f"flows {ALL}"), one.numbers.get(f"unfinished {ALL}"))]
        ],
        ["PAUSE of a*: sent by switches whose names are a and a number."] if tiers else (),
    )


def _spans(runs: Mapping[str, Measured]) -> Table:
    """Returns when flows start and the last one arrives; goodput of all flows together until then."""
    names = ("flows_a_host", "starts_ms", "end_ms", "goodput_of_starts_gbps", "goodput_gbps")
    columns = [
        "flows a host",
        "start within, ms",
        "end, ms",
        "goodput of all until the last start, Gbit/s",
        "until the end",
    ]
    return Table(
        "time",
        ["", *columns],
        [[label(run), *(_number(one.numbers.get(name)) for name in names)] for run, one in runs.items()],
        [_DRAIN] if any(map(_drains, runs.values())) else (),
    )


def _drains(one: Measured) -> bool:
    starts, end = one.numbers.get("starts_ms"), one.numbers.get("end_ms")
    alone = "collective_ms" not in one.numbers
    return alone and starts is not None and end is not None and 0 < starts < end / 2


def _times(runs: Mapping[str, Measured], unit: str) -> Table:
    return Table(
        f"{_UNITS[unit]}, all flows",
        ["", *STATISTICS],
        [
            [label(run), *(_number(one.numbers.get(f"{name}_{unit} {ALL}")) for name in STATISTICS)]
            for run, one in runs.items()
        ],
    )


def _bins(one: Measured, unit: str) -> Table:
    found = {name: dict(zip(*curve, strict=True)) for name, curve in one.curves.items()}
    return Table(
        f"{_UNITS[unit]}, by size",
        ["up to", "flows", *STATISTICS],
        [
            [
                size_text(limit),
                _count(flows),
                *(_number(found.get(f"{name} {unit} by size", {}).get(limit)) for name in STATISTICS),
            ]
            for limit, flows in found.get(size_bins.FLOWS, {}).items()
        ],
    )


def _bins_of(runs: Mapping[str, Measured]) -> Table:
    """Returns the slowdown side by side."""
    found = {
        run: {name: dict(zip(*curve, strict=True)) for name, curve in one.curves.items()} for run, one in runs.items()
    }
    limits: dict[float, float] = {}
    for one in found.values():
        limits |= one.get(size_bins.FLOWS, {})
    return Table(
        "slowdown, by size",
        ["up to", "flows", *(f"{label(run)} {name}" for run in runs for name in size_bins.SHOWN)],
        [
            [
                size_text(limit),
                _count(limits[limit]),
                *(
                    _number(one.get(f"{name} slowdown by size", {}).get(limit))
                    for one in found.values()
                    for name in size_bins.SHOWN
                ),
            ]
            for limit in sorted(limits)
        ],
    )


def size_text(size: float) -> str:
    """Returns a number of bytes for people: 12.3 KB."""
    scale, unit = next(((s, u) for s, u in ((1e9, "GB"), (1e6, "MB"), (1e3, "KB")) if size >= s), (1.0, "B"))
    return f"{size / scale:.4g} {unit}"


def _number(value: float | None) -> str:
    return _count(value) if value is None or value >= 1000 else f"{value:.4g}"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"
