"""Table 3's other half: victims in a network with InfiniBand's credits and congestion control."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check, at_least, at_most, between
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes, number_text, percent, ratio
from pcn.experiments.papers.tcd.claims import IBCC, IBCC_TCD, VICTIMS
from pcn.experiments.papers.tcd.plans import SEEDS, messages_plan, times_us, victims_numbers
from pcn.hosts.algorithms import find_scheme
from pcn.topologies.head_of_line import P2

LOADS = (0.3, 0.5)
LOAD = 0.3
_TIMES = (300e-6, 97e-6, 20e-6)
"""max(Ton) beside the formula's: longer, what the authors' code has for PFC, and far too short."""
_LESS_BPS = 19e9
"""S0's and S1's links, of which two no longer bring exactly what P1's and P2's lines take."""
_LARGE_BYTES = 500e3
_FLAT = "choices.md#infiniband"


class Table3InfiniBand(Experiment):
    name = "tcd-table3-ib"
    title = "Victims in a network with credits"
    draws = DRAWN_FLOWS
    source = "5.1.3, Table 3; Fig. 17a"
    schemes = (IBCC, IBCC_TCD)
    about = (
        "Fig. 2's network with InfiniBand's credits, 280 KB for each port and lane, and its "
        "congestion control; with TCD the index rises by 2 instead of 1. S0 sends to R0, the "
        "victims, S1 to R1, 0.6 of their links each; A0 to A14 start messages of one size at once, "
        "to R1. Messages have 128 KB (80%) and 1 MB: MPI and I/O, whose sizes the paper takes from "
        "elsewhere. Its congestion control's parameters, and the load, aren't in the text. Means "
        "over 5 seeds; loads are drawn within 5%."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for scheme in schemes:
            for load in LOADS:
                for seed in SEEDS:
                    yield Run(
                        {"scheme": scheme, "load": load, "seed": seed},
                        scheme,
                        seed,
                        {"bursts_load": load},
                    )
        for max_ton_s in _TIMES if IBCC_TCD in schemes else ():
            for seed in SEEDS:
                values = {"bursts_load": LOAD, "max_ton_s": max_ton_s}
                yield Run({"max_ton_us": max_ton_s * 1e6, "seed": seed}, IBCC_TCD, seed, values)
        for seed in SEEDS if IBCC_TCD in schemes else ():
            values = {"bursts_load": LOAD, "sender_bps": _LESS_BPS}
            yield Run({"sender_gbps": _LESS_BPS / 1e9, "seed": seed}, IBCC_TCD, seed, values)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        return messages_plan(self.name, scheme, seed, values)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        victim_numbers = victims_numbers(plan, recording)
        large, small = (
            times_us(plan, recording, "s0", *ends)
            for ends in ((_LARGE_BYTES, 1e12), (0, _LARGE_BYTES))
        )
        numbers = {name: victim_numbers[name] for name in ("victims", "ce_share", "ue_share")}
        for name, times in (("mpi_us", small), ("io_us", large)):
            numbers[name] = float(times.mean()) if times.size else None
        return Outcome(run.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        subject = "bursts' load 0.3: victims with a packet marked CE"
        if IBCC in outcomes.values("scheme"):
            share = outcomes.mean("ce_share", scheme=IBCC, load=LOAD)
            text = f"{label(IBCC)}, {subject} (met: 10 to 22%; trend: 5 to 40%)"
            rows.append(VICTIMS.row(text, share, between(0.1, 0.22, 0.05, 0.4), IBCC))
        if IBCC_TCD in outcomes.values("scheme"):
            share = outcomes.mean("ce_share", scheme=IBCC_TCD, load=LOAD)
            text = f"{label(IBCC_TCD)}, {subject} (met: none; trend: 1%)"
            rows.append(VICTIMS.row(text, share, at_most(0.0, 0.01), IBCC_TCD, known=_FLAT))
        if {IBCC, IBCC_TCD} <= set(outcomes.values("scheme")):
            for number, size in (("io_us", "1 MB"), ("mpi_us", "128 KB")):
                ours, theirs = (
                    outcomes.mean(number, scheme=scheme, load=LOAD) for scheme in (IBCC_TCD, IBCC)
                )
                least = 3.0 if number == "io_us" else 1.0
                subject = f"{label(IBCC)} over {label(IBCC_TCD)}"
                text = (
                    f"bursts' load 0.3: victims of {size}, {subject} (met: {least:g}; trend: above "
                    "0.9)"
                )
                rows.append(VICTIMS.row(text, ratio(theirs, ours), at_least(least, 0.9)))
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        if IBCC_TCD not in outcomes.values("scheme"):
            return []
        victims, shares = (
            outcomes.by_run(number, scheme=IBCC_TCD, load=LOAD)
            for number in ("victims", "ce_share")
        )
        marked = round(sum(share * number for share, number in zip(shares, victims, strict=True)))
        by_time = "; ".join(
            f"{_marked_share(outcomes, ton_s * 1e6)} with {ton_s * 1e6:g} us" for ton_s in _TIMES
        )
        parameters = find_scheme(IBCC_TCD).configure().parameters
        topology = self.plan(IBCC_TCD, 1, {}).topology
        # brings gRPC, which a list of experiments needn't load
        from pcn.controller.marking import (
            tcd_port,
        )

        formula_us = tcd_port.configure(topology, P2.node, P2.port, 1.0, parameters).max_ton_us
        return [
            f"At the load of {LOAD:g} TCD marks {marked} of {sum(victims):,.0f} victims, with "
            f"{sum(share > 0 for share in shares)} of {len(shares)} seeds: S0 and S1 then bring "
            "exactly what P2's line takes, 20 + 20 Gbit/s, for longer than its looks last. With "
            f"links of {_LESS_BPS / 1e9:g} Gbit/s and the same messages it marks "
            f"{percent(outcomes.mean('ce_share', sender_gbps=_LESS_BPS / 1e9))}. "
            "[choices.md](choices.md#infiniband) has more of it.",
            f"With another max(Ton) than the formula's {formula_us} us TCD marks {by_time} of the "
            f"victims at the load of {LOAD:g}.",
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        def of(number: str) -> list[tuple[str, str]]:
            return [(str(scheme), number) for scheme in outcomes.values("scheme")]

        return [
            Chart(
                title, "The bursts' load", y_label,
                [
                    outcomes.line(label(scheme), "load", number, scheme=scheme)
                    for scheme, number in of(name)
                ],
            )
            for title, y_label, name in (
                ("Victims marked CE", "Share of the victims", "ce_share"),
                ("Victims of 1 MB", "Mean completion time (us)", "io_us"),
            )
        ]  # fmt: skip


def _marked_share(outcomes: Outcomes, max_ton_us: float) -> str:
    """Returns the share of victims marked CE with this max_ton, as a text."""
    share = outcomes.mean("ce_share", max_ton_us=max_ton_us) or 0.0
    return number_text(share * 100, "%", 2)
