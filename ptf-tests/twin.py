"""The Tofino twin of a v1model program (p4src/tna): which one it is, its entries for a test's plan,
and what the twin leaves to the chip."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from frames import CHIP, device_port

from pcn.controller.configure import SwitchPlan, entries
from pcn.controller.control_plane import CloneSession, TableAction, TableEntry, TableMatch
from pcn.controller.marking.qcn_cp import QcnPort
from pcn.controller.marking.qcn_in_cp import QcnInPort
from pcn.controller.marking.red_ecn import RedPort
from pcn.controller.marking.rest import RestPort
from pcn.controller.marking.tcd_port import TcdPort
from pcn.controller.tofino import qcn, tcd
from pcn.controller.tofino.model import Class, Pfc, Port, Tcd, TofinoLab

TWINS = {"pcn_time": "pcn", "tcd_time": "tcd", "qcn": "qcn", "qcn_in": "qcn_in"}
"""By the v1model program with the same rule."""
SPEED_BPS = 10_000_000_000
MOST_GAP_NS = 2**31 - 1


def lab(ports: tuple[int, ...], mtu: int, lossless: int) -> TofinoLab:
    """Returns the switch as `pcn deploy` describes one: the tests' ports are device ports, each a
    lane of 10 Gbit/s."""
    pfc = Pfc(100_000, 90_000, 2 * mtu)
    return TofinoLab(
        "ptf",
        device=0,
        pipes=CHIP.pipes[0],
        mtu=mtu,
        classes=tuple(Class(number, number, bool(lossless >> number & 1)) for number in range(8)),
        ports=tuple(
            Port(
                device_port(port),
                port // CHIP.lanes + 1,
                port % CHIP.lanes,
                SPEED_BPS,
                False,
                False,
                pfc,
                1,
                0,
            )
            for port in ports
        ),
        routes=(),
        chip=CHIP,
    )


def sessions(program: str, switch: TofinoLab) -> list[CloneSession]:
    """Returns those of a twin that copies packets."""
    return qcn.sessions(switch) if program in qcn.PROGRAMS else []


def twin_entries(plan: SwitchPlan, lossless: int) -> list[TableEntry]:
    """Returns the twin's entries of a plan for its v1model program. PFC is the traffic manager's,
    so it has none."""
    marking = [entry for point in plan.marking for entry in _entries(point, lossless)]
    return [*marking, *_curves(plan), *_feedback(plan), *entries(replace(plan, pfc=(), marking=()))]


def _entries(point: Any, lossless: int) -> Iterator[TableEntry]:
    port = device_port(point.port)
    if isinstance(point, RestPort):
        for number, action in point.actions.items():
            match = TableMatch({"port": port, "class": number})
            yield TableEntry(
                "rest_config",
                match=match,
                action=TableAction(action, gap_ns=min(1000 * point.gap_us, MOST_GAP_NS)),
            )
    elif isinstance(point, TcdPort):
        states = TableAction(
            "set_tcd",
            max_ton_ns=1000 * point.max_ton_us,
            empty_cells=point.empty_bytes // _frame(point) * CHIP.cells(_frame(point)),
            looks=point.looks,
        )
        yield TableEntry("tcd_config", match=TableMatch(port=port), action=states)
    elif isinstance(point, RedPort):
        yield TableEntry(
            "red_config", match=TableMatch(port=port), action=TableAction("set_red", curve=1)
        )
    elif isinstance(point, QcnInPort):
        longest = qcn.dice_mask(1000 * point.sojourn_us)
        actions = {
            "qcn_in_arrivals": TableAction("set_arrivals", **qcn.sampling(point.sample_bytes)),
            "qcn_in_departures": TableAction(
                "set_departures",
                choice=int(point.culprit),
                q_eq_bytes=point.q_eq_bytes,
                sojourn_mask_ns=longest,
            ),
        }
        for number in range(8):
            if lossless >> number & 1:
                match = TableMatch({"port": port, "class": number})
                yield from (
                    TableEntry(table, match=match, action=action)
                    for table, action in actions.items()
                )
    elif isinstance(point, QcnPort):
        action = TableAction(
            "set_qcn", q_eq_bytes=point.q_eq_bytes, **qcn.sampling(point.sample_bytes)
        )
        for number in range(8):
            if lossless >> number & 1:
                yield TableEntry(
                    "qcn_config", match=TableMatch({"port": port, "class": number}), action=action
                )


def _frame(point: TcdPort) -> int:
    """Of a queue that is gone: TCD takes two frames for none."""
    return point.empty_bytes // 2


def _curves(plan: SwitchPlan) -> Iterator[TableEntry]:
    """Of RED: one curve, as all ports of a test mark alike."""
    for point in plan.marking:
        if isinstance(point, RedPort):
            for step in tcd.curve(Tcd(point.k_min_bytes, point.k_max_bytes, point.p_max), CHIP):
                yield TableEntry(
                    "red_curves",
                    match=TableMatch(curve=1, queue_cells=f"{step.low}...{step.high}"),
                    action=TableAction("set_probability", last_draw=step.draws - 1),
                    priority=1,
                )
            return


def _feedback(plan: SwitchPlan) -> Iterator[TableEntry]:
    for q_eq in sorted({point.q_eq_bytes for point in plan.marking if isinstance(point, QcnPort)}):
        yield from qcn.feedback_entries(q_eq)
