"""Nodes of a network that don't keep pace, and the line that reports them."""

from contextlib import closing
from types import SimpleNamespace
from typing import Any, cast

import pytest
from hypothesis import given, strategies as st

from pcn.base.errors import LabError
from pcn.lab.pace import Pacing, overload, rounded_up
from pcn.softswitch.pace import MILLION, NEVER, WINDOW_NS, Board, Pace

NOW = 10**13


def node(*, behind_s: float = 0.0) -> Pace:
    usual = dict.fromkeys(Pace._fields, 0)
    return Pace(
        **{
            **usual, "updated_ns": NOW, "due_ns": NEVER, "window_ns": WINDOW_NS, "frames": 1000,
            "late": 400, "worst_ns": 8_000_000,
            "behind_since_ns": round(NOW - behind_s * 1e9) if behind_s else 0,
            "sent_ppm": MILLION,
        }
    )  # fmt: skip


def test_network_that_keeps_pace_prints_nothing():
    assert overload(400, {"s0": node(), "h0": node()}, NOW, 0) is None
    assert overload(400, {}, NOW, 0) is None


def test_overload_names_the_nodes_since_when_and_the_k():
    report = overload(
        400, {"s0": node(behind_s=2), "s1": node(), "h0": node(behind_s=12.5)}, NOW, 0
    )
    assert [(late.node, late.since_s, late.share, late.worst_s) for late in report.nodes] == [
        ("h0", 12.5, 0.4, pytest.approx(20e-6)),
        ("s0", 2.0, 0.4, pytest.approx(20e-6)),
    ]
    assert str(report) == (
        "NOT IN PACE: h0 and s0 don't keep pace, for 12.5 s (real): these numbers aren't the "
        "modelled network's; -k 640 would do"
    )
    many = overload(400, {f"h{number}": node(behind_s=1 + number) for number in range(7)}, NOW, 0)
    assert "h6, h5, h4, h3 and 3 more don't" in str(many)
    assert "h0 doesn't" in str(overload(400, {"h0": node(behind_s=1)}, NOW, 0))


@pytest.mark.parametrize(
    ("k", "measured", "suggested"), [(100, 0, 160), (100, 2000, 2000), (2000, 2000, 3200)]
)
def test_suggested_k_is_the_measured_one_or_larger_than_now(k, measured, suggested):
    report = overload(k, {"h0": node(behind_s=1)}, NOW, measured)
    assert report.k == suggested


@given(st.floats(1, 1e6))
def test_k_is_rounded_up_to_two_digits(k):
    rounded = rounded_up(k)
    assert k * (1 - 1e-9) <= rounded <= k * 1.1 + 1e-9
    assert f"{rounded:.1e}" == f"{float(f'{rounded:.6e}'):.1e}"


def test_board_of_another_network_under_the_same_name_is_refused():
    """As where the number of the process that held it is another's by now."""
    topology = {"switches": [{"name": "s0"}], "hosts": [{"name": "h0"}]}
    for nodes, refused in ((2, False), (3, True)):
        with closing(Board.make(nodes, 40)) as board:
            record = cast(
                Any,
                SimpleNamespace(
                    name="mine", dilation=1.0, enough_k=0.0, topology=topology,
                    board=str(board.path), is_inside=False,
                ),
            )  # fmt: skip
            if refused:
                with pytest.raises(
                    LabError,
                    match=rf"^{board.path} isn't the board of network mine, .*run `pcn down`$",
                ):
                    Pacing(record)
            else:
                assert Pacing(record).behind_since_last() == frozenset()
