"""Table 3: victims of head-of-line blocking that are taken for congested flows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check, at_most, between
from pcn.experiments.define.experiment import Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcomes, percent
from pcn.experiments.papers.tcd.claims import DCQCN, DCQCN_TCD, PAPER_ALPHA, VICTIMS
from pcn.experiments.papers.tcd.plans import SEEDS, TRAFFIC
from pcn.experiments.papers.tcd.victims import Victims

LOADS = (0.3, 0.5, 0.65)
LOAD = 0.5
"""The paper names none; this one is compared with it."""
_LOOKS = (1, 3)
_DCQCN_ALPHA = 1.0
"""Of DCQCN's own paper."""


class Table3(Victims):
    name = "tcd-table3"
    title = "Victims that are taken for congested"
    source = "5.1.3, Table 3"
    schemes = (DCQCN, DCQCN_TCD)
    about = (
        f"{TRAFFIC}; A0 to A14 start Hadoop flows of one size at once, to R1. Their load together "
        "is that part of R1's link that the rows name: the paper's text has none. A victim is "
        "taken for congested if one of its packets is marked CE. Shares of all victims, means over "
        "5 seeds. Alpha starts at 0.5 with DCQCN and at 1.2 with TCD, as in 5.2.1, except where a "
        "row has other values."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for load in LOADS:
            for seed in SEEDS:
                for scheme in schemes:
                    fields = {"initial_alpha": PAPER_ALPHA[scheme]} if scheme in PAPER_ALPHA else {}
                    yield Run(
                        {"scheme": scheme, "load": load, "seed": seed},
                        scheme,
                        seed,
                        {"bursts_load": load, **fields},
                    )
        for seed in SEEDS:
            if DCQCN in schemes:
                fields = {"bursts_load": LOAD, "initial_alpha": _DCQCN_ALPHA}
                yield Run({"alpha": _DCQCN_ALPHA, "seed": seed}, DCQCN, seed, fields)
            for looks in _LOOKS if DCQCN_TCD in schemes else ():
                fields = {"bursts_load": LOAD, "looks": looks}
                yield Run({"looks": looks, "seed": seed}, DCQCN_TCD, seed, fields)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for load in LOADS:
            for scheme in outcomes.among((DCQCN, DCQCN_TCD)):
                share = outcomes.mean("ce_share", scheme=scheme, load=load)
                subject = f"{label(scheme)}, bursts' load {load:g}: victims with a packet marked CE"
                if scheme == DCQCN_TCD:
                    rows.append(
                        VICTIMS.row(
                            f"{subject} (met: 0.1%; trend: 1%)", share, at_most(0.001, 0.01), scheme
                        )
                    )
                elif load >= LOAD:
                    text = f"{subject} (met: 22 to 38%; trend: 10 to 60%)"
                    rule = between(0.22, 0.38, 0.1, 0.6)
                    rows.append(
                        VICTIMS.row(
                            text,
                            share,
                            rule,
                            scheme,
                            known="choices.md#tcd" if load == LOAD else "",
                        )
                    )
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        paragraphs = []
        if DCQCN in outcomes.values("scheme"):
            shares = [percent(outcomes.mean("ce_share", scheme=DCQCN, load=load)) for load in LOADS]
            alpha = percent(outcomes.mean("ce_share", alpha=_DCQCN_ALPHA))
            paragraphs.append(
                f"With DCQCN {', '.join(shares)} of the victims are marked at the bursts' loads of "
                f"{', '.join(f'{load:g}' for load in LOADS)}; at {LOAD:g} and alpha's start of "
                f"{_DCQCN_ALPHA:g}, as DCQCN's paper has it, {alpha}."
            )
        if DCQCN_TCD in outcomes.values("scheme"):
            by_looks = ", ".join(
                f"with looks {looks} {(outcomes.mean('ce_share', looks=looks) or 0) * 100:.2g}%"
                for looks in _LOOKS
            )
            paragraphs.append(
                f"The paper's words are one look: {by_looks} of the victims are marked at "
                f"{LOAD:g}, none or next to none with the default of 6. "
                "[tcd.md](tcd.md#one-look-isnt-enough) explains why."
            )
        return paragraphs

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        lines = [
            outcomes.line(label(str(scheme)), "load", "ce_share", scheme=scheme)
            for scheme in outcomes.values("scheme")
        ]
        return [Chart("Victims marked CE", "The bursts' load", "Share of the victims", lines)]
