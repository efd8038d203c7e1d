"""Equation 13 and Fig. 14: which K costs no throughput at 10 Gbit/s."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import utilisation
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check, at_least
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.dctcp.claims import DCTCP, THROUGHPUT_BY_K
from pcn.experiments.papers.dctcp.plans import FRAME_BYTES, star_plan

FLOWS = 2
LINE_BPS, DELAY_S = 10e9, 25e-6
K_PACKETS = (2, 4, 6, 9, 13, 20, 40, 65)
_FROM_S, _ENDS_S = 0.05, 0.15
LEAST_K = LINE_BPS * 4 * DELAY_S / 8 / FRAME_BYTES / 7
"""C RTT / 7, of the empty network: 11.9 packets."""


class Fig14(Experiment):
    name = "dctcp-fig14"
    title = "K above a seventh of a bandwidth-delay product loses no throughput"
    source = "3.4, equation 13; Fig. 14"
    schemes = (DCTCP,)
    swept: Mapping[str, Sequence[float]] = {"k": K_PACKETS}
    about = (
        "Two long flows to a port of 10 Gbit/s, round trips of 100 us, K from 2 to 65 packets of "
        "1,500 bytes, from 50 to 150 ms. Equation 13: K > C RTT / 7, 11.9 packets here, so that "
        "the queue never runs empty. The paper's testbed needs 65, as its hosts send bursts of 30 "
        "to 40 packets; here NICs pace by their line, and nothing bursts."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return star_plan(
            self.name, scheme, seed, FLOWS, LINE_BPS, DELAY_S, values["k"] or 0.0, _ENDS_S
        )

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        port = str(plan.bottleneck)
        times, sent = recording.series.get(port, "transmitted_bytes")
        known = plan.duration_s > _FROM_S
        used = utilisation(times, sent, LINE_BPS, _FROM_S, plan.duration_s) if known else None
        return Outcome(run.keys, {"utilisation": used})

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among(self.schemes):
            for k in K_PACKETS:
                used = outcomes.mean("utilisation", scheme=scheme, k=k)
                if k > LEAST_K:
                    text = (
                        f"K = {k} packets, above C RTT / 7: utilisation (met: 0.999 and more; "
                        "trend: 0.99)"
                    )
                    rows.append(
                        THROUGHPUT_BY_K.row(text, used, at_least(0.999, 0.99), "full", theory=1.0)
                    )
            least, seventh = (
                outcomes.mean("utilisation", scheme=scheme, k=k) for k in (K_PACKETS[0], 13)
            )
            lost = None if least is None or seventh is None else seventh - least
            text = "what K = 2 loses of the line beside K = 13 (met: 0.01 and more; trend: any)"
            rows.append(THROUGHPUT_BY_K.row(text, lost, at_least(0.01, 0.0)))
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        lines = [
            outcomes.line(label(str(scheme)), "k", "utilisation", scheme=scheme)
            for scheme in outcomes.values("scheme")
        ]
        return [
            Chart(
                "Throughput by K",
                "K (packets)",
                "Utilisation",
                lines,
                log_x=True,
                bottom=0.8,
                top=1.01,
            )
        ]
