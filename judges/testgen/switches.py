"""The switches that tests are played on: each one a new one, without a program, whose ports have no
interfaces.

So frames are as short as a test wants them, and what leaves by mistake is seen whatever its port.
The embedded switch is on the manual clock. BMv2's simple_switch_grpc takes frames by its own
service (--dp-grpc-server-addr), which ends a stream when nothing is under way any more: neither of
the two has to be waited for.
"""

import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from functools import cache
from pathlib import Path
from typing import Protocol

import grpc
from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from pcn.lab.target import BMV2, PRIORITIES, Bmv2Target
from pcn.softswitch.clock import ManualClock
from pcn.softswitch.codegen.build import build_runtime
from pcn.softswitch.coverage.counts import Counts
from pcn.softswitch.native import NativeSwitch, load_library
from pcn.softswitch.p4runtime.pipeline import Pipeline
from pcn.softswitch.p4runtime.server import Server
from pcn.softswitch.p4runtime.service import Service

DEVICE_ID = 1
LIMIT_S = 30  # to start, and for a packet: only what hangs takes that long
PORTS = range(512)  # of the embedded switch: all of v1model's 9 bits
# of the embedded switch's time: what comes after a packet, copies and second rounds, has left by
# then
SETTLE_S = 1
_POLL_S = 0.01
_END_S = 5


class SwitchError(Exception):
    """The switch ended, or still has a packet under way after LIMIT_S; the message has the
    reason."""


class Switch(Protocol):
    """A switch that listens for P4Runtime at `address`."""

    address: str

    def send(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """A frame comes in; what leaves because of it, by port, in order. Raises SwitchError."""


Start = Callable[[], AbstractContextManager[Switch]]


class _Embedded:
    def __init__(self, address: str, clock: ManualClock):
        self.address = address
        self._clock = clock

    def send(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        self._clock.send(port, frame)
        self._clock.advance(SETTLE_S)
        return [(left.port, left.data) for left in self._clock.received()]


@cache
def _library():
    return load_library(build_runtime())


@contextmanager
def embedded(counts: Counts | None = None) -> Iterator[Switch]:
    """The embedded switch, in this process. `counts`: those of its program's coverage."""
    library = _library()
    with NativeSwitch(library, manual=True) as native:
        for port in PORTS:
            native.port_add(port, None)
        native.start()
        pipeline = Pipeline(native, library, counts=counts)
        try:
            with Server(Service(native, pipeline, DEVICE_ID, 0), "127.0.0.1:0") as server:
                address = f"127.0.0.1:{server.port}"
                with ManualClock(address) as clock:
                    yield _Embedded(address, clock)
        finally:
            pipeline.close()


class Bmv2Frames:
    """Frames by BMv2's own service. `ended`: why the process has ended; empty: it lives."""

    def __init__(self, frames: grpc.Channel, ended: Callable[[], str]):
        self._stream = frames.stream_stream(
            "/p4.bm.DataplaneInterface/PacketStream",
            request_serializer=lambda message: message.SerializeToString(),
            response_deserializer=_packet().FromString,
        )
        self._ended = ended

    def send(self, port: int, frame: bytes) -> list[tuple[int, bytes]]:
        """Likewise."""
        limit = time.monotonic() + LIMIT_S
        request = _packet()(device_id=DEVICE_ID, port=port, packet=frame)
        while True:
            try:
                answers = self._stream(iter([request]), timeout=LIMIT_S, wait_for_ready=True)
                return [(answer.port, answer.packet) for answer in answers]
            except grpc.RpcError as error:
                if error.code() == grpc.StatusCode.DEADLINE_EXCEEDED:
                    raise SwitchError(
                        f"{BMV2} still has a packet under way after {LIMIT_S} s"
                    ) from error
                # Its ports start by themselves, some time after the first program was set.
                if error.details() != "not ready" or time.monotonic() > limit:
                    raise SwitchError(f"{BMV2}: {self._ended() or error.details()}") from error
            time.sleep(_POLL_S)


class _Bmv2(Bmv2Frames):
    def __init__(self, address: str, frames: grpc.Channel, ended: Callable[[], str]):
        super().__init__(frames, ended)
        self.address = address


@cache
def _packet():
    """The message of that service: PacketStreamRequest and PacketStreamResponse have the same
    fields."""
    kind = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="testgen/packet.proto", package="testgen", syntax="proto3"
    )
    message = file.message_type.add(name="Packet")
    fields = {"id": kind.TYPE_UINT64, "device_id": kind.TYPE_UINT64, "port": kind.TYPE_UINT32}
    for number, (name, field) in enumerate({**fields, "packet": kind.TYPE_BYTES}.items(), 1):
        message.field.add(name=name, number=number, type=field, label=kind.LABEL_OPTIONAL)
    pool = descriptor_pool.DescriptorPool()
    pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("testgen.Packet"))


def _listens(path: Path) -> bool:
    with socket.socket(socket.AF_UNIX) as probe:
        return probe.connect_ex(str(path)) == 0


@contextmanager
def bmv2() -> Iterator[Switch]:
    """BMv2, in a separate network namespace, for its Thrift server; its other servers are Unix
    sockets. Needs root.

    Raises SwitchError if it doesn't start.
    """
    Bmv2Target().require()
    with (
        tempfile.TemporaryDirectory(prefix="pcn-testgen-") as folder,
        Path(folder, "log").open("wb") as log,
    ):
        p4runtime, frames = (Path(folder, name) for name in ("p4runtime", "frames"))
        command = ["unshare", "--net", "setpriv", "--pdeathsig", "KILL", BMV2, "--no-p4"]
        command += ["--device-id", str(DEVICE_ID), "--log-console", "-L", "warn", "--"]
        command += ["--priority-queues", str(PRIORITIES)]
        command += [
            "--grpc-server-addr", f"unix:{p4runtime}", "--dp-grpc-server-addr", f"unix:{frames}",
        ]  # fmt: skip
        child = subprocess.Popen(command, stdout=log, stderr=log)

        def ended() -> str:
            """Its code and the last of its log; empty: it lives. One that closed its connections
            gets some time."""
            with suppress(subprocess.TimeoutExpired):
                code = child.wait(_END_S)
                last = Path(folder, "log").read_text(errors="replace").strip().splitlines()[-1:]
                return ": ".join([f"it ended with code {code}", *map(str.strip, last)])
            return ""

        try:
            limit = time.monotonic() + LIMIT_S
            while not _listens(p4runtime):
                if child.poll() is not None or time.monotonic() > limit:
                    raise SwitchError(
                        f"{BMV2} didn't start: {ended() or f'not within {LIMIT_S} s'}"
                    )
                time.sleep(_POLL_S)
            with grpc.insecure_channel(
                f"unix:{frames}", [("grpc.use_local_subchannel_pool", 1)]
            ) as channel:
                yield _Bmv2(f"unix:{p4runtime}", channel, ended)
        finally:
            child.kill()
            child.wait()


TARGETS = {"softswitch": embedded, "bmv2": bmv2}
