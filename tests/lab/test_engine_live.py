"""A live network whose switches' packets the engine moves: what it has that others haven't."""

import json
import os
import uuid
from dataclasses import replace

import pytest
from waiting import wait_until

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab import flows
from pcn.lab.lab import Lab
from pcn.lab.launch import NetworkError, launch_spec, require_live
from pcn.lab.target import EngineTarget
from pcn.topologies.formats.pcn import write
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import ROUND_ROBIN, FlowSpec, Topology, TopologyError
from pcn.topologies.python_file import refused
from pcn.topologies.schedules import Schedule
from pcn.topologies.star import star
from pcn.virtualnet.errors import VirtualError

WEIGHTS = (0, 0, 3, 1, 0, 0, 0, 0)
SCHEME = "pfc"


def weighted() -> Topology:
    """Two hosts at line rate to a third, each in its own class."""
    topology = star(senders=2)
    switches = tuple(
        replace(switch, schedules=(Schedule(WEIGHTS),)) for switch in topology.switches
    )
    return replace(
        topology,
        switches=switches,
        flows=(),
        parameters={**topology.parameters, "lossless_classes": "2,3"},
    )


def virtual_share() -> float:
    """Of the first class, in virtual time."""
    with VirtualNetwork(weighted(), find_scheme(SCHEME).configure()) as network:
        for number, traffic_class in enumerate((2, 3)):
            network.add_flow(FlowSpec(number + 1, f"h{number}", "r0", traffic_class=traffic_class))
        network.run(until_s=5e-3)
        first, second = (flow.stats().received_bytes for flow in network.flows.values())
        return first / (first + second)


@pytest.mark.root
def test_classes_share_as_in_virtual_time(tmp_path):
    topology = weighted()
    name = f"a{os.getpid()}-{uuid.uuid4().hex[:8]}"
    with Lab(
        topology, log_dir=tmp_path, name=name, dilation=1000, scheme=SCHEME, target="engine"
    ) as lab:
        for number, traffic_class in enumerate((2, 3)):
            flows.start(topology, lab.agents, f"h{number}", "r0", traffic_class=traffic_class)

        def packets() -> list[int]:
            received = lab.agents["r0"].stats().received
            return [flow.packets for flow in sorted(received, key=lambda flow: flow.flow)]

        wait_until(lambda: sum(packets()) > 500, "both flows")
        before = packets()
        wait_until(lambda: sum(packets()) > sum(before) + 3000, "both flows")
        first, second = (now - then for now, then in zip(packets(), before, strict=True))
    assert first / (first + second) == pytest.approx(virtual_share(), abs=0.02)


def test_what_live_switches_lack_depends_on_the_target():
    topology = weighted()
    with pytest.raises(NetworkError, match="weights of classes are there with --target engine, "):
        require_live(topology)
    require_live(topology, EngineTarget.name)
    switches = (replace(topology.switches[0], schedules=(), arbitration=ROUND_ROBIN),)
    with pytest.raises(NetworkError, match="'round robin' is there with --target engine, "):
        require_live(replace(topology, switches=switches), "bmv2")
    require_live(replace(topology, switches=switches), EngineTarget.name)


def test_scheduler_of_one_file_is_live_by_the_engine_alone(tmp_path):
    """A file that is data shows it, and nothing runs it."""
    (tmp_path / "sjf.c").write_text("")
    reference = f"{tmp_path}/sjf.c:sjf"
    topology = find_topology("star").build({"order": reference})
    with pytest.raises(NetworkError, match=r"sjf\.c:sjf' is there with --target engine, "):
        require_live(topology)
    spec = launch_spec(topology, "s0", 100, tmp_path / "s", target=EngineTarget.name)
    assert f"--arbitration {reference}" in " ".join(EngineTarget().command(spec))
    text = json.dumps({"hosts": ["a", "b"], "links": [{"a": end, "b": "s"} for end in "ab"],
                       "switches": [{"name": "s", "arbitration": reference}],
                       "defaults": {"rate": "1Gbps", "delay": "1us"}})  # fmt: skip
    (tmp_path / "net.json").write_text(text)
    stored = find_topology(f"{tmp_path}/net.json").build()
    with pytest.raises(NetworkError, match=r"sjf\.c:sjf: a topology's file can't bring code"):
        require_live(replace(stored, flows=()), EngineTarget.name)
    with pytest.raises(VirtualError, match=r"a topology's file can't bring code; `--order "):
        VirtualNetwork(stored, find_scheme(SCHEME).configure())
    assert write(stored).count(reference) == 1
    with pytest.raises(TopologyError, match=r"order=none\.c:sjf: no file none\.c"):
        find_topology("star").build({"order": "none.c:sjf"})


def test_code_of_a_stored_run_stays_unread_without_leave(tmp_path):
    (tmp_path / "sjf.c").write_text("")
    with refused("not allowed"), pytest.raises(TopologyError, match=r"sjf\.c: not allowed"):
        find_topology("star").build({"order": f"{tmp_path}/sjf.c:sjf"})


def test_engine_gets_weights_and_arbitration(tmp_path):
    topology = weighted()
    switches = (replace(topology.switches[0], arbitration=ROUND_ROBIN),)
    spec = launch_spec(
        replace(topology, switches=switches), "s0", 100, tmp_path / "s", target=EngineTarget.name
    )
    command = " ".join(EngineTarget().command(spec))
    for words in ("--engine", "--weights 1=2:3,3:1", "--weights 3=2:3,3:1", "round_robin"):
        assert words in command
