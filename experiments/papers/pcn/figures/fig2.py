"""Fig. 2 and 3: the victim scenario with each scheme, at exact line rate."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, numbers, with_fields
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Band, Chart, Line, Mark, curve, of_seeds
from pcn.experiments.define.checks import Check, Claim, near, or_trend
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, number_text
from pcn.experiments.papers.pcn.claims import LOSS, PCN, PCN_X, PFC, TREE, TREES
from pcn.experiments.papers.pcn.plans import TIMELY_SEGMENT_BYTES
from pcn.experiments.papers.pcn.scenarios.victim import Victim
from pcn.experiments.papers.pcn.scenarios.victim_setting import burst_s
from pcn.experiments.papers.pcn.variants import PUBLISHED_PACKETS, PUBLISHED_SEGMENTS, VARIANTS
from pcn.topologies.compact import P0_S0

SEEDS: Mapping[str, Sequence[int]] = dict.fromkeys(("qcn", "dcqcn"), range(1, 11))
"""Of the schemes that draw something here; of the others one run is all."""
_VICTIM = Victim()
_LONG_S = 150e-3
"""Of runs whose link isn't full again within the scenario's own duration."""
_TIMELY: dict[str, Value] = {
    "segment": TIMELY_SEGMENT_BYTES,
    "min_rtt": 30e-6,
    "before": 100e-3,
    "duration": _LONG_S,
}
"""As all figures have it, in runs longer than the scenario's."""
_OF_SCHEME = {"timely": _TIMELY}
_OPEN: dict[str, tuple[str, dict[str, Value], str]] = {
    "a tenth of the samples": ("qcn", {"sample": 1.5e6, "duration": _LONG_S}, ""),
    "least RTT of 20 us, as TIMELY's paper has it": ("timely", {"min_rtt": 20e-6}, ""),
    "the RTT of every packet": ("timely", {"segment": 1000}, ""),
    "one RTT each 64 KB": ("timely", {"segment": 64_000, "before": 400e-3}, ""),
    "one RTT each 64 KB and decreases without a bound, Algorithm 1 as printed": (
        "timely",
        {"segment": 64_000, "before": 400e-3, "timely_max_decrease": 1.0},
        "",
    ),
    "its authors' code's values, every packet": ("timely", {**PUBLISHED_PACKETS}, "falling RTTs"),
    "its authors' code's values, 64 KB": (
        "timely",
        {"before": 400e-3, **PUBLISHED_SEGMENTS},
        "falling RTTs",
    ),
}
"""What is open, varied: scheme, the scenario's values or fields, variant."""
SHOWN_S = 80e-3
RATE_GBPS = 40.0


class Fig2(Experiment):
    name = "fig2"
    schemes = (PFC, "qcn", "dcqcn", "timely", PCN, PCN_X)
    variants = VARIANTS
    title = "Interactions of PFC and congestion control: the victim flow"
    source = "3.1, Fig. 2 and 3"
    about = (
        "Fig. 1's network: F0 and F1 send, at time 0 each of H2 to H15 starts 16 flows of 64 KB to "
        "R1. The tree lasts from the first to the last PAUSE that S1 or S0 holds up; throughput is "
        "lost until S0 to S1 is at 95% of its rate again. F0 and F1 are in each scheme's steady "
        "state at time 0. TIMELY takes an RTT each 16 KB, its smallest segment; its steps are in "
        "proportion to the time between two and no decrease is of more than a half, as in its "
        "authors' code, which PCN's authors used (7). What is open there decides about what is "
        "lost: rates grow by 10 Mbit/s in each least RTT, or in each segment where that takes "
        "longer. QCN draws which packets are sampled, and DCQCN which are marked: ten seeds, and "
        "means over them; the others draw nothing. In the picture each panel has a separate time "
        "axis, and lines of further seeds are pale."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for scheme in schemes:
            for seed in SEEDS.get(scheme, self.seeds):
                yield Run({"scheme": scheme, "seed": seed}, scheme, seed)
        for setting, (scheme, values, variant) in _OPEN.items():
            for seed in SEEDS.get(scheme, self.seeds) if scheme in schemes else ():
                yield Run({"open": setting, "seed": seed}, scheme, seed, values, variant)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        offered = {parameter.name for parameter in _VICTIM.parameters(scheme)}
        named = {name: value for name, value in values.items() if name in offered}
        fields = {name: value for name, value in numbers(values).items() if name not in offered}
        defaults = _OF_SCHEME.get(scheme, {})
        return with_fields(_VICTIM.plan(scheme, seed, defaults | named), **fields)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        trunk = recording.series.get(str(P0_S0), "transmitted_bytes")
        shown_s = min(plan.duration_s, SHOWN_S)
        curves = {
            "trunk": recording_numbers.binned(*trunk, -2e-3, shown_s, 8e-9),
            "f0": recording_numbers.binned(
                *recording.series.get("flow 0", "received_bytes"), -2e-3, shown_s, 8e-9
            ),
        }
        return Outcome(run.keys, _VICTIM.measure(run, plan, recording).numbers, curves)

    def settled(self, plan: Plan, recording: Recording) -> list[Check]:
        return _VICTIM.settled(plan, recording)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        present = [str(outcome) for outcome in outcomes.values("scheme")]
        pfc = _ms(outcomes.mean("tree_s", scheme=PFC))
        for scheme in (scheme for scheme in present if scheme in TREE):
            rows.append(
                _tree(
                    TREE[scheme],
                    label(scheme),
                    scheme,
                    _ms(outcomes.mean("tree_s", scheme=scheme)),
                    pfc,
                )
            )
        for scheme in (scheme for scheme in present if scheme in LOSS):
            full, ours = (_ms(outcomes.mean("full_s", scheme=name)) for name in (scheme, PCN))
            longer = full is not None and ours is not None and full > ours
            text = f"{label(scheme)}: throughput is lost (met: within 50%; trend: longer than PCN)"
            rows.append(
                LOSS.row(text, full, or_trend(near(LOSS[scheme], 0.5, 1.0), longer), scheme)
            )
        for setting, (scheme, _, _) in _OPEN.items():
            if not (full_s := [run.numbers["full_s"] for run in outcomes.where(open=setting)]):
                continue
            name = f"{label(scheme)}, {setting}"
            until = ", to the run's end" if None in full_s else ""
            lost_s = statistics.fmean(_LONG_S if value is None else value for value in full_s)
            text = (
                f"{name}: throughput is lost{until} (met: within 50%; trend: within a factor of "
                "two)"
            )
            rows.append(LOSS.row(text, _ms(lost_s), near(LOSS[scheme], 0.5), scheme))
            tree = _ms(outcomes.mean("tree_s", open=setting))
            rows.append(_tree(TREES, name, scheme, tree, pfc))
        for outcome in outcomes.where(scheme=PCN):
            rows += outcome.checks
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        if not outcomes.where(scheme="timely"):
            return []

        def full(**keys: str) -> str:
            value = _ms(outcomes.mean("full_s", **keys))
            return (
                f"in {number_text(value, 'ms')}"
                if value is not None
                else f"not in {_LONG_S * 1e3:g} ms"
            )

        def tree(**keys: str) -> str:
            return number_text(_ms(outcomes.mean("tree_s", **keys)), "ms")

        printed = "one RTT each 64 KB and decreases without a bound, Algorithm 1 as printed"
        unbounded = tree(open=printed)
        spreads = [
            f"{_range(outcomes, 'full_s', **keys)} with {name} (tree: "
            f"{_range(outcomes, 'tree_s', **keys)})"
            for name, keys in (
                ("QCN", {"scheme": "qcn"}),
                ("a tenth of QCN's samples", {"open": "a tenth of the samples"}),
                ("DCQCN", {"scheme": "dcqcn"}),
            )
            if len(outcomes.by_run("full_s", **keys)) > 1
        ]
        paragraphs = [
            f"TIMELY's link is full again {full(scheme='timely')} here; by the RTTs of single "
            f"packets {full(open='the RTT of every packet')}, since F1 reacts at once, and by "
            f"those of 64 KB {full(open='one RTT each 64 KB')}, since both flows come down to "
            f"nearly nothing (paper: {LOSS['timely']:g} ms).",
            "The tree lasts until F1 has been notified and slowed down. TIMELY: "
            f"{tree(scheme='timely')} by RTTs of 16 KB, {tree(open='one RTT each 64 KB')} by those "
            f"of 64, {unbounded} where decreases have no bound, {tree(scheme='pfc')} with PFC "
            f"alone. QCN, whose switch has a sample of F1 in time: {tree(scheme='qcn')}, and with "
            f"a tenth of the samples {tree(open='a tenth of the samples')}. DCQCN's "
            f"{tree(scheme='dcqcn')} depend on its alpha at time 0 "
            "([victim.md](victim.md#before-time-0)).",
        ]
        if spreads:
            paragraphs.append(f"Among the seeds throughput is lost for {', '.join(spreads)}.")
        return paragraphs

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        schemes = [str(scheme) for scheme in outcomes.values("scheme")]
        burst_ms = burst_s(_VICTIM.plan(PCN, 1, {})) * 1e3

        def lines(scheme: str, kind: str, name: str, others: str, colour: str) -> list[Line]:
            seeds = (outcome.curves[kind] for outcome in outcomes.where(scheme=scheme))
            named = [replace(curve(name, *values), colour=colour) for values in seeds]
            return of_seeds(named, others)

        return [
            Chart(
                label(scheme),
                "Time (ms)",
                "Throughput, goodput (Gbit/s)" if not place % 3 else "",
                [
                    *lines(scheme, "trunk", "S0 to S1", "S0 to S1, other seeds", "other0"),
                    *lines(scheme, "f0", "F0, the victim", "F0, other seeds", "flow0"),
                ],
                top=RATE_GBPS * 1.06,
                bands=(Band("bursts", 0.0, burst_ms),),
                marks=_paper(scheme),
                columns=3,
            )
            for place, scheme in enumerate(schemes)
        ]


def _paper(scheme: str) -> tuple[Mark, ...]:
    """Returns until when the paper's tree stands, where it states that."""
    return (Mark("the paper's tree ends", TREE[scheme][scheme]),) if scheme in TREE else ()


def _tree(claim: Claim, name: str, scheme: str, tree: float | None, pfc: float | None) -> Check:
    """Returns how long the tree of this scheme lasts, in ms, against the paper's and PFC's."""
    shorter = tree is not None and pfc is not None and tree < pfc
    text = f"{name}: the tree lasts (met: within 50%; trend: shorter than with PFC alone)"
    return claim.row(text, tree, or_trend(near(claim[scheme], 0.5, 1.0), shorter), scheme)


def _range(outcomes: Outcomes, number: str, **keys: str) -> str:
    """Returns the least and the largest of a time over the seeds."""
    least, most = (_ms(outcomes.extreme(number, largest, **keys)) for largest in (False, True))
    return (
        number_text(most, "ms")
        if least == most
        else f"{number_text(least)} to {number_text(most, 'ms')}"
    )


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
