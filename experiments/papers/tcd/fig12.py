"""Fig. 12 and 13: what ports that a PAUSE held do when it ends, without and with congestion at the
ports themselves."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, known_fields, numbers, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import counter_at, step_at
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart, Line, curve
from pcn.experiments.define.checks import Check, at_least, at_most, exactly_none
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes
from pcn.experiments.define.workloads import bursts
from pcn.experiments.papers.tcd.claims import ONE_POINT, RED, SEVERAL_POINTS, TCD
from pcn.experiments.papers.tcd.plans import BURSTING
from pcn.topologies.head_of_line import P1, P2, P3, head_of_line
from pcn.topologies.model import Endpoint, FlowSpec

BEGINS_S, BURSTS_S, DURATION_S = 2e-3, 0.4e-3, 12e-3
SINGLE, SEVERAL = "one congestion point", "several"
PORTS = {"P1": P1, "P2": P2}
NON_CONGESTION, DRAINING, UNDETERMINED, CONGESTION = range(4)
"""tcd_port.p4's."""
_EVERY_S = 10e-6
_ENDS_S = 8e-3
"""By then P2 is congested, if it is to be; until here nothing has ended but the bursts."""
_RELEASED = {
    SINGLE: (NON_CONGESTION, UNDETERMINED, DRAINING, NON_CONGESTION),
    SEVERAL: (NON_CONGESTION, UNDETERMINED, DRAINING, CONGESTION),
}
_LOOKS = (1,)
"""Beside the default: the paper's words."""


def states(recording: Recording, port: Endpoint, until_s: float) -> list[tuple[float, int]]:
    """Returns a port's states in order, each from when on (s)."""
    times, values = recording.series.get(str(port), "tcd_state")
    changes: list[tuple[float, int]] = []
    for time, value in zip(times, values, strict=True):
        if time <= until_s and (not changes or changes[-1][1] != value):
            changes.append((float(time), int(value)))
    return changes


class Fig12(Experiment):
    name = "tcd-fig12"
    title = "A port that drains, and one that is congested"
    source = "5.1.2, Fig. 12 and 13"
    schemes = (TCD, RED)
    about = (
        "Fig. 2's network. F0 and F1 send 10 Gbit/s each; from 2 ms on A0 to A14 send 64 KB each "
        "to R1, again each 47.5 us, for 0.4 ms. No scheme controls congestion. PAUSE of R1's port "
        "reaches P2, then P1. With several congestion points S2 sends 25 Gbit/s to R0, too, so "
        "that P2 has more than its line takes. States are read each 10 us; the threshold is RED's "
        "K_min, 5 KB."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for points in (SINGLE, SEVERAL):
            for scheme in schemes:
                yield Run(
                    {"points": points, "scheme": scheme, "seed": 1},
                    scheme,
                    arguments={"several": points == SEVERAL},
                )
            for looks in _LOOKS if TCD in schemes else ():
                keys: dict[str, Key] = {"points": points, "looks": looks, "seed": 1}
                yield Run(keys, TCD, arguments={"several": points == SEVERAL, "looks": looks})

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        settings = numbers(values)
        several = bool(settings.pop("several", 0.0))
        flows = [
            FlowSpec(n, f"s{n}", f"r{n}", rate_bps=10e9, duration_s=DURATION_S) for n in (0, 1)
        ]
        if several:
            flows.append(
                FlowSpec(2, "s2", "r0", BEGINS_S, rate_bps=25e9, duration_s=DURATION_S - BEGINS_S)
            )
        flows += [
            replace(burst, start_s=burst.start_s + BEGINS_S)
            for burst in bursts(BURSTING, "r1", 64_000, 47.5e-6, BURSTS_S, first_id=3)
        ]
        topology = replace(head_of_line(), flows=tuple(flows))
        fields = known_fields(scheme, settings)
        return plan_of(
            self.name, scheme, seed, topology, DURATION_S, fields, [P2, P1, P3], _EVERY_S
        )

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        numbers: dict[str, float | None] = {}
        curves = {}
        for name, port in PORTS.items():
            marks = recording.series.get(str(port), "marked_packets")
            sent = recording.series.get(str(port), "transmitted_packets")
            numbers[f"{name} ce"] = float(recording.ports[str(port)].marked)
            numbers[f"{name} ue"] = float(recording.ports[str(port)].marked_ue)
            last = np.array([_ENDS_S, DURATION_S - 1e-3])
            packets = np.diff(counter_at(*sent, last))[0]
            for mark, series in (
                ("ce", marks),
                ("ue", recording.series.get(str(port), "marked_ue_packets")),
            ):
                numbers[f"{name} {mark}_share"] = (
                    float(np.diff(counter_at(*series, last))[0] / packets) if packets else None
                )
            curves[name] = recording_numbers.thin(
                *recording.series.get(str(port), "waiting_bytes"), 0.0, DURATION_S, 1e-3
            )
            if (str(port), "tcd_state") not in set(recording.series):
                continue
            changes = states(recording, port, _ENDS_S)
            since = {state: at for at, state in changes}
            numbers[f"{name} order"] = float(_coded([state for _, state in changes]))
            numbers |= {f"{name} since_ms {state}": at * 1e3 for state, at in since.items()}
            grid = np.arange(0.0, _ENDS_S, _EVERY_S)
            state = step_at(*recording.series.get(str(port), "tcd_state"), grid)
            queue = step_at(*recording.series.get(str(port), "waiting_bytes"), grid)[
                state == DRAINING
            ]
            numbers[f"{name} draining_above"] = float(np.mean(queue > 5e3)) if queue.size else None
            curves[f"{name} state"] = recording_numbers.thin(
                *recording.series.get(str(port), "tcd_state"), 0.0, DURATION_S, 1.0
            )
        return Outcome(run.keys, numbers, curves)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for points in (
            points for points in (SINGLE, SEVERAL) if points in outcomes.values("points")
        ):
            variants: list[tuple[str, dict[str, str | int]]] = [("", {"scheme": TCD})]
            variants += [(f", looks {looks}", {"looks": looks}) for looks in _LOOKS]
            for which, keys in variants:

                def of(
                    number: str, keys: Mapping[str, str | int] = keys, points: str = points
                ) -> float | None:
                    return outcomes.median(number, points=points, **keys)

                if of("P2 order") is None:
                    continue
                rows += (_one_point if points == SINGLE else _several)(
                    f"{points}: {label(TCD)}{which}", of
                )
            for name in PORTS if RED in outcomes.values("scheme") else ():
                text = f"{points}: {label(RED)}, {name}'s packets marked CE (met: 500; trend: any)"
                its = outcomes.median(f"{name} ce", points=points, scheme=RED)
                claim = ONE_POINT if points == SINGLE else SEVERAL_POINTS
                rows.append(claim.row(text, its, at_least(500, 0), unit="packets"))
        return rows

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = []
        for points in map(str, outcomes.values("points")):
            lines: list[Line] = []
            for outcome in (
                outcomes.where(points=points, scheme=TCD) or outcomes.where(points=points)[:1]
            ):
                lines += [
                    replace(curve(name, *outcome.curves[name]), colour=f"flow{number}")
                    for number, name in enumerate(PORTS)
                ]
            charts.append(Chart(f"The queue, {points}", "Time (ms)", "Waiting (KB)", lines))
        for points in map(str, outcomes.values("points")):
            lines = []
            for outcome in outcomes.where(points=points, scheme=TCD):
                lines += [
                    replace(curve(name, *outcome.curves[f"{name} state"]), colour=f"flow{number}")
                    for number, name in enumerate(PORTS)
                ]
            if lines:
                text = "State: 0 none, 1 draining,\n2 undetermined, 3 congestion"
                charts.append(Chart(f"The state, {points}", "Time (ms)", text, lines, top=3.3))
        return charts


def _coded(sequence: Sequence[int]) -> int:
    """States in order as digits."""
    return int("".join(str(state) for state in sequence) or "0")


def _order(
    case: str, port: str, measured: float | None, expected: Sequence[int], several: bool
) -> Check:
    claim = SEVERAL_POINTS if several else ONE_POINT
    names = ("none", "draining", "undetermined", "congestion")
    text = f"{case}, {port}: {', '.join(names[state] for state in expected)}, in this order (1: so)"
    so = None if measured is None else float(int(measured) == _coded(expected))
    return claim.row(text, so, at_least(1), unit="")


def _one_point(case: str, of: Callable[[str], float | None]) -> list[Check]:
    rows = []
    for name in PORTS:
        rows.append(_order(case, name, of(f"{name} order"), _RELEASED[SINGLE], several=False))
        rows.append(
            ONE_POINT.row(
                f"{case}, {name}'s packets marked CE (met: none)",
                of(f"{name} ce"),
                exactly_none,
                "CE",
            )
        )
        text = (
            f"{case}, {name} while it drains: the queue is above the threshold (met: 90% of the "
            "time; trend: half)"
        )
        rows.append(ONE_POINT.row(text, of(f"{name} draining_above"), at_least(0.9, 0.5), unit=""))
    return rows


def _several(case: str, of: Callable[[str], float | None]) -> list[Check]:
    rows = [_order(case, "P2", of("P2 order"), _RELEASED[SEVERAL], several=True)]
    text = f"{case}, P2 from 8 ms on: packets marked CE (met: 0.99; trend: half)"
    rows.append(SEVERAL_POINTS.row(text, of("P2 ce_share"), at_least(0.99, 0.5), "P2's CE"))
    rows.append(
        SEVERAL_POINTS.row(
            f"{case}, P1's packets marked CE (met: none)", of("P1 ce"), at_most(0), "P1's CE"
        )
    )
    text = f"{case}, P1 from 8 ms on: packets marked UE (met: 0.95; trend: half)"
    rows.append(SEVERAL_POINTS.row(text, of("P1 ue_share"), at_least(0.95, 0.5)))
    return rows
