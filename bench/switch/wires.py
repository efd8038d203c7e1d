"""What every measurement needs: veth pairs, processes on chosen cores, frames, the packet
source."""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pcn.softswitch.codegen.build import compiler

TOOLS = Path(__file__).resolve().parents[1] / "csrc"
SENDER_CPU, SWITCH_CPU = 0, 1
SOURCE, DESTINATION = bytes([10, 0, 0, 1]), bytes([10, 0, 0, 2])


class BenchError(Exception):
    """The bench can't run; the message has the reason."""


@dataclass(frozen=True)
class Wires:
    """Where frames enter, and where they come out: the far ends are the bench's, the near ones the
    switch's."""

    far_in: str
    near_in: str
    near_out: str
    far_out: str

    def arrived(self) -> int:
        """Returns the packets that came out so far."""
        return int(Path(f"/sys/class/net/{self.far_out}/statistics/rx_packets").read_text())


def roce_frame(length: int, source: bytes = SOURCE, destination: bytes = DESTINATION) -> bytes:
    """Returns a RoCEv2 data packet of `length` bytes, ECN-capable, with a valid IPv4 checksum."""
    ip_length = length - 14
    header = bytearray(
        b"\x45\x6a"
        + ip_length.to_bytes(2, "big")
        + bytes(4)
        + b"\x40\x11\0\0"
        + source
        + destination
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
    """Yields two veth pairs."""
    with pairs(2) as ((far_in, near_in), (far_out, near_out)):
        yield Wires(far_in, near_in, near_out, far_out)


@contextlib.contextmanager
def pairs(many: int, mtu: int = 1500) -> Iterator[list[tuple[str, str]]]:
    """Yields veth pairs without IPv6, removed on every exit path: the bench's end of each, and the
    switch's."""
    veths = [(f"b{i}f{os.getpid()}", f"b{i}n{os.getpid()}") for i in range(many)]
    with contextlib.ExitStack() as stack:
        for a, b in veths:
            run("ip", "link", "add", a, "type", "veth", "peer", "name", b)
            stack.callback(
                subprocess.run, ["ip", "link", "del", a], check=False, capture_output=True
            )
            for name in (a, b):
                knob = Path(f"/proc/sys/net/ipv6/conf/{name}/disable_ipv6")
                if knob.exists():
                    knob.write_text("1")
                run("ip", "link", "set", name, "mtu", str(mtu), "up")
        yield veths


def run(*command: str) -> str:
    """Returns a command's output, or a BenchError with its messages."""
    try:
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    except OSError as error:
        raise BenchError(f"cannot run {command[0]}: {error.strerror}") from error
    if done.returncode != 0:
        raise BenchError(f"{' '.join(command)[:80]}: {done.stderr.strip()}")
    return done.stdout


@contextlib.contextmanager
def process(command: list[str], cpus: set[int], **options: Any) -> Iterator[subprocess.Popen[str]]:
    """Yields a process on these CPUs, ended on every exit path."""
    started = subprocess.Popen(
        ["taskset", "-c", ",".join(map(str, sorted(cpus))), *command],
        text=True,
        stdin=subprocess.PIPE,
        **options,
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


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """Yields a process that doesn't run meanwhile."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def cpu_time_ns(pid: int) -> int:
    """Returns CPU time that a process has used, ns, all threads."""
    threads = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(thread.read_text().split()[0]) for thread in threads)


def all_cpus() -> set[int]:
    return os.sched_getaffinity(0)


def one_cpu(wanted: int) -> set[int]:
    return {wanted} if wanted in all_cpus() else all_cpus()


def resident_mb(pid: int) -> float:
    """Returns resident memory of a process, MB."""
    for line in Path(f"/proc/{pid}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) / 1000
    return 0.0


def build_blast(folder: Path) -> Path:
    target = folder / "blast"
    run(*compiler(), "-O2", "-Wall", "-Wextra", "-o", str(target), str(TOOLS / "blast.c"))
    return target
