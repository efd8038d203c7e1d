"""Fig. 2 and 3: the victim scenario with each scheme, at exact line rate."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.analysis import steady_state
from experiments.checks import Check, Verdict, near
from experiments.paper import measure
from experiments.paper.base import PCN, Case, Outcome, Outcomes
from experiments.paper.plots import Line, Panel, scheme_name
from experiments.recording import Recording
from experiments.scenarios import SCENARIOS
from topologies.compact import P0_S0

_SCHEMES = ("pfc", "qcn", "dcqcn", "timely", "pcn", "pcn-x")
_TREE_MS = {"pfc": 3.1, "qcn": 0.5, "dcqcn": 1.8, "timely": 1.4}
_LOSS_MS = {"qcn": 12.5, "dcqcn": 25.0, "timely": 60.0}


class Fig2:
    name = "fig2"
    title = "Interactions of PFC and congestion control: the victim flow"
    source = "3.1, Fig. 2 and 3"
    about = (
        "Fig. 1's network: F0 and F1 send, at time 0 each of H2 to H15 starts 16 flows of 64 KB to R1. The tree lasts "
        "from the first to the last PAUSE that S1 or S0 holds up; throughput is lost until S0 to S1 is at 95% of its "
        "rate again. F0 and F1 are in each scheme's steady state at time 0."
    )

    def cases(self, schemes: Sequence[str]) -> list[Case]:
        scenario = SCENARIOS["victim"]
        return [
            Case({"scheme": scheme, "seed": 1}, scenario.plan(scheme, 1, {}))
            for scheme in _SCHEMES
            if scheme in schemes
        ]

    def measure(self, case: Case, recording: Recording) -> Outcome:
        plan, scenario = case.plan, SCENARIOS["victim"]
        steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, plan.steady_from_s)
        trunk = recording.series.get(str(P0_S0), "transmitted_bytes")
        curves = {
            "trunk": measure.binned(*trunk, -2e-3, plan.duration_s, 8e-9),
            "f0": measure.binned(*recording.series.get("flow 0", "received_bytes"), -2e-3, plan.duration_s, 8e-9),
        }
        return Outcome(
            case.keys,
            dict(scenario.measures(plan, recording)),
            curves,
            tuple(scenario.checks(plan, recording, steady)),
        )

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        present = [str(one) for one in outcomes.values("scheme")]
        trees = {scheme: _ms(outcomes.mean("tree_s", scheme=scheme)) for scheme in present}
        for scheme in (one for one in present if one in _TREE_MS):
            tree, pfc = trees[scheme], trees.get("pfc")
            verdict: Verdict = near(tree, _TREE_MS[scheme], 0.5, 1.0)
            if verdict == "not met" and tree is not None and pfc is not None and tree < pfc:
                verdict = "ordered"
            rows.append(
                Check("0.21" if scheme == "pfc" else "0.22",
                      f"{scheme_name(scheme)}: the tree lasts (met: within 50%; ordered: shorter than with PFC alone)",
                      _TREE_MS[scheme], None, tree, "ms", verdict)
            )  # fmt: skip
        for scheme in (one for one in present if one in _LOSS_MS):
            full, ours = (_ms(outcomes.mean("full_s", scheme=one)) for one in (scheme, PCN))
            verdict = near(full, _LOSS_MS[scheme], 0.5, 1.0)
            if verdict == "not met" and full is not None and ours is not None and full > ours:
                verdict = "ordered"
            rows.append(
                Check("0.23", f"{scheme_name(scheme)}: throughput is lost (met: within 50%; ordered: longer than PCN)",
                      _LOSS_MS[scheme], None, full, "ms", verdict)
            )  # fmt: skip
        for outcome in outcomes.where(scheme=PCN):
            rows += outcome.checks
        return rows

    def panels(self, outcomes: Outcomes) -> list[Panel]:
        def lines(curve: str) -> list[Line]:
            return [
                Line(scheme_name(str(one.keys["scheme"])), *one.curves[curve], str(one.keys["scheme"]))
                for one in outcomes.where(seed=1)
            ]

        return [
            Panel("S0 to S1", "Time (ms)", "Throughput (Gbit/s)", lines("trunk")),
            Panel("F0, the victim", "Time (ms)", "Goodput (Gbit/s)", lines("f0")),
        ]


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
