"""Faults on Mininet by the dozen: scenarios drawn from seeds, in real time, on networks of embedded
switches. As root.

    live.py --seeds 1:24    some seven seconds each
    live.py --seed 7        that scenario in words, and its violations

Links go down, ports are paused, thresholds change, entries are removed and written again, switches
and hosts stand still, foreign controllers come and go, flows start and stop. What holds of each:
every packet, PAUSE, RESUME and CNP has come, or a switch or a host counts it as lost; when all has
left, everything that counts what is inside is at 0; packets sent afterwards arrive; no agent met a
bad frame; once the network is down, no process, interface or file of it is there.

Exit code 1: there are violations. A line for each has the command that plays its scenario again, in
which the same faults meet other packets.
"""

import argparse
import logging
import os
import random
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE), str(HERE.parents[1])) if path not in sys.path]

from faults import EntryFaults  # noqa: E402
from play import INSIDE  # noqa: E402
from scenario import CREDITS_ALONE, Fault  # noqa: E402
from swarm import span  # noqa: E402

from pcn.base import signals  # noqa: E402
from pcn.controller import interface_counters, settings  # noqa: E402
from pcn.controller.configure import SwitchPlan  # noqa: E402
from pcn.controller.switch import SwitchClient  # noqa: E402
from pcn.experiments.page.terminal import stdout  # noqa: E402
from pcn.experiments.run.progress import ConsoleProgress  # noqa: E402
from pcn.hosts.algorithms import find_scheme  # noqa: E402
from pcn.hosts.algorithms.discovery import schemes  # noqa: E402
from pcn.lab import (  # noqa: E402
    control_frames,
    flows,
    journal as records,
)
from pcn.lab.lab import Lab  # noqa: E402
from pcn.lab.links import set_link  # noqa: E402
from pcn.lab.pause import PauseError, pause  # noqa: E402
from pcn.lab.running import Running  # noqa: E402
from pcn.topologies.compact import compact  # noqa: E402
from pcn.topologies.dumbbell import dumbbell  # noqa: E402
from pcn.topologies.model import Topology  # noqa: E402
from pcn.topologies.parking_lot import parking_lot  # noqa: E402
from pcn.topologies.star import star  # noqa: E402

FAULTS_S, STOP_S = 2.0, 2.5
"""Real: faults begin and end within the first, then all flows stop."""
QUIET_S = PROBE_S = 60.0
"""Real: what is inside has left by then, and what was sent afterwards has come, on any machine."""
LOST_AS_IT_GOES = 64
"""Frames that a link which goes down may lose without a word: what a sender had just given to the
kernel, of either end (hosts/csrc/loop.c sends 32 at once)."""
PROBE_PACKETS = 3


@dataclass(frozen=True)
class Flow:
    start_s: float
    src: str
    dst: str
    size_bytes: int | None
    rate_bps: float | None


@dataclass(frozen=True)
class Scenario:
    """Times are real, seconds since the network was up."""

    seed: int
    topology: Topology
    scheme: str
    dilation: float
    flows: tuple[Flow, ...]
    faults: tuple[Fault, ...]

    def __str__(self) -> str:
        first = (
            f"seed {self.seed}: {self.topology.name} {dict(self.topology.parameters)}, "
            f"{self.scheme}"
        )
        return "\n".join(
            [f"{first}, k = {self.dilation:g}", *map(str, self.flows), *map(str, self.faults)]
        )


@dataclass
class Aftermath:
    """How a scenario ended. `missing`: data packets that were sent and haven't come;
    `missing_control`: PAUSEs, RESUMEs and CNPs. `counted`: frames that switches and hosts count as
    lost. `inside`: registers that aren't at 0. `silent`: probes that haven't come. `left`: what of
    the network is there once it is down."""

    missing: int = 0
    missing_control: int = 0
    counted: int = 0
    links_went_down: int = 0
    inside: dict[str, dict[int, int]] = field(default_factory=dict)
    silent: list[str] = field(default_factory=list)
    bad_frames: int = 0
    left: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Before:
    """What a network had counted before, and its hosts have forgotten. `control`: lost by kind and
    link."""

    counted: int = 0
    control: Mapping[tuple[str, str], int] = field(default_factory=dict)


def draw(seed: int) -> Scenario:
    """The same one for the same seed, everywhere."""
    rng = random.Random(seed)
    topology = rng.choice(
        (
            lambda: star(rng.randint(2, 4)),
            lambda: compact(senders=rng.randint(2, 4)),
            lambda: dumbbell(pairs=rng.randint(1, 3)),
            parking_lot,
        )
    )()
    drawn, faults = draw_flows(rng, topology), draw_faults(rng, topology)
    scheme = rng.choice(
        [name for name in sorted(schemes) if name not in CREDITS_ALONE and not _grants(name)]
    )
    return Scenario(seed, topology, scheme, rng.choice((500.0, 1000.0)), drawn, faults)


def _grants(scheme: str) -> bool:
    """Returns whether its receivers give turns, which live hosts don't."""
    return find_scheme(scheme).configure().new_np().grants


def draw_flows(rng: random.Random, topology: Topology) -> tuple[Flow, ...]:
    hosts = [host.name for host in topology.hosts]
    sink = rng.choice(hosts)
    drawn = []
    for _ in range(rng.randint(2, 5)):
        dst = sink if rng.random() < 0.6 else rng.choice(hosts)
        drawn.append(
            Flow(
                rng.choice((0.0, rng.random() * FAULTS_S)),
                rng.choice([host for host in hosts if host != dst]),
                dst,
                rng.choice((None, None, rng.randint(1, 1_000_000))),
                rng.choice((None, None, rng.uniform(0.1, 1) * 10e9)),
            )
        )
    return tuple(drawn)


def draw_faults(rng: random.Random, topology: Topology) -> tuple[Fault, ...]:
    return tuple(sorted(_faults(rng, topology), key=lambda fault: fault.time_s))


def _faults(rng: random.Random, topology: Topology) -> Iterator[Fault]:
    ends = [(end.node, end.port) for link in topology.links for end in (link.a, link.b)]
    switches = [switch.name for switch in topology.switches]
    nodes = [*switches, *(host.name for host in topology.hosts)]
    for _ in range(rng.randint(2, 8)):
        begin_s, over_s = sorted(rng.random() * FAULTS_S for _ in range(2))
        switch = rng.choice(switches)
        kind = rng.choice(
            (
                "link", "pause", "thresholds", "forget_routes", "forget_all", "stall",
                "controller", "stop",
            )
        )  # fmt: skip
        if kind == "link":
            end = rng.choice(ends)
            yield Fault(begin_s, "link_down", end)
            yield Fault(over_s, "link_up", end)
        elif kind == "pause":
            yield Fault(begin_s, "pause", (*rng.choice(ends), over_s - begin_s))
        elif kind == "thresholds":
            yield Fault(begin_s, "thresholds", (switch, rng.choice((0.1, 0.5, 2.0))))
            yield Fault(over_s, "thresholds", (switch, 1.0))
        elif kind in ("forget_routes", "forget_all"):
            yield Fault(begin_s, kind, (switch,))
            yield Fault(over_s, "restore", (switch,))
        elif kind == "stall":
            yield Fault(begin_s, "stall", (rng.choice(nodes), (over_s - begin_s) / 4))
        elif kind == "controller":
            yield Fault(begin_s, "controller", (switch, rng.randint(1, 1000)))
        else:
            yield Fault(begin_s, "stop_flow", (rng.randrange(5),))


class LiveFaults(EntryFaults):
    """What can happen to a network on Mininet, whose switches have these plans and can be written
    to."""

    def __init__(self, lab: Running, plans: Mapping[str, SwitchPlan]):
        super().__init__(lab.switches, plans.__getitem__)
        self._lab = lab
        self._before = {name: settings.read(client) for name, client in lab.switches.items()}
        self._threads = ThreadPoolExecutor()
        self._pauses: list[Future[None]] = []
        self._down: dict[tuple[str, str], None] = {}
        self.numbers: list[int] = []
        self.links_went_down = 0

    def end(self):
        """All is whole again."""
        for end, peer in list(self._down):
            self._up(end, peer)
        for pending in self._pauses:
            pending.result()
        self.restore_all()
        for name in self._lab.switches:
            self.thresholds(name, 1.0)

    def start_flow(self, flow: Flow):
        self.numbers += flows.start(
            self._lab.topology, self._lab.agents, flow.src, flow.dst, size_bytes=flow.size_bytes,
            rate_bps=flow.rate_bps,
        )  # fmt: skip

    def stop_flow(self, number: int):
        if number < len(self.numbers):
            flows.stop(self._lab.agents, [self.numbers[number]])

    def link_down(self, node: str, port: int):
        peer = self._lab.topology.peer(node, port)
        self._down[f"{node}:{port}", f"{peer.node}:{peer.port}"] = None
        self.links_went_down += 1
        set_link(self._lab, f"{node}:{port}", f"{peer.node}:{peer.port}", up=False)

    def link_up(self, node: str, port: int):
        peer = self._lab.topology.peer(node, port)
        self._up(f"{node}:{port}", f"{peer.node}:{peer.port}")

    def _up(self, end: str, peer: str):
        set_link(self._lab, end, peer, up=True)
        self._down.pop((end, peer), None)

    def pause(self, node: str, port: int, real_s: float):
        self._pauses.append(self._threads.submit(self._pause, node, port, real_s))

    def _pause(self, node: str, port: int, real_s: float):
        """Where links go down, it may end early, or not begin."""
        try:
            pause(self._lab, node, port, duration_s=max(real_s, 0.01) / self._lab.record.dilation)
        except PauseError:
            if not self.links_went_down:
                raise

    def thresholds(self, name: str, factor: float):
        """Of PFC, at each port that has an entry of it now."""
        client = self._lab.switches[name]
        for port in settings.read(client):
            was = self._before[name][port]
            if "xoff" in was:
                settings.change(
                    client,
                    {threshold: round(was[threshold] * factor) for threshold in ("xoff", "xon")},
                    [port],
                )

    def stall(self, node: str, real_s: float):
        process = self._lab.record.nodes[node].process
        os.kill(process.pid, signal.SIGSTOP)
        try:
            time.sleep(real_s)
        finally:
            os.kill(process.pid, signal.SIGCONT)

    def controller(self, name: str, higher: int):
        """Another one with a higher election id writes all routes again, and goes without a
        word."""
        device_id = self._lab.topology.switch(name).device_id
        with SwitchClient.connect(
            "foreign", self._lab.record.nodes[name].control, device_id
        ) as foreign:
            foreign.become_primary(self._lab.switches[name].election_id + higher)
            foreign.modify(
                entry for entry in foreign.read_table("ipv4_lpm") if not entry.is_default_action
            )


def play(scenario: Scenario) -> Aftermath:
    """Raises LabError where the network doesn't come up or is no longer there, AgentError where an
    agent isn't."""
    name = f"swarm{os.getpid()}-{scenario.seed}"
    before = interfaces()
    with tempfile.TemporaryDirectory(prefix="pcn-swarm-") as folder:
        with Lab(
            scenario.topology,
            log_dir=Path(folder),
            name=name,
            dilation=scenario.dilation,
            scheme=scenario.scheme,
        ) as lab:
            record, faults = lab.record, LiveFaults(lab, lab.plans)
            happen(scenario, faults)
            aftermath = at_the_end(lab, Before())
            aftermath.links_went_down = faults.links_went_down
        aftermath.left = left(record, before)
    return aftermath


def interfaces() -> set[str]:
    """Of this machine."""
    return {name for _, name in socket.if_nameindex()}


def left(record: records.Record, before: set[str]) -> list[str]:
    """What is there of a network that has gone down. `before`: the interfaces of the time before it
    came up."""
    return [
        *(f"process {process.pid}" for process in record.processes() if process.alive()),
        *(f"interface {interface}" for interface in sorted(interfaces() - before)),
        *(str(path) for path in [record.directory] if path.exists()),
    ]


def happen(scenario: Scenario, faults: LiveFaults):
    events = [(flow.start_s, partial(faults.start_flow, flow)) for flow in scenario.flows]
    events += [
        (fault.time_s, partial(faults.happen, fault.method, fault.arguments))
        for fault in scenario.faults
    ]
    began = time.monotonic()
    for time_s, event in sorted(events, key=lambda event: event[0]):
        time.sleep(max(0.0, began + time_s - time.monotonic()))
        event()
    faults.end()
    time.sleep(max(0.0, began + STOP_S - time.monotonic()))


def begin_anew(lab: Running) -> Before:
    """On a network that is quiet: its hosts forget all flows, and count from 0."""
    for agent in lab.agents.values():
        agent.reset()
    return Before(
        _counted(lab), {(loss.kind, loss.where): loss.lost for loss in control_frames.lost(lab)}
    )


def at_the_end(lab: Running, before: Before) -> Aftermath:
    """All flows stop; what was counted since `before`. `links_went_down` and `left` are the
    caller's."""
    aftermath = Aftermath()
    flows.stop(lab.agents)
    aftermath.inside = _until_quiet(lab)
    stats = flows.ask(lab.agents)
    aftermath.missing = sum(flow.missing for flow in flows.flows(lab.topology, stats))
    control = control_frames.lost(lab)
    aftermath.missing_control = sum(
        max(0, loss.lost - before.control.get((loss.kind, loss.where), 0)) for loss in control
    )
    aftermath.silent = _probe(lab)
    aftermath.counted = _counted(lab) - before.counted
    aftermath.bad_frames = sum(stat.bad_frames for stat in stats.values())
    return aftermath


def _until_quiet(lab: Running) -> dict[str, dict[int, int]]:
    """Until nothing is inside any more and nothing arrives, or for too long; what the registers
    then count."""
    limit, before = time.monotonic() + QUIET_S, -1
    while True:
        arrived = sum(
            flow.packets for agent in lab.agents.values() for flow in agent.stats().received
        )
        inside = {
            f"{name}: {register}": cells
            for name, client in lab.switches.items()
            for register in sorted(set(INSIDE) & set(client.registers()))
            if (
                cells := {i: value for i, value in client.read_registers(register).items() if value}
            )
        }
        if (not inside and arrived == before) or time.monotonic() > limit:
            return inside
        before = arrived
        time.sleep(0.2)


def _counted(lab: Running) -> int:
    lost = sum(agent.stats().socket_drops for agent in lab.agents.values())
    for client in lab.switches.values():
        lost += sum(
            counters.in_discards + counters.out_discards
            for counters in (interface_counters.read(client) or {}).values()
        )
        lost += sum(counter.packets for counter in client.read_counters("dropped").values())
    return lost


def _probe(lab: Running) -> list[str]:
    """A few packets from each host to the next one."""
    names = [host.name for host in lab.topology.hosts]
    sent = {}
    for src, dst in zip(names, [*names[1:], names[0]], strict=True):
        (number,) = flows.start(lab.topology, lab.agents, src, dst, size_bytes=PROBE_PACKETS * 1000)
        sent[number] = f"{src} to {dst}"
    limit = time.monotonic() + PROBE_S
    while True:
        now = flows.flows(lab.topology, flows.ask(lab.agents))
        silent = [
            sent[flow.id]
            for flow in now
            if flow.id in sent and (flow.fct_s is None or flow.missing)
        ]
        if not silent or time.monotonic() > limit:
            return silent
        time.sleep(0.05)


def violations(aftermath: Aftermath) -> Iterator[str]:
    missing = aftermath.missing + aftermath.missing_control
    explained = aftermath.counted + LOST_AS_IT_GOES * aftermath.links_went_down
    if missing > explained:
        yield (
            f"{aftermath.missing} data packets and {aftermath.missing_control} PAUSEs, RESUMEs and "
            f"CNPs are lost, {aftermath.counted} are counted, {aftermath.links_went_down} links "
            "went down"
        )
    for register, cells in aftermath.inside.items():
        yield f"{register} counts packets that have left: {cells}"
    for pair in aftermath.silent:
        yield f"{pair}, afterwards: {PROBE_PACKETS} packets don't arrive"
    if aftermath.bad_frames:
        yield f"{aftermath.bad_frames} bad frames"
    for remnant in aftermath.left:
        yield f"once the network is down, there is {remnant}"


def judged(scenario: Scenario) -> tuple[tuple[str, ...], Aftermath]:
    """A scenario's violations, and what it left. Whatever ends it is one."""
    try:
        aftermath = play(scenario)
    except Exception as error:
        return (f"{type(error).__name__}: {error}",), Aftermath()
    return tuple(violations(aftermath)), aftermath


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seed", type=int, help="this one alone, in words")
    parser.add_argument("--seeds", type=span, default="1:24", metavar="FROM:TO")
    arguments = parser.parse_args()
    if os.geteuid() != 0:
        parser.error("needs root, for network namespaces and veth pairs")
    first, last = arguments.seeds if arguments.seed is None else (arguments.seed, arguments.seed)
    signals.heed_interrupts()
    logging.getLogger("pcn.controller.arbitration").setLevel(
        logging.ERROR
    )  # it says that a foreign controller has gone
    lost, wrong = 0, 0
    try:
        with signals.raising(), ConsoleProgress(stdout()) as progress:
            progress.stage(f"faults on Mininet: seeds {first} to {last}")
            for seed in range(first, last + 1):
                scenario = draw(seed)
                if arguments.seed is not None:
                    print(scenario)
                texts, aftermath = judged(scenario)
                for text in texts:
                    print(
                        f"python judges/swarm/live.py --seed {seed}  # {scenario.scheme}: {text}",
                        flush=True,
                    )
                lost += aftermath.missing + aftermath.missing_control
                wrong += len(texts)
                progress.advance(
                    (seed - first + 1) / (last - first + 1),
                    f"seed {seed}: {lost:,} frames lost so far",
                )
    except (KeyboardInterrupt, signals.Terminated):
        print("live: interrupted", file=sys.stderr)
        return 130
    print(
        f"{last - first + 1} scenarios on Mininet, {lost:,} frames lost by faults. {wrong} "
        "violations."
    )
    return wrong > 0


if __name__ == "__main__":
    sys.exit(main())
