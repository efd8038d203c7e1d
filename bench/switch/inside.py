"""Measurements of one process: the pipeline alone, lookups, insertion over P4Runtime, start,
memory, many at once."""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import random
import re
import statistics
import subprocess
import tempfile
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from google.protobuf import text_format

from bench.switch.forwarders import Controller, listening
from bench.switch.wires import TOOLS, BenchError, all_cpus, roce_frame, run
from pcn.base import packed
from pcn.base.p4rt import p4i, p4r
from pcn.base.python_process import python_command
from pcn.softswitch.codegen.build import CSRC, build_program, build_runtime, compiler
from pcn.softswitch.native import NativeSwitch, load_library
from pcn.softswitch.p4runtime.binding import bind
from pcn.softswitch.p4runtime.entities import Forwarding
from pcn.softswitch.program.load import load_program

BATCH = 1000  # entries a Write
REST_S, LONGEST_REST_S = 0.5, 60.0  # between two looks at their CPU time; before it is an error
DRAWN = 20_000  # destinations, before they come again
EXACT, LPM, TERNARY = 0, 1, 2  # enum sw_match
SOFTSWITCH = python_command("pcn.softswitch")


class Core:
    """bench/csrc/core.c."""

    def __init__(self, folder: Path) -> None:
        self._runtime = load_library(build_runtime())
        target = folder / "core.so"
        flags = ["-std=gnu11", "-O2", "-fPIC", "-shared", f"-I{CSRC}"]
        run(*compiler(), *flags, "-o", str(target), str(TOOLS / "core.c"))
        self._core = ctypes.CDLL(str(target))
        self._core.core_pipeline.restype = self._core.core_lookup.restype = ctypes.c_double

    def pipeline(self, path: Path, length: int, routes: int = 1) -> float:
        """Returns the packets a second through a program, without sockets and threads, to
        destinations drawn from the host routes of its table."""
        info, document = enlarged(path, routes)
        program = load_program(document)
        random_ = random.Random(routes)
        addresses = [random_.randbytes(4) for _ in range(routes)]
        drawn = b"".join(random_.choice(addresses) for _ in range(DRAWN))
        with NativeSwitch(self._runtime, queue_depth=128) as native:
            native.load(build_program(document))
            controller = Controller(0)
            controller.info = info
            forwarding = Forwarding(bind(info, program), native)
            for address in dict.fromkeys(addresses):
                entity = p4r.Entity(table_entry=controller.route(address))
                forwarding.apply(p4r.Update(type=p4r.Update.INSERT, entity=entity))
            complement = bytes(255 - byte for byte in addresses[0])
            frame = ctypes.create_string_buffer(
                roce_frame(length, complement, addresses[0]), length
            )
            handle, port, n = (
                ctypes.c_void_p(native._handle),
                ctypes.c_uint16(1),
                ctypes.c_uint32(10_000),
            )
            words = (handle, port, frame, ctypes.c_uint32(length), n, drawn, ctypes.c_uint32(DRAWN))
            runs = [self._core.core_pipeline(*words) for _ in range(5)]
        return float(statistics.median(runs))

    def lookup(self, kind: int, entries: int, *, waiting: bool = False) -> float:
        """Returns the mean time of a lookup, ns: random keys that match. `waiting`: each lookup
        waits for the one before."""
        words = (ctypes.c_int(kind), ctypes.c_uint32(entries), ctypes.c_bool(waiting))
        runs = [self._core.core_lookup(*words) for _ in range(3)]
        if min(runs) < 0:
            raise BenchError("the lookup bench failed")
        return float(statistics.median(runs))


def insertion(command: Sequence[str], program: Path, entries: int) -> float:
    """Returns the seconds to insert `entries` LPM entries over P4Runtime, in batches, into a table
    made large enough."""
    info, document = enlarged(program, entries)
    with listening(command, all_cpus()) as (_, port), Controller(port) as controller:
        controller.set_pipeline(text_format.MessageToString(info), document.encode())
        routes = [controller.route((0x0B000000 + n).to_bytes(4, "big")) for n in range(entries)]
        started = time.monotonic()
        for first in range(0, entries, BATCH):
            controller.insert(routes[first : first + BATCH])
        return time.monotonic() - started


def enlarged(program: Path, entries: int) -> tuple[Any, str]:
    """Returns a compiled program's p4info and its JSON, with an ipv4_lpm that has room for
    `entries` entries."""
    document = json.loads(packed.read_text(program))
    for pipeline in document["pipelines"]:
        for table in pipeline["tables"]:
            if table["name"].endswith("ipv4_lpm"):
                table["max_size"] = entries
    info = text_format.Parse(packed.read_text(program.with_suffix(".p4info.txtpb")), p4i.P4Info())
    for table_info in info.tables:
        if table_info.preamble.alias == "ipv4_lpm":
            table_info.size = entries
    return info, json.dumps(document)


@dataclass(frozen=True)
class Start:
    """Seconds from the call to the line that reports the listening address, with the program on the
    command line."""

    cached: float
    uncached: float


def start(program: Path) -> Start:
    """Returns the median of five with everything in the cache, and one with an empty cache."""
    cached = statistics.median(_start(program, {}) for _ in range(5))
    with tempfile.TemporaryDirectory() as empty:
        return Start(cached, _start(program, {"XDG_CACHE_HOME": empty}))


def _start(program: Path, environment: dict[str, str]) -> float:
    started = time.monotonic()
    with contextlib.ExitStack() as stack:
        _ready(stack, program, environment)
        return time.monotonic() - started


@dataclass(frozen=True)
class Crowd:
    """Many switches at once: seconds until the last one listens, memory of all in MB (shared pages
    counted once)."""

    ready: float
    memory: float


def crowd(program: Path, many: int) -> Crowd:
    """Returns a number of switches with the program, started at once."""
    with contextlib.ExitStack() as stack:
        started = time.monotonic()
        all_of_them = [_launch(stack, program, {}) for _ in range(many)]
        for switch in all_of_them:
            _wait(switch)
        took = time.monotonic() - started
        _rest([switch.pid for switch in all_of_them])
        return Crowd(took, sum(_proportional_mb(switch.pid) for switch in all_of_them))


def _rest(pids: Sequence[int]) -> None:
    """Until all are idle: they load what their first pipeline needs once they listen."""
    end = time.monotonic() + LONGEST_REST_S
    before, now = -1.0, _cpu_s(pids)
    while now != before:
        if time.monotonic() > end:
            raise BenchError(f"the switches aren't idle after {LONGEST_REST_S:.0f} s")
        time.sleep(REST_S)
        before, now = now, _cpu_s(pids)


def _cpu_s(pids: Sequence[int]) -> float:
    """Returns CPU time of all of them so far."""
    rows = [
        Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
        for pid in pids
    ]
    return sum(int(row[11]) + int(row[12]) for row in rows) / os.sysconf("SC_CLK_TCK")


def _ready(stack: contextlib.ExitStack, program: Path, environment: dict[str, str]) -> None:
    _wait(_launch(stack, program, environment))


def _launch(
    stack: contextlib.ExitStack, program: Path, environment: dict[str, str]
) -> subprocess.Popen[str]:
    words = [*SOFTSWITCH, str(program), "--grpc-server-addr", "127.0.0.1:0"]
    switch = subprocess.Popen(
        words, stderr=subprocess.PIPE, text=True, env=os.environ | environment
    )
    stack.enter_context(switch)
    stack.callback(switch.terminate)
    return switch


def _wait(switch: subprocess.Popen[str]) -> None:
    assert switch.stderr is not None
    line = switch.stderr.readline()
    if "listening" not in line:
        raise BenchError(f"a switch did not start: {line.strip()}")


def _proportional_mb(pid: int) -> float:
    match = re.search(r"^Pss:\s+(\d+)", Path(f"/proc/{pid}/smaps_rollup").read_text(), re.MULTILINE)
    return int(match[1]) / 1000 if match else 0.0
