"""The switch client and the lab on real switches, of each target."""

import os
import uuid
from collections.abc import Iterator

import needs
import pytest

from pcn.controller.constants import index
from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.errors import SwitchError, UnknownNameError
from pcn.controller.routes import route_entry
from pcn.controller.switch import SwitchClient
from pcn.lab.lab import Lab
from pcn.topologies.dumbbell import dumbbell

pytestmark = pytest.mark.root
# The base round trip is there before any queue.
RTT_S = 500e-6


@pytest.fixture(scope="module", params=needs.TARGETS)
def lab(request, tmp_path_factory) -> Iterator[Lab]:
    name = f"l{os.getpid()}-{uuid.uuid4().hex[:8]}"
    with Lab(
        dumbbell(pairs=1, rtt_s=RTT_S),
        log_dir=tmp_path_factory.mktemp("logs"),
        name=name,
        target=needs.target(request.param),
        dilation=500,
        scheme="pfc",
    ) as lab:
        yield lab


def test_what_was_planned_is_in_the_tables(lab: Lab):
    for name, switch in lab.switches.items():
        plan = lab.plans[name]
        routes = [entry for entry in switch.read_table("ipv4_lpm") if not entry.is_default_action]
        assert {
            entry.action.args["port"] for entry in routes if isinstance(entry.action, TableAction)
        } == {route.port for route in plan.routes}
        ports = {
            entry["port"]: entry.action for entry in switch.read_table("pfc_config") if entry.match
        }
        assert set(ports) == {port.port for port in plan.pfc}
        for port in plan.pfc:
            action = ports[port.port]
            assert isinstance(action, TableAction)
            assert action.args["xoff_bytes"] == port.xoff_bytes
            assert action.args["quantum_q16_us"] == port.quantum_q16_us


def test_packets_are_counted_and_take_the_link_s_delay(lab: Lab):
    h0, r0 = lab.agents["h0"], lab.agents["r0"]
    to = lab.topology.host("r0")
    before = lab.switches["s0"].read_counter("transmitted", index(2)).packets
    h0.start(7, to.ip, to.mac, size_bytes=10_000)
    while not any(flow.flow == 7 and flow.complete_s is not None for flow in r0.stats().received):
        pass  # pytest's time limit ends it
    (sent,) = [flow for flow in h0.stats().sent if flow.flow == 7]
    (got,) = [flow for flow in r0.stats().received if flow.flow == 7]
    assert (got.packets, got.gaps, got.duplicates) == (10, 0, 0)
    assert got.first_s - sent.start_s >= RTT_S / 2
    assert lab.switches["s0"].read_counter("transmitted", index(2)).packets - before == 10
    assert lab.switches["s0"].read_registers("waiting_bytes", [index(2)]) == {index(2): 0}


def test_registers_by_one_by_some_and_all(lab: Lab):
    switch = lab.switches["s1"]
    assert switch.read_register("held_bytes", index(1)) == 0
    assert switch.read_registers("held_bytes", [1, 5]) == {1: 0, 5: 0}
    assert sorted(switch.read_registers("held_bytes")) == list(range(4096))
    assert sorted(switch.read_counters("transmitted")) == list(range(4096))


def test_names_that_are_not_there(lab: Lab):
    switch = lab.switches["s0"]
    with pytest.raises(UnknownNameError, match="did you mean 'waiting_bytes'"):
        switch.read_register("waiting_byte", 0)
    with pytest.raises(UnknownNameError, match="did you mean 'marked'"):
        switch.read_counter("markd", 0)
    with pytest.raises(UnknownNameError, match="did you mean 'pfc_config'"):
        switch.insert([TableEntry("pfc_confg", match=TableMatch(port=1))])
    with pytest.raises(SwitchError, match="xof_bytes"):
        switch.insert(
            [
                TableEntry(
                    "pfc_config",
                    match=TableMatch(port=9),
                    action=TableAction("set_pfc", xof_bytes=1),
                )
            ]
        )


def test_refused_write_names_the_entry_and_the_reason(lab: Lab):
    again = route_entry(lab.plans["s0"].routes[0])
    with pytest.raises(
        SwitchError,
        match=r"s0: insert of 1 entries failed; ipv4_lpm dst_addr=[^ ]*: ALREADY_EXISTS",
    ):
        lab.switches["s0"].insert([again])


def test_a_second_controller_reads_but_does_not_write(lab: Lab):
    running = lab.network.switches["s0"]
    registers = lab.network.target.registers(running.pid)
    with SwitchClient.connect("s0", running.address, running.device_id, registers) as second:
        assert second.read_register("pn", index(2)) == 0
        assert "ipv4_lpm" in second.tables()
        with pytest.raises(SwitchError, match="only the primary controller may write"):
            second.insert([route_entry(lab.plans["s0"].routes[0])])
        with pytest.raises(SwitchError, match="arbitration failed"):
            second.become_primary(election_id=1)


def test_connecting_without_a_server_raises(tmp_path):
    with pytest.raises(SwitchError, match="no P4Runtime server answers"):
        SwitchClient.connect("s0", f"unix:{tmp_path}/s0.grpc", 1, limit_s=0.2)
