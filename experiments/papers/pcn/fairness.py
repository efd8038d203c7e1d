"""Studies beyond the paper, on the dumbbell of 7.1 and B.1: what decides whether PCN is fair (docs/fairness.md)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from experiments import analysis
from experiments.analysis import steady_state
from experiments.checks import Check, at_least
from experiments.outcomes import PCN, Case, Curve, Key, Outcome, Outcomes
from experiments.panels import Line, Panel
from experiments.papers.pcn.plans import dumbbell_plan
from experiments.recording import Recording
from experiments.variants import (
    AllMarked,
    BytesOverT,
    FirstWindowInFull,
    PresentRate,
    RoundedDown,
    WholeGaps,
    pcn_with,
    pcn_x_with,
)
from experiments.virtual import Variant

FAIR = 0.9
FAIRNESS = "fairness.md#why-fairness-falls-with-the-number-of-flows"
DURATION_S, FROM_S = 0.3, 0.15
_RTT = 500e-6
_ABOUT = "300 ms on the dumbbell, 10 Gb/s, measured over the last 150."


def dumbbell_case(
    keys: Mapping[str, Key], flows: int, scheme: str, variant: Variant | None = None, **more: float
) -> Case:
    plan = dumbbell_plan(scheme, round(float(keys.get("seed", 1))), DURATION_S, flows, 1e-3, **more)
    return Case({**keys, "flows": flows}, plan, variant or Variant())


def dumbbell_outcome(case: Case, recording: Recording, curves: Mapping[str, Curve] | None = None) -> Outcome:
    plan = case.plan
    steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, FROM_S)
    empty = analysis.drained(recording, plan.bottleneck)
    goodput = np.array(list(steady.goodput_bps.values()))
    port = recording.ports[str(plan.bottleneck)]
    numbers: dict[str, float | None] = {
        "jain": steady.jain,
        "packets": plan.capacity_bps * plan.number("T") / 8 / plan.frame_bytes / goodput.size,
        "utilisation": steady.utilisation,
        "queue_kb": steady.queue_bytes_mean / 1e3,
        "drained_ms": None if empty is None or empty > DURATION_S else empty * 1e3,
        "least_share": float(goodput.min() / goodput.mean()),
        "largest_share": float(goodput.max() / goodput.mean()),
        "marked": port.marked / port.transmitted,
    }
    return Outcome(case.keys, numbers, curves or {})


def jain_rows(outcomes: Outcomes, what: str, flows: Iterable[int], **keys: Key) -> list[Check]:
    rows = []
    for n in flows:
        index = outcomes.mean("jain", flows=n, **keys)
        text = f"{what}: Jain's index, {n} flows (met: {FAIR:g} and more; ordered: above 0.8)"
        rows.append(Check("0.55", text, 1.0, 1.0, index, "", at_least(index, FAIR, 0.8), FAIRNESS))
    return rows


def over_flows(
    outcomes: Outcomes, number: str, names: Mapping[Key, str], key: str, schemes: bool = False
) -> list[Line]:
    return [
        outcomes.line(name, "flows", number, str(value) if schemes else "", **{key: value})
        for value, name in names.items()
    ]


def increases_by_packets(recording: Recording, most: int = 24) -> Curve:
    """Share of the NPs' windows that ended in an increase, by how many packets they had, from FROM_S on."""
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


class MarkingPoint:
    name = "marking"
    title = "Where NP-ECN measures the queue"
    source = "study; 5.1, threshold zero"
    about = (
        f'{_ABOUT} PCN with three readings of "threshold zero": a packet is marked if it found packets waiting when it '
        "arrived (as everywhere else here), if it had to wait at all, or if it leaves packets behind when it departs. "
        "Waiting is measured with v1model's time stamps, whole microseconds; a frame takes less. Means over two seeds."
    )
    readings: Mapping[Key, str] = {
        "pcn_native": "found waiting",
        "pcn_waited_native": "had to wait",
        "pcn_left_behind_native": "left behind",
    }
    flows = (4, 16, 64, 256)

    def cases(self, schemes: Sequence[str]) -> list[Case]:
        return [
            dumbbell_case({"reading": program, "seed": seed}, flows, PCN, Variant(program=str(program)))
            for program in self.readings
            for flows in self.flows
            for seed in (1, 2)
            if PCN in schemes
        ]

    def measure(self, case: Case, recording: Recording) -> Outcome:
        return dumbbell_outcome(case, recording)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for program, name in self.readings.items():
            rows += jain_rows(outcomes, name, self.flows, reading=program)
            full = outcomes.extreme("utilisation", False, reading=program)
            rows.append(
                Check(
                    "0.55",
                    f"{name}: least utilisation (met: 0.97 and more; ordered: above 0.9)",
                    1.0,
                    None,
                    full,
                    "",
                    at_least(full, 0.97, 0.9),
                )
            )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        return []

    def panels(self, outcomes: Outcomes) -> list[Panel]:
        def panel(title: str, label: str, number: str, top: float | None = None) -> Panel:
            lines = over_flows(outcomes, number, self.readings, "reading")
            return Panel(title, "Flows", label, lines, log_x=True, top=top)

        return [
            panel("Fairness", "Jain's index", "jain", 1.05),
            panel("Queue", "Mean queue (KB)", "queue_kb"),
            panel("Bottleneck", "Utilisation", "utilisation", 1.05),
        ]


class FairnessSweep:
    name = "fairness"
    title = "What PCN's fairness depends on"
    source = "study; B.1, Fig. 17"
    about = (
        f"{_ABOUT} PCN with T = RTT = 500 us, w_min = 0.1/N and the 95% rule, and one of these changed: the rule's "
        "threshold, T, w_min, RTT (with T), the NPs' phases (all flows' periods in step), how the first, partial "
        "period counts, RecRate by whole gaps. First panel: share of the periods that end in an increase, by packets "
        "in them. Second: all runs with other T or RTT, by the packets that a fair share has in a period."
    )
    flows = (16, 64, 256)
    settings: Mapping[Key, tuple[str, Variant, Mapping[str, float]]] = {
        "pcn": ("PCN", Variant(), {}),
        "rule50": ("threshold 50%", Variant(), {"congested_fraction": 0.5}),
        "rule80": ("threshold 80%", Variant(), {"congested_fraction": 0.8}),
        "rule90": ("threshold 90%", Variant(), {"congested_fraction": 0.9}),
        "rule100": ("threshold 100%", Variant(), {"congested_fraction": 1.0}),
        "tenth": ("T = RTT / 10 = 50 us", Variant(), {"T": _RTT / 10}),
        "half": ("T = RTT / 2", Variant(), {"T": _RTT / 2}),
        "double": ("T = 2 RTT", Variant(), {"T": 2 * _RTT}),
        "fourfold": ("T = 4 RTT", Variant(), {"T": 4 * _RTT}),
        "w/4": ("w_min = 0.025 / N", Variant(), {"w_min/": 0.025}),
        "w*4": ("w_min = 0.4 / N", Variant(), {"w_min/": 0.4}),
        "w128": ("w_min = 1/128", Variant(), {"w_min": 1 / 128}),
        "rtt/5": ("RTT = T = 100 us", Variant(), {"rtt": 100e-6}),
        "rtt*2": ("RTT = T = 1 ms", Variant(), {"rtt": 1e-3}),
        "step": ("periods in step", Variant(), {"phase_spread": 0.0}),
        "first": ("first period in full", Variant(pcn_with(FirstWindowInFull)), {}),
        "gaps": ("RecRate by whole gaps", Variant(pcn_with(WholeGaps)), {}),
    }

    def cases(self, schemes: Sequence[str]) -> list[Case]:
        return [
            dumbbell_case({"setting": key, "seed": 1}, flows, PCN, variant, **_per_flow(more, flows))
            for key, (_, variant, more) in self.settings.items()
            for flows in self.flows
            if PCN in schemes
        ]

    def measure(self, case: Case, recording: Recording) -> Outcome:
        curves = {"increases": increases_by_packets(recording)} if case.keys["setting"] == "pcn" else {}
        return dumbbell_outcome(case, recording, curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        return [
            row
            for key, (name, _, _) in self.settings.items()
            for row in jain_rows(outcomes, name, self.flows, setting=key)
        ]

    def story(self, outcomes: Outcomes) -> list[str]:
        return []

    def panels(self, outcomes: Outcomes) -> list[Panel]:
        increases = [
            Line(f"{one.keys['flows']} flows", *one.curves["increases"], points=True)
            for one in outcomes.where(setting="pcn")
            if one.keys["flows"] != 16
        ]
        groups = (
            ("The rule's threshold", ("pcn", "rule100", "rule90", "rule80", "rule50")),
            ("T", ("pcn", "tenth", "half", "double", "fourfold")),
            ("w_min", ("pcn", "w/4", "w*4", "w128")),
            ("Phases and RecRate", ("pcn", "step", "first", "gaps")),
        )
        by_packets = sorted(
            (one.numbers["packets"] or 0.0, one.numbers["jain"] or 0.0)
            for key in ("pcn", "double", "fourfold", "rtt/5", "rtt*2")
            for one in outcomes.where(setting=key)
        )
        jain = Line("T >= RTT", [x for x, _ in by_packets], [y for _, y in by_packets], PCN, points=True)
        return [
            Panel("Increases", "Packets in the period", "Share of periods", increases),
            Panel("All T and RTT", "Packets of a fair share in a period", "Jain's index", [jain], log_x=True, top=1.05),
            *(
                Panel(
                    title,
                    "Flows",
                    "Jain's index",
                    over_flows(outcomes, "jain", {key: self.settings[key][0] for key in keys}, "setting"),
                    log_x=True,
                    top=1.05,
                )
                for title, keys in groups
            ),
        ]


class FairnessRules:
    name = "pcn-x"
    title = "PCN-X, and what each of its rules does"
    source = "study"
    about = (
        f"{_ABOUT} PCN, PCN-X, and PCN-X with one of its four rules as PCN has it. RTT = T = 500 us, w_min = 0.1/N, "
        "beta = 0.005. What it does for the victim stands in fairness.md."
    )
    flows = (4, 16, 64, 256, 1024)
    settings: Mapping[Key, tuple[str, str, Variant, bool]] = {
        "pcn": ("PCN", "pcn", Variant(), False),
        "pcn-x": ("PCN-X", "pcn-x", Variant(), False),
        "95%": ("95% rule", "pcn-x", Variant(pcn_x_with(AllMarked)), False),
        "bytes": ("RecRate = bytes / T", "pcn-x", Variant(pcn_x_with(BytesOverT)), False),
        "down": ("RecRate rounded down", "pcn-x", Variant(pcn_x_with(RoundedDown)), False),
        "present": (
            "RecRate against the present rate",
            "pcn-x",
            Variant(pcn_x_with(reaction_point=PresentRate)),
            False,
        ),
        "w_min": ("decrease by w_min", "pcn-x", Variant(), True),
    }

    def cases(self, schemes: Sequence[str]) -> list[Case]:
        return [
            dumbbell_case(
                {"setting": key, "seed": 1}, flows, scheme, variant, **({"beta": 0.1 / flows} if by_w_min else {})
            )
            for key, (_, scheme, variant, by_w_min) in self.settings.items()
            for flows in self.flows
            if scheme in schemes
        ]

    def measure(self, case: Case, recording: Recording) -> Outcome:
        return dumbbell_outcome(case, recording)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for key, (name, *_) in self.settings.items():
            rows += jain_rows(outcomes, name, self.flows, setting=key)
            full = outcomes.extreme("utilisation", False, setting=key)
            rows.append(
                Check(
                    "0.55",
                    f"{name}: least utilisation (met: 0.97 and more; ordered: above 0.9)",
                    1.0,
                    None,
                    full,
                    "",
                    at_least(full, 0.97, 0.9),
                )
            )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        return []

    def panels(self, outcomes: Outcomes) -> list[Panel]:
        names = {key: name for key, (name, *_) in self.settings.items()}

        def panel(title: str, label: str, number: str, top: float | None = None) -> Panel:
            lines = over_flows(outcomes, number, names, "setting", schemes=True)
            return Panel(title, "Flows", label, lines, log_x=True, top=top)

        return [
            panel("Fairness", "Jain's index", "jain", 1.05),
            panel("Queue", "Mean queue (KB)", "queue_kb"),
            panel("Bottleneck", "Utilisation", "utilisation", 1.05),
        ]


def _per_flow(more: Mapping[str, float], flows: int) -> dict[str, float]:
    """`w_min/` is w_min times the number of flows."""
    made = dict(more)
    if "w_min/" in made:
        made["w_min"] = made.pop("w_min/") / flows
    return made
