"""Flows that one call adds: the same as by a call each, and their headers are those of
hosts/wire.py."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given, settings, strategies as st
from networks import PCN, chain, read_pcap, star

from pcn.base.errors import LabError
from pcn.hosts import wire
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.paths import Paths
from pcn.hosts.reliability import LOSSLESS, Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec, Host
from pcn.virtualnet.errors import VirtualError

addresses = st.tuples(*[st.integers(0, 255)] * 4).filter(
    lambda ip: 0 < ip[0] < 224 and ip[0] != 127
)
macs = st.binary(min_size=5, max_size=5)


@settings(max_examples=25, deadline=None)
@given(
    ips=st.lists(addresses, min_size=2, max_size=2, unique=True),
    ends=st.lists(macs, min_size=2, max_size=2, unique=True),
    number=st.integers(0, wire.FLOWS - 1),
    size_bytes=st.integers(1, 3000),
    traffic_class=st.integers(0, 6),
    payload_bytes=st.integers(50, 1500),
    scheme=st.sampled_from(["pcn", "dctcp", "swift", "hpcc"]),
)
def test_engine_writes_headers_as_wire_encodes_them(
    ips, ends, number, size_bytes, traffic_class, payload_bytes, scheme
):
    """Data there, ACKs and CNPs back: with addresses, lengths, checksum, port and QP."""
    topology = chain(1)
    hosts = [
        Host(host.name, ".".join(map(str, ip)), wire.format_mac(b"\x02" + mac))
        for host, ip, mac in zip(topology.hosts, ips, ends, strict=True)
    ]
    parameters = {**topology.parameters, "lossless_classes": "0,1,2,3,4,5,6"}
    topology = replace(topology, hosts=tuple(hosts), parameters=parameters)
    spec = FlowSpec(number, "h0", "r0", size_bytes=size_bytes, traffic_class=traffic_class)
    with TemporaryDirectory() as folder:
        with VirtualNetwork(
            topology, find_scheme(scheme).configure(), payload_bytes=payload_bytes
        ) as network:
            network.add_flow(spec)
            for host in hosts:
                network.capture(host.name, 0, Path(folder, host.name))
            assert network.run(until_s=0.1, finish=True)
            network.run(until_s=network.now_s + 1e-3)
        sent = [frame for _, frame in read_pcap(Path(folder, "h0"))]
        back = [frame for _, frame in read_pcap(Path(folder, "r0"))]
    assert len(sent) == -(-size_bytes // payload_bytes)
    for frames, src, dst in ((sent, *hosts), (back, *reversed(hosts))):
        for frame in frames:
            packet = wire.decode(frame)
            assert not isinstance(packet, wire.PfcFrame)
            parties = (
                wire.format_mac(packet.src_mac),
                wire.format_mac(packet.dst_mac),
                packet.flow,
            )
            assert parties == (src.mac, dst.mac, number)
            assert (wire.format_ip(packet.src_ip), wire.format_ip(packet.dst_ip)) == (
                src.ip,
                dst.ip,
            )
            if isinstance(packet, wire.DataPacket):
                assert wire.encode_data(packet) == frame
            elif isinstance(packet, wire.AckPacket):
                assert wire.encode_ack(packet) == frame
            elif isinstance(packet, wire.CnpPacket):
                assert wire.encode_cnp(packet) == frame


@st.composite
def flows(draw: st.DrawFn) -> list[FlowSpec]:
    """Of a star of four senders; some wait for ones before them."""
    flow_specs: list[FlowSpec] = []
    for number in range(draw(st.integers(1, 12))):
        after = (
            draw(st.lists(st.integers(0, number - 1), max_size=2, unique=True)) if number else []
        )
        src, dst = draw(st.permutations(["h0", "h1", "h2", "h3", "r0"]))[:2]
        size, start_s = draw(st.integers(1, 20_000)), draw(st.integers(0, 20)) * 1e-6
        traffic_class, group = draw(st.sampled_from([2, 3])), draw(st.sampled_from(["", "a", "b"]))
        limit_bps = draw(st.sampled_from([None, 1e9, 3e9]))
        lasts_s = None if after else draw(st.sampled_from([None, 5e-6]))
        spec = FlowSpec(
            number, src, dst, start_s, size, limit_bps, lasts_s, traffic_class=traffic_class,
            group=group, after=tuple(after),
        )  # fmt: skip
        flow_specs.append(spec)
    return flow_specs


@settings(max_examples=25, deadline=None)
@given(flows(), st.sampled_from(["pcn", "dctcp", "dcqcn", "nscc", "rccc", "timely"]), st.booleans())
def test_flows_added_together_run_as_ones_added_in_turn(specs, scheme, in_c):
    """Schemes of several paths, of grants and without C among them."""
    outcomes = []
    topology = star(4)
    topology = replace(topology, parameters={**topology.parameters, "lossless_classes": "2,3"})
    for together in (False, True):
        with VirtualNetwork(topology, find_scheme(scheme).configure(), in_c=in_c) as network:
            if together:
                added = network.add_flows((spec, None, None) for spec in specs)
            else:
                added = [network.add_flow(spec) for spec in specs]
            assert (
                [flow.spec for flow in added]
                == specs
                == [flow.spec for flow in network.flows.values()]
            )
            ports = network.flow_ports().tolist()
            network.run(until_s=3e-3)  # flows of a duration may not arrive whole
            outcomes.append((network.totals().digest, network.flow_stats().tolist(), ports))
    assert outcomes[0] == outcomes[1]


@pytest.mark.parametrize(
    "wrong",
    [
        {"id": wire.FLOWS},
        {"id": -1},
        {"id": 1 << 63},
        {"size_bytes": -5000},
        {"size_bytes": -1},
        {"size_bytes": 1 << 63},
        {"size_bytes": 1 << 64},
        {"size_bytes": 0, "rate_bps": 0.0},
        {"rate_bps": float("nan")},
        {"traffic_class": 8},
        {"colour": "blue"},
        {"start_s": -1.0},
        {"duration_s": -1.0},
        {"src": "h9"},
    ],
    ids=lambda wrong: " ".join(f"{name}={value}" for name, value in wrong.items()),
)
def test_flow_is_refused_alike_by_itself_and_among_others(wrong):
    spec = replace(FlowSpec(1, "h0", "r0", size_bytes=10_000, group="a"), **wrong)
    texts = []
    for together in (False, True):
        with VirtualNetwork(star(2), PCN) as network:
            with pytest.raises(LabError) as error:
                network.add_flows([(spec, None, None)]) if together else network.add_flow(spec)
            texts.append(str(error.value))
            assert not network.flows
            network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=10_000, group="b"))
            assert network.run(until_s=0.1, finish=True)
    assert texts[0] == texts[1]


def test_refused_flow_leaves_network_as_it_was():
    good = [FlowSpec(i, "h0", "r0", size_bytes=10_000, group=f"g{i}") for i in range(3)]
    with VirtualNetwork(star(2), PCN) as network:
        with pytest.raises(VirtualError, match="flow 1 is there already"):
            network.add_flows((spec, None, None) for spec in [*good[:2], good[1], good[2]])
        assert not network.flows
        network.add_flows((spec, None, None) for spec in good)
        assert network.run(until_s=0.1, finish=True)
        assert all(flow.stats().complete_s is not None for flow in network.flows.values())


def test_flow_that_engine_refuses_ends_those_behind_it_alone():
    """Several paths need selective repeat, which class 3 has."""
    reliability = {3: Reliability(Repeats.SELECTIVE), 2: LOSSLESS}
    specs = [
        FlowSpec(
            number, "h0", "r0", size_bytes=10_000, traffic_class=traffic_class, group=f"g{number}"
        )
        for number, traffic_class in enumerate((3, 2, 3))
    ]
    with VirtualNetwork(
        star(2), find_scheme("dctcp").configure(), reliability=reliability
    ) as network:
        with pytest.raises(VirtualError, match="several paths needs selective repeat"):
            network.add_flows(((spec, None, None) for spec in specs), paths=Paths("packet", 4))
        assert list(network.flows) == [0]
        network.add_flow(specs[2])
        assert network.run(until_s=0.1, finish=True)
        assert [flow.stats().received_payload for flow in network.flows.values()] == [
            10_000,
            10_000,
        ]
