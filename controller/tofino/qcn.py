"""QCN's table entries and mirror sessions on Tofino: tables of p4src/tna/qcn_cp.p4, qcn_in_cp.p4
and cnm.p4, and sessions of mirror.p4."""

from __future__ import annotations

import math
from dataclasses import replace

from pcn.controller.control_plane import CloneSession, TableAction, TableEntry, TableMatch
from pcn.controller.marking.qcn_in_cp import INPUTS_AT_ONE_OUTPUT, Culprit
from pcn.controller.tofino.chips import PORTS_A_PIPE, TOFINO, Chip
from pcn.controller.tofino.model import Port, Qcn, TofinoLab

PROGRAMS = ("qcn", "qcn_in")
"""With congestion points at outputs, at inputs."""
W = 2
"""The weight of the queue's growth; the data plane has no other."""
STEP_BYTES = 16  # of F_b
STEPS = 1 << 16
MOST_FEEDBACK = 63
_JITTER = 0.3  # from the shortest to the longest sample
_SIGN = 1 << 11  # the top bit of `most`
_IN_STEPS, _BEYOND = 2, 1  # priorities
_COPY_SESSIONS = 4
_COPY_BYTES = 62  # what stands in front of a copy, and its headers


def entries(lab: TofinoLab, program: str) -> list[TableEntry]:
    """Returns the entries of all ports and lossless classes, for one of PROGRAMS."""
    tables = dict(zip(PROGRAMS, (_output, _input), strict=True))[program]
    qcn = replace(lab.qcn, q_eq_bytes=set_point(lab.qcn.q_eq_bytes, program, lab.chip))
    return [
        *(
            TableEntry(
                table,
                match=TableMatch({"port": port.number, "class": traffic_class.number}),
                action=action,
            )
            for port in lab.ports
            for table, action in tables(qcn, port).items()
            for traffic_class in lab.lossless
        ),
        *feedback_entries(qcn.q_eq_bytes),
    ]


def set_point(q_eq_bytes: int, program: str, chip: Chip) -> int:
    """Returns the set point as the program counts queues: at outputs a cell is 80 of its bytes,
    whatever the chip's cells hold. Feedback is the queue's part of the set point, so it is the
    same."""
    return q_eq_bytes * TOFINO.cell_bytes // chip.cell_bytes if program == "qcn" else q_eq_bytes


def sessions(lab: TofinoLab) -> list[CloneSession]:
    """Returns the sessions by which copies go to each pipe's recirculation port, cut behind their
    headers, or where the chip can next: the rest is padding. That port loops back unless configured
    otherwise."""
    cut = -(-_COPY_BYTES // lab.chip.cut_bytes) * lab.chip.cut_bytes
    return [
        CloneSession(
            _COPY_SESSIONS + pipe,
            packet_length_bytes=cut,
            replicas=[pipe * PORTS_A_PIPE + lab.chip.recirculation_port],
        )
        for pipe in range(lab.pipes)
    ]


def sampling(sample_bytes: int) -> dict[str, int]:
    """Returns how many bytes samples are apart at least, and how many more they may be: the power
    of two next to QCN's jitter, less one."""
    width = 1 << max(0, round(math.log2(_JITTER * sample_bytes)))
    return {"sample_min_bytes": sample_bytes - width // 2, "sample_mask_bytes": width - 1}


def longest_wait_ns(port: Port) -> int:
    """Returns the wait as in v1model: where XOFF's bytes leave at a small part of the line."""
    return math.ceil(INPUTS_AT_ONE_OUTPUT * port.pfc.xoff_bytes * 8e9 / port.speed_bps)


def dice_mask(longest_ns: int) -> int:
    """Returns the mask of the bits of a random wait: one less than the smallest power of two that
    is at least `longest_ns`."""
    return (1 << (longest_ns - 1).bit_length()) - 1


def feedback_steps(q_eq_bytes: int) -> list[tuple[int, int, int]]:
    """Returns the first and last step of F_b, and the value (6 bits) that stands for them; what is
    below the first has none.

    IEEE 802.1Qau's 63 F_b / ((2 w + 1) Q_eq), rounded down; F_b is rounded down to whole steps
    before.
    """
    most = (2 * W + 1) * q_eq_bytes
    firsts = [
        -(-value * most // (MOST_FEEDBACK * STEP_BYTES)) for value in range(1, MOST_FEEDBACK + 1)
    ]
    lasts = [*(first - 1 for first in firsts[1:]), STEPS - 1]
    return [
        (first, last, value)
        for value, (first, last) in enumerate(zip(firsts, lasts, strict=True), start=1)
        if first <= last
    ]


def feedback_entries(q_eq_bytes: int) -> list[TableEntry]:
    """Returns the entries of all that have this set point. F_b that is above 0, but below the first
    step, has an entry, too: the one of all that is beyond would match it."""
    steps = feedback_steps(q_eq_bytes)
    ranges = [
        (first, last, TableAction("set_feedback", quantised=value)) for first, last, value in steps
    ]
    if steps[0][0] > 0:
        ranges.insert(0, (0, steps[0][0] - 1, TableAction("no_feedback")))
    matches = [
        (TableMatch(q_eq=q_eq_bytes, most=0, steps=(first, last)), _IN_STEPS, action)
        for first, last, action in ranges
    ]
    beyond = TableAction("set_feedback", quantised=MOST_FEEDBACK)
    matches.append((TableMatch(q_eq=q_eq_bytes, most=(0, _SIGN)), _BEYOND, beyond))
    return [
        TableEntry("feedback_steps", match=match, action=action, priority=priority)
        for match, priority, action in matches
    ]


def _output(qcn: Qcn, _port: Port) -> dict[str, TableAction]:
    return {
        "qcn_config": TableAction(
            "set_qcn", q_eq_bytes=qcn.q_eq_bytes, **sampling(qcn.sample_bytes)
        )
    }


def _input(qcn: Qcn, port: Port) -> dict[str, TableAction]:
    departures = TableAction(
        "set_departures",
        choice=int(Culprit[qcn.culprit.upper()]),
        q_eq_bytes=qcn.q_eq_bytes,
        sojourn_mask_ns=dice_mask(longest_wait_ns(port)),
    )
    return {
        "qcn_in_arrivals": TableAction("set_arrivals", **sampling(qcn.sample_bytes)),
        "qcn_in_departures": departures,
    }
