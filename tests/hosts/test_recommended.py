"""What a scheme's paper recommends for a topology."""

from __future__ import annotations

import pytest

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.recommended import recommended
from pcn.topologies.compact import compact
from pcn.topologies.dumbbell import dumbbell


def test_topology_decides_what_pcn_is_recommended() -> None:
    pcn = find_scheme("pcn")
    assert recommended(dumbbell(), pcn) == {"w_min": 0.025, "w_max": 0.5, "period_s": 500e-6}
    assert recommended(compact(), pcn) == {"w_min": 0.05, "w_max": 0.5, "period_s": 50e-6}
    assert recommended(dumbbell(), find_scheme("dcqcn")) == {}


def test_topology_decides_what_windows_are_recommended() -> None:
    """Swift's target is two round trips; HPCC's T is one with frames, and a little more."""
    topology = dumbbell()
    assert recommended(topology, find_scheme("swift")) == {"base_target_s": 1e-3}
    hpcc = recommended(topology, find_scheme("hpcc"))
    frames_s = topology.max_rtt_s(topology.number("mtu_bytes"))
    assert 500e-6 < frames_s < hpcc["base_rtt_s"] == pytest.approx(1.02 * frames_s)


def test_round_trip_with_frames_has_each_link_s_time_both_ways() -> None:
    """Host's, bottleneck's, host's link: a frame's time at each."""
    topology = dumbbell()
    trail = topology.trail("h0", "r0")
    times_s = sum(8 * 1000 / rate_bps + delay_s for rate_bps, delay_s in trail)
    assert topology.max_rtt_s(1000) == pytest.approx(2 * times_s)
