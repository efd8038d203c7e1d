"""Fig. 10: how the RP raises its rate, CNP by CNP. No network: the RP alone, from rate 0."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import islice

from experiments import theory
from experiments.checks import Check, at_least, at_most, near
from experiments.outcomes import Case, Outcome, Outcomes
from experiments.panels import Line, Panel
from experiments.recording import Recording
from hosts.algorithms import Cnp, Mark, PcnParameters
from hosts.algorithms.pcn import PcnReactionPoint

LOOPS = 25


def rates() -> list[float]:
    """The RP's rate over the line rate after 0, 1, ... CNPs that say increase; w_min 1/128, w_max 0.5."""
    line = 40e9
    rp = PcnReactionPoint(line, PcnParameters(w_min=1 / 128, w_max=0.5))
    rp.rate_bps = 0.0
    seen = [0.0]
    for loop in range(LOOPS):
        rp.on_cnp(Cnp(Mark.NONE), loop * 50e-6)
        seen.append(rp.rate_bps / line)
    return seen


class Fig10:
    name = "fig10"
    title = "Gentle-to-aggressive increase"
    source = "5.3, Fig. 10"
    about = "The RP that runs in every experiment, alone, from rate 0: w_min = 1/128, w_max = 0.5."

    def cases(self, schemes: Sequence[str]) -> list[Case]:
        return []

    def measure(self, case: Case, recording: Recording) -> Outcome:
        raise NotImplementedError("Fig. 10 has no runs")

    def checks(self, outcomes: Outcomes) -> list[Check]:
        seen = rates()
        expected = [rate for rate, _ in islice(theory.increase(), LOOPS)]
        worst = max(abs(one - other) for one, other in zip(seen[1:], expected, strict=True))
        return [
            Check(
                "0.10", "rate after 5 CNPs (met: at most 0.1)", 0.1, expected[4], seen[5], "line", at_most(seen[5], 0.1)
            ),
            Check(
                "0.10",
                "rate after 15 CNPs (met: at least 0.95)",
                0.95,
                expected[14],
                seen[15],
                "line",
                at_least(seen[15], 0.95),
            ),
            Check(
                "0.10", "largest difference from Algorithm 1's recursion", None, 0, worst, "line", at_most(worst, 1e-9)
            ),
            Check(
                "0.9",
                "rate after 25 CNPs (met: within 0.1% of line rate)",
                None,
                1,
                seen[25],
                "line",
                near(seen[25], 1, 1e-3),
            ),
        ]

    def story(self, outcomes: Outcomes) -> list[str]:
        return []

    def panels(self, outcomes: Outcomes) -> list[Panel]:
        seen = rates()
        line = Line("PCN's RP", [float(k) for k in range(len(seen))], seen, "pcn", points=True)
        return [
            Panel("Sending rate after k increases", "CNPs", "Rate / line rate", [line], level=0.95, level_text="95%")
        ]
