"""Runs cases through one target and writes what came out. Starts itself again in a network namespace of its own.

    python tests/differential/drive.py --target bmv2 --record            make recordings/ anew
    python tests/differential/drive.py --target bmv2 --seed 7 --out F    the same with other cases, elsewhere
    python tests/differential/drive.py --target softswitch --replay F    the embedded switch on F's cases, to stdout

The namespace and its veth pairs end with the process. Needs root, and PYTHONPATH at the checkout if it isn't installed.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import json
import os
import queue
import select
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent / "p4runtime")]

from finsy.proto import p4i, p4r  # noqa: E402
from generate import PORTS, PROGRAMS, Packet, Setup, generate  # noqa: E402
from google.protobuf import text_format  # noqa: E402
from p4rt_client import Client, Names, RefusedError, update  # noqa: E402

from controller.target import LaunchSpec, PortSpec, Target, target  # noqa: E402

RECORDINGS = HERE / "recordings"
SEEDS = (1,)
PACKETS = {"expressions": 50}  # of a recording; others have 150
GRPC_PORT = 9559
START_LIMIT_S = 30.0
# A packet's outputs are complete when as many came as were recorded, or, where that is unknown, after a silence.
SILENCE_S = 0.1  # after a frame; where none came yet, five times that. A busy machine keeps BMv2 waiting
# For what mustn't come, and for a packet that is dropped to have been counted before the next comes.
GRACE_S = 0.005
LIMIT_S = 5.0
PR_SET_PDEATHSIG = 1
SOL_PACKET, PACKET_IGNORE_OUTGOING, SO_RCVBUFFORCE = 263, 23, 33

Result = dict[str, Any]


class Ports:
    """Our ends of the veth pairs; the switch's are veth1, veth2, ..."""

    def __init__(self) -> None:
        self._sockets = {}
        for port in PORTS:
            near, far = f"veth{port}", f"far{port}"
            _run("ip", "link", "add", near, "type", "veth", "peer", "name", far)
            for end in (near, far):
                quiet = Path(f"/proc/sys/net/ipv6/conf/{end}/disable_ipv6")
                if quiet.exists():
                    quiet.write_text("1")
                _run("ethtool", "-K", end, *(w for n in ("tx", "rx", "tso", "gso", "gro") for w in (n, "off")))
                _run("ip", "link", "set", end, "up")
            sock = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0)
            sock.setsockopt(SOL_PACKET, PACKET_IGNORE_OUTGOING, 1)
            sock.setsockopt(socket.SOL_SOCKET, SO_RCVBUFFORCE, 8 << 20)
            sock.bind((far, 3))  # ETH_P_ALL from here on: before, it would hear all interfaces
            self._sockets[port] = sock

    def exchange(self, packet: Packet, expected: int | None) -> dict[str, list[str]]:
        """Sends a packet and returns what leaves, by port: frames in hex, sorted, as two copies may overtake."""
        self._sockets[packet.port].send(packet.frame)
        frames: dict[str, list[str]] = {}
        n, end = 0, time.monotonic() + LIMIT_S
        while True:
            if expected is None:
                wait = SILENCE_S * (1 if n else 5)
            elif n >= expected:
                wait = GRACE_S * (1 if n else 4)
            else:
                wait = end - time.monotonic()
            ready, _, _ = select.select(list(self._sockets.values()), [], [], max(0.0, wait))
            if not ready:
                return {port: sorted(found) for port, found in sorted(frames.items())}
            for port, sock in self._sockets.items():
                if sock in ready:
                    frames.setdefault(str(port), []).append(sock.recv(16384).hex())
                    n += 1


def _run(*command: str) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command)}: {done.stderr.strip()}")


@contextlib.contextmanager
def running(kind: Target) -> Iterator[tuple[Client, int, Callable[[], bool]]]:
    """A switch without a program, its controller, its process id, and whether that lives."""
    ports = tuple(PortSpec(port, f"veth{port}", 0.0, 0.0) for port in PORTS)
    spec = LaunchSpec("differential", 1, ports, f"127.0.0.1:{GRPC_PORT}")
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(
            kind.command(spec),
            stdout=log,
            stderr=log,
            preexec_fn=lambda: ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL),
        )
        try:
            with contextlib.closing(_controller(child)) as client:
                yield client, child.pid, lambda: child.poll() is None
        except RefusedError as error:
            log.seek(0)
            raise SystemExit(f"{error}; {kind.name} says: {log.read().decode(errors='replace')}") from error
        finally:
            child.terminate()
            try:
                child.wait(LIMIT_S)
            except subprocess.TimeoutExpired:
                child.kill()
                child.wait()


def _controller(child: subprocess.Popen[bytes]) -> Client:
    end = time.monotonic() + START_LIMIT_S
    while True:
        client = Client(GRPC_PORT)
        try:
            client.arbitrate()
        except RefusedError:
            client.close()
            if child.poll() is not None or time.monotonic() > end:
                raise
            time.sleep(0.02)
        else:
            return client


def _meter(committed: int, peak: int) -> p4r.MeterConfig:
    # Without refill within a run, so that colours depend on packets alone.
    return p4r.MeterConfig(cir=0, cburst=committed, pir=0, pburst=peak)


def prepare(client: Client, names: Names, setup: Setup) -> None:
    """Everything that the control plane does before the packets."""
    for entry in setup.entries:
        action = names.action(entry.action, **entry.params)
        client.insert(table_entry=names.entry(entry.table, entry.keys, action, priority=entry.priority))
    for entry in setup.defaults:
        action = names.action(entry.action, **entry.params)
        client.modify(table_entry=names.entry(entry.table, {}, action, is_default_action=True))
    for entry in setup.entries:
        if entry.meter is not None:
            found = p4r.DirectMeterEntry(table_entry=names.entry(entry.table, entry.keys), config=_meter(*entry.meter))
            client.modify(direct_meter_entry=found)
    for name, index, committed, peak in setup.meters:
        cell = p4r.MeterEntry(meter_id=names.id("meters", name), config=_meter(committed, peak))
        cell.index.index = index
        client.modify(meter_entry=cell)
    for number, copies in setup.groups.items():
        replicas = [p4r.Replica(egress_port=port, instance=instance) for port, instance in copies]
        group = p4r.MulticastGroupEntry(multicast_group_id=int(number), replicas=replicas)
        client.insert(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(multicast_group_entry=group))
    for number, copies in setup.clones.items():
        replicas = [p4r.Replica(egress_port=port, instance=instance) for port, instance in copies]
        session = p4r.CloneSessionEntry(session_id=int(number), replicas=replicas)
        client.insert(packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(clone_session_entry=session))
    if setup.digest:
        digest = p4r.DigestEntry(digest_id=names.id("digests", setup.digest))
        digest.config.max_list_size = 1
        client.insert(digest_entry=digest)


class Digests:
    """Collects and acknowledges what the switch learns, in a thread, as the stream only blocks."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._seen: queue.SimpleQueue[str] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with contextlib.suppress(RefusedError, ValueError):
            while True:
                message = self._client.receive()
                if message.WhichOneof("update") != "digest":
                    continue
                for item in message.digest.data:
                    self._seen.put(" ".join(member.bitstring.hex() for member in item.struct.members))
                ack = p4r.DigestListAck(digest_id=message.digest.digest_id, list_id=message.digest.list_id)
                self._client.send(digest_ack=ack)

    def take(self, n: int | None) -> list[str]:
        """All there are, each once, as a switch may leave out repeats until acknowledged; n: how many must come."""
        found: set[str] = set()
        with contextlib.suppress(queue.Empty):
            while True:
                found.add(self._seen.get(timeout=0.5 if n is None else 0.05 if len(found) >= n else LIMIT_S))
        return sorted(found)


def change(client: Client, names: Names, setup: Setup) -> None:
    """What the control plane does after half of the packets."""
    for kind, number, params in setup.changes:
        entry = setup.entries[number]
        action = names.action(entry.action, **params) if kind == "modify" else None
        found = names.entry(entry.table, entry.keys, action, priority=entry.priority)
        client.write(update(kind.upper(), table_entry=found))


def state(client: Client, names: Names, kind: Target, pid: int, setup: Setup) -> dict[str, Any]:
    """Counters, direct counters and registers up to 64 bits (BMv2's Thrift has no wider ones)."""
    found: dict[str, Any] = {}
    for counter in names.info.counters:
        cells = client.read(counter_entry=p4r.CounterEntry(counter_id=counter.preamble.id))
        cells.sort(key=lambda cell: cell.index.index)
        found[counter.preamble.alias] = [_count(cell.data, counter.spec.unit) for cell in cells]
    for counter in names.info.direct_counters:
        (table,) = (t for t in names.tables.values() if t.preamble.id == counter.direct_table_id)
        counts = []
        for entry in setup.entries:
            if entry.table == table.preamble.alias:
                query = names.entry(entry.table, entry.keys, priority=entry.priority)
                # An entry without a key that matters is also a wildcard: its answer is one of many.
                cells = client.read(direct_counter_entry=p4r.DirectCounterEntry(table_entry=query))
                here = (len(query.match), query.priority)
                (cell,) = (c for c in cells if (len(c.table_entry.match), c.table_entry.priority) == here)
                counts.append(_count(cell.data, counter.spec.unit))
        found[counter.preamble.alias] = counts
    registers = kind.registers(pid)
    for register in names.info.registers:
        width = _width(register)
        if width > 64:
            continue
        if registers is not None:
            values = [value % (1 << width) for value in registers.read_all(register.preamble.name)]
        else:
            cells = client.read(register_entry=p4r.RegisterEntry(register_id=register.preamble.id))
            values = [int.from_bytes(cell.data.bitstring, "big") % (1 << width) for cell in cells]
        found[register.preamble.alias] = values
    return found


def _count(data: p4r.CounterData, unit: int) -> list[int]:
    """Packets and bytes, of what the counter counts."""
    wanted = p4i.CounterSpec
    return [
        data.packet_count if unit in (wanted.PACKETS, wanted.BOTH) else 0,
        data.byte_count if unit in (wanted.BYTES, wanted.BOTH) else 0,
    ]


def _width(register: p4i.Register) -> int:
    kind = register.type_spec.bitstring
    return int(kind.bit.bitwidth or kind.int.bitwidth)


def run(kind: Target, ports: Ports, program: str, setup: Setup, packets: list[Packet], known: Result | None) -> Result:
    """One case in a switch of its own. `known`: what to expect, which saves waiting."""
    info = text_format.Parse((HERE / "programs" / f"{program}.p4info.txtpb").read_text(), p4i.P4Info())
    names = Names(info)
    with running(kind) as (client, pid, alive):
        client.set_pipeline(info, (HERE / "programs" / f"{program}.json").read_bytes())
        prepare(client, names, setup)
        end = time.monotonic() + START_LIMIT_S
        while not kind.ready(pid):
            if time.monotonic() > end:
                raise SystemExit(f"{kind.name} is not ready")
            time.sleep(0.02)
        outputs = []
        learned = Digests(client)
        for number, packet in enumerate(packets):
            if number == len(packets) // 2:
                change(client, names, setup)
            expected = None if known is None else sum(len(f) for f in known["outputs"][number].values())
            outputs.append(ports.exchange(packet, expected))
            if not alive():
                raise SystemExit(f"{kind.name} died of packet {number} of {program}: {packet}")
        found = learned.take(None if known is None else len(known["digests"]))
        return {"outputs": outputs, "digests": found, "state": state(client, names, kind, pid, setup)}


def version(kind: Target) -> str:
    """Who made a recording."""
    if kind.name != "bmv2":
        return kind.name
    done = subprocess.run(["simple_switch_grpc", "--version"], capture_output=True, text=True, check=True)
    return f"BMv2 {done.stdout.strip()}"


def write(path: Path, recording: Result) -> None:
    """One packet or result a line."""
    lines = [f'"{key}": {json.dumps(recording[key])}' for key in ("made_by", "program", "seed", "setup", "state")]
    for key in ("packets", "outputs", "digests"):
        lines.append(f'"{key}": [\n' + ",\n".join(json.dumps(item) for item in recording[key]) + "\n]")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--target", choices=("softswitch", "bmv2"), default="bmv2")
    parser.add_argument("--program", choices=PROGRAMS, action="append")
    parser.add_argument("--seed", type=int, action="append")
    parser.add_argument("--packets", type=int, help="a case")
    parser.add_argument("--record", action="store_true", help="write into recordings/")
    parser.add_argument("--out", type=Path, help="write into that folder")
    parser.add_argument("--replay", type=Path, action="append", default=[], help="cases of a recording")
    options = parser.parse_args()
    if "DIFFERENTIAL_INSIDE" not in os.environ:
        os.environ["DIFFERENTIAL_INSIDE"] = "1"
        os.execvp("unshare", ["unshare", "--net", sys.executable, *sys.argv])
    _run("ip", "link", "set", "lo", "up")
    kind, ports = target(options.target), Ports()
    if options.replay:
        results = []
        for path in options.replay:
            known = json.loads(path.read_text())
            packets = [Packet(port, bytes.fromhex(frame)) for port, frame in known["packets"]]
            results.append(run(kind, ports, known["program"], Setup.of(known["setup"]), packets, known))
        json.dump(results, sys.stdout)
        return 0
    folder = RECORDINGS if options.record else options.out
    folder.mkdir(exist_ok=True)
    for program in options.program or PROGRAMS:
        for seed in options.seed or SEEDS:
            setup, packets = generate(program, seed, options.packets or PACKETS.get(program, 150))
            recording = run(kind, ports, program, setup, packets, None)
            recording |= {"made_by": version(kind), "program": program, "seed": seed, "setup": setup.plain()}
            recording["packets"] = [[packet.port, packet.frame.hex()] for packet in packets]
            write(folder / f"{program}-{seed}.json", recording)
    return 0


if __name__ == "__main__":
    sys.exit(main())
