"""Fig. 19: the parking lot. F0 crosses N bottlenecks, every other flow one of them."""

from __future__ import annotations

from collections.abc import Sequence

from experiments.checks import Check, at_least, at_most, near
from experiments.paper import measure
from experiments.paper.base import COMPARED, PCN, Case, Outcome, Outcomes
from experiments.paper.panels import Line, Panel, scheme_name
from experiments.paper.plans import parking_lot_plan
from experiments.recording import Recording

BOTTLENECKS = (2, 4, 6, 8, 10)
SEEDS = {"timely": (1,)}
"""Of schemes whose flows have no NPs' timers to shift; (1, 2) for all others."""
DURATION_S, TIMELY_S = 90e-3, 500e-3
"""TIMELY comes down to nearly nothing at the start, and rises by 10 Mb/s in each least RTT."""
_OVER_S = 60e-3
RATE_GBPS = 40.0
_UTILISATION = {"pcn": 0.98, "qcn": 0.90, "dcqcn": 0.88, "timely": 0.95}


class Fig19:
    name = "fig19"
    title = "Multiple bottlenecks: the parking lot"
    source = "B.3, Fig. 19"
    about = (
        "N = 2 to 10 bottlenecks of 40 Gb/s in a row, every link 5 us. PCN's T is the largest RTT, F0's; w_min = "
        "0.1/2. 90 ms, measured over the last 60; 500 ms for TIMELY, also over the last 60, since its flows come "
        "down to nearly nothing at the start and rise by 10 Mb/s in each least RTT, here the largest of the network."
        " Means over two seeds, which shift the NPs' timers against each other; TIMELY has none. Rates are of "
        "frames."
    )

    def cases(self, schemes: Sequence[str]) -> list[Case]:
        return [
            Case(
                {"scheme": scheme, "bottlenecks": n, "seed": seed},
                parking_lot_plan(scheme, seed, n, TIMELY_S if scheme == "timely" else DURATION_S),
            )
            for scheme in COMPARED
            if scheme in schemes
            for n in BOTTLENECKS
            for seed in SEEDS.get(scheme, (1, 2))
        ]

    def measure(self, case: Case, recording: Recording) -> Outcome:
        plan = case.plan
        span = (max(plan.duration_s - _OVER_S, plan.duration_s / 3), plan.duration_s)
        frames = plan.frame_bytes / plan.payload_bytes
        numbers: dict[str, float | None] = {
            "utilisation": measure.throughput_bps(recording, str(plan.bottleneck), *span) / plan.capacity_bps,
            "f0_gbps": measure.goodput_bps(recording, "flow 0", *span) * frames / 1e9,
            "f1_gbps": measure.goodput_bps(recording, "flow 1", *span) * frames / 1e9,
            "pause": measure.pauses(recording, recording.links, *span),
        }
        return Outcome(case.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.schemes():
            least = min(
                (
                    value
                    for n in BOTTLENECKS
                    if (value := outcomes.mean("utilisation", scheme=scheme, bottlenecks=n)) is not None
                ),
                default=None,
            )
            claimed = _UTILISATION[scheme]
            rows.append(
                Check(
                    "0.58",
                    f"{scheme_name(scheme)}: least utilisation of link 1"
                    + (" (met: 0.98 and more)" if scheme == PCN else " (met: within 5%)"),
                    claimed,
                    None,
                    least,
                    "",
                    at_least(least, claimed, 0.95) if scheme == PCN else near(least, claimed, 0.05, 1.2),
                )
            )
        for n in BOTTLENECKS:
            share = RATE_GBPS / (n + 1)
            f0 = outcomes.mean("f0_gbps", scheme=PCN, bottlenecks=n)
            rows.append(
                Check(
                    "0.59",
                    f"PCN: F0 over {n} bottlenecks, C / (N + 1) (met: within 20%)",
                    share,
                    share,
                    f0,
                    "Gbit/s",
                    near(f0, share, 0.2),
                )
            )
        for scheme, what in (("qcn", "less"), ("dcqcn", "more")):
            if scheme not in outcomes.schemes():
                continue
            beyond = _beyond(outcomes, scheme, more=what == "more")
            rows.append(
                Check(
                    "0.59",
                    f"{scheme_name(scheme)}: N for which F0 has {what} than C / (N + 1) (met: all)",
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

    def panels(self, outcomes: Outcomes) -> list[Panel]:
        def lines(number: str) -> list[Line]:
            return [
                Line(
                    scheme_name(str(scheme)),
                    *outcomes.by("bottlenecks", number, scheme=scheme),
                    str(scheme),
                    points=True,
                )
                for scheme in outcomes.values("scheme")
            ]

        share = Line(
            "C / (N + 1)", [float(n) for n in BOTTLENECKS], [RATE_GBPS / (n + 1) for n in BOTTLENECKS], style=":"
        )
        return [
            Panel("F0", "Bottlenecks", "Rate (Gbit/s)", [*lines("f0_gbps"), share], top=22),
            Panel("F1", "Bottlenecks", "Rate (Gbit/s)", lines("f1_gbps"), top=42),
            Panel("Link 1", "Bottlenecks", "Utilisation", lines("utilisation"), top=1.05),
        ]


def _beyond(outcomes: Outcomes, scheme: str, more: bool) -> float | None:
    found = [(n, outcomes.mean("f0_gbps", scheme=scheme, bottlenecks=n)) for n in BOTTLENECKS]
    if any(value is None for _, value in found):
        return None
    return float(sum((value > RATE_GBPS / (n + 1)) == more for n, value in found if value is not None))
