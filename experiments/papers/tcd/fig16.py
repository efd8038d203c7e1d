"""Fig. 16: slowdown in a fat-tree, with TCD and without, and what alpha's start and polarised ECMP
do to it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import (
    HEADER_BYTES,
    PAYLOAD_BYTES,
    Plan,
    known_fields,
    numbers,
    plan_of,
)
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check, at_least, between, near
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.flow_sizes import HADOOP, WEB_SEARCH
from pcn.experiments.define.flows_by_size import FLOWS, figure_charts
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes, number_text, ratio
from pcn.experiments.define.samples import RunSamples, Samples, digest
from pcn.experiments.define.workloads import arrivals_per_s, uniform_flows
from pcn.experiments.papers.tcd.claims import DCQCN, DCQCN_TCD, HADOOP_TREE, PAPER_ALPHA, WEB_TREE
from pcn.experiments.traffic import by_size
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.head_of_line import XOFF_BYTES, XON_BYTES
from pcn.topologies.model import EVEN, POLARISED, Endpoint

LINE_BPS, DELAY_S, LOAD = 40e9, 4e-6, 0.6
K, COUNT = 10, 40_000
_AFTER_S = 30e-3
"""How long flows may still take after the last one has started."""
HADOOP_EVEN, HADOOP_POLARISED, WEB = "Hadoop", "Hadoop, polarised ECMP at 0.3", "WebSearch"
_SETTINGS: dict[str, dict[str, Value]] = {
    HADOOP_EVEN: {"web": 0, "polarised": 0, "load": LOAD},
    HADOOP_POLARISED: {"web": 0, "polarised": 1, "load": 0.3},
    WEB: {"web": 1, "polarised": 0, "load": LOAD},
}
_SEEDS = {HADOOP_EVEN: (1, 2), HADOOP_POLARISED: (1,), WEB: (1,)}
_ALPHAS: dict[str, dict[str, tuple[float, ...]]] = {
    DCQCN: {HADOOP_EVEN: (0.5, 1.2), HADOOP_POLARISED: (0.5, 1.2), WEB: (0.5, 1.2)},
    DCQCN_TCD: {HADOOP_EVEN: (1.2, 0.5), HADOOP_POLARISED: (1.2,), WEB: (1.2,)},
}
"""The paper's first; the others separate the effects of alpha's start and of detection."""
_LIMITS: dict[str, tuple[float, float]] = {
    "< 50 KB": (0, 50e3),
    "< 80 KB": (0, 80e3),
    "> 100 KB": (100e3, 1e12),
    "< 500 KB": (0, 500e3),
    "> 1 MB": (1e6, 1e12),
}
_OF_HADOOP, _OF_WEB = ("< 50 KB", "< 80 KB", "> 100 KB"), ("< 500 KB", "> 1 MB")
_PERCENTILES = (50, 95, 99)
_MEDIANS = "choices.md#tcd"


class Fig16(Experiment):
    name = "tcd-fig16"
    title = "Slowdown in a fat-tree"
    draws = DRAWN_FLOWS
    source = "5.2.1, Fig. 16"
    schemes = (DCQCN, DCQCN_TCD)
    about = (
        "A fat-tree of k = 10, 250 hosts, links of 40 Gbit/s and 4 us. 40,000 flows of Hadoop's or "
        "WebSearch's sizes start at random, each from one host to another, and load the hosts' "
        "links to 0.6. Slowdown is a flow's completion time over that in the empty network. The "
        "paper compares DCQCN, whose alpha starts at 0.5, with TCD and alpha's start at 1.2. With "
        "polarised ECMP all switches choose by the same bits of a flow's hash. Means over two "
        "seeds, of the others one; a flow that is still going 30 ms after the last one has started "
        "counts with the time that it had."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for traffic, values in _SETTINGS.items():
            for scheme in schemes:
                for alpha in _ALPHAS.get(scheme, {}).get(traffic, (0.0,)):
                    for seed in _SEEDS[traffic]:
                        keys: dict[str, Key] = {
                            "traffic": traffic,
                            "scheme": scheme,
                            "alpha": alpha,
                            "seed": seed,
                        }
                        yield Run(
                            keys,
                            scheme,
                            seed,
                            {**values, **({"initial_alpha": alpha} if alpha else {})},
                        )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        settings = numbers(values)
        usual = {"web": 0.0, "polarised": 0.0, "load": LOAD, "k": K, "count": COUNT}
        web, polarised, load, k, count = (
            settings.pop(name, value) for name, value in usual.items()
        )
        sizes = WEB_SEARCH if web else HADOOP
        topology = fat_tree(
            round(k),
            LINE_BPS,
            DELAY_S,
            xoff_bytes=XOFF_BYTES,
            xon_bytes=XON_BYTES,
            ecmp=POLARISED if polarised else EVEN,
        )
        per_s = arrivals_per_s(load, LINE_BPS, sizes, PAYLOAD_BYTES, PAYLOAD_BYTES + HEADER_BYTES)
        hosts = [host.name for host in topology.hosts]
        flows = uniform_flows(
            np.random.default_rng([seed, 16]), sizes, per_s, round(count), hosts, lambda _: "all"
        )
        end_s = flows[-1].start_s + _AFTER_S
        fields = known_fields(scheme, settings)
        plan = plan_of(
            self.name,
            scheme,
            seed,
            replace(topology, flows=tuple(flows)),
            end_s,
            fields,
            [Endpoint("e0", 1)],
            end_s,
        )
        sampling = replace(plan.sampling, counters_s=end_s, flows_s=end_s)
        return replace(plan, sampling=sampling, values={**plan.values, "web": float(web)})

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        sizes = np.array([flow.size_bytes or 0 for flow in plan.topology.flows])
        times = np.array([
            plan.duration_s - flow.start_s if flow.fct_s is None else flow.fct_s
            for flow in recording.flows
        ])  # fmt: skip
        empty = np.array([
            recording_numbers.empty_fct_s(plan.topology, flow.src, flow.dst, flow.size_bytes or 0,
            plan.payload_bytes)
            for flow in plan.topology.flows
        ])  # fmt: skip
        slowdown = times / empty
        measured: dict[str, float | None] = {
            "unfinished": float(sum(flow.fct_s is None for flow in recording.flows)),
            "ue_share": float(np.mean([flow.marked_ue_packets > 0 for flow in recording.flows])),
        }
        for name in _OF_WEB if plan.values["web"] else _OF_HADOOP:
            low, high = _LIMITS[name]
            part = slowdown[(sizes >= low) & (sizes < high)]
            measured |= {
                f"p{q} {name}": recording_numbers.percentile(part, q) for q in _PERCENTILES
            }
        limits = by_size.distribution_limits(WEB_SEARCH if plan.values["web"] else HADOOP)
        samples = Samples.of(limits, sizes, {"ms": times * 1e3, "slowdown": slowdown})
        drawn = digest(
            (flow.src, flow.dst, flow.start_s, flow.size_bytes) for flow in plan.topology.flows
        )
        return Outcome(run.keys, measured, samples=RunSamples(drawn, {FLOWS: samples}).to_json())

    def checks(self, outcomes: Outcomes) -> list[Check]:
        if not {DCQCN, DCQCN_TCD} <= set(outcomes.values("scheme")):
            return []

        def of(traffic: str, number: str, scheme: str, alpha: float | None = None) -> float | None:
            alpha = PAPER_ALPHA[scheme] if alpha is None else alpha
            return outcomes.mean(number, traffic=traffic, scheme=scheme, alpha=alpha)

        def gain(traffic: str, number: str) -> float | None:
            return ratio(of(traffic, number, DCQCN), of(traffic, number, DCQCN_TCD))

        even, polar = f"{HADOOP_EVEN}:", f"{HADOOP_POLARISED}:"
        return [
            HADOOP_TREE.row(
                f"{even} 99% below 50 KB, DCQCN over TCD (met: 1.5; trend: above 1)",
                gain(HADOOP_EVEN, "p99 < 50 KB"), at_least(1.5, 1.0), "99%",
            ),
            HADOOP_TREE.row(
                f"{even} median below 80 KB, DCQCN over TCD (met: above 1.05; trend: above 1)",
                gain(HADOOP_EVEN, "p50 < 80 KB"), at_least(1.05, 1.0), paper=3.0,
            ),
            HADOOP_TREE.row(
                f"{even} DCQCN's median below 80 KB (met: within 30%; trend: a factor of 2)",
                of(HADOOP_EVEN,
                    "p50 < 80 KB", DCQCN), near(10.8, 0.3), "DCQCN median", known=_MEDIANS,
            ),
            HADOOP_TREE.row(
                f"{even} 99% above 100 KB, DCQCN over TCD (met: within 15%; trend: a factor of 2)",
                gain(HADOOP_EVEN, "p99 > 100 KB"), near(1.0, 0.15), "large", known=_MEDIANS,
            ),
            HADOOP_TREE.row(
                f"{polar} DCQCN's median below 80 KB (met: 7 to 13; trend: 3.5 to 26)",
                of(HADOOP_POLARISED, "p50 < 80 KB", DCQCN), between(7, 13, 3.5, 26), "DCQCN median",
            ),
            HADOOP_TREE.row(
                f"{polar} median below 80 KB, DCQCN over TCD (met: 1.7; trend: above 1)",
                gain(HADOOP_POLARISED, "p50 < 80 KB"), at_least(1.7, 1.0), paper=3.0,
            ),
            WEB_TREE.row(
                f"{WEB}: 99% below 500 KB, DCQCN over TCD (met: 1.3; trend: above 1)",
                gain(WEB, "p99 < 500 KB"), at_least(1.3, 1.0), "99%",
            ),
            WEB_TREE.row(
                f"{WEB}: DCQCN's median below 500 KB (met: within 30%; trend: a factor of 2)",
                of(WEB, "p50 < 500 KB", DCQCN), near(4.6, 0.3), "DCQCN median", known=_MEDIANS,
            ),
            WEB_TREE.row(
                f"{WEB}: 99% above 1 MB, DCQCN over TCD (met: within 15%; trend: a factor of 2)",
                gain(WEB, "p99 > 1 MB"), near(1.0, 0.15), "large",
            ),
        ]  # fmt: skip

    def story(self, outcomes: Outcomes) -> list[str]:
        paragraphs = []
        for traffic, names in (
            (HADOOP_EVEN, _OF_HADOOP),
            (HADOOP_POLARISED, _OF_HADOOP),
            (WEB, _OF_WEB),
        ):
            small = names[-2]
            texts = []
            for scheme in outcomes.among((DCQCN, DCQCN_TCD)):
                for alpha in _ALPHAS[scheme][traffic]:
                    median, high = (
                        outcomes.mean(f"p{q} {small}", traffic=traffic, scheme=scheme, alpha=alpha)
                        for q in (50, 99)
                    )
                    texts.append(
                        f"{label(scheme)} with alpha {alpha:g} {number_text(median)} and "
                        f"{number_text(high)}"
                    )
            if texts:
                paragraphs.append(f"{traffic}, flows {small}, median and 99%: {'; '.join(texts)}.")
        if paragraphs:
            paragraphs.append(
                "DCQCN whose alpha starts at 1.2 is as fast as TCD with it, or faster: in a "
                "fat-tree with traffic from everywhere to everywhere few flows are ever marked UE, "
                "and the gain is alpha's."
            )
        return paragraphs

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = []
        for setting in (name for name in _SETTINGS if name in outcomes.values("traffic")):
            runs = {}
            for outcome in outcomes.where(traffic=setting):
                scheme, alpha = str(outcome.keys["scheme"]), float(outcome.keys["alpha"])
                name = f"{label(scheme)}, alpha {alpha:g}" if alpha else label(scheme)
                runs[name] = outcomes.samples(traffic=setting, scheme=scheme, alpha=alpha)
            charts += figure_charts(setting, runs, "p99")
        return charts
