"""The exercises of exercises.py on both clocks: hosts send the same frames, at the same times from
each other, in virtual time and on Mininet; what arrives at each host is compared, byte by byte. It
needs root, and p4c on PATH.

    live.py TUTORIALS             all but flowcache, whose controller acts on packets
    live.py TUTORIALS mri ecn     these

Hosts' kernels are silent: their interfaces have neither addresses nor ARP. What a controller of an
exercise writes is written before its first frame. Times are left out: of link_monitor's probes,
times and bytes since the last probe. Exit code 1: an exercise differs; its line has the difference.
"""

import argparse
import select
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack, closing
from pathlib import Path

import exercises

from pcn.base.errors import LabError
from pcn.base.namespaces import in_namespace
from pcn.base.p4rt import p4r
from pcn.controller.switch import SwitchClient
from pcn.lab.p4 import P4Live
from pcn.p4net.network import P4Network
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4

QUIET_S = 1.0  # nothing arrives for so long: all has arrived
_ALL_TRAFFIC, _OUTGOING = socket.htons(3), 4
_PROBE, _HOP_BYTES = b"\x08\x12", 18


class Recorded(VirtualP4):
    """A network in virtual time that keeps what hosts send."""

    def __init__(self, value: P4Network):
        self.sent: list[tuple[float, str, bytes]] = []
        self.installed: dict[str, list[p4r.Entity]] = {}
        super().__init__(value)

    def send(self, host: str, time_s: float, frame: bytes, **more):
        self.sent.append((time_s, host, frame))
        super().send(host, time_s, frame, **more)

    def send_all(self, host: str, times_s, frames, **more):
        (frame,) = frames
        self.sent += [(float(time_s), host, frame) for time_s in times_s]
        super().send_all(host, times_s, frames, **more)

    def entries(self, switch: str) -> list[p4r.Entity]:
        """What its tables hold."""
        plane = self._made[switch]
        return list(plane.read(p4r.Entity(table_entry=p4r.TableEntry())))


Arrivals = dict[str, Counter[bytes]]


def comparable(frame: bytes) -> bytes:
    """A frame without what depends on its time."""
    if frame[12:14] != _PROBE:
        return frame
    count = frame[14]
    hops = [frame[15 + _HOP_BYTES * i : 17 + _HOP_BYTES * i] for i in range(count)]
    return frame[:15] + b"".join(hops) + frame[15 + _HOP_BYTES * count :]


def virtual(folder: Path, name: str) -> tuple[Recorded, Arrivals]:
    """The exercise in virtual time, closed."""
    with Recorded(read_exercise(folder)) as network:
        exercises.EXERCISES[name](network)
        arrived = {
            host.name: Counter(comparable(frame.start) for frame in network.arrived(host.name))
            for host in network.topology.hosts
        }
        network.installed = {
            switch.name: network.entries(switch.name) for switch in network.topology.switches
        }
    return network, arrived


def live(folder: Path, recorded: Recorded) -> Arrivals:
    """The same frames on Mininet."""
    value = read_exercise(folder)
    with ExitStack() as stack:
        logs = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        network = stack.enter_context(
            P4Live(value, log_dir=logs, name=f"judge-{value.topology.name}")
        )
        for name, running in network.switches.items():
            _write(
                SwitchClient.connect(name, running.address, running.device_id),
                recorded.installed[name],
            )
        sockets = {
            host.name: stack.enter_context(_open(network.node_pid(host.name)))
            for host in value.topology.hosts
        }
        return _play(sockets, sorted(recorded.sent, key=lambda sent: sent[0]))


def _write(client: SwitchClient, entities: list[p4r.Entity]):
    """Writes the entries that aren't there yet."""
    with closing(client):
        client.become_primary()
        there = {
            entity.SerializeToString()
            for entity in client.read([p4r.Entity(table_entry=p4r.TableEntry())])
        }
        wanted = [
            entity
            for entity in entities
            if not entity.table_entry.is_default_action and not entity.table_entry.is_const
        ]
        missing = [entity for entity in wanted if entity.SerializeToString() not in there]
        if missing:
            client.write([p4r.Update(type=p4r.Update.INSERT, entity=entity) for entity in missing])


def _open(pid: int) -> socket.socket:
    """A host's packet socket; its kernel is silent from now on."""
    for words in ("ip address flush dev eth0", "ip link set eth0 arp off"):
        subprocess.run(["nsenter", "-t", str(pid), "-n", *words.split()], check=True)

    def make() -> socket.socket:
        sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, _ALL_TRAFFIC)
        sock.bind(("eth0", 0))
        return sock

    return in_namespace(pid, make)


def _play(sockets: dict[str, socket.socket], sent: list[tuple[float, str, bytes]]) -> Arrivals:
    arrivals = {name: Counter() for name in sockets}
    names = {sock.fileno(): name for name, sock in sockets.items()}
    begun, left = time.monotonic() - sent[0][0], list(sent)
    last = time.monotonic()
    while left or time.monotonic() - last < QUIET_S:
        while left and begun + left[0][0] <= time.monotonic():
            _, host, frame = left.pop(0)
            sockets[host].send(frame)
            last = time.monotonic()
        wait = min(max(begun + left[0][0] - time.monotonic(), 0.0), 0.1) if left else 0.1
        for sock in select.select(list(sockets.values()), [], [], wait)[0]:
            frame, address = sock.recvfrom(65535)
            if address[2] != _OUTGOING:
                arrivals[names[sock.fileno()]][comparable(frame)] += 1
                last = time.monotonic()
    return arrivals


def compare(tutorials: Path, name: str) -> str:
    """An exercise's line. Raises AssertionError where it differs."""
    with exercises.solved(tutorials, name) as folder:
        recorded, expected = virtual(folder, name)
        arrived = live(folder, recorded)
    for host in expected:
        less, more = expected[host] - arrived[host], arrived[host] - expected[host]
        assert not (less | more), (
            f"{host}: {less.total()} frames of virtual time alone, {more.total()} of Mininet "
            f"alone: {[frame.hex() for frame in (*less, *more)][:4]}"
        )
    arriving = sum(frames.total() for frames in expected.values())
    return f"{arriving} frames arrive, the same on both clocks"


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tutorials", type=Path)
    parser.add_argument("exercises", nargs="*", metavar="EXERCISE")
    args = parser.parse_args()
    failed = 0
    for name in args.exercises or [
        exercise for exercise in exercises.EXERCISES if exercise != "flowcache"
    ]:
        try:
            line = compare(args.tutorials, name)
        except (LabError, AssertionError) as error:
            failed += 1
            line = f"FAILED: {type(error).__name__}: {error}"
        print(f"{name:15} {line}", flush=True)
    return int(failed > 0)


if __name__ == "__main__":
    sys.exit(main())
