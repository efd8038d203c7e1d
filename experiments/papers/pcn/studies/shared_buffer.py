"""HPCC's Fig. 11 with static and dynamic thresholds of PAUSE: what a switch's buffer decides, what a scheme does."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import PAYLOAD_BYTES, Plan, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import recording_numbers, scheme_parameters, size_bins
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_most, row
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.flows_by_size import INCAST
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Curve, Key, Outcome, Outcomes, ratio, said
from pcn.experiments.define.tables import Table
from pcn.experiments.papers.hpcc.plans import fat_tree
from pcn.experiments.papers.pcn.claims import PCN, PCN_X, PFC
from pcn.experiments.traffic import by_size, flows
from pcn.experiments.traffic.sizes import SIZES
from pcn.experiments.traffic.spec import TrafficSpec, draw
from pcn.topologies.model import Endpoint

_DCQCN, _DCQCN_NS3 = "dcqcn", "dcqcn-ns3"
SCHEMES = (PFC, _DCQCN, _DCQCN_NS3, "timely", "timely-hpcc", PCN, PCN_X)
STATIC, DYNAMIC = THRESHOLDS = ("static", "dynamic")
SEEDS = (1, 2, 3, 4, 5)
_LOAD, _SENDERS, _SPAN_S = 0.3, 60, 1e-3
_INCASTS: Mapping[str, Value] = {"incast_size": 500e3, "incast_load": 0.02, "incast_period": 0.4e-3}
_SPEC = TrafficSpec("clos", "Hadoop", "uniform", incast=str(_SENDERS))
_OTHERS, _P95 = "others", f"p95 slowdown{size_bins.BY_SIZE}"


class SharedBuffers(Experiment):
    name = "shared-buffer"
    title = "HPCC's Fig. 11 with static and dynamic thresholds of PAUSE"
    draws = DRAWN_FLOWS
    source = "a study of ours; HPCC's 5.3, Fig. 11"
    schemes = SCHEMES
    about = (
        "A Clos of the shape of HPCC's fat.txt: 320 hosts of 100 Gb/s in 5 pods, 400 Gb/s between switches, 1 us a "
        f"link. FbHdp at a load of 0.3 for {_SPAN_S * 1e3:g} ms, some 9,600 flows, beside them an in-cast each 0.4 ms "
        f"of {_SENDERS} senders, 500 KB each: 2% of the hosts' links. Until all have arrived; {len(SEEDS)} seeds, each "
        "with the same flows on the same paths for all. Static: PAUSE at 512 KB of a port. Dynamic: a buffer of 32 MiB "
        "a switch by HPCC's rule, alpha 1/8 at the hosts' rate, doubled with the rate.\n\n"
        "Every scheme has the parameters that follow from the network by [its rules](schemes.md#parameters): PCN and "
        "PCN-X a T of the largest round trip, and w_min = 1/128. `dcqcn-ns3` and `timely-hpcc` are HPCC's.\n\n"
        "Slowdown is over the empty network, of all flows but those of in-casts: means over the seeds and their "
        "standard errors. Paused is the time for which links were, all together."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for thresholds in THRESHOLDS:
            for scheme in schemes:
                for seed in SEEDS:
                    keys: dict[str, Key] = {"thresholds": thresholds, "scheme": scheme, "seed": seed}
                    yield Run(keys, scheme, seed, {"dynamic": float(thresholds == DYNAMIC)})

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        topology = fat_tree((), bool(values["dynamic"]))
        count = round(values.get("count") or 0)
        more = {**_INCASTS, "span": None if count else _SPAN_S}
        drawn = draw(_SPEC, topology, seed, _LOAD, count or 1, PAYLOAD_BYTES, more)
        topology = replace(topology, flows=tuple(flows.by_size(drawn)))
        last_s = max(flow.start_s for flow in drawn)
        plan = plan_of(self.name, scheme, seed, topology, last_s, {}, [Endpoint("t0", 1)], last_s / 20)
        return replace(scheme_parameters.by_rules(plan), until_complete=True)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        ended = flows.ended(plan, recording)
        ends = ended.start_s + ended.fct_s
        links = recording.links.values()
        found: dict[str, float | None] = {
            "unfinished": float(np.isnan(ends).sum()),
            "end_ms": None if np.isnan(ends).any() else float(ends.max()) * 1e3,
            "pause": float(sum(link.pause for link in links)),
            "paused_ms": sum(link.paused_s for link in links) * 1e3,
            "largest_kb": max(recording.recorded.queue_max.values()) / 1e3,
        }
        others = ended.sizes != INCAST
        chosen = {_OTHERS: others, INCAST: ~others, **{name: ended.sizes == name for name, _ in SIZES}}
        for group, own in chosen.items():
            slowdowns = ended.slowdown[own]
            slowdowns = slowdowns[:0] if np.isnan(slowdowns).any() else slowdowns
            for q in (50, 95, 99):
                found[f"p{q} {group}"] = recording_numbers.percentile(slowdowns, q)
        sizes = np.array([flow.size_bytes or 0 for flow in plan.topology.flows], float)
        curves = by_size.curves(sizes[others], ended.fct_s[others], ended.slowdown[others])
        return Outcome(run.keys, found, {_P95: curves[_P95]})

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among(SCHEMES):
            who = label(scheme)
            dynamic, static = (_of(outcomes, one, scheme) for one in (DYNAMIC, STATIC))
            text = f"{who}: median slowdown with dynamic thresholds (met: at most 1.1)"
            rows.append(row("", text, dynamic(f"p50 {_OTHERS}"), at_most(1.1), theory=1))
            for q in (95, 99):
                text = f"{who}: {q}% slowdown, dynamic thresholds over static (met: at most 1)"
                rows.append(row("", text, ratio(dynamic(f"p{q} {_OTHERS}"), static(f"p{q} {_OTHERS}")), at_most(1)))
        for thresholds in THRESHOLDS:
            for other in (
                outcomes.among((PFC, _DCQCN, _DCQCN_NS3, "timely", "timely-hpcc"))
                if PCN in outcomes.values("scheme")
                else ()
            ):
                for q in (95, 99):
                    ours, theirs = (_of(outcomes, thresholds, one)(f"p{q} {_OTHERS}") for one in (PCN, other))
                    text = f"{thresholds} thresholds: {q}% slowdown, PCN's over {label(other)}'s (met: at most 1)"
                    rows.append(row("", text, ratio(ours, theirs), at_most(1)))
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        schemes = outcomes.among(SCHEMES)
        lines = []
        for q in (50, 95, 99):
            spans = []
            for thresholds in THRESHOLDS:
                each = [(_of(outcomes, thresholds, scheme)(f"p{q} {_OTHERS}"), label(scheme)) for scheme in schemes]
                known = [(value, who) for value, who in each if value is not None]
                if known:
                    (low, least), (high, most) = min(known), max(known)
                    spans.append(f"{thresholds} {said(low)} ({least}) to {said(high)} ({most})")
            if spans:
                lines.append(f"{q}% slowdown, least to most of the schemes: {'; '.join(spans)}.")
        if PCN in schemes:
            both = [_of(outcomes, one, PCN) for one in THRESHOLDS]
            numbers = {
                "50%": f"p50 {_OTHERS}",
                "95%": f"p95 {_OTHERS}",
                "99%": f"p99 {_OTHERS}",
                "PAUSE frames": "pause",
            }
            texts = [f"{name} {' to '.join(said(of(number)) for of in both)}" for name, number in numbers.items()]
            lines.append(f"PCN, from static to dynamic thresholds: {', '.join(texts)}.")
        return lines

    def page_tables(self, outcomes: Outcomes) -> list[Table]:
        return [_table(outcomes, one) for one in THRESHOLDS if outcomes.where(thresholds=one)]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        made = []
        for thresholds in THRESHOLDS:
            lines = [
                curve(label(scheme), *_mean([one.curves[_P95] for one in found]), scheme)
                for scheme in map(str, outcomes.values("scheme"))
                if (found := outcomes.where(thresholds=thresholds, scheme=scheme))
            ]
            title = f"{thresholds} thresholds: slowdown, 95%"
            made += [
                replace(chart, title=title, log_y=True, bottom=1.0, columns=2)
                for chart in size_bins.charts({"p95": lines})
            ]
        return made


def _of(outcomes: Outcomes, thresholds: str, scheme: str) -> functools.partial[float | None]:
    return functools.partial(outcomes.mean, thresholds=thresholds, scheme=scheme)


def _mean(curves: Sequence[Curve]) -> Curve:
    """Returns the mean of the seeds' curves, bin by bin, where all have as many bins; else the first one's."""
    if len({len(xs) for xs, _ in curves}) > 1:
        return curves[0]
    xs, ys = np.array(curves, float).mean(axis=0).tolist()
    return xs, ys


def _spread(outcomes: Outcomes, number: str, thresholds: str, scheme: str) -> str:
    """Returns the mean over the seeds, and its standard error."""
    each = outcomes.each(number, thresholds=thresholds, scheme=scheme)
    if len(each) < 2:
        return said(each[0] if each else None)
    error = statistics.stdev(each) / len(each) ** 0.5
    return f"{said(statistics.fmean(each))} ± {said(error, digits=2)}"


def _table(outcomes: Outcomes, thresholds: str) -> Table:
    numbers = {
        "50%": f"p50 {_OTHERS}",
        "95%": f"p95 {_OTHERS}",
        "99%": f"p99 {_OTHERS}",
        "95%, up to 10 KB": "p95 S",
        "95%, above 1 MB": "p95 XL",
        "in-casts, 50%": f"p50 {INCAST}",
        "in-casts, 99%": f"p99 {INCAST}",
        "PAUSE": "pause",
        "paused, ms": "paused_ms",
        "last, ms": "end_ms",
    }
    rows = [
        [label(scheme), *(_spread(outcomes, number, thresholds, scheme) for number in numbers.values())]
        for scheme in map(str, outcomes.values("scheme"))
        if outcomes.where(thresholds=thresholds, scheme=scheme)
    ]
    return Table(f"Slowdown with {thresholds} thresholds", ["slowdown", *numbers], rows)
