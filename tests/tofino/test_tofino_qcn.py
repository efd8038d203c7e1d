"""What `pcn deploy --program qcn` and `qcn_in` write: set points and samples by port, feedback in
steps, sessions."""

from dataclasses import replace
from itertools import pairwise
from pathlib import Path

import pytest
from hypothesis import given, strategies as st
from stratum import Stratum, serving

from pcn import cli
from pcn.controller.control_plane import TableAction, TableEntry
from pcn.controller.marking.qcn_in_cp import Culprit
from pcn.controller.tofino import qcn
from pcn.controller.tofino.chips import TOFINO2
from pcn.controller.tofino.lab_file import SAMPLE, read
from pcn.controller.tofino.model import Qcn
from pcn.hosts.algorithms.qcn import QcnParameters


@pytest.mark.parametrize("program", qcn.PROGRAMS)
def test_program_entries_and_sessions_reach_the_switch(program, sample: Path, capsys):
    service = Stratum()
    with serving(service) as address:
        code = cli.run(
            ["deploy", "--grpc", address, "--ports", str(sample), "--program", program, "--quiet"]
        )
    assert (code, capsys.readouterr().err) == (0, "")
    held = {table: len(entries) for table, entries in service.entries().items() if entries}
    ports = {"qcn": ["qcn_config"], "qcn_in": ["qcn_in_arrivals", "qcn_in_departures"]}[program]
    assert held == {"ipv4_lpm": 3, "feedback_steps": 65} | dict.fromkeys(ports, 3)
    assert service.loaded.memory.sessions == {4: (((68, 0),), 62), 5: (((196, 0),), 62)}


def test_a_lossless_class_of_each_port_is_sampled():
    lab = read(SAMPLE)
    entries = [
        entry
        for entry in qcn.entries(replace(lab, qcn=Qcn(culprit="arrival")), "qcn_in")
        if entry.table_id != "feedback_steps"
    ]
    assert [(entry.table_id, entry.match["port"], entry.match["class"]) for entry in entries] == [
        (table, port, 3)
        for port in (128, 136, 144)
        for table in ("qcn_in_arrivals", "qcn_in_departures")
    ]
    arrivals, departures = (dict(entry.action.args) for entry in entries[:2])
    assert arrivals == {"sample_min_bytes": 133_616, "sample_mask_bytes": 32_767}
    # 16 inputs' 512 KB at 100 Gbit/s are 655 us: a dice of 2^20 ns.
    assert departures == {
        "choice": Culprit.ARRIVAL,
        "q_eq_bytes": 26_000,
        "sojourn_mask_ns": (1 << 20) - 1,
    }


def test_tofino_2_has_its_recirculation_ports_and_cells():
    lab = replace(read(SAMPLE), chip=TOFINO2, pipes=4)
    assert [list(session.replicas) for session in qcn.sessions(lab)] == [[6], [134], [262], [390]]
    assert {session.packet_length_bytes for session in qcn.sessions(lab)} == {64}, (
        "62 bytes, in fours"
    )
    wanted = {"qcn": 26_000 * 80 // 176, "qcn_in": 26_000}
    for program, set_point in wanted.items():
        actions = [dict(entry.action.args) for entry in qcn.entries(lab, program)]
        assert {action["q_eq_bytes"] for action in actions if "q_eq_bytes" in action} == {set_point}
        assert {
            entry.match["q_eq"]
            for entry in qcn.entries(lab, program)
            if entry.table_id == "feedback_steps"
        } == {set_point}


@given(st.integers(64, 10**9))
def test_samples_are_as_far_apart_as_wanted(sample_bytes):
    """On average; and by a fifth more or less at most, where 802.1Qau has 15%."""
    apart = qcn.sampling(sample_bytes)
    least, most = apart["sample_min_bytes"], apart["sample_min_bytes"] + apart["sample_mask_bytes"]
    assert abs((least + most) / 2 - sample_bytes) <= 0.5
    assert 0.78 * sample_bytes < least < most < 1.22 * sample_bytes
    assert apart["sample_mask_bytes"] & apart["sample_mask_bytes"] + 1 == 0


@given(st.integers(1, 1 << 31))
def test_the_dice_has_sides_enough(longest_ns):
    sides = qcn.dice_mask(longest_ns) + 1
    assert sides // 2 < longest_ns <= sides
    assert sides & sides - 1 == 0


@given(st.integers(1_000, 200_000))
def test_feedback_is_that_of_802_1qau(q_eq):
    """63 F_b / ((2 w + 1) Q_eq) in 6 bits, each value where it begins, except for whole steps."""
    steps = qcn.feedback_steps(q_eq)
    assert [value for *_, value in steps] == list(range(1, 64))
    assert steps[-1][1] == qcn.STEPS - 1
    for (_, last, _), (first, *_) in pairwise(steps):
        assert first == last + 1
    for first, _, value in steps:
        assert (
            63 * first * qcn.STEP_BYTES // (5 * q_eq)
            >= value
            > 63 * (first - 1) * qcn.STEP_BYTES // (5 * q_eq)
        )


@given(
    st.integers(1_000, 200_000), st.integers(-(1 << 31), (1 << 31) - 1) | st.integers(-100, 20_000)
)
def test_entries_have_the_feedback_of_each_f_b(q_eq, f_b):
    """Rounded down to a step; none below 0, nor where it is less than one of 63."""
    keys = {"most": f_b >> 20 & 0xFFF, "steps": f_b >> 4 & 0xFFFF}
    hits = [entry for entry in qcn.feedback_entries(q_eq) if matches(entry, keys)]
    chosen = max(hits, key=lambda hit: hit.priority).action if hits else TableAction("no_feedback")
    exact = min(63, 63 * (f_b // qcn.STEP_BYTES * qcn.STEP_BYTES) // (5 * q_eq))
    expected = (
        TableAction("set_feedback", quantised=exact) if exact > 0 else TableAction("no_feedback")
    )
    assert (chosen.name, chosen.args) == (expected.name, expected.args)


def matches(entry: TableEntry, keys: dict[str, int]) -> bool:
    most, steps = entry.match["most"], entry.match.get("steps", (0, qcn.STEPS - 1))
    value, mask = most if isinstance(most, tuple) else (most, 0xFFF)
    return keys["most"] & mask == value and steps[0] <= keys["steps"] <= steps[1]


def test_the_defaults_are_the_schemes():
    parameters, ours = QcnParameters(), Qcn()
    assert (ours.q_eq_bytes, ours.sample_bytes, qcn.W) == (
        *(parameters.q_eq_bytes, parameters.sample_bytes),
        parameters.w,
    )


@given(st.integers(1_000, 200_000), st.integers(0, 4_000), st.integers(0, 4_000))
def test_feedback_of_tofino_2_is_of_its_cells(q_eq, cells, old):
    """The program takes 80 B for a cell; the set point is 80 B for each 176 of the lab's, so the
    value is the same except the rounding of either: of F_b to 35 B, and of the set point."""
    ours = qcn.set_point(q_eq, "qcn", TOFINO2)
    f_b = 80 * (cells - ours / 80 + qcn.W * (cells - old))
    values = [
        value
        for first, last, value in qcn.feedback_steps(ours)
        if first <= f_b // qcn.STEP_BYTES <= last
    ]
    exact = 63 * (176 * (cells + qcn.W * (cells - old)) - q_eq) / (5 * q_eq)
    wanted = min(63.0, max(0.0, exact))
    assert abs((values[0] if values else 0) - wanted) <= 2 + 63 * 36 / (5 * q_eq) + wanted / 400
