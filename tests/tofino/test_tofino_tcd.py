"""What `pcn deploy --program tcd` writes: RED's curve in steps, and TCD's parameters by port."""

from dataclasses import replace
from itertools import pairwise

from hypothesis import given, settings, strategies as st

from pcn.controller.tofino.chips import CHIPS, MOST_CELLS, TOFINO, TOFINO2, Chip
from pcn.controller.tofino.lab_file import SAMPLE, read
from pcn.controller.tofino.model import Tcd
from pcn.controller.tofino.tcd import STEPS, curve, entries
from pcn.hosts.algorithms.red import RedParameters
from pcn.hosts.algorithms.tcd import TcdParameters

DRAWS = 1 << 32

thresholds = st.tuples(st.integers(0, 10**6), st.integers(0, 4 * 10**7)).map(sorted)


def red(tcd: Tcd, queue_bytes: int) -> float:
    """DCQCN's probability (SIGCOMM'15, eq. 5)."""
    if queue_bytes <= tcd.k_min_bytes:
        return 0.0
    if queue_bytes > tcd.k_max_bytes:
        return 1.0
    return tcd.p_max * (queue_bytes - tcd.k_min_bytes) / (tcd.k_max_bytes - tcd.k_min_bytes)


def probability(tcd: Tcd, chip: Chip, cells: int) -> float:
    """The table's probability for a queue of `cells` cells."""
    shares = [step.draws / DRAWS for step in curve(tcd, chip) if step.low <= cells <= step.high]
    assert len(shares) <= 1
    return shares[0] if shares else 0.0


@settings(max_examples=300)
@given(
    thresholds, st.floats(0, 1), st.integers(0, MOST_CELLS), st.sampled_from(list(CHIPS.values()))
)
def test_a_step_is_half_a_step_from_the_line_at_most(k, p_max, anywhere, chip):
    """Nothing up to K_min, all above K_max, as by the bytes that the cells hold at most."""
    tcd = Tcd(*k, p_max)
    span = tcd.k_max_bytes - tcd.k_min_bytes
    most = p_max * (span / STEPS + chip.cell_bytes) / 2 / span if span else 0.0
    at = [edge for step in curve(tcd, chip) for edge in (step.low - 1, step.low, step.high)]
    for cells in (*at, anywhere):
        assert (
            abs(probability(tcd, chip, cells) - red(tcd, cells * chip.cell_bytes))
            <= most + 2 / DRAWS
        ), cells


def test_dcqcn_s_curve():
    """16 steps from 5 KB to 200 KB, of 0.03% to 0.97%, and all above."""
    steps = curve(Tcd(), TOFINO)
    assert len(steps) == STEPS + 1
    assert (steps[0].low, steps[-1].low, steps[-1].high) == (63, 2501, MOST_CELLS)
    assert steps[-1].draws == DRAWS
    assert [round(step.draws / DRAWS * 1e4) / 1e4 for step in (steps[0], steps[-2])] == [
        0.0003,
        0.0097,
    ]
    assert all(step.high + 1 == after.low for step, after in pairwise(steps))


def test_a_threshold_alone_takes_one_entry():
    assert [(step.low, step.draws) for step in curve(Tcd(8_000, 8_000), TOFINO)] == [(101, DRAWS)]


def test_the_defaults_are_the_schemes():
    red_defaults, tcd_defaults, ours = RedParameters(), TcdParameters(), Tcd()
    assert (ours.k_min_bytes, ours.k_max_bytes, ours.p_max) == (
        *(red_defaults.k_min_bytes, red_defaults.k_max_bytes),
        red_defaults.p_max,
    )
    assert (ours.epsilon, ours.looks) == (tcd_defaults.epsilon, tcd_defaults.looks)


def test_max_ton_is_the_formula_s_for_each_port():
    """Twice the delay, and two frames and XOFF - XON at its rate, over epsilon. A frame of 1514 B
    takes 19 cells."""
    lab = read(SAMPLE)
    slow = replace(lab.ports[0], speed_bps=10_000_000_000)
    tcd_entries = entries(replace(lab, ports=(slow, *lab.ports[1:])), lab.tcd)
    states = [dict(entry.action.args) for entry in tcd_entries if entry.table_id == "tcd_config"]
    assert [state["max_ton_ns"] for state in states] == [136_448, 49_645, 49_645]
    assert {(state["empty_cells"], state["looks"]) for state in states} == {(38, 6)}


def test_cells_of_tofino_2_are_larger():
    """176 B: a frame of 1514 B takes 9 of them, and 200 KB 1136."""
    lab = replace(read(SAMPLE), chip=TOFINO2)
    tcd_entries = entries(lab, lab.tcd)
    assert {
        dict(entry.action.args)["empty_cells"]
        for entry in tcd_entries
        if entry.table_id == "tcd_config"
    } == {18}
    steps = curve(lab.tcd, TOFINO2)
    assert (steps[0].low, steps[-1].low, steps[-1].high) == (29, 1137, MOST_CELLS)
