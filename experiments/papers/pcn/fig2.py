"""Fig. 2 and 3: the victim scenario with each scheme, at exact line rate."""

from __future__ import annotations

from collections.abc import Sequence

from experiments import measure
from experiments.analysis import steady_state
from experiments.checks import Check, Verdict, near
from experiments.outcomes import PCN, Case, Outcome, Outcomes, said
from experiments.panels import Line, Panel, scheme_name
from experiments.papers.pcn.plans import TIMELY_SEGMENT_BYTES, with_fields
from experiments.papers.pcn.victim import Victim
from experiments.papers.pcn.victim_setting import burst_s
from experiments.parameters import Value
from experiments.recording import Recording
from experiments.variants import PUBLISHED_PACKETS, PUBLISHED_SEGMENTS, FallingRtts, timely_with
from experiments.virtual import Variant
from topologies.compact import P0_S0

_SCHEMES = ("pfc", "qcn", "dcqcn", "timely", "pcn", "pcn-x")
_TREE_MS = {"pfc": 3.1, "qcn": 0.5, "dcqcn": 1.8, "timely": 1.4}
_LOSS_MS = {"qcn": 12.5, "dcqcn": 25.0, "timely": 60.0}
_TIMELY_RUN_S = 150e-3
_TIMELY: dict[str, Value] = {
    "segment": TIMELY_SEGMENT_BYTES,
    "min_rtt": 30e-6,
    "before": 100e-3,
    "duration": _TIMELY_RUN_S,
}
"""As all figures have it, in runs longer than the scenario's."""
_OPEN: dict[str, tuple[str, dict[str, Value], Variant, dict[str, float]]] = {
    "a tenth of the samples": ("qcn", {"sample": 1.5e6}, Variant(), {}),
    "least RTT of 20 us, as TIMELY's paper has it": ("timely", {"min_rtt": 20e-6}, Variant(), {}),
    "the RTT of every packet": ("timely", {"segment": 1000}, Variant(), {}),
    "one RTT each 64 KB": ("timely", {"segment": 64_000, "before": 400e-3}, Variant(), {}),
    "one RTT each 64 KB and decreases without a bound, Algorithm 1 as printed": (
        "timely",
        {"segment": 64_000, "before": 400e-3, "timely_max_decrease": 1.0},
        Variant(),
        {},
    ),
    "its authors' code's values, every packet": (
        "timely",
        {},
        Variant(timely_with(FallingRtts)),
        PUBLISHED_PACKETS,
    ),
    "its authors' code's values, 64 KB": (
        "timely",
        {"before": 400e-3},
        Variant(timely_with(FallingRtts)),
        PUBLISHED_SEGMENTS,
    ),
}
"""What is open, varied: scheme, the scenario's values, variant, fields."""
SHOWN_S = 80e-3
RATE_GBPS = 40.0


class Fig2:
    name = "fig2"
    title = "Interactions of PFC and congestion control: the victim flow"
    source = "3.1, Fig. 2 and 3"
    about = (
        "Fig. 1's network: F0 and F1 send, at time 0 each of H2 to H15 starts 16 flows of 64 KB to R1. The tree lasts "
        "from the first to the last PAUSE that S1 or S0 holds up; throughput is lost until S0 to S1 is at 95% of its "
        "rate again. F0 and F1 are in each scheme's steady state at time 0. TIMELY takes an RTT each 16 KB, its "
        "smallest segment; its steps are in proportion to the time between two and no decrease is of more than a half, "
        "as in its authors' code, which PCN's authors used (7). What is open there decides about what is lost: rates "
        "grow by 10 Mb/s in each least RTT, or in each segment where that takes longer. In the picture each panel has "
        "a time axis of its own."
    )

    def cases(self, schemes: Sequence[str]) -> list[Case]:
        scenario = Victim()
        cases = [
            Case({"scheme": scheme, "seed": 1}, scenario.plan(scheme, 1, _TIMELY if scheme == "timely" else {}))
            for scheme in _SCHEMES
            if scheme in schemes
        ]
        for what, (scheme, values, variant, fields) in _OPEN.items():
            if scheme in schemes:
                plan = scenario.plan(scheme, 1, (_TIMELY if scheme == "timely" else {}) | values)
                cases.append(Case({"open": what, "seed": 1}, with_fields(plan, **fields), variant))
        return cases

    def measure(self, case: Case, recording: Recording) -> Outcome:
        plan, scenario = case.plan, Victim()
        steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, plan.steady_from_s)
        trunk = recording.series.get(str(P0_S0), "transmitted_bytes")
        shown_s = min(plan.duration_s, SHOWN_S)
        curves = {
            "trunk": measure.binned(*trunk, -2e-3, shown_s, 8e-9),
            "f0": measure.binned(*recording.series.get("flow 0", "received_bytes"), -2e-3, shown_s, 8e-9),
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
            claim = "0.21" if scheme == "pfc" else "0.22"
            rows.append(_tree(claim, scheme_name(scheme), scheme, trees[scheme], trees.get("pfc")))
        for scheme in (one for one in present if one in _LOSS_MS):
            full, ours = (_ms(outcomes.mean("full_s", scheme=one)) for one in (scheme, PCN))
            verdict = near(full, _LOSS_MS[scheme], 0.5, 1.0)
            if verdict == "not met" and full is not None and ours is not None and full > ours:
                verdict = "ordered"
            rows.append(
                Check("0.23", f"{scheme_name(scheme)}: throughput is lost (met: within 50%; ordered: longer than PCN)",
                      _LOSS_MS[scheme], None, full, "ms", verdict)
            )  # fmt: skip
        for what, (scheme, _, _, _) in _OPEN.items():
            for outcome in outcomes.where(open=what):
                name, full = f"{scheme_name(scheme)}, {what}", outcome.numbers["full_s"]
                to_end = full is None and scheme == "timely"
                lost = _ms(_TIMELY_RUN_S if to_end else full)
                until = ", to the run's end" if to_end else ""
                claimed = _LOSS_MS[scheme]
                rows.append(
                    Check("0.23",
                          f"{name}: throughput is lost{until} (met: within 50%; ordered: within a factor of two)",
                          claimed, None, lost, "ms", near(lost, claimed, 0.5))
                )  # fmt: skip
                rows.append(_tree("0.22", name, scheme, _ms(outcome.numbers["tree_s"]), trees.get("pfc")))
        for outcome in outcomes.where(scheme=PCN):
            rows += outcome.checks
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        if not outcomes.where(scheme="timely"):
            return []

        def full(**keys: str) -> str:
            value = _ms(outcomes.mean("full_s", **keys))
            return f"in {said(value, 'ms')}" if value is not None else f"not in {_TIMELY_RUN_S * 1e3:g} ms"

        def tree(**keys: str) -> str:
            return said(_ms(outcomes.mean("tree_s", **keys)), "ms")

        return [
            f"TIMELY's link is full again {full(scheme='timely')} here; by the RTTs of single packets "
            f"{full(open='the RTT of every packet')}, since F1 reacts at once, and by those of 64 KB "
            f"{full(open='one RTT each 64 KB')}, since both flows come down to nearly nothing (paper: "
            f"{_LOSS_MS['timely']:g} ms).",
            "How long the tree lasts depends on how soon F1 knows. TIMELY: "
            f"{tree(scheme='timely')} by RTTs of 16 KB, {tree(open='one RTT each 64 KB')} by those of 64, "
            f"{tree(open='one RTT each 64 KB and decreases without a bound, Algorithm 1 as printed')} where decreases "
            f"have no bound, {tree(scheme='pfc')} with PFC alone. QCN, whose switch has a sample of F1 in time: "
            f"{tree(scheme='qcn')}, and with a tenth of the samples {tree(open='a tenth of the samples')}. DCQCN's "
            f"{tree(scheme='dcqcn')} depend on its alpha at time 0 ([victim.md](victim.md#before-time-0)).",
        ]

    def panels(self, outcomes: Outcomes) -> list[Panel]:
        shown = [one for one in outcomes.where(seed=1) if "scheme" in one.keys]
        burst_ms = burst_s(Victim().plan(PCN, 1, {})) * 1e3
        return [
            Panel(
                scheme_name(str(one.keys["scheme"])),
                "Time (ms)",
                "Throughput, goodput (Gbit/s)" if not place % 3 else "",
                [Line("S0 to S1", *one.curves["trunk"]), Line("F0, the victim", *one.curves["f0"])],
                top=RATE_GBPS * 1.06,
                band=(0.0, burst_ms, "bursts"),
                columns=3,
            )
            for place, one in enumerate(shown)
        ]


def _tree(claim: str, what: str, scheme: str, tree: float | None, pfc: float | None) -> Check:
    """How long the tree of this scheme lasts, in ms, against the paper's and PFC's."""
    verdict: Verdict = near(tree, _TREE_MS[scheme], 0.5, 1.0)
    if verdict == "not met" and tree is not None and pfc is not None and tree < pfc:
        verdict = "ordered"
    text = f"{what}: the tree lasts (met: within 50%; ordered: shorter than with PFC alone)"
    return Check(claim, text, _TREE_MS[scheme], None, tree, "ms", verdict)


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
