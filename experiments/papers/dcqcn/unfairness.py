"""Fig. 3 and 8: four hosts to one, over a Clos; PFC shares by ports, DCQCN by flows."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check, at_least, at_most, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, ratio
from pcn.experiments.papers.dcqcn.claims import DCQCN, FAIR, PFC, UNFAIR
from pcn.experiments.papers.dcqcn.plans import DRAWN_NUMBERS, DRAWS, plan, rates

HOSTS = ("h1", "h2", "h3", "h4")
LINE = 40.0
H4_SHARES = (LINE / 2, LINE * 2 / 5, LINE / 3)
SHARES = (LINE / 8, LINE / 6, LINE / 5, LINE / 4, LINE / 3)
"""What PFC gives H4, and H1 to H3, Gbit/s, as it divides a link by the inputs of the switch before
it. All three come by one of T4's two uplinks: a half of R's link for H4, and for each of them a
third of the other half; or, where H1 and H2 share a spine's input, a quarter of that, and H3 a
half. They come by both: a third of R's link for H4 and for who is alone, half of that for who
isn't; or, where H1 and H2 share a link before their ways part, 8, 8, 8 and 16."""


class Unfairness(Experiment):
    name = "dcqcn-fig3"
    title = "PFC is unfair to flows, DCQCN isn't"
    draws = DRAWN_NUMBERS
    source = "2.2, Fig. 3; Fig. 8"
    schemes = (PFC, DCQCN)
    seeds = DRAWS
    about = (
        "H1 to H4, each under a separate ToR, send to R, which is under H4's: 100 runs, each with "
        "another draw of UDP source ports, so of paths. Rates are those of frames that arrive, "
        "over 5 ms after 2 ms, with DCQCN over 50 ms after 50. The paper's flows are transfers of "
        "4 MB, ours go on; links have 1 us, where it names nothing."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return plan(self.name, scheme, seed, [(host, "r") for host in HOSTS])

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        by_host = rates(plan, recording)
        return Outcome(run.keys, {**by_host, "sum": sum(by_host.values())})

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among((PFC,)):
            most, least = (
                outcomes.extreme("h4", largest, scheme=scheme) for largest in (True, False)
            )
            others = [outcomes.extreme(host, True, scheme=scheme) for host in HOSTS[:3]]
            theirs = max((rate for rate in others if rate is not None), default=None)
            rows += [
                UNFAIR.row(
                    "PFC alone: H4's largest rate (met: within 1%)",
                    most,
                    near(20.0, 0.01),
                    "H4's most",
                    theory=20.0,
                ),
                UNFAIR.row(
                    (
                        "PFC alone: H4's least over the largest of H1 to H3 (met: equal within 1%, "
                        "as their shares are)"
                    ),
                    ratio(least, theirs),
                    at_least(0.99),
                    unit="",
                    theory=1.0,
                ),
                UNFAIR.row(
                    (
                        "PFC alone: H4, the nearest of 20, 16, 13.33, largest distance (met: 1%; "
                        "trend: 5%)"
                    ),
                    farthest(outcomes.by_run("h4", scheme=scheme), H4_SHARES),
                    at_most(0.01, 0.05),
                    unit="",
                    theory=0.0,
                ),
                UNFAIR.row(
                    (
                        "PFC alone: H1 to H3, the nearest of 5, 6.67, 8, 10, 13.33, largest "
                        "distance (met: 2%; trend: 5%)"
                    ),
                    farthest(
                        [
                            rate
                            for host in HOSTS[:3]
                            for rate in outcomes.by_run(host, scheme=scheme)
                        ],
                        SHARES,
                    ),
                    at_most(0.02, 0.05),
                    unit="",
                    theory=0.0,
                ),
                UNFAIR.row(
                    "PFC alone: all together and R's link, largest distance (met: 0.5%)",
                    farthest(outcomes.by_run("sum", scheme=scheme), (LINE,)),
                    at_most(0.005),
                    unit="",
                    theory=0.0,
                ),
            ]
        for scheme in outcomes.among((DCQCN,)):
            medians = [outcomes.median(host, scheme=scheme) for host in HOSTS]
            known = [median for median in medians if median is not None]
            spread = [
                statistics.pstdev(host_rates)
                for host in HOSTS
                if (host_rates := outcomes.by_run(host, scheme=scheme))
            ]
            name = label(scheme)
            rows += [
                FAIR.row(
                    f"{name}: {host.upper()}'s median (met: 9.5 to 10.5; trend: within 20%)",
                    median,
                    near(10.0, 0.05, 1.2),
                    "each",
                    theory=10.0,
                )
                for host, median in zip(HOSTS, medians, strict=True)
                if known
            ]
            rows.append(
                FAIR.row(
                    f"{name}: deviation from run to run, the largest of a host (met: 1; trend: 2)",
                    max(spread, default=None),
                    at_most(1.0, 2.0),
                )
            )
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        return [
            Chart(
                label(str(scheme)),
                "Host",
                "Rate (Gbit/s)",
                _extremes(outcomes, str(scheme)),
                bars=[host.upper() for host in HOSTS],
                top=25.0,
            )
            for scheme in outcomes.values("scheme")
        ]


def farthest(measured: Sequence[float], shares: Sequence[float]) -> float | None:
    """Returns the largest distance of a value from the share that is nearest to it, as a part of
    that."""
    return max((min(abs(rate / share - 1) for share in shares) for rate in measured), default=None)


def _extremes(outcomes: Outcomes, scheme: str) -> list[Line]:
    """Returns the least, median and largest rate of each host, as the paper's figure has them."""
    by_host = [outcomes.by_run(host, scheme=scheme) for host in HOSTS]
    kinds: dict[str, Callable[[list[float]], float]] = {
        "least": min,
        "median": statistics.median,
        "largest": max,
    }
    return [
        curve(name, range(len(HOSTS)), [of(host_rates) for host_rates in by_host])
        for name, of in kinds.items()
        if all(by_host)
    ]
