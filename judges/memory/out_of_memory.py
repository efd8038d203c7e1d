"""The switch, the engine of virtual time and the agents' C without memory: the n-th request fails,
for each n.

    out_of_memory.py SCENARIO [STEP]   switch, engine or agent; each STEP-th request, all of them
                                       without it

Each try succeeds or ends with an error of the project; a try with memory after it ends as the first
one did. In an environment of `environment()`, by which the project's C is compiled so that its
requests can fail.
"""

import ctypes
import gc
import json
import shlex
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
FOLDERS = (".", "judges", "judges/fuzz", "tests", "tests/virtualnet", "tests/softswitch_program")
sys.path[:0] = [str(ROOT / folder) for folder in FOLDERS]

import sanitizers  # noqa: E402

from pcn.softswitch.cache.objects import compiler  # noqa: E402

Outcome = Any
SEND_S, FLOWS = 300e-6, 3


def environment(folder: Path) -> Mapping[str, str] | None:
    """Under the sanitizers, with `failing_memory` built in `folder`. None: the compiler has no
    sanitizers."""
    variables = sanitizers.environment()
    if variables is None:
        return None
    library = folder / "failing_memory.so"
    subprocess.run(
        [*compiler(), "-shared", "-fPIC", "-o", str(library), str(HERE / "failing_memory.c")],
        check=True,
    )
    included = shlex.join(["-include", str(HERE / "failing_memory.h")])
    return {**variables, "CC": f"{variables['CC']} {included}", "FAILING_MEMORY": str(library)}


# ---- what is tried; each returns what has to be the same with memory ----


def switch() -> Callable[[], Outcome]:
    """A program with tables of each kind, entries, groups, ports; frames; another program."""
    from json_mutants import rich
    from program_json import Builder, assign, field, value

    from pcn.base import packed
    from pcn.softswitch.codegen.build import build_program, build_runtime
    from pcn.softswitch.native import NativeError, NativeSwitch, Replica, load_library

    library = load_library(build_runtime())
    program = build_program(json.dumps(rich()))
    indirect = packed.read_text(Path("judges/differential/programs/lookups.json"))
    small = (
        Builder()
        .header("h", [["a", 8]])
        .run([assign(field("standard_metadata", "egress_spec"), value(2))])
    )
    others = [build_program(indirect), build_program(json.dumps(small.json()))]

    def attempt() -> Outcome:
        with NativeSwitch(library, manual=True, cpu_port=9) as native:
            for port in (1, 2, 3):
                native.port_add(port, None)
                native.port_shape(port, rate_bps=10**9, delay_ns=1000)
            native.start()
            for predecessor in others:
                native.load(predecessor)
            native.load(program)
            mask = (0xFFF0).to_bytes(2, "big")
            for table, kind in enumerate(("exact", "lpm", "ternary", "range", "optional"), 1):
                for n in range(70):
                    key = (n << 4).to_bytes(2, "big")
                    upper = key if kind == "range" else mask
                    native.table_add(
                        table, key, upper, 12 if kind == "lpm" else 0, 1, NAMES[kind], [n, 0, 0, 0]
                    )
            for number in range(1, 12):
                native.clone_session(number, [Replica(2, 0)] * number)
                native.multicast_group(number, [Replica(1, 0), Replica(3, 1)])
            native.generate(3, 10_000, [1, 2])
            sent = []
            for n in range(100):
                native.inject(1, bytes([n, n >> 4, n << 4 & 255]) + bytes(200))
                while not native.advance(native.now_ns + 1000):
                    while native.next_event(0) is not None:
                        pass
                sent += native.departed()
            return sent

    from pcn.softswitch.program.load import load_program

    loaded = load_program(json.dumps(rich()))
    NAMES = {t.name[2:]: t.actions[0] for t in loaded.tables if t.name.startswith("t_")}  # noqa: N806
    attempt.errors = (NativeError,)
    return attempt


def engine() -> Callable[[], Outcome]:
    """A short run of the dumbbell with a scheme."""
    from networks import star, with_flows

    from pcn.controller.errors import SwitchError
    from pcn.hosts.algorithms import find_scheme
    from pcn.hosts.virtual import VirtualNetwork
    from pcn.topologies.model import FlowSpec
    from pcn.virtualnet import VirtualError

    scheme = find_scheme("pcn").configure({"period_s": 100e-6})
    flows = [FlowSpec(n + 1, f"h{n}", "r0", duration_s=SEND_S) for n in range(FLOWS)]

    def attempt() -> Outcome:
        with VirtualNetwork(star(FLOWS), scheme, inplace=False) as network:
            with_flows(network, flows).sample(
                SEND_S / 30, [network.queue_packets("s0", FLOWS + 1, 3)]
            )
            network.run(2 * SEND_S)
            return network.totals()

    attempt.errors = (VirtualError, SwitchError)
    return attempt


def agent() -> Callable[[], Outcome]:
    """A NIC with many flows and control frames; a receiver with many flows."""
    from pcn.hosts.native import Events, checked, library
    from pcn.hosts.nic import Nic, NicFlow
    from pcn.hosts.structures import NativeReceivedFlow

    def attempt() -> Outcome:
        nic = Nic(10e9)
        flows = [NicFlow(3, 8464, 1e9, 0.0, packets=20) for _ in range(40)]
        for flow in flows:
            nic.add(flow, 0.0)
        for _ in range(20):
            nic.send_control(bytes(60), 0.0)
        left, now = 0, 0.0
        while (now := max(now, nic.wake())) < 1:
            nic.advance(now)
            while nic.due(now) is not None:
                left += 1
        events = Events()
        received = c_side.received_new(events.list)
        if not received:
            raise MemoryError
        try:
            known = [NativeReceivedFlow(src=n, flow=n) for n in range(100)]
            for received_flow in known:
                checked(c_side.received_add(received, received_flow))
        finally:
            c_side.received_free(received)
        return left

    c_side = library()
    attempt.errors = (MemoryError,)
    return attempt


SCENARIOS = {"switch": switch, "engine": engine, "agent": agent}


def main(words: list[str]) -> int:
    """See above."""
    import os

    memory = ctypes.CDLL(os.environ["FAILING_MEMORY"], mode=ctypes.RTLD_GLOBAL)
    memory.memory_refuse.argtypes = [ctypes.c_long, ctypes.c_long]
    memory.memory_requests.restype = ctypes.c_long
    attempt = SCENARIOS[words[0]]()
    step = int(words[1]) if words[1:] else 1
    memory.memory_refuse(0, 0)
    wanted = attempt()
    count = memory.memory_requests()
    refused = 0
    for first in range(1, count + 1, step):
        for last in (first, count):  # this request; all from it on
            print(first, end=" ", flush=True)
            memory.memory_refuse(first, last)
            try:
                attempt()
            except attempt.errors as error:
                line = str(error)
                assert "\n" not in line, line
                refused += 1
            gc.collect()
            memory.memory_refuse(0, 0)
        assert attempt() == wanted, f"after request {first}"
    print(f"\n{count} requests, {refused} tries ended by an error")
    assert refused
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
