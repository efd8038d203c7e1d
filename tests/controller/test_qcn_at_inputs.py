"""Congestion points at inputs: what a topology and a scheme's parameters make of their entries, and what changes do."""

from __future__ import annotations

from dataclasses import replace

import pytest

from controller.marking import qcn_in_cp
from controller.marking.qcn_in_cp import Culprit
from hosts.algorithms import find_scheme
from topologies.star import star

STAR = star(4, xoff_bytes=110e3, xon_bytes=44e3)


def configured(scheme: str, dilation: float = 1.0, **fields: float) -> qcn_in_cp.QcnInPort:
    parameters = find_scheme(scheme).configure(fields).parameters
    return qcn_in_cp.configure(STAR, "s0", 1, dilation, parameters)


@pytest.mark.parametrize(
    ("scheme", "culprit"),
    [
        ("qcn-in", Culprit.ARRIVAL),
        ("qcn-os", Culprit.RANDOM),
        ("qcn-os-largest", Culprit.LARGEST),
        ("qcn-os-sojourn", Culprit.SOJOURN),
    ],
)
def test_the_scheme_says_whom_a_sample_tells(scheme: str, culprit: Culprit) -> None:
    port = configured(scheme)
    assert port.culprit is culprit
    assert bool(port.keep_alive_us) == (culprit is not Culprit.ARRIVAL)


def test_a_packet_waits_longest_where_xoff_leaves_at_a_sixteenth_of_the_line() -> None:
    assert configured("qcn-os-sojourn").sojourn_us == round(110e3 * 8 / (10e9 / 16) * 1e6)
    assert configured("qcn-os-sojourn", dilation=100).sojourn_us == 140_800
    assert configured("qcn-os-sojourn", longest_wait_s=2e-3).sojourn_us == 2000


def test_keep_alive_follows_the_sampling_interval() -> None:
    port = configured("qcn-os", sample_bytes=150e3, dilation=10)
    assert port.keep_alive_us == 1200
    changed = qcn_in_cp.change(1, port.arguments(), {"sample": 15e3})
    assert changed == configured("qcn-os", sample_bytes=15e3, dilation=10)
    without = configured("qcn-os", keep_alive=0)
    assert qcn_in_cp.change(1, without.arguments(), {"sample": 15e3}).keep_alive_us == 0


def test_an_arriving_packet_keeps_nothing_alive() -> None:
    with pytest.raises(ValueError, match="keep-alive needs a culprit"):
        replace(configured("qcn-in"), keep_alive_us=1)
