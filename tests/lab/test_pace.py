"""Which nodes of a network don't keep pace, and what is said of it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lab.pace import overload, rounded_up
from softswitch.pace import MILLION, NEVER, WINDOW_NS, Pace

NOW = 10**13


def node(*, behind_s: float = 0.0, cores: float = 0.1, sent: float = 1.0) -> Pace:
    usual = dict.fromkeys(Pace._fields, 0)
    return Pace(
        **{
            **usual,
            "updated_ns": NOW,
            "due_ns": NEVER,
            "window_ns": WINDOW_NS,
            "frames": 1000,
            "late": 400,
            "worst_ns": 8_000_000,
            "behind_since_ns": round(NOW - behind_s * 1e9) if behind_s else 0,
            "cpu_ns": round(cores * WINDOW_NS),
            "sent_ppm": round(MILLION * sent),
        }
    )


def test_network_that_keeps_pace_says_nothing() -> None:
    assert overload(400, {"s0": node(), "h0": node()}, NOW, 2) is None
    assert overload(400, {}, NOW, 2) is None


def test_overload_names_the_nodes_since_when_and_the_k() -> None:
    found = overload(400, {"s0": node(behind_s=2), "s1": node(), "h0": node(behind_s=12.5)}, NOW, 2)
    assert found is not None
    assert [(one.node, one.since_s, one.share, one.worst_s) for one in found.nodes] == [
        ("h0", 12.5, 0.4, pytest.approx(20e-6)),
        ("s0", 2.0, 0.4, pytest.approx(20e-6)),
    ]
    assert str(found) == (
        "NOT IN PACE: h0 and s0 don't keep pace, for 12.5 s (real): these numbers aren't the modelled network's; "
        "-k 640 would do"
    )
    many = overload(400, {f"h{number}": node(behind_s=1 + number) for number in range(7)}, NOW, 2)
    assert "h6, h5, h4, h3 and 3 more don't" in str(many)
    assert "h0 doesn't" in str(overload(400, {"h0": node(behind_s=1)}, NOW, 2))


def test_k_grows_with_the_load_and_with_what_was_not_sent() -> None:
    def enough(**values: float) -> float:
        found = overload(100, {"h0": node(behind_s=1, **values)}, NOW, 2)
        assert found is not None
        return found.k

    assert enough(cores=0.1) == 160
    assert enough(cores=2.0) == 200
    assert enough(cores=2.0, sent=0.1) == 2000
    assert enough(cores=2.0, sent=0.0) == 20_000


@given(st.floats(1, 1e6))
def test_k_is_rounded_up_to_two_digits(k: float) -> None:
    rounded = rounded_up(k)
    assert k * (1 - 1e-9) <= rounded <= k * 1.1 + 1e-9
    assert f"{rounded:.1e}" == f"{float(f'{rounded:.6e}'):.1e}"
