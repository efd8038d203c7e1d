"""Fig. 19: the parking lot. F0 crosses N bottlenecks, every other flow one of them."""

from __future__ import annotations

import statistics
from collections.abc import Sequence

from experiments import measure
from experiments.checks import Check, at_least, at_most, near
from experiments.experiment import Plan
from experiments.outcomes import COMPARED, PCN, Case, Outcome, Outcomes, percent, ratio, said
from experiments.panels import Line, Panel, scheme_name
from experiments.papers.pcn.plans import parking_lot_plan, with_fields
from experiments.recording import Recording

BOTTLENECKS = (2, 4, 6, 8, 10)
SEEDS = {"timely": (1,)}
"""Of schemes in which a seed decides nothing; (1, 2) for all others."""
DURATIONS_S = {"pcn": 300e-3, "pcn-x": 300e-3, "qcn": 90e-3, "dcqcn": 90e-3, "timely": 500e-3}
"""Until flows are where they stay: differences between PCN's halve in 90 periods (0.31); TIMELY's come down to nearly
nothing at the start, and rise by 10 Mb/s in each least RTT."""
_OVER_S = 60e-3
_W_MIN = 1 / 128
RATE_GBPS = 40.0
_UTILISATION = {"pcn": 0.98, "qcn": 0.90, "dcqcn": 0.88, "timely": 0.95}
_WITHIN = " (met: within 5%; ordered: within a factor of 1.2)"
_OPEN = {
    "w_min = 0.1/2": ("pcn", {"w_min": 0.1 / 2}),
    "target set at each message": ("qcn", {"keep_target": 0.0}),
}
"""What is open, varied: scheme, fields."""


class Fig19:
    name = "fig19"
    title = "Multiple bottlenecks: the parking lot"
    source = "B.3, Fig. 19"
    about = (
        "N = 2 to 10 bottlenecks of 40 Gb/s in a row, every link 5 us. PCN's T is the largest RTT, F0's; w_min = "
        "1/128 (5.3). Measured over the last 60 ms: of 90 ms with QCN and DCQCN; of 300 with PCN, whose flows take "
        "longer to where they stay; of 500 with TIMELY, whose flows come down to nearly nothing at the start and rise "
        "by 10 Mb/s in each least RTT, here the largest of the network. Means over two seeds, which shift the NPs' "
        "timers against each other and draw QCN's samples; TIMELY has neither, and what is varied runs with one. "
        "Rates are of frames. QCN's link is half empty where each message sets the target rate (equation 2)."
    )

    def cases(self, schemes: Sequence[str]) -> list[Case]:
        return [
            Case({"scheme": scheme, "bottlenecks": n, "seed": seed}, _plan(scheme, seed, n))
            for scheme in COMPARED
            if scheme in schemes
            for n in BOTTLENECKS
            for seed in SEEDS.get(scheme, (1, 2))
        ] + [
            Case({"open": what, "bottlenecks": n, "seed": 1}, with_fields(_plan(scheme, 1, n), **fields))
            for what, (scheme, fields) in _OPEN.items()
            if scheme in schemes
            for n in BOTTLENECKS
        ]

    def measure(self, case: Case, recording: Recording) -> Outcome:
        plan = case.plan
        span = (max(plan.duration_s - _OVER_S, plan.duration_s / 3), plan.duration_s)
        frames = plan.frame_bytes / plan.payload_bytes
        numbers: dict[str, float | None] = {
            "utilisation": measure.throughput_bps(recording, str(plan.bottleneck), *span) / plan.capacity_bps,
            "from_start": measure.throughput_bps(recording, str(plan.bottleneck), 0.0, span[1]) / plan.capacity_bps,
            "f0_gbps": measure.goodput_bps(recording, "flow 0", *span) * frames / 1e9,
            "f1_gbps": measure.goodput_bps(recording, "flow 1", *span) * frames / 1e9,
            "pause": measure.pauses(recording, recording.links, *span),
        }
        return Outcome(case.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.schemes():
            least = _least(outcomes, "utilisation", scheme=scheme)
            claimed = _UTILISATION[scheme]
            rows.append(
                Check(
                    "0.58",
                    f"{scheme_name(scheme)}: least utilisation of link 1"
                    + (" (met: 0.98 and more; ordered: above 0.95)" if scheme == PCN else _WITHIN),
                    claimed,
                    None,
                    least,
                    "",
                    at_least(least, claimed, 0.95) if scheme == PCN else near(least, claimed, 0.05, 1.2),
                )
            )
        for scheme in ("dcqcn", "timely"):
            if scheme in outcomes.schemes():
                means = [outcomes.mean("from_start", scheme=scheme, bottlenecks=n) for n in BOTTLENECKS]
                known = [mean for mean in means if mean is not None]
                mean = statistics.fmean(known) if known else None
                text = f"{scheme_name(scheme)}: utilisation of link 1 from time 0, mean over N{_WITHIN}"
                claimed = _UTILISATION[scheme]
                rows.append(Check("0.58", text, claimed, None, mean, "", near(mean, claimed, 0.05, 1.2)))
        rows += _shares(outcomes, "PCN", scheme=PCN)
        for what, (scheme, _) in _OPEN.items():
            if outcomes.where(open=what):
                name, claimed = f"{scheme_name(scheme)}, {what}", _UTILISATION[scheme]
                least = _least(outcomes, "utilisation", open=what)
                text = f"{name}: least utilisation of link 1{_WITHIN}"
                rows.append(Check("0.58", text, claimed, None, least, "", near(least, claimed, 0.05, 1.2)))
                if scheme == PCN:
                    rows += _shares(outcomes, name, open=what)
        for scheme, what in (("qcn", "less"), ("dcqcn", "more")):
            if scheme not in outcomes.schemes():
                continue
            beyond = _beyond(outcomes, scheme, more=what == "more")
            rows.append(
                Check(
                    "0.59",
                    f"{scheme_name(scheme)}: N for which F0 has {what} than C / (N + 1) (met: all; ordered: more "
                    "than half)",
                    float(len(BOTTLENECKS)),
                    None,
                    beyond,
                    f"of {len(BOTTLENECKS)}",
                    at_least(beyond, len(BOTTLENECKS), len(BOTTLENECKS) / 2),
                )
            )
        most = outcomes.extreme("f0_gbps", True, scheme="dcqcn")
        if most is not None:
            rows.append(
                Check(
                    "0.59",
                    "DCQCN: largest F0, below max-min's C / 2",
                    RATE_GBPS / 2,
                    RATE_GBPS / 2,
                    most,
                    "Gbit/s",
                    at_most(most, RATE_GBPS / 2),
                )
            )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        most, (other, *_) = BOTTLENECKS[-1], _OPEN
        share = RATE_GBPS / (most + 1)
        keys: tuple[dict[str, str], ...] = ({"scheme": PCN}, {"open": other})
        f0 = [ratio(outcomes.mean("f0_gbps", bottlenecks=most, **one), share) for one in keys]
        full = [_least(outcomes, "utilisation", **one) for one in keys]
        if None in (*f0, *full):
            return []
        return [
            f"w_min decides about PCN: over {most} bottlenecks F0 gets {said(f0[0])} times C / (N + 1), with {other}, "
            f"for the two flows of each link (6.2), {said(f0[1])} times, and link 1 is {percent(full[0])} and "
            f"{percent(full[1])} full at least."
        ]

    def panels(self, outcomes: Outcomes) -> list[Panel]:
        def lines(number: str) -> list[Line]:
            return [
                outcomes.line(scheme_name(str(scheme)), "bottlenecks", number, scheme=scheme)
                for scheme in outcomes.values("scheme")
            ]

        share = Line(
            "C / (N + 1)", [float(n) for n in BOTTLENECKS], [RATE_GBPS / (n + 1) for n in BOTTLENECKS], dashed=True
        )
        return [
            Panel("F0", "Bottlenecks", "Rate (Gbit/s)", [*lines("f0_gbps"), share], top=22),
            Panel("F1", "Bottlenecks", "Rate (Gbit/s)", lines("f1_gbps"), top=42),
            Panel("Link 1", "Bottlenecks", "Utilisation", lines("utilisation"), bottom=0.9, top=1.01),
        ]


def _plan(scheme: str, seed: int, bottlenecks: int) -> Plan:
    return parking_lot_plan(scheme, seed, bottlenecks, DURATIONS_S[scheme], _W_MIN)


def _least(outcomes: Outcomes, number: str, **keys: str) -> float | None:
    """Of all N, the least mean over the seeds."""
    means = [outcomes.mean(number, bottlenecks=n, **keys) for n in BOTTLENECKS]
    return min((mean for mean in means if mean is not None), default=None)


def _shares(outcomes: Outcomes, what: str, **keys: str) -> list[Check]:
    """What F0 gets, by N."""
    rows = []
    for n in BOTTLENECKS:
        share = RATE_GBPS / (n + 1)
        f0 = outcomes.mean("f0_gbps", bottlenecks=n, **keys)
        text = f"{what}: F0 over {n} bottlenecks, C / (N + 1) (met: within 20%; ordered: within a factor of two)"
        rows.append(Check("0.59", text, share, share, f0, "Gbit/s", near(f0, share, 0.2)))
    return rows


def _beyond(outcomes: Outcomes, scheme: str, more: bool) -> float | None:
    found = [(n, outcomes.mean("f0_gbps", scheme=scheme, bottlenecks=n)) for n in BOTTLENECKS]
    if any(value is None for _, value in found):
        return None
    return float(sum((value > RATE_GBPS / (n + 1)) == more for n, value in found if value is not None))
