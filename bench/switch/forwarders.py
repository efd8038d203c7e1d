"""What is measured: a bare copy loop, the embedded switch, BMv2. Each is a context that gives a
process id."""

from __future__ import annotations

import contextlib
import socket
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from queue import Queue
from typing import Any

import grpc
from google.protobuf import text_format

from bench.switch.wires import (
    DESTINATION,
    SWITCH_CPU,
    BenchError,
    Wires,
    all_cpus,
    one_cpu,
    pairs,
    process,
    resident_mb,
)
from pcn.base import packed
from pcn.base.p4rt import p4i, p4r, p4r_grpc

NETWORK_MTU = (
    1044  # of the interfaces in this project's networks, whose frames have up to 1,058 bytes
)
START_S = 60  # BMv2 is slow to start where the machine is busy


@contextlib.contextmanager
def copy_loop(blast: Path, through: Wires) -> Iterator[int]:
    """Yields the floor. Yields its process id."""
    command = [str(blast), "copy", through.near_in, through.near_out]
    with process(command, one_cpu(SWITCH_CPU), stdout=subprocess.PIPE) as started:
        assert started.stdout is not None
        if started.stdout.readline() != "ready\n":
            raise BenchError("the copy loop did not start")
        yield started.pid


@contextlib.contextmanager
def p4_switch(
    command: Sequence[str],
    cpus: set[int],
    program: Path,
    through: Wires,
    options: Sequence[str] = (),
) -> Iterator[int]:
    """Yields a P4Runtime target with the program and one route. Yields its process id."""
    interfaces = ["-i", f"1@{through.near_in}", "-i", f"2@{through.near_out}"]
    with listening(command, cpus, [*interfaces], options) as (pid, port):
        with Controller(port) as controller:
            controller.set_pipeline(
                packed.read_text(program.with_suffix(".p4info.txtpb")), packed.read_bytes(program)
            )
            controller.insert([controller.route(DESTINATION)])
        yield pid


def resident_with(command: Sequence[str], program: Path, ports: int) -> float:
    """Returns resident memory, MB, of a P4Runtime target with `ports` ports and the program, before
    any packet."""
    with pairs(ports, NETWORK_MTU) as veths:
        interfaces = [
            word for i, (_, near) in enumerate(veths, 1) for word in ("-i", f"{i}@{near}")
        ]
        with (
            listening(command, all_cpus(), interfaces) as (pid, port),
            Controller(port) as controller,
        ):
            controller.set_pipeline(
                packed.read_text(program.with_suffix(".p4info.txtpb")), packed.read_bytes(program)
            )
            return resident_mb(pid)


@contextlib.contextmanager
def listening(
    command: Sequence[str],
    cpus: set[int],
    interfaces: Sequence[str] = (),
    options: Sequence[str] = (),
) -> Iterator[tuple[int, int]]:
    """Yields a target without a program. Yields its process id and the port of its server, which
    answers."""
    port = free_port()
    words = [*command, "--no-p4", "--device-id", "1", *interfaces, "-L", "warn"]
    words += ["--", "--grpc-server-addr", f"127.0.0.1:{port}", "--priority-queues", "8", *options]
    with (
        tempfile.TemporaryFile("w+") as log,
        process(words, cpus, stdout=log, stderr=log) as started,
    ):
        with grpc.insecure_channel(
            f"127.0.0.1:{port}", [("grpc.initial_reconnect_backoff_ms", 20)]
        ) as channel:
            try:
                grpc.channel_ready_future(channel).result(timeout=START_S)
            except grpc.FutureTimeoutError:
                log.seek(0)
                raise BenchError(
                    f"{command[0]} did not start: {log.read().strip()[-300:]}"
                ) from None
        yield started.pid, port


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


@dataclass
class Controller:
    """The primary controller of a target with device id 1. A context manager."""

    port: int
    info: Any = field(init=False)

    def __enter__(self) -> Controller:
        self._channel = grpc.insecure_channel(f"127.0.0.1:{self.port}")
        self._stub = p4r_grpc.P4RuntimeStub(self._channel)
        self._election = p4r.Uint128(low=1)
        self._outgoing: Queue[Any] = Queue()
        claim = p4r.MasterArbitrationUpdate(device_id=1, election_id=self._election)
        self._outgoing.put(p4r.StreamMessageRequest(arbitration=claim))
        self._stream = self._stub.StreamChannel(iter(self._outgoing.get, None))
        next(self._stream)
        return self

    def __exit__(self, *_: object) -> None:
        self._outgoing.put(None)
        self._channel.close()

    def set_pipeline(self, info: str, program: bytes) -> None:
        """VERIFY_AND_COMMIT."""
        self.info = text_format.Parse(info, p4i.P4Info())
        request = p4r.SetForwardingPipelineConfigRequest(device_id=1, election_id=self._election)
        request.action = p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT
        request.config.p4info.CopyFrom(self.info)
        request.config.p4_device_config = program
        self._stub.SetForwardingPipelineConfig(request, timeout=120)

    def insert(self, entries: Sequence[Any]) -> None:
        """One batch."""
        updates = [
            p4r.Update(type=p4r.Update.INSERT, entity=p4r.Entity(table_entry=entry))
            for entry in entries
        ]
        self._stub.Write(
            p4r.WriteRequest(device_id=1, election_id=self._election, updates=updates), timeout=120
        )

    def route(self, address: bytes) -> Any:
        """Returns an entry of ipv4_lpm: a host's route, to port 2."""
        table, action = (
            named(self.info.tables, "ipv4_lpm"),
            named(self.info.actions, "ipv4_forward"),
        )
        values = {"dst_mac": b"\x02\0\0\0\0\x02", "port": b"\x02"}
        call = p4r.Action(
            action_id=action.preamble.id,
            params=[p4r.Action.Param(param_id=p.id, value=values[p.name]) for p in action.params],
        )
        match = p4r.FieldMatch(field_id=1, lpm=p4r.FieldMatch.LPM(value=address, prefix_len=32))
        return p4r.TableEntry(
            table_id=table.preamble.id, match=[match], action=p4r.TableAction(action=call)
        )


def named(objects: Any, name: str) -> Any:
    """Returns the p4info object whose last name part is `name`."""
    for candidate in objects:
        if candidate.preamble.name.rsplit(".", 1)[-1] == name:
            return candidate
    raise BenchError(
        f"the program has no {name}: the bench needs its ipv4_lpm table and ipv4_forward action"
    )
