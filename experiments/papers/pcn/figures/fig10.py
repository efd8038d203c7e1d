"""Fig. 10: how the RP raises its rate, CNP by CNP. No network: the RP alone, from rate 0."""

from __future__ import annotations

from itertools import islice

from pcn.experiments.define import theory
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_least, at_most, near
from pcn.experiments.define.experiment import Experiment
from pcn.experiments.define.outcomes import Outcomes
from pcn.experiments.papers.pcn.claims import INCREASE, PCN, RISE
from pcn.hosts.algorithms import Cnp, Mark
from pcn.hosts.algorithms.pcn import PcnParameters, PcnReactionPoint

LOOPS = 25


def rates() -> list[float]:
    """Returns the RP's rate over the line rate after 0, 1, ... CNPs that request an increase; w_min
    1/128, w_max 0.5."""
    line = 40e9
    rp = PcnReactionPoint(line, PcnParameters(w_min=1 / 128, w_max=0.5))
    rp.rate_bps = 0.0
    seen = [0.0]
    for loop in range(LOOPS):
        rp.on_cnp(Cnp(Mark.NONE), loop * 50e-6)
        seen.append(rp.rate_bps / line)
    return seen


class Fig10(Experiment):
    name = "fig10"
    title = "Gentle-to-aggressive increase"
    source = "5.3, Fig. 10"
    about = "The RP that runs in every experiment, alone, from rate 0: w_min = 1/128, w_max = 0.5."

    def checks(self, outcomes: Outcomes) -> list[Check]:
        seen = rates()
        expected = [rate for rate, _ in islice(theory.increase(), LOOPS)]
        worst = max(abs(rate - ideal) for rate, ideal in zip(seen[1:], expected, strict=True))
        slow, fast = RISE["5 CNPs"], RISE["15 CNPs"]
        slow_text, fast_text = (
            f"rate after 5 CNPs (met: at most {slow:g})",
            f"rate after 15 CNPs (met: at least {fast:g})",
        )
        line_text = "rate after 25 CNPs (met: within 0.1% of line rate)"
        return [
            RISE.row(slow_text, seen[5], at_most(slow), "5 CNPs", theory=expected[4]),
            RISE.row(fast_text, seen[15], at_least(fast), "15 CNPs", theory=expected[14]),
            RISE.row(
                "largest difference from Algorithm 1's recursion", worst, at_most(1e-9), theory=0
            ),
            INCREASE.row(line_text, seen[25], near(1, 1e-3), theory=1),
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        seen, most = rates(), RISE["15 CNPs"]
        line = curve("PCN's RP", [float(k) for k in range(len(seen))], seen, PCN, points=True)
        return [
            Chart(
                "Sending rate after k increases",
                "CNPs",
                "Rate / line rate",
                [line],
                level=most,
                level_text="95%",
            )
        ]
