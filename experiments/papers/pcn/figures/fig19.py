"""Fig. 19: the parking lot. F0 crosses N bottlenecks, every other flow one of them."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, numbers as given, with_fields
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check, at_least, at_most, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, number_text, percent, ratio
from pcn.experiments.papers.pcn.claims import COMPARED, LONG_FLOW, PARKING_LOT, PCN, PCN_X, SHOWN
from pcn.experiments.papers.pcn.plans import parking_lot_plan

BOTTLENECKS = (2, 4, 6, 8, 10)
SEEDS = {"timely": (1,)}
"""Of schemes in which a seed decides nothing; (1, 2) for all others."""
DURATIONS_S = {PCN: 300e-3, PCN_X: 300e-3, "qcn": 90e-3, "dcqcn": 90e-3, "timely": 500e-3}
"""Until flows are where they stay: differences between PCN's halve in 90 periods (0.31); TIMELY's
come down to nearly nothing at the start, and rise by 10 Mbit/s in each least RTT. Of any other
scheme as long as the longest."""
_OVER_S = 60e-3
_W_MIN = 1 / 128
RATE_GBPS = 40.0
_WITHIN = " (met: within 5%; trend: within a factor of 1.2)"
_OPEN = {
    "w_min = 0.1/2": (PCN, {"w_min": 0.1 / 2}),
    "target set at each message": ("qcn", {"keep_target": 0.0}),
}
"""What is open, varied: scheme, fields."""
_SLOW = ("dcqcn", "timely")
"""Whose link is full only some time after the start."""
_F0_HAS = {"qcn": "less", "dcqcn": "more"}


class Fig19(Experiment):
    name = "fig19"
    schemes = SHOWN
    title = "Multiple bottlenecks: the parking lot"
    source = "B.3, Fig. 19"
    about = (
        "N = 2 to 10 bottlenecks of 40 Gbit/s in a row, every link 5 us. PCN's T is the largest "
        "RTT, F0's; w_min = 1/128 (5.3). Measured over the last 60 ms: of 90 ms with QCN and "
        "DCQCN; of 300 with PCN, whose flows take longer to where they stay; of 500 with TIMELY, "
        "whose flows come down to nearly nothing at the start and rise by 10 Mbit/s in each least "
        "RTT, here the largest of the network. Means over two seeds, which shift the NPs' timers "
        "against each other and draw QCN's samples; TIMELY has neither, and what is varied runs "
        "with one. Rates are of frames. QCN's link is half empty where each message sets the "
        "target rate (equation 2)."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for scheme in schemes:
            for n in BOTTLENECKS:
                for seed in SEEDS.get(scheme, (1, 2)):
                    yield Run(
                        {"scheme": scheme, "bottlenecks": n, "seed": seed},
                        scheme,
                        seed,
                        {"bottlenecks": n},
                    )
        for setting, (scheme, fields) in _OPEN.items():
            for n in BOTTLENECKS if scheme in schemes else ():
                yield Run(
                    {"open": setting, "bottlenecks": n, "seed": 1},
                    scheme,
                    1,
                    {"bottlenecks": n, **fields},
                )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        fields = given(values)
        duration_s = DURATIONS_S.get(scheme, max(DURATIONS_S.values()))
        plan = parking_lot_plan(scheme, seed, round(fields.pop("bottlenecks")), duration_s, _W_MIN)
        return with_fields(plan, **fields) if fields else plan

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        span = (max(plan.duration_s - _OVER_S, plan.duration_s / 3), plan.duration_s)
        frames = plan.frame_bytes / plan.payload_bytes
        numbers: dict[str, float | None] = {
            "utilisation": recording_numbers.throughput_bps(recording, str(plan.bottleneck), *span)
            / plan.capacity_bps,
            "from_start": recording_numbers.throughput_bps(
                recording, str(plan.bottleneck), 0.0, span[1]
            )
            / plan.capacity_bps,
            "f0_gbps": recording_numbers.goodput_bps(recording, "flow 0", *span) * frames / 1e9,
            "f1_gbps": recording_numbers.goodput_bps(recording, "flow 1", *span) * frames / 1e9,
            "pause": recording_numbers.pauses(recording, recording.links, *span),
        }
        return Outcome(run.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        schemes, rows = outcomes.among(COMPARED), []
        for scheme in schemes:
            claimed, least = PARKING_LOT[scheme], _least(outcomes, "utilisation", scheme=scheme)
            band, rule = _WITHIN, near(claimed, 0.05, 1.2)
            if scheme == PCN:
                band, rule = (
                    f" (met: {claimed:g} and more; trend: above 0.95)",
                    at_least(claimed, 0.95),
                )
            rows.append(
                PARKING_LOT.row(
                    f"{label(scheme)}: least utilisation of link 1{band}", least, rule, scheme
                )
            )
        for scheme in (scheme for scheme in _SLOW if scheme in schemes):
            means = [outcomes.mean("from_start", scheme=scheme, bottlenecks=n) for n in BOTTLENECKS]
            known = [mean for mean in means if mean is not None]
            mean = statistics.fmean(known) if known else None
            text = f"{label(scheme)}: utilisation of link 1 from time 0, mean over N{_WITHIN}"
            rows.append(PARKING_LOT.row(text, mean, near(PARKING_LOT[scheme], 0.05, 1.2), scheme))
        rows += _shares(outcomes, "PCN", scheme=PCN)
        for setting, (scheme, _) in _OPEN.items():
            if outcomes.where(open=setting):
                name, least = (
                    f"{label(scheme)}, {setting}",
                    _least(outcomes, "utilisation", open=setting),
                )
                text = f"{name}: least utilisation of link 1{_WITHIN}"
                rows.append(
                    PARKING_LOT.row(text, least, near(PARKING_LOT[scheme], 0.05, 1.2), scheme)
                )
                if scheme == PCN:
                    rows += _shares(outcomes, name, open=setting)
        all_n = len(BOTTLENECKS)
        for scheme, amount in _F0_HAS.items():
            if scheme in schemes:
                beyond = _beyond(outcomes, scheme, more=amount == "more")
                text = (
                    f"{label(scheme)}: N for which F0 has {amount} than C / (N + 1) (met: all; "
                    "trend: more than half)"
                )
                rule = at_least(all_n, all_n / 2)
                rows.append(
                    LONG_FLOW.row(text, beyond, rule, paper=float(all_n), unit=f"of {all_n}")
                )
        most, half = outcomes.extreme("f0_gbps", True, scheme="dcqcn"), RATE_GBPS / 2
        if most is not None:
            text = "DCQCN: largest F0, below max-min's C / 2"
            rows.append(LONG_FLOW.row(text, most, at_most(half), paper=half, theory=half))
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        most, (setting, *_) = BOTTLENECKS[-1], _OPEN
        share = RATE_GBPS / (most + 1)
        keys: tuple[dict[str, str], ...] = ({"scheme": PCN}, {"open": setting})
        f0 = [ratio(outcomes.mean("f0_gbps", bottlenecks=most, **key), share) for key in keys]
        full = [_least(outcomes, "utilisation", **key) for key in keys]
        if None in (*f0, *full):
            return []
        return [
            f"w_min decides about PCN: over {most} bottlenecks F0 gets {number_text(f0[0])} times "
            "C / (N "
            f"+ 1), with {setting}, for the two flows of each link (6.2), {number_text(f0[1])} "
            "times, and "
            f"link 1 is {percent(full[0])} and {percent(full[1])} full at least."
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        def lines(number: str) -> list[Line]:
            return [
                outcomes.line(label(str(scheme)), "bottlenecks", number, scheme=scheme)
                for scheme in outcomes.values("scheme")
            ]

        share = curve(
            "C / (N + 1)",
            [float(n) for n in BOTTLENECKS],
            [RATE_GBPS / (n + 1) for n in BOTTLENECKS],
            stroke="dashed",
        )
        stated = [
            curve(
                f"{label(str(scheme))}, the paper",
                [float(BOTTLENECKS[0]), float(BOTTLENECKS[-1])],
                [PARKING_LOT[str(scheme)]] * 2,
                str(scheme),
                stroke="dotted",
            )
            for scheme in outcomes.values("scheme")
            if scheme in PARKING_LOT.paper
        ]
        return [
            Chart("F0", "Bottlenecks", "Rate (Gbit/s)", [*lines("f0_gbps"), share], top=22),
            Chart("F1", "Bottlenecks", "Rate (Gbit/s)", lines("f1_gbps"), top=42),
            Chart(
                "Link 1",
                "Bottlenecks",
                "Utilisation",
                [*lines("utilisation"), *stated],
                bottom=0.86,
                top=1.01,
            ),
        ]


def _least(outcomes: Outcomes, number: str, **keys: str) -> float | None:
    """Returns the least mean over the seeds of all N."""
    means = [outcomes.mean(number, bottlenecks=n, **keys) for n in BOTTLENECKS]
    return min((mean for mean in means if mean is not None), default=None)


def _shares(outcomes: Outcomes, name: str, **keys: str) -> list[Check]:
    """Returns what F0 gets, by N."""
    rows = []
    for n in BOTTLENECKS:
        share = RATE_GBPS / (n + 1)
        f0 = outcomes.mean("f0_gbps", bottlenecks=n, **keys)
        text = (
            f"{name}: F0 over {n} bottlenecks, C / (N + 1) (met: within 20%; trend: within a "
            "factor of two)"
        )
        rows.append(LONG_FLOW.row(text, f0, near(share, 0.2), paper=share, theory=share))
    return rows


def _beyond(outcomes: Outcomes, scheme: str, more: bool) -> float | None:
    means = [(n, outcomes.mean("f0_gbps", scheme=scheme, bottlenecks=n)) for n in BOTTLENECKS]
    if any(value is None for _, value in means):
        return None
    return float(
        sum((value > RATE_GBPS / (n + 1)) == more for n, value in means if value is not None)
    )
