"""InfiniBand's credits: what a topology says of them, and who refuses it."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import pytest
from networks import star

from lab.network import NetworkError, launch_spec
from topologies.model import Topology, TopologyError
from topologies.serialise import from_dict, to_dict


def by_credits(topology: Topology, **parameters: float) -> Topology:
    return replace(topology, flow_control="credits", parameters={**topology.parameters, **parameters})


def test_a_topology_with_it_can_be_written_and_read() -> None:
    topology = by_credits(star(2), credit_interval_s=1e-6)
    assert topology.number("buffer_bytes") == 280e3
    assert from_dict(json.loads(json.dumps(to_dict(topology)))) == topology
    assert "buffer_bytes" not in star(2).parameters


def test_what_can_not_be() -> None:
    with pytest.raises(TopologyError, match="star: flow control 'fc': there is 'pfc' and 'credits'"):
        replace(star(2), flow_control="fc")
    with pytest.raises(TopologyError, match="star: buffers of 1000 bytes hold no frame of mtu_bytes, 1058"):
        by_credits(star(2), buffer_bytes=1000)
    with pytest.raises(TopologyError, match="star: credit_interval_s must be above 0"):
        by_credits(star(2), credit_interval_s=0)


def test_live_networks_refuse_it() -> None:
    with pytest.raises(NetworkError, match="star: flow control 'credits' is there in virtual time alone"):
        launch_spec(by_credits(star(2)), "s0", 400, Path("grpc"))
