"""What becomes of flows by their size: what a run keeps of them and its tables; and curves over bins of equally many
flows, as HPCC's fct_analysis.py prints them, for figures after HPCC's."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from pcn.experiments.data.parts import PARTS
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.define import flows_by_size, size_bins
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.flows_by_size import COLLECTIVE, FLOWS, INCAST
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Curve
from pcn.experiments.define.samples import STATISTICS, RunSamples, Samples, digest, limits_of
from pcn.experiments.define.tables import Measured, Table
from pcn.experiments.define.workloads import sample
from pcn.experiments.traffic import collective, flows
from pcn.experiments.traffic.flows import ALL
from pcn.experiments.traffic.sizes import SIZES
from pcn.experiments.traffic.spec import TrafficSpec
from pcn.experiments.traffic.spec import sizes as distribution

BINS, _LEAST = 20, 10
"""How many bins there are at most; how many flows are in one at least, except for flows of one size."""
_DRAWN = 100_000
"""Sizes that fix a distribution's bins."""
_DRAIN = (
    "Most of a run is drain here, at a load that falls: numbers are of a transient. `--set span=10ms` has drawn flows "
    "start for that long."
)


def curves(sizes: Array, fct_s: Array, slowdown: Array) -> dict[str, Curve]:
    """Returns curves over the largest size of each bin: the number of flows, and mean and percentiles of completion
    time (ms) and slowdown. `fct_s` and `slowdown`: NaN where a flow hasn't arrived. A bin with such a flow has neither
    mean nor percentile."""
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


def samples(spec: TrafficSpec, plan: Plan, recording: Recording) -> dict[str, Any]:
    """Returns what a run keeps of its flows by group and size, in JSON's terms. Bins of drawn flows are those of the
    distribution of their sizes."""
    of = flows.ended(plan, recording)
    specs = plan.topology.flows
    sizes = np.array([flow.size_bytes or 0 for flow in specs], float)
    names = np.array([name if (name := flow.group) in (COLLECTIVE, INCAST) else FLOWS for flow in specs])
    found = {}
    for group in dict.fromkeys(names.tolist()):
        own = names == group
        drawn = group == FLOWS and not (spec.flows or spec.collective)
        limits = _distribution_limits(spec) if drawn else limits_of(sizes[own].tolist())
        found[group] = Samples.of(limits, sizes[own], {"ms": of.fct_s[own] * 1e3, "slowdown": of.slowdown[own]})
    of_flows = digest((flow.src, flow.dst, flow.start_s, flow.size_bytes, flow.group, flow.after) for flow in specs)
    return RunSamples(of_flows, found).to_json()


@lru_cache(maxsize=32)
def _distribution_limits(spec: TrafficSpec) -> tuple[float, ...]:
    """Returns the bins of a distribution, by as many of its sizes as fix them."""
    sizes = distribution(spec)
    largest = sizes.sizes(np.full((sizes.draws, 1), np.nextafter(1, 0)))
    return limits_of([*sample(sizes, np.random.default_rng(0), _DRAWN), *largest])


def tables(runs: Mapping[str, Measured]) -> list[Table]:
    """Returns the tables of one run, or of several side by side, by their names; a terminal of 80 columns shows them
    whole."""
    by_size = flows_by_size.tables(flows_by_size.of_measured(runs))
    return [_counts(runs), _spans(runs), *_parts(runs), *collective.tables(runs), *by_size]


def charts(runs: Mapping[str, Measured]) -> list[Chart]:
    """Returns the slowdown by size."""
    return flows_by_size.charts(flows_by_size.of_measured(runs))


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
        [f"{tier}*: all switches named {tier} plus a number."] if (tier := _tier(tiers)) else (),
    )


def _tier(numbers: Sequence[str]) -> str:
    """Returns the first tier of switches that some of these numbers are of."""
    return next((name.partition(" ")[2] for name in numbers if name.partition(" ")[2]), "")


def _parts(runs: Mapping[str, Measured]) -> list[Table]:
    """Returns where the completion times went, by run and size; none where no run was explained."""
    suffix = f"_ms {ALL}"
    explained = {run: one.numbers for run, one in runs.items() if f"wire{suffix}" in one.numbers}
    names = [name for name in PARTS if any(of.get(f"{name}{suffix}") for of in explained.values())]
    rows = []
    for run, of in explained.items():
        for size in [ALL, *(name for name, _ in SIZES)]:
            means = [of.get(f"{name}_ms {size}") or 0.0 for name in names]
            if total := sum(means):
                texts = (f"{100 * one / total:.1f}" if one else "–" for one in means)
                rows.append([f"{label(run)}, {size}", _number(total), *texts])
    columns = ["", "mean, ms", *(name.replace("_", " ") for name in names)]
    note = "Shares of the completion times of all flows of a size: docs/explain.md."
    return [Table("where the time went, %", columns, rows, [note])] if rows else []


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


def _number(value: float | None) -> str:
    return _count(value) if value is None or value >= 1000 else f"{value:.4g}"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"
