"""The exercises of p4lang/tutorials, with their solutions' programs, in virtual time: what arrives
is what the READMEs describe. Networks and entries are the exercises' files, frames and expectations
are ours. It needs p4c on PATH.

    exercises.py TUTORIALS             all 13, from a clone of github.com/p4lang/tutorials
    exercises.py TUTORIALS mri ecn     these

Exit code 1: an exercise differs; its line has the difference.
"""

import argparse
import shutil
import struct
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE), str(HERE.parents[1])) if path not in sys.path]

from pcn.base.errors import LabError  # noqa: E402
from pcn.controller.control_plane import (  # noqa: E402
    CloneSession,
    ControlPlane,
    TableAction,
    TableEntry,
    TableMatch,
)
from pcn.p4net import sending  # noqa: E402
from pcn.p4net.packets import ipv4, udp  # noqa: E402
from pcn.p4net.tutorials import read_exercise  # noqa: E402
from pcn.p4net.virtual import VirtualP4  # noqa: E402

TCP, TTL, ECT, CE = 6, 22, 1, 3
SYN, ACK = 0x02, 0x10
Check = Callable[[VirtualP4], str]
"""Has frames sent, runs, and returns a line about what arrived. Raises AssertionError."""


def tcp(network: VirtualP4, src: str, dst: str, sport: int, dport: int, flags: int) -> bytes:
    segment = struct.pack(">HHIIBBHHH", sport, dport, 0, 0, 5 << 4, flags, 8192, 0, 0)
    return ipv4(network.value, src, dst, segment, protocol=TCP)


def mac(network: VirtualP4, host: str) -> bytes:
    return bytes.fromhex(network.topology.host(host).mac.replace(":", ""))


def counts(network: VirtualP4) -> dict[str, int]:
    return {host.name: network.arrivals(host.name).frames for host in network.topology.hosts}


def each_reaches_each(network: VirtualP4) -> str:
    sending.each_to_each(network)
    network.run(until_s=network.now_s + 1)
    others = len(network.topology.hosts) - 1
    assert counts(network) == dict.fromkeys(counts(network), others), counts(network)
    for host in network.topology.hosts:
        for frame in network.arrived(host.name):
            assert frame.start[:6] == mac(network, host.name)
            assert frame.start[TTL] < 64
    return (
        f"{others * (others + 1)} datagrams between {others + 1} hosts arrive, with MAC and TTL "
        "rewritten"
    )


def basic_tunnel(network: VirtualP4) -> str:
    """The tunnel's id decides, whatever the IP address is; without a tunnel, the address."""
    plain = udp(network.value, "h1", "h3", b"x")
    tunnelled = plain[:12] + struct.pack(">HHH", 0x1212, 0x0800, 2) + plain[14:]
    for number, frame in enumerate((plain, tunnelled)):
        network.send("h1", number * 1e-3, frame)
    network.run(until_s=1.0)
    assert counts(network) == {"h1": 0, "h2": 1, "h3": 1}, counts(network)
    assert network.arrived("h2")[0].start == tunnelled
    return "the tunnel's id leads a datagram for h3 to h2"


def calc(network: VirtualP4) -> str:
    cases = {"+": 5 + 3, "-": 5 - 3, "&": 5 & 3, "|": 5 | 3, "^": 5 ^ 3}
    for number, sign in enumerate(cases):
        header = struct.pack(">2sBcIII", b"P4", 1, sign.encode(), 5, 3, 0)
        network.send(
            "h1",
            number * 1e-3,
            mac(network, "h2") + mac(network, "h1") + b"\x12\x34" + header + bytes(30),
        )
    network.run(until_s=1.0)
    results = [struct.unpack_from(">I", frame.start, 26)[0] for frame in network.arrived("h1")]
    assert results == list(cases.values()), results
    return f"5 + - & | ^ 3 come back as {results}"


def ecn(network: VirtualP4) -> str:
    """The link has 0.5 Mbit/s. Each frame is marked if, and only if, ten were waiting when it
    came."""
    frames = [
        udp(network.value, host, dst, bytes(958), tos=ECT)
        for host, dst in (("h1", "h2"), ("h11", "h22"))
    ]
    network.send_all("h11", np.arange(40) * 12e-3, [frames[1]])
    for number in range(10):
        network.send("h1", 5e-3 + number * 50e-3, frames[0])
    queue = network.sample(1e-3, [network.queue_packets("s1", 3, 0)])
    network.run(until_s=5.0)
    marks = [frame.start[15] & 3 == CE for frame in network.arrived("h2")]
    congested = [queue.values[5 + 50 * number, 0] >= 10 for number in range(10)]
    assert marks == congested, (marks, congested)
    assert 0 < sum(marks) < 10
    return f"{sum(marks)} of 10 probes are marked, those that find 10 or more packets waiting"


def firewall(network: VirtualP4) -> str:
    """What the outside begins is dropped; answers to what the inside began pass."""
    network.send("h3", 0.0, tcp(network, "h3", "h1", 99, 80, SYN))
    network.send("h1", 1e-3, tcp(network, "h1", "h3", 1000, 80, SYN))
    network.send("h3", 2e-3, tcp(network, "h3", "h1", 80, 1000, SYN | ACK))
    network.send("h3", 3e-3, tcp(network, "h3", "h1", 81, 1000, SYN | ACK))
    network.run(until_s=1.0)
    assert counts(network) == {"h1": 1, "h2": 0, "h3": 1, "h4": 0}, counts(network)
    return "of four segments pass the inside's and its answer"


def flowcache(network: VirtualP4) -> str:
    """A reactive controller, 1 ms away: the first datagram of a flow goes by it, the next ones
    don't; 3 s without a hit end the entry, and the next one goes by it again."""
    ports = {
        "s1": {"h1": 1, "h2": 2, "h3": 3},
        "s2": {"h1": 2, "h2": 1, "h3": 3},
        "s3": {"h1": 2, "h2": 3, "h3": 1},
    }
    seen: dict[str, int] = {}

    def react(switch: ControlPlane):
        for packet in switch.packets_in():
            seen[switch.name] = seen.get(switch.name, 0) + 1
            src, dst, protocol = packet.payload[26:30], packet.payload[30:34], packet.payload[23]
            (host,) = [
                host
                for host in network.topology.hosts
                if bytes(map(int, host.ip.split("."))) == dst
            ]
            port = ports[switch.name][host.name]
            action = TableAction(
                "cached_action", port=port, decrement_ttl=1, new_dscp=5, dst_eth_addr=host.mac
            )
            switch.insert(
                [
                    TableEntry(
                        "flow_cache", match=key(protocol, src, dst), action=action,
                        idle_timeout_ns=3 * 10**9,
                    )
                ]
            )  # fmt: skip
            switch.packet_out(packet.payload, opcode=1, reserved1=0, operand0=port)
        for report in switch.idle_timeouts():
            switch.delete(
                [TableEntry("flow_cache", match=entry.match) for entry in report.table_entry]
            )

    def key(protocol: int, src: bytes, dst: bytes) -> TableMatch:
        fields = {
            "protocol": protocol,
            "srcAddr": int.from_bytes(src, "big"),
            "dstAddr": int.from_bytes(dst, "big"),
        }
        return TableMatch({f"hdr.ipv4.{name}": value for name, value in fields.items()})

    for name, plane in network.switches.items():
        plane.insert([CloneSession(57, replicas=[510])])
        network.control(name, react, latency_s=1e-3)
    for time_s in (0.0, 0.5, 1.0, 6.0):
        network.send("h1", time_s, udp(network.value, "h1", "h2", b"flow"))
    network.run(until_s=12.0)
    arrived = network.arrived("h2")
    by_controller = [frame.start[TTL] for frame in arrived]
    assert seen == {"s1": 2, "s2": 2}, seen
    assert by_controller == [64, 62, 62, 64], by_controller  # a packet-out isn't a hop
    entries = [len(plane.read_table("flow_cache")) - 1 for plane in network.switches.values()]
    assert entries == [0, 0, 0], entries
    delay_ms = (arrived[0].time_s - 0.0) * 1e3
    return (
        f"first datagrams go by the controller ({delay_ms:.3f} ms), entries end after 3 s without "
        "a hit"
    )


def link_monitor(network: VirtualP4) -> str:
    """A probe through all links, each second: the bytes that it reports are the engine's."""
    load = udp(network.value, "h1", "h4", bytes(958))
    network.send_all("h1", np.arange(0, 4.0, 1e-3), [load])
    way = [4, 1, 4, 1, 3, 2, 3, 2, 1]
    probe = b"\xff" * 6 + mac(network, "h1") + struct.pack(">HB", 0x812, 0) + bytes(way)
    for number in range(4):
        network.send("h1", 0.5e-3 + number, probe)
    links = ["s1", "s4", "s2", "s3", "s1", "s3", "s2", "s4", "s1"]
    sampled = network.sample(
        1.0,
        [network.link_bytes(node, port) for node, port in zip(links, way, strict=True)],
        from_s=0.9e-3,
    )
    network.run(until_s=4.5)
    frames = network.arrived("h1")
    assert len(frames) == 4
    rates = []
    for number, frame in enumerate(frames):
        hops = [frame.start[15 + 18 * i : 33 + 18 * i] for i in range(9)][::-1]
        for i, hop in enumerate(hops):
            (count,) = struct.unpack_from(">I", hop, 2)
            assert (hop[0] & 0x7F, hop[1]) == (int(links[i][1:]), way[i])
            if number:
                # The program counts each frame's length as it came in; the probe leaves with 18
                # bytes more.
                moved = sampled.values[number, i] - sampled.values[number - 1, i]
                assert count == moved - 18, (number, links[i], way[i], count, moved)
                rates.append(count * 8 / 1e6)
    return f"rates by probe are the links' bytes: up to {max(rates):.3f} Mbit/s"


def load_balance(network: VirtualP4) -> str:
    """Flows to 10.0.0.1 are spread over h2 and h3; a flow has one way."""
    for flow in range(40):
        frame = bytearray(tcp(network, "h1", "h2", 1000 + flow, 80, SYN))
        frame[30:34] = bytes([10, 0, 0, 1])
        for again in range(2):
            network.send("h1", (2 * flow + again) * 1e-4, bytes(frame))
    network.run(until_s=1.0)
    ways = {
        name: {struct.unpack_from(">H", arrival.start, 34)[0] for arrival in network.arrived(name)}
        for name in ("h2", "h3")
    }
    assert not ways["h2"] & ways["h3"]
    assert sum(counts(network).values()) == 80
    assert min(map(len, ways.values())) >= 5, ways
    return (
        f"of 40 flows {len(ways['h2'])} go to h2, {len(ways['h3'])} to h3, each with both of its "
        "frames"
    )


def mri(network: VirtualP4) -> str:
    """Each switch's trace has the packets that were left in the queue, as samplers see them."""
    load = udp(network.value, "h11", "h22", bytes(958))
    network.send_all("h11", np.arange(30) * 12e-3, [load])
    option = struct.pack(">BBH", 0x9F, 4, 0)
    plain = udp(network.value, "h1", "h2", b"mri", dport=4321)
    framed = plain[:14] + b"\x46" + plain[15:34] + option + plain[34:]
    for number in range(5):
        network.send("h1", 5e-3 + number * 60e-3, framed)
    departures = network.topology.link_at("s1", 3)
    depth = network.sample(1e-5, [network.queue_packets("s1", 3, 0)])
    network.run(until_s=1.0)
    depths = []
    for frame in network.arrived("h2"):
        assert struct.unpack_from(">H", frame.start, 36)[0] == 2
        second, (swid, qdepth) = (
            struct.unpack_from(">II", frame.start, 38),
            struct.unpack_from(">II", frame.start, 46),
        )
        assert (swid, second) == (1, (2, 0))
        left_s = (
            frame.time_s - frame.length * 8 / 10e9 - (frame.length - 8) * 8 / departures.rate_bps
        )
        depths.append(qdepth)
        assert depth.values[int(np.ceil(left_s / 1e-5)), 0] == qdepth, (frame.time_s, qdepth)
    assert len(depths) == 5
    assert max(depths) > 5
    return f"traces of s1 have the queue's depth: {depths}"


def multicast(network: VirtualP4) -> str:
    network.send("h1", 0.0, b"\xff" * 6 + mac(network, "h1") + b"\x08\x06" + bytes(46))
    network.run(until_s=1.0)
    assert counts(network) == {"h1": 0, "h2": 1, "h3": 1, "h4": 1}, counts(network)
    return "a broadcast reaches all but its sender"


def p4runtime(network: VirtualP4) -> str:
    """The tunnel's rules as a controller of the exercise writes them; its counters count."""

    def tunnel(ingress: str, egress: str, host: str, number: int, between: tuple[int, int]):
        target = network.topology.host(host)
        rule = TableAction("myTunnel_ingress", dst_id=number)
        network.switches[ingress].insert(
            [
                TableEntry(
                    "ipv4_lpm",
                    match=TableMatch({"hdr.ipv4.dstAddr": f"{target.ip}/32"}),
                    action=rule,
                ),
                _exact(number, TableAction("myTunnel_forward", port=between[0])),
            ]
        )
        network.switches[egress].insert(
            [_exact(number, TableAction("myTunnel_egress", dstAddr=target.mac, port=1))]
        )

    tunnel("s1", "s2", "h2", 100, (2, 2))
    tunnel("s2", "s1", "h1", 200, (2, 2))
    for number in range(5):
        network.send("h1", number * 1e-3, udp(network.value, "h1", "h2", b"there"))
        network.send("h2", number * 1e-3, udp(network.value, "h2", "h1", b"and back"))
    network.run(until_s=1.0)
    assert counts(network) == {"h1": 5, "h2": 5, "h3": 0}, counts(network)
    cells = [
        network.switches[switch].read_counter(counter, number).packets
        for switch, counter, number in (
            *(("s1", "ingressTunnelCounter", 100), ("s2", "egressTunnelCounter", 100)),
            *(("s2", "ingressTunnelCounter", 200), ("s1", "egressTunnelCounter", 200)),
        )
    ]
    assert cells == [5] * 4, cells
    return "a controller's tunnels carry 5 datagrams each way, and its 4 counters have 5"


def _exact(number: int, action: TableAction) -> TableEntry:
    return TableEntry(
        "myTunnel_exact", match=TableMatch({"hdr.myTunnel.dst_id": number}), action=action
    )


def qos(network: VirtualP4) -> str:
    network.send("h1", 0.0, udp(network.value, "h1", "h2", b"x"))
    network.send("h1", 1e-3, tcp(network, "h1", "h2", 1000, 80, SYN))
    network.run(until_s=1.0)
    classes = [frame.start[15] >> 2 for frame in network.arrived("h2")]
    assert classes == [46, 44], classes
    return "UDP gets DSCP 46, TCP 44"


def source_routing(network: VirtualP4) -> str:
    route = [2, 3, 2, 2, 1]
    plain = udp(network.value, "h1", "h2", b"x", dport=4321)
    words = b"".join(
        struct.pack(">H", port | (i == len(route) - 1) << 15) for i, port in enumerate(route)
    )
    network.send("h1", 0.0, b"\xff" * 6 + mac(network, "h1") + b"\x12\x34" + words + plain[14:])
    network.run(until_s=1.0)
    (frame,) = network.arrived("h2")
    assert (frame.start[12:14], frame.start[TTL]) == (b"\x08\x00", 64 - len(route))
    assert frame.length == len(plain)
    return f"a frame takes the way {route} of its headers, and loses them"


EXERCISES = {
    "basic": each_reaches_each, "basic_tunnel": basic_tunnel, "calc": calc, "ecn": ecn,
    "firewall": firewall, "flowcache": flowcache, "link_monitor": link_monitor,
    "load_balance": load_balance, "mri": mri, "multicast": multicast, "p4runtime": p4runtime,
    "qos": qos, "source_routing": source_routing,
}  # fmt: skip


@contextmanager
def solved(tutorials: Path, name: str) -> Iterator[Path]:
    """A copy of an exercise's folder that has the solution's files."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch) / name
        shutil.copytree(tutorials / "exercises" / name, folder)
        for solution in sorted((folder / "solution").glob("*")):
            for place in folder.rglob(solution.name):
                if place != solution:
                    shutil.copy(solution, place)
        yield folder


def play(tutorials: Path, name: str) -> str:
    """Runs an exercise twice, which has to give the same events. Returns its line."""
    runs = []
    with solved(tutorials, name) as folder:
        for _ in range(2):
            with VirtualP4(read_exercise(folder)) as network:
                runs.append((EXERCISES[name](network), network.totals().digest))
    assert runs[0] == runs[1], runs
    return runs[0][0]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tutorials", type=Path)
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE")
    args = parser.parse_args()
    failed = 0
    for name in args.exercises or EXERCISES:
        begun = time.monotonic()
        try:
            line = play(args.tutorials, name)
        except (LabError, AssertionError) as error:
            failed += 1
            line = f"FAILED: {type(error).__name__}: {error}"
        print(f"{name:15} {time.monotonic() - begun:5.2f} s  {line}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
