"""HPCC's Fig. 11 with static and dynamic thresholds of PAUSE: what a switch's buffer decides, what
a scheme does."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import PAYLOAD_BYTES, Plan, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import scheme_parameters
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check, at_most, row
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.flows_by_size import FLOWS, INCAST, cell, figure_charts
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes, number_text, ratio
from pcn.experiments.define.samples import RunSamples
from pcn.experiments.define.tables import Table
from pcn.experiments.papers.hpcc.plans import fat_tree
from pcn.experiments.papers.pcn.claims import PCN, PCN_X, PFC
from pcn.experiments.traffic import by_size, flows
from pcn.experiments.traffic.spec import TrafficSpec, draw
from pcn.topologies.model import Endpoint

_DCQCN, _DCQCN_NS3 = "dcqcn", "dcqcn-ns3"
SCHEMES = (PFC, _DCQCN, _DCQCN_NS3, "timely", "timely-hpcc", PCN, PCN_X)
STATIC, DYNAMIC = THRESHOLDS = ("static", "dynamic")
SEEDS = tuple(range(1, 11))
_LOAD, _SENDERS, _SPAN_S = 0.3, 60, 1e-3
_INCASTS: Mapping[str, Value] = {"incast_size": 500e3, "incast_load": 0.02, "incast_period": 0.4e-3}
_SPEC = TrafficSpec("clos", "Hadoop", "uniform", incast=str(_SENDERS))


class SharedBuffers(Experiment):
    name = "shared-buffer"
    title = "HPCC's Fig. 11 with static and dynamic thresholds of PAUSE"
    draws = DRAWN_FLOWS
    source = "a study of ours; HPCC's 5.3, Fig. 11"
    schemes = SCHEMES
    about = (
        "A Clos of the shape of HPCC's fat.txt: 320 hosts of 100 Gbit/s in 5 pods, 400 Gbit/s "
        f"between switches, 1 us a link. FbHdp at a load of 0.3 for {_SPAN_S * 1e3:g} ms, some "
        f"9,600 flows, beside them an in-cast each 0.4 ms of {_SENDERS} senders, 500 KB each: 2% "
        f"of the hosts' links. Until all have arrived; {len(SEEDS)} seeds, each with the same "
        "flows on the same paths for all. Static: PAUSE at 512 KB of a port. Dynamic: a buffer of "
        "32 MiB a switch by HPCC's rule, alpha 1/8 at the hosts' rate, doubled with the rate.\n"
        "\n"
        "Every scheme has the parameters that follow from the network by [its "
        "rules](schemes.md#parameters): PCN and PCN-X a T of the largest round trip, and w_min = "
        "1/128. `dcqcn-ns3` and `timely-hpcc` are HPCC's.\n"
        "\n"
        "Slowdown is over the empty network, of the flows of all seeds together, those of in-casts "
        "apart. In brackets: 95% intervals by the bootstrap over the seeds, or of fewer than five "
        "seeds from the least to the largest. Other numbers are means over the seeds. Paused is "
        "the time for which links were, all together."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for thresholds in THRESHOLDS:
            for scheme in schemes:
                for seed in SEEDS:
                    keys: dict[str, Key] = {
                        "thresholds": thresholds,
                        "scheme": scheme,
                        "seed": seed,
                    }
                    yield Run(keys, scheme, seed, {"dynamic": float(thresholds == DYNAMIC)})

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        topology = fat_tree((), bool(values["dynamic"]))
        count = round(values.get("count") or 0)
        more = {**_INCASTS, "span": None if count else _SPAN_S}
        drawn = draw(_SPEC, topology, seed, _LOAD, count or 1, PAYLOAD_BYTES, more)
        topology = replace(topology, flows=tuple(flows.by_size(drawn)))
        last_s = max(flow.start_s for flow in drawn)
        plan = plan_of(
            self.name, scheme, seed, topology, last_s, {}, [Endpoint("t0", 1)], last_s / 20
        )
        return replace(scheme_parameters.by_rules(plan), until_complete=True)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        ended = flows.ended(plan, recording)
        ends = ended.start_s + ended.fct_s
        links = recording.links.values()
        numbers: dict[str, float | None] = {
            "unfinished": float(np.isnan(ends).sum()),
            "end_ms": None if np.isnan(ends).any() else float(ends.max()) * 1e3,
            "pause": float(sum(link.pause for link in links)),
            "paused_ms": sum(link.paused_s for link in links) * 1e3,
            "largest_kb": max(recording.recorded.queue_max.values()) / 1e3,
        }
        return Outcome(
            run.keys, numbers, samples=by_size.with_classes(_SPEC, plan, recording).to_json()
        )

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among(SCHEMES):
            name = label(scheme)
            text = f"{name}: median slowdown with dynamic thresholds (met: at most 1.1)"
            rows.append(
                row("", text, _slowdown(outcomes, 50, DYNAMIC, scheme), at_most(1.1), theory=1)
            )
            for q in (95, 99):
                text = f"{name}: {q}% slowdown, dynamic thresholds over static (met: at most 1)"
                dynamic, static = (
                    _slowdown(outcomes, q, thresholds, scheme) for thresholds in (DYNAMIC, STATIC)
                )
                rows.append(row("", text, ratio(dynamic, static), at_most(1)))
        for thresholds in THRESHOLDS:
            for baseline in (
                outcomes.among((PFC, _DCQCN, _DCQCN_NS3, "timely", "timely-hpcc"))
                if PCN in outcomes.values("scheme")
                else ()
            ):
                for q in (95, 99):
                    ours, theirs = (
                        _slowdown(outcomes, q, thresholds, scheme) for scheme in (PCN, baseline)
                    )
                    text = (
                        f"{thresholds} thresholds: {q}% slowdown, PCN's over {label(baseline)}'s "
                        "(met: at most 1)"
                    )
                    rows.append(row("", text, ratio(ours, theirs), at_most(1)))
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        schemes = outcomes.among(SCHEMES)
        lines = []
        for q in (50, 95, 99):
            spans = []
            for thresholds in THRESHOLDS:
                slowdowns = [
                    (_slowdown(outcomes, q, thresholds, scheme), label(scheme))
                    for scheme in schemes
                ]
                known = [(value, name) for value, name in slowdowns if value is not None]
                if known:
                    (low, least), (high, most) = min(known), max(known)
                    spans.append(
                        f"{thresholds} {number_text(low)} ({least}) to {number_text(high)} ({most})"
                    )
            if spans:
                lines.append(f"{q}% slowdown, least to most of the schemes: {'; '.join(spans)}.")
        if PCN in schemes:
            numbers = {
                f"{q}%": [_slowdown(outcomes, q, threshold, PCN) for threshold in THRESHOLDS]
                for q in (50, 95, 99)
            }
            numbers["PAUSE frames"] = [
                outcomes.mean("pause", thresholds=threshold, scheme=PCN) for threshold in THRESHOLDS
            ]
            texts = [
                f"{name} {' to '.join(map(number_text, both))}" for name, both in numbers.items()
            ]
            lines.append(f"PCN, from static to dynamic thresholds: {', '.join(texts)}.")
        return lines

    def page_tables(self, outcomes: Outcomes) -> list[Table]:
        return [
            _table(outcomes, threshold)
            for threshold in THRESHOLDS
            if outcomes.where(thresholds=threshold)
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        return [
            chart
            for thresholds in THRESHOLDS
            if outcomes.where(thresholds=thresholds)
            for chart in figure_charts(
                f"{thresholds} thresholds", _samples(outcomes, thresholds), "p95"
            )
        ]


def _samples(outcomes: Outcomes, thresholds: str) -> dict[str, list[RunSamples]]:
    """Returns the flows by size of each scheme that was run, of each seed."""
    schemes = map(str, outcomes.values("scheme"))
    by_scheme = {
        scheme: outcomes.samples(thresholds=thresholds, scheme=scheme) for scheme in schemes
    }
    return {scheme: samples for scheme, samples in by_scheme.items() if samples}


def _slowdown(outcomes: Outcomes, q: int, thresholds: str, scheme: str) -> float | None:
    """Returns a percentile of the flows of all seeds together, those of in-casts apart."""
    estimate = by_size.estimate(
        outcomes.samples(thresholds=thresholds, scheme=scheme), f"p{q}", FLOWS
    )
    return None if estimate is None else estimate.value


def _table(outcomes: Outcomes, thresholds: str) -> Table:
    slowdowns = {
        "50%": ("p50", FLOWS),
        "95%": ("p95", FLOWS),
        "99%": ("p99", FLOWS),
        "95%, up to 10 KB": ("p95", "S"),
        "95%, above 1 MB": ("p95", "XL"),
        "in-casts, 50%": ("p50", INCAST),
        "in-casts, 99%": ("p99", INCAST),
    }
    numbers = {"PAUSE": "pause", "paused, ms": "paused_ms", "last, ms": "end_ms"}
    rows = [
        [
            label(scheme),
            *(
                cell(by_size.estimate(samples, statistic, group))
                for statistic, group in slowdowns.values()
            ),
            *(
                number_text(outcomes.mean(number, thresholds=thresholds, scheme=scheme))
                for number in numbers.values()
            ),
        ]
        for scheme, samples in _samples(outcomes, thresholds).items()
    ]
    return Table(f"Slowdown with {thresholds} thresholds", ["slowdown", *slowdowns, *numbers], rows)
