"""Fig. 14: epsilon, from which max(Ton) follows, and victims that are marked CE by mistake."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

from pcn.experiments.define.charts import Chart, Line
from pcn.experiments.define.checks import Check, at_least, at_most
from pcn.experiments.define.experiment import Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcomes
from pcn.experiments.papers.tcd.claims import DCQCN_TCD, SENSITIVITY
from pcn.experiments.papers.tcd.plans import SEEDS, TRAFFIC
from pcn.experiments.papers.tcd.victims import Victims

EPSILONS = (0.02, 0.05, 0.1, 0.2, 0.5)
LOOKS = (6, 3, 1)
_LOAD = 0.5


class Fig14(Victims):
    name = "tcd-fig14"
    title = "How large epsilon may be"
    source = "5.1.4, Fig. 14"
    schemes = (DCQCN_TCD,)
    about = (
        f"{TRAFFIC}; A0 to A14 start Hadoop flows of one size at once, to R1, with half of its "
        "link's load. The smaller epsilon, the longer a port stays undetermined after a RESUME. "
        "Shares of the victims with a packet marked CE, means over 5 seeds, for the looks that "
        "congestion takes: 6 is our default, 1 the paper's words."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for scheme in schemes:
            for looks in LOOKS:
                for epsilon in EPSILONS:
                    for seed in SEEDS:
                        keys: dict[str, Key] = {
                            "scheme": scheme,
                            "looks": looks,
                            "epsilon": epsilon,
                            "seed": seed,
                        }
                        fields = {"bursts_load": _LOAD, "epsilon": epsilon, "looks": looks}
                        yield Run(keys, scheme, seed, fields)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        if DCQCN_TCD not in outcomes.values("scheme"):
            return []
        shares = {
            looks: [
                outcomes.mean("ce_share", scheme=DCQCN_TCD, looks=looks, epsilon=epsilon)
                for epsilon in EPSILONS
            ]
            for looks in LOOKS
        }
        default = dict(zip(EPSILONS, shares[LOOKS[0]], strict=True))
        rows = [
            SENSITIVITY.row(
                (
                    f"victims marked CE at epsilon {epsilon:g} (met: 0.1%; trend: 1%)"
                ), default[epsilon],
                at_most(0.001, 0.01), "small",
            )
            for epsilon in EPSILONS
            if epsilon <= 0.1
        ]  # fmt: skip
        large, small = default[EPSILONS[-1]], default[0.1]
        above = None if large is None or small is None else large - small
        rows.append(
            SENSITIVITY.row(
                "at 0.5 more than at 0.1 (met: 0.5%; trend: more)", above, at_least(0.005, 0.0)
            )
        )
        falls = [
            before - after
            for before, after in pairwise(shares[3])
            if before is not None and after is not None
        ]
        text = (
            "looks 3: from one epsilon to the next it never falls (met: by 0.2% at most; trend: by "
            "1%)"
        )
        rows.append(SENSITIVITY.row(text, max(falls, default=None), at_most(0.002, 0.01)))
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        def of(scheme: str) -> list[Line]:
            return [
                outcomes.line(
                    f"looks {n}", "epsilon", "ce_share", f"looks {n}", scheme=scheme, looks=n
                )
                for n in LOOKS
            ]

        y_label = "Share of the victims, marked CE"
        return [
            Chart(label(scheme), "epsilon", y_label, of(scheme))
            for scheme in map(str, outcomes.values("scheme"))
        ]
