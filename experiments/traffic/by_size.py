"""What becomes of flows by their size: what a run keeps of them, and its tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.define import flows_by_size
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.flow_sizes import FlowSizes, sample
from pcn.experiments.define.flows_by_size import CLASSES, COLLECTIVE, FLOWS, INCAST
from pcn.experiments.define.looks import label
from pcn.experiments.define.samples import Estimate, RunSamples, Samples, digest, limits_of
from pcn.experiments.define.tables import Measured, Table
from pcn.experiments.traffic import collective, flows
from pcn.experiments.traffic.flows import ALL
from pcn.experiments.traffic.sizes import SIZES
from pcn.experiments.traffic.spec import TrafficSpec, sizes as distribution
from pcn.hosts.explain_log import PARTS

_DRAWN = 100_000
"""Sizes that fix a distribution's bins."""
_DRAIN = (
    "Most of a run is drain here, at a load that falls: numbers are of a transient. `--set "
    "span=10ms` has drawn flows start for that long."
)


def samples(spec: TrafficSpec, plan: Plan, recording: Recording) -> RunSamples:
    """Returns what a run keeps of its flows by group and size. Bins of drawn flows are those of the
    distribution of their sizes."""
    sizes, names = _sizes(plan), _groups(plan)
    values = _values(plan, recording)
    by_group = {}
    for group in dict.fromkeys(names.tolist()):
        members = names == group
        drawn = group == FLOWS and not (spec.flows or spec.collective)
        limits = _distribution_limits(spec) if drawn else limits_of(sizes[members].tolist())
        by_group[group] = Samples.of(
            limits, sizes[members], {unit: of[members] for unit, of in values.items()}
        )
    specs = plan.topology.flows
    of_flows = digest(
        (flow.src, flow.dst, flow.start_s, flow.size_bytes, flow.group, flow.after)
        for flow in specs
    )
    return RunSamples(of_flows, by_group)


def with_classes(spec: TrafficSpec, plan: Plan, recording: Recording) -> RunSamples:
    """Returns the same, and the drawn flows once more as group `CLASSES`, whose bins are the
    classes of `SIZES`."""
    run_samples, drawn = samples(spec, plan, recording), _groups(plan) == FLOWS
    if not drawn.any():
        return run_samples
    largest = _distribution_limits(spec)[-1]
    limits = [*(most for _, most in SIZES if most < largest), largest]
    values = {unit: of[drawn] for unit, of in _values(plan, recording).items()}
    return RunSamples(
        run_samples.digest,
        {**run_samples.groups, CLASSES: Samples.of(limits, _sizes(plan)[drawn], values)},
    )


def estimate(runs: Sequence[RunSamples], statistic: str, group: str) -> Estimate | None:
    """Returns a statistic of the slowdown in a group, or in a class by size, of the flows of all
    seeds together. `runs`: what `with_classes` returned of each seed."""
    names = [name for name, _ in SIZES]
    pooled = flows_by_size.pooled({"": runs}).get(CLASSES if group in names else group, {}).get("")
    place = names.index(group) if group in names else None
    if pooled is None or (place is not None and place >= len(pooled.limits)):
        return None
    return pooled.estimate("slowdown", statistic, place)


def _sizes(plan: Plan) -> Array:
    return np.array([flow.size_bytes or 0 for flow in plan.topology.flows], float)


def _groups(plan: Plan) -> NDArray[np.str_]:
    """Returns the group of each flow; classes by size aren't ones."""
    return np.array(
        [
            flow.group if flow.group in (COLLECTIVE, INCAST) else FLOWS
            for flow in plan.topology.flows
        ]
    )


def _values(plan: Plan, recording: Recording) -> dict[str, Array]:
    """Returns the values of each flow by unit (`samples.UNITS`), NaN where it hasn't arrived."""
    of = flows.ended(plan, recording)
    return {"ms": of.fct_s * 1e3, "slowdown": of.slowdown}


@lru_cache(maxsize=32)
def _distribution_limits(spec: TrafficSpec) -> tuple[float, ...]:
    """Returns the bins of the distribution of a run's flows."""
    return distribution_limits(distribution(spec))


def distribution_limits(sizes: FlowSizes) -> tuple[float, ...]:
    """Returns the bins of a distribution, by as many of its sizes as fix them."""
    largest = sizes.sizes(np.full((sizes.draws, 1), np.nextafter(1, 0)))
    return limits_of([*sample(sizes, np.random.default_rng(0), _DRAWN), *largest])


def tables(runs: Mapping[str, Measured]) -> list[Table]:
    """Returns the tables of one run, or of several side by side, by their names; a terminal of 80
    columns shows them whole."""
    by_size = flows_by_size.tables(flows_by_size.of_measured(runs))
    return [_counts(runs), _spans(runs), *_parts(runs), *collective.tables(runs), *by_size]


def charts(runs: Mapping[str, Measured]) -> list[Chart]:
    """Returns the slowdown by size."""
    return flows_by_size.charts(flows_by_size.of_measured(runs))


def _counts(runs: Mapping[str, Measured]) -> Table:
    """Returns how many flows, what they got, what PFC and the queues did."""
    names = dict.fromkeys(
        name for run in runs.values() for name in run.numbers if name.startswith("pause_frames ")
    )
    tiers = [name for name in names if not name.startswith("pause_frames class")]
    tiers = tiers if len(tiers) > 1 else []
    columns = ["", "flows", "done", "largest sampled queue, KB", "PAUSE"]
    return Table(
        "flows",
        [*columns, *(f"PAUSE of {name.partition(' ')[2] or 'switches'}*" for name in tiers)],
        [
            [
                label(name),
                *(
                    _count(value)
                    for value in (flows, None if flows is None else flows - (missing or 0))
                ),
                _number(measured.numbers.get("largest_queue_kb")),
                *(_count(measured.numbers.get(number, 0.0)) for number in ("pause_frames", *tiers)),
            ]
            for name, measured in runs.items()
            for flows, missing in [
                (measured.numbers.get(f"flows {ALL}"), measured.numbers.get(f"unfinished {ALL}"))
            ]
        ],
        [f"{tier}*: all switches named {tier}, or {tier} and a number."]
        if (tier := _tier(tiers))
        else (),
    )


def _tier(numbers: Sequence[str]) -> str:
    """Returns the first tier of switches that some of these numbers are of."""
    return next((name.partition(" ")[2] for name in numbers if name.partition(" ")[2]), "")


def _parts(runs: Mapping[str, Measured]) -> list[Table]:
    """Returns where the completion times went, by run and size; none where no run was explained."""
    suffix = f"_ms {ALL}"
    explained = {
        run: measured.numbers
        for run, measured in runs.items()
        if f"wire{suffix}" in measured.numbers
    }
    names = [name for name in PARTS if any(of.get(f"{name}{suffix}") for of in explained.values())]
    rows, bars = [], []
    for run, of in explained.items():
        for size in [ALL, *(name for name, _ in SIZES), COLLECTIVE, INCAST]:
            means = [of.get(f"{name}_ms {size}") or 0.0 for name in names]
            if total := sum(means):
                texts = (f"{100 * mean / total:.1f}" if mean else "–" for mean in means)
                rows.append([f"{label(run)}, {size}", _number(total), *texts])
                bars.append([(name, mean / total) for name, mean in zip(names, means, strict=True)])
    columns = ["", "mean, ms", *(name.replace("_", " ") for name in names)]
    note = (
        "Shares of the completion times of all flows (in-casts' too) and of a size: S up to 10 KB, "
        "M to 100 KB, L to 1 MB, XL above. `pcn explain RESULT` has single flows: docs/explain.md."
    )
    return [Table("where the time went, %", columns, rows, [note], bars)] if rows else []


def _spans(runs: Mapping[str, Measured]) -> Table:
    """Returns when flows start and the last one arrives; goodput of all flows together until
    then."""
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
        [
            [label(run), *(_number(measured.numbers.get(name)) for name in names)]
            for run, measured in runs.items()
        ],
        caveats=[_DRAIN] if any(map(_drains, runs.values())) else (),
    )


def _drains(measured: Measured) -> bool:
    starts, end = measured.numbers.get("starts_ms"), measured.numbers.get("end_ms")
    alone = "collective_ms" not in measured.numbers
    return alone and starts is not None and end is not None and 0 < starts < end / 2


def _number(value: float | None) -> str:
    return _count(value) if value is None or value >= 1000 else f"{value:.4g}"


def _count(value: float | None) -> str:
    return "–" if value is None else f"{value:,.0f}"
