"""`make bench-switch`: packets a second from one veth to another through a P4 program.

Three forwarders are measured the same way, in one run: a bare copy loop (what packet sockets cost at the least), the
embedded switch, and BMv2's simple_switch_grpc where it is installed. Two figures each:

- `forwarded`: packets a second that come out while more is offered than can be forwarded; median of several runs;
- `loss-free`: the highest offered rate at which every packet of a run came out, by bisection to 2%.

Frames are RoCEv2 data packets; their length is without FCS. The sender has a core of its own; the copy loop and the
embedded switch have one core, BMv2 has all.
"""

from __future__ import annotations

import argparse
import contextlib
import itertools
import os
import shutil
import socket
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any

import grpc
from finsy.proto import p4i, p4r, p4r_grpc
from google.protobuf import text_format

from softswitch.codegen.build import CSRC, BuildError, compiler

ROOT = Path(__file__).resolve().parent.parent
SENDER_CPU, SWITCH_CPU = 0, 1
DESTINATION = bytes([10, 0, 0, 2])


class BenchError(Exception):
    """The bench can't run; the message says why."""


@dataclass(frozen=True)
class Figures:
    """Packets a second."""

    forwarded: float
    loss_free: float


@dataclass(frozen=True)
class Wires:
    """Where frames enter, and where they come out: the far ends are the bench's, the near ones the switch's."""

    far_in: str
    near_in: str
    near_out: str
    far_out: str

    def arrived(self) -> int:
        """Packets that came out so far."""
        return int(Path(f"/sys/class/net/{self.far_out}/statistics/rx_packets").read_text())


def roce_frame(length: int) -> bytes:
    """A RoCEv2 data packet of `length` bytes, ECN-capable, with a valid IPv4 checksum."""
    ip_length = length - 14
    header = bytearray(
        b"\x45\x6a" + ip_length.to_bytes(2, "big") + bytes(4) + b"\x40\x11\0\0\x0a\0\0\x01" + DESTINATION
    )
    total = sum(int.from_bytes(header[i : i + 2], "big") for i in range(0, 20, 2))
    total = (total & 0xFFFF) + (total >> 16)
    header[10:12] = (~total & 0xFFFF).to_bytes(2, "big")
    udp = b"\xc0\x00\x12\xb7" + (ip_length - 20).to_bytes(2, "big") + bytes(2)
    bth = b"\x24\x40\xff\xff\0\0\0\x01\0\0\0\x01"
    frame = bytes.fromhex("020000000001020000000002") + b"\x08\x00" + bytes(header) + udp + bth
    return frame.ljust(length, b"\0")


@contextlib.contextmanager
def wires() -> Iterator[Wires]:
    """Two veth pairs without IPv6, removed on every exit path."""
    pid = os.getpid()
    made = Wires(f"bi{pid}f", f"bi{pid}n", f"bo{pid}n", f"bo{pid}f")
    with contextlib.ExitStack() as stack:
        for a, b in ((made.far_in, made.near_in), (made.near_out, made.far_out)):
            run("ip", "link", "add", a, "type", "veth", "peer", "name", b)
            stack.callback(subprocess.run, ["ip", "link", "del", a], check=False, capture_output=True)
            for name in (a, b):
                knob = Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6")
                if knob.exists():
                    knob.write_text("1")
                run("ip", "link", "set", name, "up")
        yield made


def run(*command: str) -> str:
    """A command's output, or a BenchError with what it said."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BenchError(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)[:80]}: {done.stderr.strip()}")
    return done.stdout


@contextlib.contextmanager
def process(command: list[str], cpus: set[int], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """A process on these CPUs, ended on every exit path."""
    started = subprocess.Popen(
        ["taskset", "-c", ",".join(map(str, sorted(cpus))), *command], text=True, stdin=subprocess.PIPE, **options
    )
    try:
        yield started
    finally:
        if started.stdin is not None:
            started.stdin.close()
        started.terminate()
        try:
            started.wait(10)
        except subprocess.TimeoutExpired:
            started.kill()
            started.wait()
        if started.stdout is not None:
            started.stdout.close()


def all_cpus() -> set[int]:
    return os.sched_getaffinity(0)


def one_cpu(wanted: int) -> set[int]:
    return {wanted} if wanted in all_cpus() else all_cpus()


# ---- the forwarders ----


@contextlib.contextmanager
def copy_loop(blast: Path, through: Wires) -> Iterator[int]:
    """The floor. Yields its process id."""
    command = [str(blast), "copy", through.near_in, through.near_out]
    with process(command, one_cpu(SWITCH_CPU), stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        if started.stdout.readline() != "ready\n":
            raise BenchError("the copy loop did not start")
        yield started.pid


@contextlib.contextmanager
def p4_switch(command: list[str], cpus: set[int], program: Path, through: Wires) -> Iterator[int]:
    """A P4Runtime target with the program and one route. Yields its process id."""
    port = free_port()
    interfaces = ["-i", f"1@{through.near_in}", "-i", f"2@{through.near_out}"]
    words = [*command, "--no-p4", "--device-id", "1", *interfaces, "-L", "warn"]
    words += ["--", "--grpc-server-addr", f"127.0.0.1:{port}", "--priority-queues", "8"]
    with tempfile.TemporaryFile("w+") as log, process(words, cpus, stdout=log, stderr=log) as started:
        with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout=30)
            except grpc.FutureTimeoutError:
                log.seek(0)
                raise BenchError(f"{command[0]} did not start: {log.read().strip()[-300:]}") from None
            configure(channel, program)
        yield started.pid


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def configure(channel: grpc.Channel, program: Path) -> None:
    """Becomes primary, pushes the program, and routes DESTINATION/32 to port 2."""
    info = p4i.P4Info()
    text_format.Parse(program.with_suffix(".p4info.txtpb").read_text(), info)
    stub = p4r_grpc.P4RuntimeStub(channel)
    election = p4r.Uint128(low=1)
    outgoing: Queue[Any] = Queue()
    outgoing.put(p4r.StreamMessageRequest(arbitration=p4r.MasterArbitrationUpdate(device_id=1, election_id=election)))
    stream = stub.StreamChannel(iter(outgoing.get, None))
    next(iter(stream))
    config = p4r.ForwardingPipelineConfig(p4info=info, p4_device_config=program.read_bytes())
    stub.SetForwardingPipelineConfig(
        p4r.SetForwardingPipelineConfigRequest(
            device_id=1,
            election_id=election,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=config,
        ),
        timeout=60,
    )
    table = named(info.tables, "ipv4_lpm")
    action = named(info.actions, "ipv4_forward")
    values = {"dst_mac": b"\x02\0\0\0\0\x02", "port": b"\x02"}
    entry = p4r.TableEntry(
        table_id=table.preamble.id,
        match=[p4r.FieldMatch(field_id=1, lpm=p4r.FieldMatch.LPM(value=DESTINATION, prefix_len=32))],
        action=p4r.TableAction(
            action=p4r.Action(
                action_id=action.preamble.id,
                params=[p4r.Action.Param(param_id=p.id, value=values[p.name]) for p in action.params],
            )
        ),
    )
    update = p4r.Update(type=p4r.Update.INSERT, entity=p4r.Entity(table_entry=entry))
    stub.Write(p4r.WriteRequest(device_id=1, election_id=election, updates=[update]), timeout=10)
    outgoing.put(None)


def named(objects: Any, name: str) -> Any:
    """The p4info object whose last name part is `name`."""
    for candidate in objects:
        if candidate.preamble.name.rsplit(".", 1)[-1] == name:
            return candidate
    raise BenchError(f"the program has no {name}: the bench needs its ipv4_lpm table and ipv4_forward action")


# ---- measuring ----


@dataclass(frozen=True)
class Bench:
    """One forwarder under measurement."""

    blast: Path
    through: Wires
    seconds: float
    runs: int

    def offer(self, frame: bytes, rate: float) -> tuple[int, int, float]:
        """Packets sent, packets that came out, and the seconds of sending. rate 0: as fast as it goes."""
        before = self.through.arrived()
        command = ["taskset", "-c", str(min(one_cpu(SENDER_CPU))), str(self.blast), "send", self.through.far_in]
        sent, took = run(*command, str(rate), str(self.seconds), frame.hex()).split()
        during = self.through.arrived() - before
        drained = self._drained(before + during)
        # Over the time of sending alone: what a full buffer still gives up afterwards doesn't count.
        return int(sent), (during if rate == 0 else drained - before), float(took)

    def _drained(self, last: int) -> int:
        """The count once it has stood still for 50 ms."""
        for _ in itertools.count():
            time.sleep(0.05)
            now = self.through.arrived()
            if now == last:
                return now
            last = now
        raise AssertionError

    def measure(self, length: int) -> Figures:
        """Both figures for frames of `length` bytes, after a warm-up."""
        frame = roce_frame(length)
        self.offer(frame, 1000)
        rates = []
        for _ in range(self.runs):
            _, arrived, took = self.offer(frame, 0)
            rates.append(arrived / took)
        forwarded = statistics.median(rates)
        low, high = 0.0, forwarded * 1.1
        while high - low > 0.02 * high:
            middle = (low + high) / 2 if low else high * 0.8
            sent, arrived, took = self.offer(frame, middle)
            if sent < 0.98 * middle * took:
                high = sent / took  # the sender can't offer more
                if sent != arrived:
                    continue
                low = high
            elif sent == arrived:
                low = middle
            else:
                high = middle
        return Figures(forwarded, low)


def resident_mb(pid: int) -> float:
    """Resident memory of a process, MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    return 0.0


def build_blast(folder: Path) -> Path:
    target = folder / "blast"
    run(*compiler(), "-O2", "-Wall", "-Wextra", "-o", str(target), str(CSRC / "tools" / "blast.c"))
    return target


def main(arguments: list[str] | None = None) -> int:
    """Prints the figures. 0: measured; 1: could not."""
    parser = argparse.ArgumentParser(prog="python -m softswitch.bench", description=__doc__.split("\n")[0])
    parser.add_argument("--program", type=Path, default=ROOT / "p4src/compiled/pcn.json", help="compiled P4 program")
    parser.add_argument("--seconds", type=float, default=1.0, help="length of a run")
    parser.add_argument("--runs", type=int, default=5, help="runs whose median counts")
    parser.add_argument("--sizes", type=int, nargs="+", default=[1000, 64], help="frame lengths, bytes")
    parser.add_argument("--no-bmv2", action="store_true", help="leave BMv2 out")
    options = parser.parse_args(arguments)
    try:
        bench(options)
    except (BenchError, BuildError, grpc.RpcError, OSError) as error:
        print(f"bench-switch: {error}", file=sys.stderr)
        return 1
    return 0


def bench(options: argparse.Namespace) -> None:
    """Measures each forwarder and prints a line for each frame length."""
    bmv2 = None if options.no_bmv2 else shutil.which("simple_switch_grpc")
    print(f"{options.program.name}, veth to veth, {len(all_cpus())} CPUs; median of {options.runs} runs")
    print(f"{'':15}{'frame':>8}{'forwarded':>13}{'loss-free':>13}{'of floor':>10}{'resident':>10}")
    floors: dict[int, Figures] = {}
    with tempfile.TemporaryDirectory() as folder, wires() as through:
        blast = build_blast(Path(folder))
        under_test = Bench(blast, through, options.seconds, options.runs)
        softswitch = [sys.executable, "-m", "softswitch"]
        forwarders: list[tuple[str, Any]] = [
            ("copy loop", copy_loop(blast, through)),
            ("softswitch", p4_switch(softswitch, one_cpu(SWITCH_CPU), options.program, through)),
        ]
        if bmv2 is not None:
            forwarders.append(("BMv2", p4_switch([bmv2], all_cpus(), options.program, through)))
        for name, forwarder in forwarders:
            with forwarder as pid:
                for size in options.sizes:
                    figures = under_test.measure(size)
                    floor = floors.setdefault(size, figures)
                    print(
                        f"{name:15}{size:>6} B{figures.forwarded:>9,.0f} pps{figures.loss_free:>9,.0f} pps"
                        f"{figures.forwarded / floor.forwarded:>10.0%}{resident_mb(pid):>7.0f} MB",
                        flush=True,
                    )
    if bmv2 is None and not options.no_bmv2:
        print("BMv2 (simple_switch_grpc) is not installed, so it is not compared")


if __name__ == "__main__":
    raise SystemExit(main())
