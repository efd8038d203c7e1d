"""What a scheme's paper recommends for a topology."""

from __future__ import annotations

from hosts.algorithms import find_scheme
from hosts.recommended import recommended
from topologies.compact import compact
from topologies.dumbbell import dumbbell


def test_topology_decides_what_pcn_is_recommended() -> None:
    pcn = find_scheme("pcn")
    assert recommended(dumbbell(), pcn) == {"w_min": 0.025, "w_max": 0.5, "period_s": 500e-6}
    assert recommended(compact(), pcn) == {"w_min": 0.05, "w_max": 0.5, "period_s": 50e-6}
    assert recommended(dumbbell(), find_scheme("dcqcn")) == {}
