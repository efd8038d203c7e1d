"""Fig. 18: bursts that come and go on Fig. 1's network, at intervals from 50 us to 5 ms."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator, Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import HEADER_BYTES, PAYLOAD_BYTES, Plan, numbers
from pcn.experiments.data.recording import Recording
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import BesidePaper, Chart, Line, beside_paper, curve
from pcn.experiments.define.checks import Check, Verdict, at_least, at_most, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, number_text
from pcn.experiments.define.workloads import bursts
from pcn.experiments.papers.pcn.claims import COMPARED, FILLED, LONG_INTERVALS, NO_TREE, PCN, SHOWN
from pcn.experiments.papers.pcn.plans import compact_plan
from pcn.topologies.compact import P0_S0, P2_S1, compact

INTERVALS_US = (50, 100, 200, 500, 1000, 2000, 5000)
BURST_BYTES = 64_000
BEFORE_S, FROM_S = 250e-3, 20e-3
"""Measured from 20 ms on: by then the first bursts have had their effect on every scheme."""
_DURATION_S = 100e-3
_LONG = {"flows": 16, "every_us": 5000}
"""3.1's bursts, at the longest interval."""
_OVERLOAD_S = 14 * BURST_BYTES * 8 * (1 + HEADER_BYTES / PAYLOAD_BYTES) / 40e9
"""The time in which R1 receives one burst."""
_LATE = (
    "throughput of S1 to R1, 3.1's bursts every 5 ms (met: within 10%; trend: within a factor of "
    "1.5)"
)

_OTHER_W_MIN = 1 / 128
"""5.3's. Run at the intervals at which R1 isn't overloaded."""


class Fig18(Experiment):
    name = "fig18"
    schemes = SHOWN
    title = "Adversarial traffic"
    source = "B.2, Fig. 18"
    about = (
        "Fig. 1's network: F0 and F1 send all the time, 250 ms of it before the first burst. The "
        "paper gives no size of a burst. In the first three panels each of H2 to H15 starts one "
        "flow of 64 KB to R1 at each interval, measured from 20 to 100 ms after the first. Below "
        f"{_OVERLOAD_S * 1e6:.0f} us R1 is overloaded and flows pile up. The fourth panel has "
        "3.1's bursts, 16 such flows each, at the longest interval, 5 ms: R1 would be overloaded "
        f"at all below {16 * _OVERLOAD_S * 1e3:.2g} ms. With these S1 to R1 carries the rate of "
        "B.2. QCN and TIMELY leave S0 to S1 idle since F0 takes long to rise to what F1 leaves. "
        "PCN with T = 50 us, w_min = 0.1/2. Rates are of frames."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for scheme in schemes:
            for us in INTERVALS_US:
                single = {"flows": 1, "every_us": us}
                yield Run({"scheme": scheme, "interval_us": us, "seed": 1}, scheme, 1, single)
        for scheme in schemes:
            yield Run({"scheme": scheme, **_LONG, "seed": 1}, scheme, 1, _LONG)
        if PCN in schemes:
            for us in (us for us in INTERVALS_US if us >= 200):
                values = {"flows": 1, "every_us": us, "w_min": _OTHER_W_MIN}
                yield Run({"w_min": "1/128", "interval_us": us, "seed": 1}, PCN, 1, values)
            yield Run(
                {"w_min": "1/128", **_LONG, "seed": 1}, PCN, 1, {**_LONG, "w_min": _OTHER_W_MIN}
            )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        more = numbers(values)
        per_sender, every_us = round(more.pop("flows")), more.pop("every_us")
        senders = [f"h{i}" for i in range(2, 16)]
        flows = [dataclasses.replace(flow, start_s=-BEFORE_S) for flow in compact().flows]
        for _ in range(per_sender):
            flows += bursts(
                senders, "r1", BURST_BYTES, every_us * 1e-6, _DURATION_S, first_id=len(flows)
            )
        return compact_plan(self.name, scheme, seed, flows, _DURATION_S, BEFORE_S, **more)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        span = (min(FROM_S, plan.duration_s / 2), plan.duration_s)
        numbers: dict[str, float | None] = {
            "s0_s1_gbps": recording_numbers.throughput_bps(recording, str(P0_S0), *span) / 1e9,
            "s1_r1_gbps": recording_numbers.throughput_bps(recording, str(P2_S1), *span) / 1e9,
            "f0_gbps": recording_numbers.goodput_bps(recording, "flow 0", *span) / 1e9,
            "f1_gbps": recording_numbers.goodput_bps(recording, "flow 1", *span) / 1e9,
            "pause_s1_s0": recording_numbers.pauses(recording, ["s1->s0"], *span),
        }
        return Outcome(run.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        schemes, full = outcomes.among(COMPARED), FILLED["full"]
        rows = []
        for scheme in schemes:
            least = min(outcomes.by("interval_us", "s0_s1_gbps", scheme=scheme)[1], default=None)
            if f"{scheme} loses" in FILLED:
                claimed, loss = (
                    FILLED[f"{scheme} loses"],
                    None if least is None else 1 - least / full,
                )
                text = (
                    f"{label(scheme)}: largest loss of S0 to S1 (paper: up to {claimed:.0%}; met: "
                    "5 to 30%; trend: above 2%)"
                )
                rows.append(FILLED.row(text, loss, _a_loss, f"{scheme} loses", unit=""))
            else:
                text = (
                    f"{label(scheme)}: least throughput of S0 to S1 (met: 95% of {full:g} Gbit/s; "
                    "trend: above DCQCN's 85%)"
                )
                rows.append(FILLED.row(text, least, _NEARLY_FULL, "full", theory=full))
        for scheme in schemes:
            late = outcomes.mean("s1_r1_gbps", scheme=scheme, **_LONG)
            claimed = LONG_INTERVALS[scheme]
            rows.append(
                LONG_INTERVALS.row(
                    f"{label(scheme)}: {_LATE}", late, near(claimed, 0.1, 1.5), scheme
                )
            )
        others = [
            outcomes.mean("s1_r1_gbps", scheme=scheme, **_LONG)
            for scheme in schemes
            if scheme != PCN
        ]
        known = [value for value in others if value is not None]
        if known:
            ours = outcomes.mean("s1_r1_gbps", scheme=PCN, **_LONG)
            ahead = None if ours is None else ours - max(known)
            by = LONG_INTERVALS[PCN] - max(
                LONG_INTERVALS[scheme] for scheme in COMPARED if scheme != PCN
            )
            text = (
                f"PCN: ahead of the best of the others there (paper: by {by:g} Gbit/s; met: not "
                "behind)"
            )
            rows.append(LONG_INTERVALS.row(text, ahead, at_least(0.0), paper=by))
        if outcomes.where(w_min="1/128"):
            least = min(outcomes.by("interval_us", "s0_s1_gbps", w_min="1/128")[1], default=None)
            text = (
                "PCN, w_min = 1/128: least throughput of S0 to S1, from 200 us on (met: 95% of "
                f"{full:g} Gbit/s; trend: above DCQCN's 85%)"
            )
            rows.append(FILLED.row(text, least, _NEARLY_FULL, "full", theory=full))
            late = outcomes.mean("s1_r1_gbps", w_min="1/128", **_LONG)
            band = near(LONG_INTERVALS[PCN], 0.1, 1.5)
            rows.append(LONG_INTERVALS.row(f"PCN, w_min = 1/128: {_LATE}", late, band, PCN))
        most = outcomes.extreme("pause_s1_s0", True, scheme=PCN)
        text = "PCN: PAUSE frames on S1 to S0, at most (met: 10 in 80 ms; trend: below 100)"
        return [*rows, NO_TREE.row(text, most, at_most(10, 100))]

    def story(self, outcomes: Outcomes) -> list[str]:
        ours, slow = (
            [
                min(outcomes.by("interval_us", "s0_s1_gbps", **keys)[1], default=None),
                outcomes.mean("s1_r1_gbps", **keys, **_LONG),
            ]
            for keys in ({"scheme": PCN}, {"w_min": "1/128"})
        )
        paragraphs = []
        if None not in (*ours, *slow):
            paragraphs.append(
                f"w_min decides about PCN: S0 to S1 carries {number_text(ours[0])} Gbit/s at "
                "least, with "
                f"5.3's w_min = 1/128 {number_text(slow[0])} (from 200 us on), since rates swing "
                "by less; "
                f"S1 to R1 with 3.1's bursts {number_text(ours[1])} and {number_text(slow[1])}, "
                "since F1 comes "
                "up more slowly between bursts. The paper's two figures, near 40 and "
                f"{LONG_INTERVALS[PCN]:g}, require different w_min."
            )
        f1 = outcomes.mean("f1_gbps", scheme="timely", **_LONG)
        if f1 is not None:
            paragraphs.append(
                f"With TIMELY F1 gets {number_text(f1, '', 2)} Gbit/s between 3.1's bursts, so S1 "
                "to R1 "
                "has less than the paper's."
            )
        return paragraphs

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        def lines(number: str) -> list[Line]:
            return [
                outcomes.line(label(str(scheme)), "interval_us", number, scheme=scheme)
                for scheme in outcomes.values("scheme")
            ]

        kinds = ("s0_s1_gbps", "s1_r1_gbps", "f1_gbps")
        together = [
            curve(
                label(str(scheme)),
                list(range(len(kinds))),
                [outcomes.mean(kind, scheme=scheme, **_LONG) or 0.0 for kind in kinds],
                str(scheme),
                seeds=[outcomes.by_run(kind, scheme=scheme, **_LONG) for kind in kinds],
            )
            for scheme in outcomes.values("scheme")
        ]
        present = [str(scheme) for scheme in outcomes.values("scheme")]
        beside: list[BesidePaper] = [
            (
                label(scheme),
                outcomes.mean("s1_r1_gbps", scheme=scheme, **_LONG) or 0.0,
                outcomes.by_run("s1_r1_gbps", scheme=scheme, **_LONG),
                LONG_INTERVALS.paper.get(scheme),
            )
            for scheme in present
        ]
        x = "Interval between bursts (us)"
        return [
            Chart("S0 to S1", x, "Throughput (Gbit/s)", lines("s0_s1_gbps"), log_x=True, top=42),
            Chart("S1 to R1", x, "Throughput (Gbit/s)", lines("s1_r1_gbps"), log_x=True, top=42),
            Chart("F1", x, "Goodput (Gbit/s)", lines("f1_gbps"), log_x=True),
            Chart(
                "3.1's bursts every 5 ms",
                "",
                "Throughput (Gbit/s)",
                together,
                bars=["S0 to S1", "S1 to R1", "F1"],
            ),
            beside_paper("S1 to R1 then, and in the paper", "Throughput (Gbit/s)", beside),
        ]


_NEARLY_FULL = at_least(0.95 * FILLED["full"], 0.85 * FILLED["full"])


def _a_loss(share: float | None) -> Verdict:
    return "not met" if share is not None and share > 0.3 else at_least(0.05, 0.02)(share)
