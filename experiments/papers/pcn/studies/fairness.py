"""Studies beyond the paper, on the dumbbell of 7.1 and B.1: what decides whether PCN is fair
(docs/fairness.md)."""

from __future__ import annotations

import statistics
from collections.abc import Iterable, Iterator, Mapping, Sequence

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.steady_state import drained, steady_state
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check, at_least
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.outcomes import Curve, Key, Outcome, Outcomes
from pcn.experiments.papers.pcn.claims import FULL_AND_FAIR, PCN, PCN_X, WHY_UNFAIR
from pcn.experiments.papers.pcn.plans import dumbbell_plan
from pcn.experiments.papers.pcn.variants import VARIANTS

FAIR = 0.9
DURATION_S, FROM_S = 0.3, 0.15
_RTT = 500e-6
SEEDS = tuple(range(1, 11))
_ABOUT = (
    "300 ms on the dumbbell, 10 Gbit/s, measured over the last 150; means over "
    f"{len(SEEDS)} seeds, which determine the NPs' phases."
)


class Study(Experiment):
    """Runs on the dumbbell with `flows` flows."""

    schemes: tuple[str, ...] = (PCN,)
    variants = VARIANTS

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return dumbbell_plan(scheme, seed, DURATION_S, values, 1e-3)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(run.keys, numbers(plan, recording))


def numbers(plan: Plan, recording: Recording) -> dict[str, float | None]:
    steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, FROM_S)
    empty = drained(recording, plan.bottleneck)
    goodput = np.array(list(steady.goodput_bps.values()))
    port = recording.ports[str(plan.bottleneck)]
    return {
        "jain": steady.jain,
        "packets": plan.capacity_bps * plan.number("T") / 8 / plan.frame_bytes / goodput.size,
        "utilisation": steady.utilisation,
        "queue_kb": steady.queue_bytes_mean / 1e3,
        "drained_ms": None if empty is None or empty > DURATION_S else empty * 1e3,
        "least_share": float(goodput.min() / goodput.mean()),
        "largest_share": float(goodput.max() / goodput.mean()),
        "marked": port.marked / port.transmitted,
    }


def jain_rows(outcomes: Outcomes, name: str, flows: Iterable[int], **keys: Key) -> list[Check]:
    rows = []
    for n in flows:
        index = outcomes.mean("jain", flows=n, **keys)
        text = f"{name}: Jain's index, {n} flows (met: {FAIR:g} and more; trend: above 0.8)"
        rows.append(
            FULL_AND_FAIR.row(
                text, index, at_least(FAIR, 0.8), "index", theory=1.0, known=WHY_UNFAIR
            )
        )
    return rows


def over_flows(
    outcomes: Outcomes, number: str, names: Mapping[Key, str], key: str, schemes: bool = False
) -> list[Line]:
    return [
        outcomes.line(name, "flows", number, str(value) if schemes else "", **{key: value})
        for value, name in names.items()
    ]


def increases_by_packets(recording: Recording, most: int = 24) -> Curve:
    """Returns the share of the NPs' windows that ended in an increase, by how many packets they
    had, from FROM_S on."""
    windows, increases = np.zeros(most + 1), np.zeros(most + 1)
    for flow in recording.flows:
        times, packets = recording.series.get(flow.entity, "window_packets")
        _, marked = recording.series.get(flow.entity, "window_marked")
        late = (times >= FROM_S) & (packets <= most)
        counts = packets[late].astype(int)
        np.add.at(windows, counts, 1)
        np.add.at(increases, counts, marked[late] + 1e-9 < 0.95 * packets[late])
    seen = np.flatnonzero(windows >= 300)
    return seen.astype(float).tolist(), (increases[seen] / windows[seen]).tolist()


class MarkingPoint(Study):
    name = "marking"
    title = "Where NP-ECN measures the queue"
    source = "study; 5.1, threshold zero"
    about = (
        f'{_ABOUT} PCN with three readings of "threshold zero": a packet is marked if it found '
        "packets waiting when it "
        "arrived (as everywhere else here), if it had to wait at all, or if it leaves packets "
        "behind when it departs. "
        "Waiting is measured with v1model's time stamps, whole microseconds; a frame takes less."
    )
    readings: Mapping[Key, str] = {
        "pcn_native": "found waiting",
        "pcn_waited_native": "had to wait",
        "pcn_left_behind_native": "left behind",
    }
    flows = (4, 16, 64, 256)

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for program in self.readings if PCN in schemes else ():
            for flows in self.flows:
                for seed in SEEDS:
                    keys = {"reading": program, "seed": seed, "flows": flows}
                    yield Run(keys, PCN, seed, {"flows": flows}, str(program))

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for program, name in self.readings.items():
            rows += jain_rows(outcomes, name, self.flows, reading=program)
            full = outcomes.extreme("utilisation", False, reading=program)
            text = f"{name}: least utilisation (met: 0.97 and more; trend: above 0.9)"
            rows.append(FULL_AND_FAIR.row(text, full, at_least(0.97, 0.9), "utilisation"))
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        def panel(title: str, label: str, number: str, top: float | None = None) -> Chart:
            lines = over_flows(outcomes, number, self.readings, "reading")
            return Chart(title, "Flows", label, lines, log_x=True, top=top)

        return [
            panel("Fairness", "Jain's index", "jain", 1.05),
            panel("Queue", "Mean queue (KB)", "queue_kb"),
            panel("Bottleneck", "Utilisation", "utilisation", 1.05),
        ]


class FairnessSweep(Study):
    name = "fairness"
    title = "What PCN's fairness depends on"
    source = "study; B.1, Fig. 17"
    about = (
        f"{_ABOUT} PCN with T = RTT = 500 us, w_min = 0.1/N and the 95% rule, and one of these "
        "changed: the rule's threshold, T, w_min, RTT (with T), the NPs' phases (all flows' "
        "periods in step), how the first, partial period counts, RecRate by whole gaps. First "
        "panel: share of the periods that end in an increase, by packets in them, of seeds "
        "that have 300 such periods, where half of them do. Second: all runs with other T or RTT, "
        "by the packets that a fair share has in a period."
    )
    flows = (16, 64, 256)
    settings: Mapping[Key, tuple[str, str, Mapping[str, float]]] = {
        "pcn": ("PCN", "", {}),
        "rule50": ("threshold 50%", "", {"congested_fraction": 0.5}),
        "rule80": ("threshold 80%", "", {"congested_fraction": 0.8}),
        "rule90": ("threshold 90%", "", {"congested_fraction": 0.9}),
        "rule100": ("threshold 100%", "", {"congested_fraction": 1.0}),
        "tenth": ("T = RTT / 10 = 50 us", "", {"T": _RTT / 10}),
        "half": ("T = RTT / 2", "", {"T": _RTT / 2}),
        "double": ("T = 2 RTT", "", {"T": 2 * _RTT}),
        "fourfold": ("T = 4 RTT", "", {"T": 4 * _RTT}),
        "w/4": ("w_min = 0.025 / N", "", {"w_min/": 0.025}),
        "w*4": ("w_min = 0.4 / N", "", {"w_min/": 0.4}),
        "w128": ("w_min = 1/128", "", {"w_min": 1 / 128}),
        "rtt/5": ("RTT = T = 100 us", "", {"rtt": 100e-6}),
        "rtt*2": ("RTT = T = 1 ms", "", {"rtt": 1e-3}),
        "step": ("periods in step", "", {"phase_spread": 0.0}),
        "first": ("first period in full", "first window in full", {}),
        "gaps": ("RecRate by whole gaps", "whole gaps", {}),
    }

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for key, (_, variant, more) in self.settings.items() if PCN in schemes else ():
            for flows in self.flows:
                values = {"flows": flows, **_per_flow(more, flows)}
                for seed in SEEDS:
                    keys: dict[str, Key] = {"setting": key, "seed": seed, "flows": flows}
                    yield Run(keys, PCN, seed, values, variant)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        curves = (
            {"increases": increases_by_packets(recording)} if run.keys["setting"] == PCN else {}
        )
        return Outcome(run.keys, numbers(plan, recording), curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        return [
            row
            for key, (name, _, _) in self.settings.items()
            for row in jain_rows(outcomes, name, self.flows, setting=key)
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        increases = [
            line
            for flows in self.flows
            if flows != 16 and (line := _increases(outcomes, flows)).x.size
        ]
        groups = (
            ("The rule's threshold", ("pcn", "rule100", "rule90", "rule80", "rule50")),
            ("T", ("pcn", "tenth", "half", "double", "fourfold")),
            ("w_min", ("pcn", "w/4", "w*4", "w128")),
            ("Phases and RecRate", ("pcn", "step", "first", "gaps")),
        )
        by_packets = sorted(
            (outcome.numbers["packets"] or 0.0, outcome.numbers["jain"] or 0.0)
            for key in ("pcn", "double", "fourfold", "rtt/5", "rtt*2")
            for outcome in outcomes.where(setting=key)
        )
        jain = curve(
            "T >= RTT", [x for x, _ in by_packets], [y for _, y in by_packets], PCN, points=True
        )
        return [
            Chart("Increases", "Packets in the period", "Share of periods", increases),
            Chart(
                "All T and RTT",
                "Packets of a fair share in a period",
                "Jain's index",
                [jain],
                log_x=True,
                top=1.05,
            ),
            *(
                Chart(
                    title,
                    "Flows",
                    "Jain's index",
                    over_flows(
                        outcomes, "jain", {key: self.settings[key][0] for key in keys}, "setting"
                    ),
                    log_x=True,
                    top=1.05,
                )
                for title, keys in groups
            ),
        ]


class FairnessRules(Study):
    name = "pcn-x"
    schemes = (PCN, PCN_X)
    title = "PCN-X, and what each of its rules does"
    source = "study"
    about = (
        f"{_ABOUT} PCN, PCN-X, and PCN-X with one of its four rules as PCN has it. RTT = T = 500 "
        "us, w_min = 0.1/N, beta = 0.005. What it does for the victim stands in fairness.md."
    )
    flows = (4, 16, 64, 256, 1024)
    settings: Mapping[Key, tuple[str, str, str, bool]] = {
        "pcn": ("PCN", "pcn", "", False),
        "pcn-x": ("PCN-X", "pcn-x", "", False),
        "95%": ("95% rule", "pcn-x", "all marked", False),
        "bytes": ("RecRate = bytes / T", "pcn-x", "bytes over T", False),
        "down": ("RecRate rounded down", "pcn-x", "rounded down", False),
        "present": (
            "RecRate against the present rate",
            "pcn-x",
            "present rate",
            False,
        ),
        "w_min": ("decrease by w_min", "pcn-x", "", True),
    }

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for key, (_, scheme, variant, by_w_min) in self.settings.items():
            for flows in self.flows if scheme in schemes else ():
                values = {"flows": flows, **({"beta": 0.1 / flows} if by_w_min else {})}
                for seed in SEEDS:
                    keys: dict[str, Key] = {"setting": key, "seed": seed, "flows": flows}
                    yield Run(keys, scheme, seed, values, variant)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for key, (name, *_) in self.settings.items():
            rows += jain_rows(outcomes, name, self.flows, setting=key)
            full = outcomes.extreme("utilisation", False, setting=key)
            text = f"{name}: least utilisation (met: 0.97 and more; trend: above 0.9)"
            rows.append(FULL_AND_FAIR.row(text, full, at_least(0.97, 0.9), "utilisation"))
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        names = {key: name for key, (name, *_) in self.settings.items()}

        def panel(title: str, label: str, number: str, top: float | None = None) -> Chart:
            lines = over_flows(outcomes, number, names, "setting", schemes=True)
            return Chart(title, "Flows", label, lines, log_x=True, top=top)

        return [
            panel("Fairness", "Jain's index", "jain", 1.05),
            panel("Queue", "Mean queue (KB)", "queue_kb"),
            panel("Bottleneck", "Utilisation", "utilisation", 1.05),
        ]


def _increases(outcomes: Outcomes, flows: int) -> Line:
    """Returns the shares of `increases_by_packets` with PCN's own settings: means over the seeds,
    at numbers of packets that at least half of them have."""
    runs = outcomes.where(setting=PCN, flows=flows)
    shares: dict[float, list[float]] = {}
    for run in runs:
        for packets, share in zip(*run.curves["increases"], strict=True):
            shares.setdefault(packets, []).append(share)
    common = {x: shares[x] for x in sorted(shares) if 2 * len(shares[x]) >= len(runs)}
    means = [statistics.fmean(seeds) for seeds in common.values()]
    return curve(f"{flows} flows", list(common), means, points=True, seeds=list(common.values()))


def _per_flow(more: Mapping[str, float], flows: int) -> dict[str, float]:
    """Returns the fields of one flow: `w_min/` is w_min times the number of flows."""
    fields = dict(more)
    if "w_min/" in fields:
        fields["w_min"] = fields.pop("w_min/") / flows
    return fields
