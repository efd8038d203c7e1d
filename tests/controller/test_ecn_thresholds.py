"""RED's thresholds by link rate and by port, instead of the scheme's."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest

from controller.configure import plan
from controller.marking.arrival_ecn import ArrivalPort
from controller.marking.red_ecn import RedPort
from hosts.algorithms import find_scheme
from topologies import serialise
from topologies.dumbbell import dumbbell
from topologies.ecn import EcnThresholds
from topologies.errors import TopologyError
from topologies.formats import FORMATS
from topologies.found import find_topology
from topologies.model import Topology

BY_RATE = (EcnThresholds(1, 2, 0.5, port=2), EcnThresholds(400e3, 1600e3, 0.2, rate_bps=10e9))


def with_ecn(topology: Topology, ecn: tuple[EcnThresholds, ...]) -> Topology:
    return replace(topology, switches=tuple(replace(one, ecn=ecn) for one in topology.switches))


def test_port_has_the_first_thresholds_that_apply_or_the_schemes() -> None:
    first, *rest = dumbbell().links
    topology = with_ecn(replace(dumbbell(), links=(replace(first, rate_bps=40e9), *rest)), BY_RATE)
    found = plan(topology, "s0", 1.0, find_scheme("dcqcn").configure())
    ports = {one.port: one for one in found.marking if isinstance(one, RedPort)}
    assert ports[first.b.port if first.b.node == "s0" else first.a.port] == RedPort(1, 5000, 200_000, 0.01)
    assert ports[2] == RedPort(2, 1, 2, 0.5)
    assert ports[3] == RedPort(3, 400_000, 1_600_000, 0.2)


def test_step_of_thresholds_is_k_of_dctcp() -> None:
    """Others are RED's: such a port has the scheme's K."""
    ecn = (*BY_RATE, EcnThresholds(30e3, 30e3, 1, port=1), EcnThresholds(20e3, 20e3, 1, rate_bps=10e9))
    found = plan(with_ecn(dumbbell(), ecn), "s0", 1.0, find_scheme("dctcp").configure({"k_bytes": 7e3}))
    ports = {one.port: one.k_bytes for one in found.marking if isinstance(one, ArrivalPort)}
    assert ports == {1: 30_000, 2: 20_000, 3: 20_000, 4: 20_000}
    red = plan(with_ecn(dumbbell(), BY_RATE), "s0", 1.0, find_scheme("dctcp").configure({"k_bytes": 7e3}))
    assert {one.k_bytes for one in red.marking if isinstance(one, ArrivalPort)} == {7000}


@pytest.mark.parametrize(
    ("values", "why"), [((2, 1, 0.5), "k_min <= k_max"), ((1, 2**32, 0.5), "2\\^32"), ((1, 2, 1.5), "p_max 1.5")]
)
def test_thresholds_that_cannot_work_are_refused(values: tuple[float, float, float], why: str) -> None:
    with pytest.raises(TopologyError, match=why):
        EcnThresholds(*values)


@pytest.mark.parametrize("form", ["pcn", "pcn-json"])
def test_file_and_json_hold_thresholds(form: str, tmp_path: Path) -> None:
    topology = with_ecn(dumbbell(), BY_RATE)
    file = tmp_path / f"made{FORMATS[form].suffix}"
    file.write_text(FORMATS[form].write(topology))
    assert find_topology(str(file)).build({}).switches == topology.switches
    assert serialise.from_dict(json.loads(json.dumps(serialise.to_dict(topology)))) == topology
