"""A controller in virtual time: packets and digests between it and a program, each at its simulated
time."""

import json
from typing import Any

import pytest
from google.protobuf import text_format
from hypothesis import given, strategies as st
from networks import MTU, PFC_ONLY, read_pcap, star, with_flows

from pcn.base import packed
from pcn.base.p4rt import p4i
from pcn.controller.control_plane import DigestEntry, TableAction, TableEntry, TableMatch
from pcn.controller.errors import SwitchError
from pcn.controller.programs import Program
from pcn.hosts import wire
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.lab.target import CPU_PORT
from pcn.topologies.model import FlowSpec
from pcn.virtualnet import VirtualError
from pcn.virtualnet.switch import load

Json = dict[str, Any]
N_PACKETS = 5
FRAME_PS, DELAY_PS = MTU * 8 * 100, 10**6
ARRIVALS_NS = [(FRAME_PS * (psn + 1) + DELAY_PS) // 1000 for psn in range(N_PACKETS)]
DIGEST = """
digests { preamble { id: 400000001 name: "seen_t" alias: "seen_t" } type_spec { struct { name: "seen_t" } } }
type_info { structs { key: "seen_t" value {
  members { name: "psn" type_spec { bitstring { bit { bitwidth: 24 } } } }
  members { name: "port" type_spec { bitstring { bit { bitwidth: 9 } } } }
} } }
"""  # noqa: E501


@pytest.fixture
def learning(tmp_path) -> Program:
    """`pcn_native` with `digest<seen_t>(1, {hdr.bth.psn, standard_metadata.ingress_port})` wherever
    it forwards."""
    compiled = Program.compiled("pcn_native")
    source = json.loads(bytes(compiled))
    fields = [
        {"type": "field", "value": [*field]}
        for field in (("bth", "psn"), ("standard_metadata", "ingress_port"))
    ]
    source["learn_lists"] = [{"id": 1, "name": "seen_t", "elements": fields}]
    constant = {"type": "hexstr", "value": "0x1"}
    for action in source["actions"]:
        if action["name"].endswith(".ipv4_forward"):
            action["primitives"].append(
                {"op": "generate_digest", "parameters": [constant, constant]}
            )
    info = text_format.Parse(packed.read_text(compiled.p4info), p4i.P4Info())
    info.MergeFrom(text_format.Parse(DIGEST, p4i.P4Info()))
    program = Program("learning", tmp_path / "learning.json", tmp_path / "learning.p4info.txtpb")
    program.json.write_text(json.dumps(source), encoding="utf-8")
    program.p4info.write_text(text_format.MessageToString(info), encoding="utf-8")
    return program


def network_with_cpu(queues="nodes", scheme: str = "pfc") -> VirtualNetwork:
    return VirtualNetwork(
        star(2), find_scheme(scheme).configure(), cpu_port=CPU_PORT, queues=queues
    )


def route(network: VirtualNetwork, host: str, port: int):
    to = network.topology.host(host)
    action = TableAction("ipv4_forward", dst_mac=to.mac, port=port)
    network.switches["s0"].modify(
        [TableEntry("ipv4_lpm", match=TableMatch(dst_addr=f"{to.ip}/32"), action=action)]
    )


def data_frame(network: VirtualNetwork, to: str = "r0", payload_bytes: int = 8) -> bytes:
    """A data packet of an unused queue pair."""
    src, dst = (network.topology.host(name) for name in ("h1", to))
    ends = wire.Ends(
        wire.parse_mac(src.mac),
        wire.parse_mac(dst.mac),
        wire.parse_ip(src.ip),
        wire.parse_ip(dst.ip),
    )
    return wire.data_headers(ends, 77, payload_bytes, dscp=wire.data_dscp(3)) + bytes(
        payload_bytes + 4
    )


@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_digests_have_the_simulated_time_of_their_packets(learning: Program, queues):
    with VirtualNetwork(
        star(2), PFC_ONLY, program=load(learning, inplace=True), queues=queues
    ) as network:
        switch = network.switches["s0"]
        switch.insert([DigestEntry("seen_t", max_list_size=1)])
        with_flows(network, [FlowSpec(1, "h0", "r0", size_bytes=1000 * N_PACKETS)])
        network.run(until_s=ARRIVALS_NS[2] / 1e9)  # less than a nanosecond before the third packet
        early = switch.digests()
        network.run(until_s=1e-3)
        late = switch.digests()
        assert (len(early), len(late)) == (2, N_PACKETS - 2)
        assert [digest.data for digest in early + late] == [
            [{"psn": psn, "port": 1}] for psn in range(N_PACKETS)
        ]
        assert [digest.timestamp for digest in early + late] == ARRIVALS_NS


def test_digest_list_is_sent_when_it_is_due(learning: Program):
    with VirtualNetwork(star(1), PFC_ONLY, program=load(learning, inplace=False)) as network:
        switch = network.switches["s0"]
        switch.insert([DigestEntry("seen_t", max_timeout_ns=1000)])
        with_flows(network, [FlowSpec(1, "h0", "r0", size_bytes=1000 * N_PACKETS)]).run(
            until_s=1e-3
        )
        lists = switch.digests()
        assert [len(digest) for digest in lists] == [
            2,
            2,
            1,
        ]  # two packets come within a microsecond
        assert [digest.timestamp for digest in lists] == [
            ARRIVALS_NS[psn] + 1000 for psn in (0, 2, 4)
        ]


@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_program_sends_whole_packets_to_the_cpu_port(queues, tmp_path):
    with network_with_cpu(queues) as network:
        route(network, "r0", CPU_PORT)
        network.capture("h0", 0, tmp_path / "sent.pcap")
        with_flows(network, [FlowSpec(1, "h0", "r0", size_bytes=1000 * N_PACKETS)]).run(
            until_s=1e-3
        )
        packets = network.switches["s0"].packets_in()
        stats, dropped = network.flows[1].stats(), network.totals().dropped
        assert network.switches["s0"].packets_in() == []
    assert (stats.received_packets, stats.lost_packets, dropped) == (0, N_PACKETS, 0)
    sent = [frame for _time, frame in read_pcap(tmp_path / "sent.pcap")]
    after_ip = 34  # before that, the program writes addresses, TTL and checksum
    assert [packet.payload[after_ip:-4] for packet in packets] == [
        frame[after_ip:-4] for frame in sent
    ]
    assert all(packet.payload[-4:] == bytes(4) for packet in packets)  # the ICRC isn't stored


@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_packet_out_goes_through_the_program_at_the_callers_time(queues, tmp_path):
    at_s = 10e-6
    with network_with_cpu(queues) as network:
        frame = data_frame(network)
        network.capture("s0", 3, tmp_path / "out.pcap")
        network.at(at_s, lambda: network.switches["s0"].packet_out(frame))
        network.run(until_s=1e-3)
        assert network.switches["s0"].read_counter("transmitted", 3 * 8 + 3).packets == 1
    ((time_s, left),) = read_pcap(tmp_path / "out.pcap")
    assert time_s == pytest.approx(at_s + len(frame) * 8 / 10e9, abs=2e-9)
    assert (len(left), left[34:-4]) == (len(frame), frame[34:-4])


def test_controller_that_learns_a_route_gets_every_packet_through():
    """It looks every microsecond, and sends on what came before its route: to a host, frames of no
    flow."""
    runs = []
    for queues in ("nodes", "one"):
        with network_with_cpu(queues) as network:
            switch, through = network.switches["s0"], 0
            route(network, "r0", CPU_PORT)

            def look():
                nonlocal through
                for packet in switch.packets_in():  # noqa: B023
                    if not through:
                        route(network, "r0", 3)
                    through += 1
                    switch.packet_out(packet.payload)  # noqa: B023
                network.at(network.now_s + 1e-6, look)

            network.at(0.0, look)
            with_flows(network, [FlowSpec(1, "h0", "r0", size_bytes=1000 * N_PACKETS)]).run(
                until_s=50e-6
            )
            stats = network.flows[1].stats()
            assert 0 < through < N_PACKETS
            assert (stats.received_packets, stats.lost_packets) == (N_PACKETS - through, through)
            assert network.totals().stray_frames == through
            runs.append((network.totals(), through))
    assert runs[0] == runs[1]


@pytest.mark.parametrize("scheme", ["pcn", "timely", "qcn"])
@given(
    to=st.sampled_from(["h0", "r0"]),
    port=st.sampled_from([wire.ROCE_PORT, wire.CNM_PORT]),
    opcode=st.sampled_from([0x04, 0x11, 0x81, 0xFF]),
    qp=st.sampled_from([1, 2, 77]),
    rest=st.binary(max_size=40),
)
def test_host_takes_any_frame_of_a_controller(scheme, to, port, opcode, qp, rest):
    """Notifications of flows that don't use them, too: the flows still arrive whole."""
    with network_with_cpu(scheme=scheme) as network:
        with_flows(network, [FlowSpec(n, "h0", "r0", size_bytes=1000 * N_PACKETS) for n in (1, 2)])
        start = bytearray(data_frame(network, to))
        start[36:38] = port.to_bytes(2, "big")
        start[42], start[47:50] = opcode, qp.to_bytes(3, "big")
        frame = bytes(start[:50]) + rest
        network.at(3e-6, lambda: network.switches["s0"].packet_out(frame))
        network.run(until_s=1e-3)
        assert [flow.stats().received_packets for flow in network.flows.values()] == [N_PACKETS] * 2


def test_packet_out_before_the_run_is_its_first_event(tmp_path):
    with network_with_cpu() as network:
        network.capture("s0", 3, tmp_path / "out.pcap")
        network.switches["s0"].packet_out(data_frame(network))
        network.run(until_s=1e-3)
    assert len(read_pcap(tmp_path / "out.pcap")) == 1


def test_long_packet_out_fits_the_headroom_of_pfc():
    with network_with_cpu() as network:
        before = network.link_stats("h0", 0).held_limit
        network.switches["s0"].packet_out(data_frame(network, payload_bytes=4000))
        assert network.link_stats("h0", 0).held_limit > before


def test_packets_that_virtual_time_cannot_take_are_refused():
    with network_with_cpu(scheme="pcn") as network:
        switch, frame = network.switches["s0"], data_frame(network, payload_bytes=1000)
        with pytest.raises(
            SwitchError, match=r"s0: packet-out failed: .*first 128 bytes of a frame"
        ):
            switch.packet_out(frame[:-1] + b"\1")
        with pytest.raises(SwitchError, match="a switch in a network keeps its program"):
            switch.set_pipeline(Program.compiled("pcn_native"))
        network.on_window = lambda _flow, _time, _window, _cnp: switch.packet_out(frame)
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1000))
        with pytest.raises(VirtualError, match="can't be changed from on_rate or on_window"):
            network.run(until_s=1e-3)
    with (
        VirtualNetwork(star(1), PFC_ONLY) as network,
        pytest.raises(SwitchError, match="the switch has no CPU port"),
    ):
        network.switches["s0"].packet_out(frame)


def test_cpu_port_with_a_link_is_refused():
    with pytest.raises(VirtualError, match="s0: port 2 is its CPU port, and has a link"):
        VirtualNetwork(star(2), PFC_ONLY, cpu_port=2)
