"""HPCC's ns-3 simulation (SIGCOMM'19: alibaba-edu's repository) beside virtual time: the same flows
on the same paths.

    python judges/hpcc/hpcc.py draw mix/fat.txt flow.txt --workload FbHdp --load 0.3
        --duration 1ms --incast 60
    python judges/hpcc/hpcc.py run mix/fat.txt flow.txt OUT
    PATHS=OUT/paths.txt ACK_PATHS=OUT/acks.txt build/scratch/third config.txt
    python judges/hpcc/hpcc.py compare mix/fat.txt OUT/fct.txt fct.txt

`run` has what run.py sets for NICs of 100 Gb/s: a buffer of 32 MiB by HPCC's rule, K by rate,
DCQCN; README.md has what it sets for HPCC, and `compare` then takes `--telemetry`. `run` writes
each flow's completion time at the receiver as HPCC's fct.txt has it at the sender, and the paths of
data and of ACKs for ns-3: SRC DST SPORT SWITCH NEXT by numbers of nodes, each with the flow's ends.
README.md has the changes of ns-3 that read them. `run --ack-each` acknowledges each packet, as ns-3
does, and writes acked.txt besides: completion when the sender has the last ACK.
"""

import argparse
import math
import resource
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

ROOT = Path(__file__).resolve().parents[2]
if str(ROOT) not in sys.path:
    sys.path.insert(0, str(ROOT))

from pcn.base.errors import LabError  # noqa: E402
from pcn.base.units import quantity  # noqa: E402
from pcn.experiments.traffic.flow_files.reading import read_flows  # noqa: E402
from pcn.experiments.traffic.spec import draw, parse_spec  # noqa: E402
from pcn.hosts.algorithms import Configured, find_scheme  # noqa: E402
from pcn.hosts.reliability import Reliability, Repeats  # noqa: E402
from pcn.hosts.virtual import VirtualNetwork  # noqa: E402
from pcn.hosts.virtual.paths import FlowPaths, write_paths  # noqa: E402
from pcn.hosts.wire import data_bytes  # noqa: E402
from pcn.topologies.buffers import hpcc_buffer  # noqa: E402
from pcn.topologies.ecn import EcnThresholds  # noqa: E402
from pcn.topologies.formats.hpcc import numbered  # noqa: E402
from pcn.topologies.lookup import find_topology  # noqa: E402
from pcn.topologies.lossless import CONTROL_CLASS  # noqa: E402
from pcn.topologies.model import FlowSpec, Topology  # noqa: E402

FIRST_PORT, NORMAL, INCAST = 10000, 100, 200
START_S = 2.0
"""Of ns-3's runs."""
NS3_HEADERS, ACK_BYTES, NS3_TELEMETRY = 48, 60, 42
"""Bytes of ns-3's data packets beside 1,000 of payload; its ACKs; what telemetry adds to both."""
K_BYTES_PER_GBPS, P_MAX = (4e3, 16e3), 0.2
"""RED's K_min and K_max in run.py: 400 and 1,600 KB at 100 Gb/s."""
PAYLOAD = 1000
PERCENTILES = (50, 95, 99)
RELIABLE = Reliability(Repeats.GO_BACK_N, timeout_s=1.0)
"""With it each packet requests an ACK; nothing is lost, so that nothing is repeated."""
ACKS_WAIT_S = 100e-6
"""From one look whether all of them have come to the next."""
SIZES = (
    (10e3, "<= 10K"),
    (100e3, "10K-100K"),
    (1e6, "100K-1M"),
    (10e6, "1M-10M"),
    (math.inf, "> 10M"),
)


def network(file: Path, buffer_bytes: float = 32 * 2**20) -> Topology:
    """HPCC's topology with its switches."""
    topology = find_topology(str(file)).build({})
    nic_bps = min(topology.link_at(host.name, 0).rate_bps for host in topology.hosts)
    rates = sorted({link.rate_bps for link in topology.links})
    ecn = tuple(
        EcnThresholds(*(k * rate / 1e9 for k in K_BYTES_PER_GBPS), P_MAX, rate) for rate in rates
    )
    switches = []
    for switch in topology.switches:
        links = {port: topology.link_at(switch.name, port) for port in topology.ports(switch.name)}
        ports = {port: (link.rate_bps, link.delay_s) for port, link in links.items()}
        switches.append(replace(switch, buffer=hpcc_buffer(buffer_bytes, ports, nic_bps), ecn=ecn))
    return replace(topology, switches=tuple(switches))


def draw_flows(
    file: Path, out: Path, workload: str, load: float, duration_s: float, incast: int, seed: int
):
    """HPCC's flow.txt of Poisson arrivals until `duration_s`, with three in-casts of `incast`
    senders, 500 KB each."""
    topology = find_topology(str(file)).build({})
    spec = parse_spec(str(file), workload)
    count = 1000
    while (flows := draw(spec, topology, seed, load, count, PAYLOAD))[-1].start_s < duration_s:
        count *= 2
    flows = [flow for flow in flows if flow.start_s < duration_s]
    if incast:
        random = np.random.default_rng([seed, incast])
        names = [host.name for host in topology.hosts]
        for at in (0.25, 0.5, 0.75):
            target, *senders = random.choice(names, incast + 1, replace=False).tolist()
            flows += [
                FlowSpec(0, sender, target, at * duration_s, 500_000, group="incast")
                for sender in senders
            ]
    flows.sort(key=lambda flow: flow.start_s)
    numbers = numbered(topology)
    lines = [
        f"{numbers[flow.src]} {numbers[flow.dst]} 3 {INCAST if flow.group == 'incast' else NORMAL} "
        f"{flow.size_bytes} {START_S + flow.start_s:.9f}"
        for flow in flows
    ]
    out.write_text("\n".join([str(len(lines)), *lines, ""]))


def source_ports(flows: Sequence[FlowSpec]) -> list[int]:
    """Of each flow, as ns-3 counts them by pairs of hosts."""
    seen: Counter[tuple[str, str]] = Counter()
    ports = []
    for flow in flows:
        ports.append(FIRST_PORT + seen[flow.src, flow.dst])
        seen[flow.src, flow.dst] += 1
    return ports


class Written(NamedTuple):
    """A line of flow.txt beside what `read_flows` has of it."""

    kind: int
    start_s: float


def written(flows_file: Path) -> list[Written]:
    rows = (line.split() for line in flows_file.read_text().splitlines()[1:])
    return [Written(int(row[3]), float(row[5])) for row in rows if row]


class Trail:
    """The links between two hosts: rates and delays."""

    def __init__(self, topology: Topology, src: str, dst: str):
        self.links = [topology.link_at(end.node, end.port) for end in topology.path(src, dst)]

    def back_s(self, telemetry: bool) -> float:
        """How long an ACK takes in the empty network."""
        ack_bytes = ACK_BYTES + NS3_TELEMETRY * telemetry
        return sum(link.delay_s + ack_bytes * 8 / link.rate_bps for link in self.links)

    def ideal_s(self, size_bytes: int, header_bytes: int) -> float:
        """The completion time at the receiver in the empty network, store and forward. No link is
        slower than the first one, so that full packets wait nowhere; the last packet may wait for
        the one before it."""
        packets = -(-size_bytes // PAYLOAD)
        full, last = (
            (size + header_bytes) * 8 for size in (PAYLOAD, size_bytes - (packets - 1) * PAYLOAD)
        )
        first = self.links[0]
        # when the last full packet, the last packet is there whole
        full_s = (packets - 2) * full / first.rate_bps
        last_s = (packets - 1) * full / first.rate_bps
        for link in self.links:
            full_s += full / link.rate_bps
            last_s = max(last_s, full_s if packets > 1 else 0.0) + last / link.rate_bps
            full_s, last_s = full_s + link.delay_s, last_s + link.delay_s
        return last_s


class Trails:
    def __init__(self, topology: Topology):
        self._topology = topology
        self._found: dict[tuple[str, str], Trail] = {}

    def between(self, src: str, dst: str) -> Trail:
        if (src, dst) not in self._found:
            self._found[src, dst] = Trail(self._topology, src, dst)
        return self._found[src, dst]


def paths_back(
    topology: Topology, scheme: Configured, flows: Sequence[FlowSpec], seed: int
) -> FlowPaths:
    """Returns the paths of each flow's ACKs. Switches choose by addresses and ports, and an ACK has
    those that data of a flow of that number from its receiver to its sender has; so such flows, of
    one packet, find them."""
    with VirtualNetwork(topology, scheme, seed=seed) as net:
        net.log_paths()
        for flow in flows:
            net.add_flow(replace(flow, src=flow.dst, dst=flow.src, size_bytes=1))
        net.run(until_s=1.0, finish=True)
        return net.paths()


def hops_of(topology: Topology, flows: Sequence[FlowSpec], paths: FlowPaths) -> str:
    """Returns lines of next hops as ns-3 gets them."""
    numbers = numbered(topology)
    return "".join(
        f"{numbers[flow.src]} {numbers[flow.dst]} {port} {numbers[end.node]} "
        f"{numbers[topology.peer(end.node, end.port).node]}\n"
        for flow, port in zip(flows, source_ports(flows), strict=True)
        for end in paths[flow.id]
    )


def run(
    file: Path,
    flows_file: Path,
    out: Path,
    scheme: str,
    settings: Mapping[str, float],
    seed: int,
    as_ns3: bool = False,
    acks_in_data: bool = False,
    ack_each: bool = False,
) -> str:
    """Writes fct.txt, paths.csv, paths.txt and acks.txt, with `ack_each` acked.txt; returns what
    the run counted. `as_ns3`: frames are as long as in ns-3, by payload that is shorter by what
    headers are longer; and times are whole nanoseconds, cut off, so that 1,048 bytes take 20 of
    20.96 at 400 Gb/s and an ACK 4 of 4.8 at 100."""
    topology, flows, rows = network(file), read_flows(flows_file), written(flows_file)
    out.mkdir(parents=True, exist_ok=True)
    chosen = find_scheme(scheme).configure(settings)
    far_bytes = NS3_HEADERS + NS3_TELEMETRY * chosen.wants_telemetry
    longer = data_bytes(0, chosen.wants_telemetry) - far_bytes
    payload = PAYLOAD - longer if as_ns3 else PAYLOAD
    classes = {flow.traffic_class for flow in flows} if ack_each else set()
    with VirtualNetwork(
        topology,
        chosen,
        seed=seed,
        payload_bytes=payload,
        reliability=dict.fromkeys(classes, RELIABLE),
        notification_class=None if acks_in_data else CONTROL_CLASS,
        tick_s=1e-9 if as_ns3 else 0.0,
    ) as net:
        for flow in flows:
            net.add_flow(
                replace(flow, size_bytes=_shorter(flow.size_bytes or 0, longer)) if as_ns3 else flow
            )
        net.log_paths()
        before_s = resource.getrusage(resource.RUSAGE_SELF).ru_utime
        net.run(until_s=1.0, finish=True)
        while (
            ack_each
            and any(net.flows[flow.id].stats().ended_s is None for flow in flows)
            and net.now_s < 1.0
        ):
            net.run(until_s=net.now_s + ACKS_WAIT_S)
        cpu_s = resource.getrusage(resource.RUSAGE_SELF).ru_utime - before_s
        paths = net.paths()
        stats = [net.flows[flow.id].stats() for flow in flows]
        links = [
            net.link_stats(switch.name, port)
            for switch in topology.switches
            for port in topology.ports(switch.name)
        ]
        buffers = [net.buffer_stats(switch.name) for switch in topology.switches]
        totals = net.totals()
    write_paths(out / "paths.csv", topology, paths)
    (out / "paths.txt").write_text(hops_of(topology, flows, paths))
    (out / "acks.txt").write_text(
        hops_of(topology, flows, paths_back(topology, chosen, flows, seed))
    )
    numbers, trails = numbered(topology), Trails(topology)
    fcts, acked = [], []
    for flow, row, port, stat in zip(flows, rows, source_ports(flows), stats, strict=True):
        src, dst = numbers[flow.src], numbers[flow.dst]
        ends = f"{_address(src):08x} {_address(dst):08x} {port}"
        start = f"{ends} {row.kind} {flow.size_bytes} {round(row.start_s * 1e9)}"
        if stat.complete_s is not None:
            back_s = trails.between(flow.src, flow.dst).back_s(chosen.wants_telemetry)
            fcts.append(f"{start} {round((stat.complete_s - flow.start_s + back_s) * 1e9)} 0\n")
        if ack_each and stat.ended_s is not None:
            acked.append(f"{start} {round((stat.ended_s - flow.start_s) * 1e9)} 0\n")
    (out / "fct.txt").write_text("".join(fcts))
    if ack_each:
        (out / "acked.txt").write_text("".join(acked))
    return (
        f"{totals.unfinished} flows unfinished, PAUSE {sum(link.pause for link in links)}, RESUME "
        f"{sum(link.resume for link in links)}, paused "
        f"{1e3 * sum(link.paused_s for link in links):.2f} ms, most of pool "
        f"{max(buffer.used_max_bytes for buffer in buffers)}, of headroom "
        f"{max(buffer.headroom_max_bytes for buffer in buffers)}, CPU {cpu_s:.2f} s, digest "
        f"{totals.digest:x}"
    )


def _shorter(size_bytes: int, by: int) -> int:
    """Of as many packets, of which each is that much shorter; the last one keeps a byte."""
    packets = -(-size_bytes // PAYLOAD)
    last = size_bytes - (packets - 1) * PAYLOAD
    return (packets - 1) * (PAYLOAD - by) + max(last - by, 1)


def _address(node: int) -> int:
    return 0x0B000001 + (node // 256 << 16) + (node % 256 << 8)


class Flow(NamedTuple):
    kind: int
    size_bytes: int
    slowdown: float


def read_fct(
    file: Path, topology: Topology, header_bytes: int, telemetry: bool
) -> dict[tuple[str, ...], Flow]:
    """Slowdown at the receiver over the empty network, by pair of hosts and port."""
    names = {number: name for name, number in numbered(topology).items()}
    trails = Trails(topology)
    flows = {}
    for line in file.read_text().splitlines():
        src, dst, port, kind, size, _, fct, _ = line.split()
        trail = trails.between(*(names[int(end, 16) >> 8 & 0xFFFF] for end in (src, dst)))
        fct_s = int(fct) * 1e-9 - trail.back_s(telemetry)
        slowdown = fct_s / trail.ideal_s(int(size), header_bytes)
        flows[src, dst, port] = Flow(int(kind), int(size), slowdown)
    return flows


def compare(
    file: Path, ours: Path, theirs: Path, as_ns3: bool = False, telemetry: bool = False
) -> list[str]:
    """Returns rows of a Markdown table: percentiles of slowdown in ns-3, here, and the difference
    in %. `as_ns3`: ours ran so, and packets of both take as long in the empty network. `telemetry`:
    packets have it."""
    topology = find_topology(str(file)).build({})
    far_bytes = NS3_HEADERS + NS3_TELEMETRY * telemetry
    here = read_fct(ours, topology, far_bytes if as_ns3 else data_bytes(0, telemetry), telemetry)
    there = read_fct(theirs, topology, far_bytes, telemetry)
    both = [flow for flow in there if flow in here]
    if len(both) < 2:
        raise ValueError(
            f"{ours} and {theirs} have {len(both)} flows in common: give results of one flow.txt"
        )
    lines = ["| flows | number | ns-3 | here | difference, % |", "| --- | --- | --- | --- | --- |"]
    least = 0.0
    for most, name in (*((math.inf, "all"),), *SIZES):
        chosen = [
            key
            for key in both
            if (name == "all" or least < there[key].size_bytes <= most) and _normal(there, key)
        ]
        least = most if name != "all" else 0.0
        lines += _row(name, chosen, there, here)
    lines += _row("in-casts", [key for key in both if not _normal(there, key)], there, here)
    ratios = np.array([here[key].slowdown / there[key].slowdown for key in both])
    logs = [np.log([flows[key].slowdown for key in both]) for flows in (here, there)]
    lines.append(
        "\n"
        f"{len(both)} flows in both, {len(there) - len(both)} in ns-3 alone, "
        f"{len(here) - len(both)} here alone; here / ns-3 of a flow p5, p50, p95: "
        f"{', '.join(f'{x:.3f}' for x in np.percentile(ratios, (5, 50, 95)))}; correlation of "
        f"their logarithms {np.corrcoef(*logs)[0, 1]:.3f}"
    )
    return lines


def _normal(flows: Mapping[tuple[str, ...], Flow], key: tuple[str, ...]) -> bool:
    return flows[key].kind == NORMAL


def _row(
    name: str,
    chosen: Sequence[tuple[str, ...]],
    there: Mapping[tuple[str, ...], Flow],
    here: Mapping[tuple[str, ...], Flow],
) -> list[str]:
    if not chosen:
        return []
    a, b = (_percentiles([flows[key].slowdown for key in chosen]) for flows in (there, here))
    texts = [" / ".join(f"{x:.3f}" for x in side) for side in (a, b)]
    return [
        (
            f"| {name} | {len(chosen)} | {texts[0]} | {texts[1]} | "
            f"{' / '.join(f'{x:+.1f}' for x in 100 * (b / a - 1))} |"
        )
    ]


def _percentiles(values: Sequence[float]) -> NDArray[np.float64]:
    return np.asarray(np.percentile(values, PERCENTILES))


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("draw", help="a flow.txt")
    command.add_argument("topology", type=Path)
    command.add_argument("out", type=Path)
    command.add_argument("--workload", default="FbHdp")
    command.add_argument("--load", type=float, default=0.3)
    command.add_argument("--duration", default="1ms")
    command.add_argument(
        "--incast", type=int, default=0, help="senders of each of three in-casts (default: none)"
    )
    command.add_argument("--seed", type=int, default=1)
    command = commands.add_parser("run", help="the flows in virtual time")
    command.add_argument("topology", type=Path)
    command.add_argument("flows", type=Path)
    command.add_argument("out", type=Path)
    command.add_argument("--scheme", default="dcqcn-ns3")
    command.add_argument(
        "--param", action="append", default=[], help="NAME=NUMBER of the scheme, in SI units"
    )
    command.add_argument("--seed", type=int, default=1)
    command.add_argument(
        "--as-ns3", action="store_true", help="ns-3's frames, and its times, of whole nanoseconds"
    )
    command.add_argument(
        "--acks-in-data", action="store_true", help="ACKs in data's class, as in ns-3's switches"
    )
    command.add_argument(
        "--ack-each",
        action="store_true",
        help="an ACK of each packet, and acked.txt beside fct.txt",
    )
    command = commands.add_parser("compare", help="a table")
    command.add_argument("topology", type=Path)
    command.add_argument("ours", type=Path)
    command.add_argument("theirs", type=Path)
    command.add_argument("--as-ns3", action="store_true", help="ours ran with it")
    command.add_argument("--telemetry", action="store_true", help="of HPCC, whose packets have it")
    of = parser.parse_args(arguments)
    try:
        if of.command == "draw":
            draw_flows(
                of.topology, of.out, of.workload, of.load, quantity("time", of.duration),
                of.incast, of.seed,
            )  # fmt: skip
        elif of.command == "run":
            settings = {
                name: float(value) for name, _, value in (text.partition("=") for text in of.param)
            }
            how = (of.as_ns3, of.acks_in_data, of.ack_each)
            print(run(of.topology, of.flows, of.out, of.scheme, settings, of.seed, *how))
        else:
            print("\n".join(compare(of.topology, of.ours, of.theirs, of.as_ns3, of.telemetry)))
    except (LabError, OSError, ValueError) as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
