"""ONOS' fabric.p4 as a leaf-spine of four switches in virtual time. Entries go through the control
plane, as its PTF's tests write them; packets are what those tests expect.

    fabric.py FOLDER                of a clone of ONOS: pipelines/fabric/impl/src/main/resources/
                                    p4c-out/fabric/bmv2/default
    fabric.py FOLDER --rate         traversals a second, all hosts sending

    h1 h2 h3 -- leaf1 == spine1, spine2 == leaf2 -- h4 h5 h6

A leaf bridges the VLAN of its hosts, and routes IPv4: what is for the other leaf goes with that
one's MPLS label to a group of both spines. A spine removes the label. ARP is sent to all hosts of a
leaf, and its copy to the controller.
"""

import argparse
import struct
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE.parents[1]),) if path not in sys.path]

from pcn.base.errors import LabError  # noqa: E402
from pcn.controller.control_plane import (  # noqa: E402
    CloneSession,
    ControlPlane,
    MulticastGroup,
    PacketIn,
    ProfileGroup,
    ProfileMember,
    TableAction,
    TableActions,
    TableEntry,
    TableMatch,
)
from pcn.controller.entities import GroupMember  # noqa: E402
from pcn.controller.programs import Program  # noqa: E402
from pcn.p4net.network import P4Host, P4Network, P4Switch  # noqa: E402
from pcn.p4net.packets import checksum, udp  # noqa: E402
from pcn.p4net.traffic import capture  # noqa: E402
from pcn.p4net.virtual import VirtualP4  # noqa: E402
from pcn.topologies.model import Endpoint, Host, Link, Switch, Topology  # noqa: E402

CPU_PORT = 255  # of fabric.p4, for BMv2
HOSTS = 3  # of a leaf, at ports 1 to 3
UPLINKS = {"spine1": 4, "spine2": 5}
LEAVES = ("leaf1", "leaf2")
VLAN, UNTAGGED = 10, 4094  # of hosts' ports; of ports to spines
EDGE, INFRA = 1, 2
BRIDGING, MPLS, UNICAST = 0, 1, 2
ARP, IPV4, MPLS_TYPE, MPLS_TTL = 0x0806, 0x0800, 0x8847, 64
CLONE, GROUP = 511, 10  # a session, a multicast group
BROADCAST, BRIDGED, SPINES = (
    10,
    100,
    200,
)  # next ids: hosts' are their ports, plus BRIDGED where frames stay as they are
MACS = {"leaf1": "00:00:00:00:aa:01", "leaf2": "00:00:00:00:aa:02"} | {
    "spine1": "00:00:00:00:bb:01",
    "spine2": "00:00:00:00:bb:02",
}
LABELS = {"leaf1": 101, "leaf2": 102}
SELECTOR = "hashed_selector"
RATE_BPS, DELAY_S = 10e9, 1e-6
# when a link fails; how long until the controllers have changed groups
FAILED_S, NOTICED_S = (2e-3, 1e-3)


def network(folder: Path) -> P4Network:
    """Returns the network, without entries. `folder` has bmv2.json and p4info.txt."""
    hosts, links = [], []
    for leaf, name in enumerate(LEAVES, 1):
        for port in range(1, HOSTS + 1):
            number = HOSTS * (leaf - 1) + port
            hosts.append(Host(f"h{number}", f"10.0.{leaf}.{port}", f"00:00:00:00:00:{number:02x}"))
            links.append(Link(Endpoint(f"h{number}", 0), Endpoint(name, port), RATE_BPS, DELAY_S))
        for spine, port in UPLINKS.items():
            links.append(Link(Endpoint(name, port), Endpoint(spine, leaf), RATE_BPS, DELAY_S))
    switches = tuple(Switch(name, number) for number, name in enumerate((*LEAVES, *UPLINKS), 1))
    topology = Topology("fabric", tuple(hosts), switches, tuple(links))
    program = Program("fabric", folder / "bmv2.json", folder / "p4info.txt")
    p4_switch = P4Switch(program, cpu_port=CPU_PORT)
    settings = {}
    for host in hosts:
        gateway = f"{host.ip.rpartition('.')[0]}.254"
        mac = MACS[leaf_of(topology, host.name)]
        settings[host.name] = P4Host(
            24, (f"ip route add default via {gateway}", f"arp -i eth0 -s {gateway} {mac}")
        )
    return P4Network(topology, {switch.name: p4_switch for switch in switches}, settings)


def leaf_of(topology: Topology, host: str) -> str:
    return topology.peer(host, 0).node


# ---- entries, as PTF's fabric_test.py has them ----


def port_entries(port: int, vlan: int, kind: int) -> list[TableEntry]:
    """Returns what an untagged port needs."""
    permit = TableAction("permit_with_internal_vlan", vlan_id=vlan, port_type=kind)
    inside = TableMatch(ig_port=port, vlan_is_valid=0)
    return [
        TableEntry("ingress_port_vlan", match=inside, action=permit, priority=10),
        TableEntry(
            "egress_vlan",
            match=TableMatch(vlan_id=vlan, eg_port=port),
            action=TableAction("pop_vlan"),
        ),
    ]


def classify(port: int, mac: str, kind: int) -> TableEntry:
    """Returns the entry that has frames for a switch's MAC routed, or forwarded by their label."""
    match = {"ig_port": port, "eth_dst": f"{mac}/&ff:ff:ff:ff:ff:ff", "ip_eth_type": IPV4}
    if kind == MPLS:
        match["eth_type"] = f"{MPLS_TYPE:#x}/&0xffff"
    return TableEntry(
        "fwd_classifier",
        match=TableMatch(match),
        action=TableAction("set_forwarding_type", fwd_type=kind),
        priority=10,
    )


def route(prefix: str, number: int) -> TableEntry:
    action = TableAction("set_next_id_routing_v4", next_id=number)
    return TableEntry("routing_v4", match=TableMatch(ipv4_dst=prefix), action=action)


def bridge(number: int, mac: str | None = None) -> TableEntry:
    """Returns the entry of a MAC in the hosts' VLAN; None: of all that have none."""
    match = TableMatch(
        {"vlan_id": VLAN} | ({"eth_dst": f"{mac}/&ff:ff:ff:ff:ff:ff"} if mac is not None else {})
    )
    action = TableAction("set_next_id_bridging", next_id=number)
    return TableEntry("bridging", match=match, action=action, priority=10 if mac is not None else 1)


def next_output(plane: ControlPlane, number: int, port: int):
    """Writes a next id: frames leave by a port as they are."""
    member = ProfileMember(
        SELECTOR, member_id=number, action=TableAction("output_hashed", port_num=port)
    )
    to_member = TableActions(member_id=number)
    plane.insert([member, TableEntry("hashed", match=TableMatch(next_id=number), action=to_member)])


def next_group(
    plane: ControlPlane,
    number: int,
    vlan: int,
    hops: list[tuple[int, str, str]],
    label: int | None = None,
):
    """Writes a next id: a group of ports, each with the MACs of its frames, and the label that they
    get."""
    members = [1000 * number + port for port, _, _ in hops]
    for member, (port, source, target) in zip(members, hops, strict=True):
        action = TableAction("routing_hashed", port_num=port, smac=source, dmac=target)
        plane.insert([ProfileMember(SELECTOR, member_id=member, action=action)])
    match = TableMatch(next_id=number)
    plane.insert(
        [
            group(number, members),
            TableEntry("hashed", match=match, action=TableActions(group_id=number)),
            TableEntry("next_vlan", match=match, action=TableAction("set_vlan", vlan_id=vlan)),
        ]
    )
    if label is not None:
        plane.insert(
            [
                TableEntry(
                    "next_mpls", match=match, action=TableAction("set_mpls_label", label=label)
                )
            ]
        )


def group(number: int, members: list[int]) -> ProfileGroup:
    return ProfileGroup(
        SELECTOR,
        group_id=number,
        max_size=16,
        members=[GroupMember(member, weight=1) for member in members],
    )


def program_leaf(network: VirtualP4, leaf: str):
    """Routes to the leaf's hosts and to the other leaf; ARP to all hosts, and to the controller."""
    plane, mac = network.switches[leaf], MACS[leaf]
    (far_leaf,) = set(LEAVES) - {leaf}
    ports = range(1, HOSTS + 1)
    for port in ports:
        plane.insert([*port_entries(port, VLAN, EDGE), classify(port, mac, UNICAST)])
        host = network.topology.host(network.topology.peer(leaf, port).node)
        next_group(plane, port, VLAN, [(port, mac, host.mac)])
        plane.insert([route(f"{host.ip}/32", port)])
        next_output(plane, BRIDGED + port, port)
        plane.insert([bridge(BRIDGED + port, host.mac)])
    for port in UPLINKS.values():
        plane.insert([*port_entries(port, UNTAGGED, INFRA), classify(port, mac, UNICAST)])
    hops = [(port, mac, MACS[spine]) for spine, port in UPLINKS.items()]
    next_group(plane, SPINES, UNTAGGED, hops, LABELS[far_leaf])
    plane.insert([route(f"10.0.{LEAVES.index(far_leaf) + 1}.0/24", SPINES)])
    copy = TableAction("set_clone_session_id", clone_id=CLONE)
    to_all = TableAction("set_mcast_group_id", group_id=GROUP)
    plane.insert(
        [
            bridge(BROADCAST),
            TableEntry(
                "acl", match=TableMatch(eth_type=f"{ARP:#x}/&0xffff"), action=copy, priority=10
            ),
            TableEntry("multicast", match=TableMatch(next_id=BROADCAST), action=to_all),
            MulticastGroup(GROUP, replicas=list(ports)),
            CloneSession(CLONE, replicas=[CPU_PORT]),
        ]
    )
    # The controller's own frames come in by the CPU port, untagged, for any MAC.
    plane.insert(port_entries(CPU_PORT, VLAN, EDGE)[:1])
    action = TableAction("set_forwarding_type", fwd_type=UNICAST)
    match = TableMatch(ig_port=CPU_PORT, ip_eth_type=IPV4)
    plane.insert([TableEntry("fwd_classifier", match=match, action=action, priority=10)])


def program_spine(network: VirtualP4, spine: str):
    plane, mac = network.switches[spine], MACS[spine]
    for port, leaf in enumerate(LEAVES, 1):
        plane.insert([*port_entries(port, UNTAGGED, INFRA), classify(port, mac, MPLS)])
        next_group(plane, LABELS[leaf], UNTAGGED, [(port, mac, MACS[leaf])])
        pop = TableAction("pop_mpls_and_next", next_id=LABELS[leaf])
        plane.insert([TableEntry("mpls", match=TableMatch(mpls_label=LABELS[leaf]), action=pop)])


# ---- packets, as those tests expect them ----


def _mac(text: str) -> bytes:
    return bytes.fromhex(text.replace(":", ""))


def routed(frame: bytes, source: str, target: str, hops: int = 1) -> bytes:
    """Returns a frame with other MACs, and a TTL that is lower by `hops`."""
    header = frame[14:22] + bytes([frame[22] - hops]) + frame[23:24] + b"\0\0" + frame[26:34]
    header = header[:10] + struct.pack(">H", checksum(header)) + header[12:]
    return _mac(target) + _mac(source) + frame[12:14] + header + frame[34:]


def labelled(frame: bytes, source: str, target: str, label: int) -> bytes:
    """Returns a frame as a leaf sends it to a spine: with a label, and the TTL that it has."""
    word = struct.pack(">I", label << 12 | 1 << 8 | MPLS_TTL)
    return _mac(target) + _mac(source) + struct.pack(">H", MPLS_TYPE) + word + frame[14:]


def arp(network: VirtualP4, host: str) -> bytes:
    sender = network.topology.host(host)
    address = bytes(map(int, sender.ip.split(".")))
    words = (
        struct.pack(">HHBBH", 1, IPV4, 6, 4, 1)
        + _mac(sender.mac)
        + address
        + bytes(6)
        + address[:3]
        + b"\2"
    )
    return b"\xff" * 6 + _mac(sender.mac) + struct.pack(">H", ARP) + words + bytes(34)


@dataclass(frozen=True)
class Sent:
    """A frame of a host, what its receiver expects, and when it is sent."""

    time_s: float
    source: str
    target: str
    frame: bytes
    expected: bytes


def datagram(
    network: VirtualP4, time_s: float, source: str, target: str, sport: int, text: bytes = b"fabric"
) -> Sent:
    frame = udp(network.value, source, target, text, sport=sport)
    leaves = [leaf_of(network.topology, name) for name in (source, target)]
    # The spine, which removes the label, and the far leaf lower the TTL. Neighbours' frames are
    # bridged.
    far = routed(frame, MACS[leaves[1]], network.topology.host(target).mac, hops=2)
    expected = frame if leaves[0] == leaves[1] else far
    return Sent(time_s, source, target, frame, expected)


def start(value: P4Network, **options) -> VirtualP4:
    network = VirtualP4(value, **options)
    for leaf in LEAVES:
        program_leaf(network, leaf)
    for spine in UPLINKS:
        program_spine(network, spine)
    return network


# ---- what is checked; each returns a line, or raises AssertionError ----


def unicast(value: P4Network, scratch: Path) -> str:
    """Each host sends to each other one, with 20 source ports: by both spines, a flow by one of
    them."""
    with start(value) as network:
        names = [host.name for host in network.topology.hosts]
        pairs = [(a, b) for a in names for b in names if a != b]
        sent = [
            datagram(network, (20 * number + flow) * 1e-5, a, b, 1000 + flow)
            for number, (a, b) in enumerate(pairs)
            for flow in range(20)
        ]
        for packet in sent:
            network.send(packet.source, packet.time_s, packet.frame)
            network.send(packet.source, packet.time_s + 5e-6, packet.frame)
        ups = {
            (leaf, spine): scratch / f"{leaf}-{spine}.pcap" for leaf in LEAVES for spine in UPLINKS
        }
        for (leaf, spine), path in ups.items():
            network.capture(leaf, UPLINKS[spine], path)
        network.run(until_s=1.0)
        for name in names:
            expected = [
                packet.expected for packet in sent if packet.target == name for _ in range(2)
            ]
            assert sorted(frame.start for frame in network.arrived(name)) == sorted(expected), name
    ways: dict[bytes, set[str]] = {}
    crossing = {
        packet.frame[14:]
        for packet in sent
        if (packet.source in names[:HOSTS]) != (packet.target in names[:HOSTS])
    }
    for (leaf, spine), path in ups.items():
        (far_leaf,) = set(LEAVES) - {leaf}
        for frame in capture(path).frames:
            assert frame == labelled(
                b"\0" * 14 + frame[18:], MACS[leaf], MACS[spine], LABELS[far_leaf]
            ), frame.hex()
            ways.setdefault(frame[18:], set()).add(spine)
    assert ways.keys() == crossing
    assert all(len(way) == 1 for way in ways.values())
    by = {spine: sum(spine in way for way in ways.values()) for spine in UPLINKS}
    assert min(by.values()) > len(ways) / 4, by
    return (
        f"{2 * len(sent)} datagrams arrive as expected; of {len(ways)} flows between leaves "
        f"{by['spine1']} by spine1"
    )


def broadcast(value: P4Network, scratch: Path) -> str:
    """An ARP request reaches the leaf's other hosts, and the controller with its port."""
    seen: list[tuple[float, PacketIn]] = []
    with start(value) as network:
        network.control(
            "leaf1",
            lambda plane: seen.extend(
                (network.now_s, packet_in) for packet_in in plane.packets_in()
            ),
            latency_s=1e-3,
        )
        for port in range(1, HOSTS + 1):
            network.send(f"h{port}", port * 1e-3, arp(network, f"h{port}"))
        network.run(until_s=0.1)
        for port in range(1, HOSTS + 1):
            others = [
                arp(network, f"h{sender}") for sender in range(1, HOSTS + 1) if sender != port
            ]
            assert [frame.start for frame in network.arrived(f"h{port}")] == others
            assert not network.arrived(f"h{HOSTS + port}")
        assert [(packet_in.payload, packet_in["ingress_port"]) for _, packet_in in seen] == [
            (arp(network, f"h{port}"), port) for port in range(1, HOSTS + 1)
        ]
    return (
        f"{HOSTS} ARP requests reach the leaf's other hosts, and the controller "
        f"{seen[0][0] * 1e3 - 1:.6f} ms later"
    )


def packet_out(value: P4Network, scratch: Path) -> str:
    """A controller's frame leaves by its port as it is, or is routed."""
    with start(value) as network:
        sent = udp(network.value, "h4", "h1", b"out")
        frame = _mac(MACS["leaf1"]) + sent[6:]
        network.at(
            1e-3,
            lambda: network.switches["leaf1"].packet_out(
                frame, egress_port=3, do_forwarding=0, _pad=0
            ),
        )
        network.at(
            2e-3,
            lambda: network.switches["leaf1"].packet_out(
                frame, egress_port=0, do_forwarding=1, _pad=0
            ),
        )
        network.run(until_s=0.1)
        arrived = {
            name: [arrival.start for arrival in network.arrived(name)]
            for name in ("h1", "h2", "h3")
        }
        host = network.topology.host("h1")
        assert arrived == {
            "h1": [routed(frame, MACS["leaf1"], host.mac)],
            "h2": [],
            "h3": [frame],
        }, arrived
    return "one leaves by its port as it is, one is routed"


def failure(value: P4Network, scratch: Path) -> str:
    """The link of leaf1 and spine1 fails; 1 ms later both leaves' controllers take spine1 out of
    their groups. What is lost are the datagrams that come for it in between, less those that its
    queue holds; these arrive when it is mended.
    """
    every_s, flows = 5e-6, 20
    lost: list[Sent] = []
    with start(value) as network:
        sent = [
            datagram(network, number * every_s, "h1", "h4", 1000 + number % flows)
            for number in range(1000)
        ]
        for packet in sent:
            network.send("h1", packet.time_s, packet.frame)
        first = scratch / "spine1.pcap"
        network.capture("leaf1", UPLINKS["spine1"], first)
        network.at(FAILED_S, lambda: network.set_link("leaf1", UPLINKS["spine1"], up=False))

        def reroute():
            for leaf in LEAVES:
                network.switches[leaf].modify([group(SPINES, [1000 * SPINES + UPLINKS["spine2"]])])

        network.at(FAILED_S + NOTICED_S, reroute)
        network.run(until_s=0.05)
        arrived = [frame.start for frame in network.arrived("h4")]
        dropped = network.tail_drops("leaf1", UPLINKS["spine1"])
        network.set_link("leaf1", UPLINKS["spine1"], up=True)
        network.run(until_s=0.1)
        late = [frame.start for frame in network.arrived("h4")][len(arrived) :]
        depth = value.switches["leaf1"].queue_depth
    by_spine1 = {frame[38:40] for frame in capture(first).frames}
    reach_s = DELAY_S + len(sent[0].frame) * 8 / RATE_BPS  # from the host into the leaf
    down = [
        packet
        for packet in sent
        if packet.frame[34:36] in by_spine1
        and FAILED_S < packet.time_s + reach_s <= FAILED_S + NOTICED_S
    ]
    lost = down[depth:]
    assert sum(dropped) == len(lost), (dropped, len(down))
    assert late == [packet.expected for packet in down[:depth]]
    forwarded = [packet.expected for packet in sent if packet not in down]
    assert sorted(arrived) == sorted(forwarded), (len(arrived), len(forwarded))
    return (
        f"{len(by_spine1)} of {flows} flows cross spine1; of {len(down)} datagrams that meet the "
        f"failed link in {NOTICED_S * 1e3:g} ms {len(lost)} are lost, {len(late)} wait for its "
        "return; all others arrive"
    )


def twice(value: P4Network, scratch: Path) -> str:
    """All of it gives the same events again."""
    digests = []
    for _ in range(2):
        with start(value) as network:
            for number in range(1000):
                packet = datagram(
                    network, number * 1e-6, f"h{1 + number % 3}", f"h{4 + number % 3}", number
                )
                network.send(packet.source, packet.time_s, packet.frame)
            network.at(5e-4, lambda network=network: network.set_link("leaf1", 4, up=False))
            network.run(until_s=0.01)
            digests.append(network.totals().digest)
    assert digests[0] == digests[1]
    return f"digest {digests[0]:016x} both times"


CHECKS = {
    "unicast": unicast,
    "broadcast": broadcast,
    "packet-out": packet_out,
    "failure": failure,
    "twice": twice,
}


def speed(value: P4Network, seconds: float) -> str:
    """All hosts send 1,000-byte datagrams at 8 Gbit/s, to the other leaf."""
    with start(value, queues="nodes") as network:
        for number in range(1, 2 * HOSTS + 1):
            target = f"h{(number + HOSTS - 1) % (2 * HOSTS) + 1}"
            frames = [
                datagram(network, 0, f"h{number}", target, 1000 + flow, bytes(958)).frame
                for flow in range(50)
            ]
            network.count_alone(target)
            network.send_all(f"h{number}", np.arange(0, seconds, 1e-6), frames)
        begun = time.process_time()
        network.run(until_s=seconds + 1e-3)
        took = time.process_time() - begun
        traversals = network.totals().traversals
    return (
        f"{traversals:,} traversals in {took:.2f} s of processor time: "
        f"{traversals / took / 1e6:.2f} million a second"
    )


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path, help="has bmv2.json and p4info.txt")
    parser.add_argument(
        "checks", nargs="*", metavar="CHECK", help=f"of {', '.join(CHECKS)} (default: all)"
    )
    parser.add_argument("--rate", action="store_true", help="measure traversals a second instead")
    args = parser.parse_args()
    value = network(args.folder)
    if args.rate:
        print(speed(value, 0.1))
        return 0
    failed = 0
    for name in args.checks or CHECKS:
        with tempfile.TemporaryDirectory() as scratch:
            try:
                line = CHECKS[name](value, Path(scratch))
            except (LabError, AssertionError) as error:
                failed += 1
                line = f"FAILED: {type(error).__name__}: {error}"
        print(f"{name:11} {line}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
