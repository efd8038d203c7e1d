"""Fig. 4 and 9: a flow that shares no congested link, and what becomes of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_least, at_most, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, number_text, ratio
from pcn.experiments.papers.dcqcn.claims import DCQCN, NO_VICTIM, PFC, VICTIM
from pcn.experiments.papers.dcqcn.plans import DRAWN_NUMBERS, DRAWS, plan, rates

INCAST = ("h11", "h12", "h13", "h14")
SENDERS = (0, 1, 2)
"""Under T3, to R as well."""


class Victim(Experiment):
    name = "dcqcn-fig4"
    title = "PFC hurts a flow elsewhere, DCQCN doesn't"
    draws = DRAWN_NUMBERS
    source = "2.2, Fig. 4; Fig. 9"
    schemes = (PFC, DCQCN)
    swept: Mapping[str, Sequence[float]] = {"senders": SENDERS}
    seeds = DRAWS
    about = (
        "H11 to H14, under T1, send to R, under T4, and VS, under T1, to VR, under T2; beside them "
        "none, one or both of H31 and H32, under T3, send to R: 100 runs each, with other draws of "
        "paths. VS could have 20 Gbit/s. Rates as in Fig. 3; the paper's flows are transfers of "
        "250 MB."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        senders = round(values["senders"] or 0)
        hosts = (*INCAST, *(f"h3{n}" for n in range(1, senders + 1)))
        return plan(self.name, scheme, seed, [*((host, "r") for host in hosts), ("vs", "vr")])

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(run.keys, dict(rates(plan, recording)))

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among((PFC,)):
            for senders in SENDERS:
                median = outcomes.median("vs", scheme=scheme, senders=senders)
                text, rule = (
                    ("within 2%", near(10.0, 0.02))
                    if senders == 0
                    else ("at most 7", at_most(7.0, 10.0))
                )
                row_text = f"PFC alone, {senders} under T3: VS's median (met: {text})"
                rows.append(VICTIM.row(row_text, median, rule, str(senders)))
        for scheme in outcomes.among((DCQCN,)):
            none, both = (
                outcomes.median("vs", scheme=scheme, senders=senders) for senders in (0, 2)
            )
            row_text = (
                f"{label(scheme)}: VS's median with two senders under T3, over that with none "
                "(met: 0.9; trend: 0.5)"
            )
            rows.append(NO_VICTIM.row(row_text, ratio(both, none), at_least(0.9, 0.5)))
            row_text = f"{label(scheme)}: VS's least median (met: 19; trend: 10)"
            medians = [outcomes.median("vs", scheme=scheme, senders=senders) for senders in SENDERS]
            known = [median for median in medians if median is not None]
            least = min(known) if len(known) == len(SENDERS) else None
            rows.append(
                NO_VICTIM.row(row_text, least, at_least(19.0, 10.0), unit="Gbit/s", theory=20.0)
            )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        medians = [outcomes.median("vs", scheme=DCQCN, senders=senders) for senders in SENDERS]
        if None in medians:
            return []
        return [
            f"With DCQCN VS's median is {', '.join(number_text(median) for median in medians)} "
            "Gbit/s "
            "with none, one and two senders under T3: what they take of R's link, H11 to H14 leave "
            "VS of T1's uplinks."
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        lines = []
        for scheme in map(str, outcomes.values("scheme")):
            medians = [(n, outcomes.median("vs", scheme=scheme, senders=n)) for n in SENDERS]
            known = [(float(n), median) for n, median in medians if median is not None]
            lines.append(
                curve(
                    label(scheme), [x for x, _ in known], [y for _, y in known], scheme, points=True
                )
            )
        ticks = [str(senders) for senders in SENDERS]
        title, unit, could = "VS's median rate", "Rate (Gbit/s)", "what the paper expects"
        return [
            Chart(title, "Senders under T3", unit, lines, level=20.0, level_text=could, ticks=ticks)
        ]
