"""p4sim's examples (ns-3 with BMv2's pipeline inside) in virtual time: its topo.txt, programs and
tables as they are. What arrives at hosts is what BMv2 makes of the same frames, switch by switch,
along the links.

    p4sim.py P4SIM/examples/p4src                       needs simple_switch_grpc and
                                                        simple_switch_CLI on PATH
    p4sim.py P4SIM/examples/p4src p4_basic qos          these examples
    p4sim.py P4SIM/examples/p4src [EXAMPLE] --rate      traversals a second alone, without BMv2

A line that BMv2's CLI refuses of a flow table is left out, and named. Exit code 1: something
differs; it is shown.
"""

import argparse
import difflib
import shutil
import struct
import sys
import tempfile
import time
from contextlib import ExitStack
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from google.protobuf import text_format

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE.parent), str(HERE.parents[1])) if path not in sys.path]

from learning.compare import UNDEFINED, Send, bmv2, command_line, settled  # noqa: E402
from learning.frames import Frames, known_values  # noqa: E402
from testgen.switches import SwitchError  # noqa: E402

from pcn.base.errors import LabError  # noqa: E402
from pcn.controller.programs import Program  # noqa: E402
from pcn.p4net.commands import Commands  # noqa: E402
from pcn.p4net.errors import P4NetError  # noqa: E402
from pcn.p4net.network import P4Network, P4Switch  # noqa: E402
from pcn.p4net.packets import udp  # noqa: E402
from pcn.p4net.virtual import VirtualP4  # noqa: E402
from pcn.softswitch.p4runtime.described import describe  # noqa: E402
from pcn.softswitch.program.errors import ProgramError  # noqa: E402
from pcn.softswitch.program.load import load_program  # noqa: E402
from pcn.topologies.model import Endpoint, Host, Link, Switch, Topology  # noqa: E402

UNITS = {"Kbps": 1e3, "Mbps": 1e6, "Gbps": 1e9}
PUBLISHED = 2000  # packets a second (arXiv:2503.17554)
APART_S = 20e-3  # between frames: longer than a way through any of the networks
MOST_HOPS = 200  # of a frame that goes round; such frames are left out
RANDOM_FRAMES = 30


@dataclass(frozen=True)
class Example:
    """A network, its program in JSON, and flow table lines that are refused."""

    name: str
    network: P4Network
    program: Path
    tables: dict[str, str]
    refused: tuple[str, ...]


def topology(text: str) -> Topology:
    """Returns the network of a topo.txt: counts of switches, hosts and links, then links. Ports of
    a switch count from 0, in the order of its links."""
    lines = [line.split() for line in text.splitlines() if line.strip()]
    used: dict[str, int] = {}
    links = []

    def end(number: str, kind: str) -> Endpoint:
        if kind == "h":
            return Endpoint(f"h{number}", 0)
        used[number] = used.get(number, -1) + 1
        return Endpoint(f"s{number}", used[number])

    for first, kind, second, second_kind, rate, delay in lines[1 : 1 + int(lines[0][2])]:
        a, b = end(first, kind), end(second, second_kind)
        links.append(
            Link(a, b, float(rate[:-4]) * UNITS[rate[-4:]], float(delay.removesuffix("ms")) * 1e-3)
        )
    names = {endpoint.node for link in links for endpoint in (link.a, link.b)}
    hosts = sorted((name for name in names if name.startswith("h")), key=lambda name: int(name[1:]))
    switches = sorted(
        (name for name in names if name.startswith("s")), key=lambda name: int(name[1:])
    )
    return Topology(
        "p4sim",
        # ns-3 numbers MACs in the order of devices: a link's host, then its switch.
        tuple(
            Host(name, f"10.1.1.{i}", f"00:00:00:00:00:{2 * i - 1:02x}")
            for i, name in enumerate(hosts, 1)
        ),
        tuple(Switch(name, number) for number, name in enumerate(switches, 1)),
        tuple(links),
    )


def read(folder: Path, scratch: Path) -> Example:
    """Returns an example. `scratch`: for files made of it. Raises LabError."""
    parsed = topology((folder / "topo.txt").read_text())
    program = sorted(folder.glob("*.json"))[0]
    info = scratch / "p4info.txtpb"
    info.write_text(text_format.MessageToString(describe(load_program(program.read_text()))))
    tables = {}
    for number, switch in enumerate(parsed.switches):
        paths = [folder / f"flowtable_{number}{end}" for end in (".txt", "")]
        tables[switch.name] = next((path.read_text() for path in paths if path.exists()), "")
    compiled = Program(folder.name, program, info)
    value = P4Network(parsed, {name: P4Switch(compiled) for name in tables})
    refused = []
    for name, text in tables.items():
        lines = text.splitlines()
        while True:
            path = scratch / f"{name}.txt"
            path.write_text("\n".join(lines))
            entered = replace(value.switches[name], entries=(Commands(path),))
            try:
                VirtualP4(replace(value, switches={**value.switches, name: entered})).close()
                break
            except P4NetError as error:
                number = int(str(error).partition(f"{path}:")[2].partition(":")[0])
                refused.append(f"{name}: {lines[number - 1].strip()}")
                lines[number - 1] = ""
        value = replace(value, switches={**value.switches, name: entered})
    return Example(folder.name, value, program, tables, tuple(refused))


def frames_of(example: Example, seed: int = 1, *, whole: bool = False) -> list[tuple[str, bytes]]:
    """Returns frames and their hosts: a datagram of each host to each other one, and ways through
    the parser. `whole`: the longest ways alone."""
    hosts = [host.name for host in example.network.topology.hosts]
    generator = Frames(
        example.program, known_values("\n".join(example.tables.values())), seed, whole=whole
    )
    sent = (
        []
        if whole
        else [(a, udp(example.network, a, b, bytes(100))) for a in hosts for b in hosts if a != b]
    )
    if example.name == "calc":  # whose parser compares a magic number by hand
        header = bytes(12) + struct.pack(">H2sBc", 0x1234, b"P4", 1, b"+")
        numbers = struct.pack(">III", 5, 3, 0)
        sent += [
            (hosts[0], header.replace(b"+", sign) + numbers) for sign in (b"+", b"-", b"^", b"?")
        ]
    return sent + [
        (hosts[i % len(hosts)], generator.frame().ljust(60, b"\0")) for i in range(RANDOM_FRAMES)
    ]


def by_bmv2(example: Example, frames: list[tuple[str, bytes]], cli: str) -> list[list[str]]:
    """Returns what arrives of each frame, when BMv2's switches pass it on along the links. Empty
    for one that goes round. Raises SwitchError."""
    network = example.network.topology
    with ExitStack() as stack:
        switches: dict[str, Send] = {}
        for name, commands in example.tables.items():
            thrift, switches[name] = stack.enter_context(bmv2(example.program))
            command_line(cli, thrift, commands)
        arrivals = []
        for host, frame in frames:
            under_way, arrived, hops = [(network.peer(host, 0), frame)], list[str](), 0
            while under_way and hops < MOST_HOPS:
                at, data = under_way.pop(0)
                hops += 1
                for port, out in switches[at.node](at.port, data):
                    if port in network.ports(at.node):
                        to = network.peer(at.node, port)
                        if to.node in example.tables:
                            under_way.append((to, out))
                        else:
                            arrived.append(f"{to.node} {out.hex()}")
            arrivals.append(sorted(arrived) if hops < MOST_HOPS else ["goes round"])
        return arrivals


def virtual(example: Example, frames: list[tuple[str, bytes]]) -> list[list[str]]:
    """Returns what arrives in virtual time, by frame."""
    with VirtualP4(example.network) as network:
        for number, (host, frame) in enumerate(frames):
            network.send(host, number * APART_S, frame)
        network.run(until_s=(len(frames) + 10) * APART_S)
        arrivals = [[] for _ in frames]
        for host in example.network.topology.hosts:
            for arrival in network.arrived(host.name):
                arrivals[int(arrival.time_s / APART_S)].append(f"{host.name} {arrival.start.hex()}")
        return [sorted(arrived) for arrived in arrivals]


def compare(example: Example, cli: str) -> tuple[str, list[str]]:
    """Returns a line, and what differs; frames that lack headers may (learning/compare.py). Raises
    SwitchError."""
    line, different = _compare(example, frames_of(example), cli)
    if different:
        lacking = sum(difference.startswith("-[") for difference in different)
        line, different = _compare(example, frames_of(example, whole=True), cli)
        line += f"; {UNDEFINED}: {lacking} frames that lack some differ"
    return line, different


def _compare(example: Example, frames: list[tuple[str, bytes]], cli: str) -> tuple[str, list[str]]:
    first = by_bmv2(example, frames, cli)
    round_ = {number for number, arrived in enumerate(first) if arrived == ["goes round"]}
    loopless = [frame for number, frame in enumerate(frames) if number not in round_]
    first, second = (by_bmv2(example, loopless, cli) for _ in range(2))
    mine = virtual(example, loopless)
    theirs, unsteady = settled(
        [repr(arrivals) for arrivals in first], [repr(arrivals) for arrivals in second]
    )
    ours = [repr(arrivals) if line else "" for arrivals, line in zip(mine, theirs, strict=True)]
    arrived = sum(map(len, first))
    notes = [f"{len(unsteady)} are otherwise in BMv2's second run"] if unsteady else []
    notes += [f"{len(round_)} go round without end"] if round_ else []
    notes += (
        [f"{len(example.refused)} lines refused, first {example.refused[0]!r}"]
        if example.refused
        else []
    )
    line = "; ".join([f"{len(loopless)} frames, {arrived} arrive as by BMv2", *notes])
    return line, list(difflib.unified_diff(theirs, ours, "BMv2", "virtual time", lineterm="", n=0))


def rate(example: Example, count: int = 200_000) -> str:
    """Returns traversals a second: datagrams of 1,000 bytes from the first host to the last."""
    hosts = example.network.topology.hosts
    frame = udp(example.network, hosts[0].name, hosts[-1].name, bytes(958))
    with VirtualP4(example.network, queues="nodes") as network:
        for host in hosts:
            network.count_alone(host.name)
        network.send_all(hosts[0].name, np.arange(count) * 1e-5, [frame])
        begun = time.process_time()
        network.run(until_s=count * 1e-5 + 1.0)
        took = time.process_time() - begun
        traversals, arrived = network.totals().traversals, network.arrivals(hosts[-1].name).frames
    figure = (
        f"{traversals / took / 1e6:.2f} million traversals a second, "
        f"{traversals / took / PUBLISHED:,.0f} x p4sim's"
    )
    return f"{arrived} of {count} arrive; {figure}"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("examples", nargs="*", metavar="EXAMPLE", help="default: all")
    parser.add_argument("--rate", action="store_true", help="measure traversals a second instead")
    args = parser.parse_args()
    cli = shutil.which("simple_switch_CLI")
    if not args.rate and (cli is None or shutil.which("simple_switch_grpc") is None):
        raise SystemExit("simple_switch_grpc and simple_switch_CLI must be on PATH")
    wrong = 0
    for name in args.examples or sorted(
        path.parent.name for path in args.folder.glob("*/topo.txt")
    ):
        with tempfile.TemporaryDirectory() as scratch:
            try:
                example = read(args.folder / name, Path(scratch))
            except (LabError, ProgramError) as error:
                print(f"{name:15} can't run: {error}", flush=True)
                continue
            different = list[str]()
            try:
                if args.rate:
                    line = rate(example)
                else:
                    line, different = compare(example, str(cli))
            except SwitchError as error:
                line, different = "", [str(error)]
        wrong += bool(different)
        print(
            "\n".join([f"{name:15} {'DIFFERENT ' * bool(different)}{line}", *different]), flush=True
        )
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
