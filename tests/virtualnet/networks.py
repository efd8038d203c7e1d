"""Small networks for the tests of virtual time."""

import itertools
import struct
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from typing import Any

from pcn.hosts.algorithms import Ack, Loss, ReactionPoint, find_scheme
from pcn.hosts.virtual import FlowStats, VirtualNetwork
from pcn.topologies import lossless
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.model import Endpoint, FlowSpec, Link, Switch, Topology, make_hosts
from pcn.virtualnet import LinkStats

MTU = 1058
PFC_ONLY = find_scheme("pfc").configure()
PCN = find_scheme("pcn").configure()


class ConstantWindow(ReactionPoint):
    """Keeps acknowledgements and losses."""

    segment_bytes = 1
    window_bytes = 60e3

    def __init__(self, line_bps: float, _):
        self.rate_bps = line_bps
        self.acks: list[Ack] = []
        self.losses: list[Loss] = []

    def on_ack(self, ack: Ack, now_s: float):
        self.acks.append(ack)

    def on_loss(self, loss: Loss, now_s: float):
        self.losses.append(loss)


def parameters(
    xoff_bytes: float = 512e3, pause_quanta: int = 0xFFFF
) -> dict[str, float | int | str]:
    return lossless.parameters(xoff_bytes, None, MTU, pause_quanta)


def star(
    senders: int,
    rate_bps: float = 10e9,
    out_bps: float | None = None,
    delay_s: float = 1e-6,
    **pfc: float,
) -> Topology:
    """h0, h1, ... and r0 around s0; r0 is at the last port."""
    hosts = make_hosts([*(f"h{i}" for i in range(senders)), "r0"])
    links = [
        Link(Endpoint(f"h{i}", 0), Endpoint("s0", i + 1), rate_bps, delay_s) for i in range(senders)
    ]
    links.append(Link(Endpoint("r0", 0), Endpoint("s0", senders + 1), out_bps or rate_bps, delay_s))
    return Topology("star", hosts, (Switch("s0", 1),), tuple(links), parameters=parameters(**pfc))


def chain(
    switches: int = 2,
    rate_bps: float = 10e9,
    delay_s: float = 1e-6,
    out_bps: float | None = None,
    **pfc: float,
) -> Topology:
    """h0 - s0 - s1 - ... - r0. Ports: 1 towards h0, 2 towards r0."""
    nodes = ["h0", *(f"s{i}" for i in range(switches)), "r0"]
    leaving = [Endpoint(node, 2 if node[0] == "s" else 0) for node in nodes[:-1]]
    arriving = [Endpoint(node, 1 if node[0] == "s" else 0) for node in nodes[1:]]
    ends = list(zip(leaving, arriving, strict=True))
    links = [Link(a, b, rate_bps, delay_s) for a, b in ends]
    if out_bps is not None:
        links[-1] = Link(*ends[-1], out_bps, delay_s)
    chain_switches = tuple(Switch(f"s{i}", i + 1) for i in range(switches))
    return Topology(
        "chain",
        make_hosts(["h0", "r0"]),
        chain_switches,
        tuple(links),
        parameters=parameters(**pfc),
    )


def tree(
    senders: int, rate_bps: float = 10e9, out_bps: float = 10e9, delay_s: float = 1e-6, **pfc: float
) -> Topology:
    """h0, h1, ... at s0, s1 behind it, r0 behind that at `out_bps`. The last port of s0 leads to
    s1."""
    ends = [(Endpoint(f"h{i}", 0), Endpoint("s0", i + 1)) for i in range(senders)]
    links = [
        Link(a, b, rate_bps, delay_s)
        for a, b in [*ends, (Endpoint("s0", senders + 1), Endpoint("s1", 1))]
    ]
    links.append(Link(Endpoint("s1", 2), Endpoint("r0", 0), out_bps, delay_s))
    hosts = make_hosts([*(f"h{i}" for i in range(senders)), "r0"])
    switches = (Switch("s0", 1), Switch("s1", 2))
    return Topology("tree", hosts, switches, tuple(links), parameters=parameters(**pfc))


def mesh(
    switches: int,
    ends: Iterable[tuple[int, int]],
    delays_s: Sequence[float],
    rate_bps: float = 10e9,
) -> Topology:
    """Switches with a host each (h0 at port 1 of s0, ...) and links between those in `ends`; delays
    go round."""
    links: list[Link] = []
    ports = [1] * switches
    for i in range(switches):
        links.append(
            Link(
                Endpoint(f"h{i}", 0), Endpoint(f"s{i}", 1), rate_bps,
                delays_s[len(links) % len(delays_s)],
            )
        )  # fmt: skip
    for a, b in ends:
        ports[a] += 1
        ports[b] += 1
        delay_s = delays_s[len(links) % len(delays_s)]
        links.append(
            Link(Endpoint(f"s{a}", ports[a]), Endpoint(f"s{b}", ports[b]), rate_bps, delay_s)
        )
    hosts = make_hosts([f"h{i}" for i in range(switches)])
    mesh_switches = tuple(Switch(f"s{i}", i + 1) for i in range(switches))
    return Topology(
        "mesh", hosts, mesh_switches, tuple(links), parameters=parameters(xoff_bytes=40e3)
    )


def flow_stats(network: VirtualNetwork) -> list[FlowStats]:
    return [flow.stats() for flow in network.flows.values()]


def assert_one_outcome(
    build: Callable[..., VirtualNetwork],
    until_s: float,
    *variants: dict[str, Any],
    finish: bool = False,
):
    """A network of `build` has the same totals and flows with all events in one queue, with its
    program's general form, and with each of the variants' options."""
    outcomes = []
    for options in ({}, {"queues": "one"}, {"inplace": False}, *variants):
        with build(**options) as network:
            assert network.run(until_s=until_s, finish=finish) or not finish
            outcomes.append((network.totals(), flow_stats(network)))
        assert outcomes[-1] == outcomes[0], options


def with_flows(network: VirtualNetwork, flows: Iterable[FlowSpec]) -> VirtualNetwork:
    for flow in flows:
        network.add_flow(flow)
    return network


def all_to_all(hosts: int, size_bytes: int) -> list[FlowSpec]:
    """A flow from each host of a mesh to each other; 10 i + j from hi to hj."""
    pairs = itertools.permutations(range(hosts), 2)
    return [FlowSpec(10 * i + j, f"h{i}", f"h{j}", size_bytes=size_bytes) for i, j in pairs]


def ends(topology: Topology) -> list[Endpoint]:
    """The port where each direction of a link starts."""
    return [end for link in topology.links for end in (link.a, link.b)]


def all_link_stats(network: VirtualNetwork) -> list[LinkStats]:
    return [network.link_stats(end.node, end.port) for end in ends(network.topology)]


def read_pcap(path: Path) -> list[tuple[float, bytes]]:
    """(seconds, frame) of each record."""
    data = path.read_bytes()
    assert struct.unpack_from("<I", data)[0] == 0xA1B23C4D
    frames, at = [], 24
    while at < len(data):
        s, ns, captured, length = struct.unpack_from("<IIII", data, at)
        assert captured == length
        frames.append((s + ns / 1e9, data[at + 16 : at + 16 + length]))
        at += 16 + length
    return frames


def dumbbell_network(
    seed: int = 1,
    w_min: float = 0.025,
    queues: str = "nodes",
    inplace: bool = True,
    **topology: float,
) -> VirtualNetwork:
    """The paper's dumbbell with its four flows, under PCN."""
    dumbbell_topology = dumbbell(**topology)
    scheme = find_scheme("pcn").configure({"period_s": 500e-6, "w_min": w_min})
    network = VirtualNetwork(dumbbell_topology, scheme, seed=seed, queues=queues, inplace=inplace)
    return with_flows(network, dumbbell_topology.flows)
