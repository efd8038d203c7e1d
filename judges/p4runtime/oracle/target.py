"""What is judged: the service of the embedded switch in this process, or any P4Runtime server over
gRPC."""

import binascii
import contextlib
import queue
import shutil
from collections.abc import Iterable
from dataclasses import dataclass, replace
from typing import Protocol

import grpc
import p4rt_bmv2
from p4rt_outlet import ListOutlet

from oracle.programs import Program
from pcn.base.p4rt import p4r, p4r_grpc, rpc_status
from pcn.softswitch.p4runtime.errors import BatchError, RpcError, status_of

DETAILS = "grpc-status-details-bin"
WAIT_S = 60


@dataclass(frozen=True)
class Answer:
    """How a Write or Read ended: gRPC's code, and one error for each update or query where the
    server sent them."""

    code: int
    details: tuple[p4r.Error, ...] = ()
    message: str = ""


class Target(Protocol):
    """A server with device id 1, and the primary controller's election id 1."""

    def load(self, program: Program):
        """A fresh pipeline."""

    def write(self, request: p4r.WriteRequest) -> Answer:
        """Write."""

    def read(self, queries: Iterable[p4r.Entity]) -> tuple[list[p4r.Entity], Answer]:
        """Read: what came, and how it ended."""

    def close(self):
        """Ends it."""


def answer(code: int, message: str, packed: bytes) -> Answer:
    errors = []
    for detail in rpc_status.Status.FromString(packed).details:
        error = p4r.Error()
        detail.Unpack(error)
        errors.append(error)
    return Answer(code, tuple(errors), message)


# ---- in this process ----


def _answer(error: RpcError | BatchError) -> Answer:
    status = status_of(error)
    packed = binascii.a2b_base64((status.details or b"") + b"==")
    return answer(status.code, status.message, packed)


class Embedded:
    """softswitch's P4Runtime service with its real runtime, without gRPC and without ports."""

    def __init__(self):
        from pcn.softswitch.codegen.build import build_runtime
        from pcn.softswitch.native import NativeSwitch, load_library
        from pcn.softswitch.p4runtime.arbitration import Session
        from pcn.softswitch.p4runtime.pipeline import Pipeline
        from pcn.softswitch.p4runtime.service import Service

        library = load_library(build_runtime())
        self._native = NativeSwitch(library, cpu_port=255)
        self._pipeline = Pipeline(self._native, library)
        self._native.start()
        self.service = Service(self._native, self._pipeline, 1, 255)
        first = p4r.MasterArbitrationUpdate(device_id=1, election_id=p4r.Uint128(low=1))
        self.service.hear(Session(ListOutlet()), p4r.StreamMessageRequest(arbitration=first))
        self._loaded = ("", None)

    def load(self, program: Program):
        """Compiles a program once, and then only empties its state."""
        from pcn.softswitch.p4runtime.checked_config import verify

        if self._loaded[0] != program.name:
            self._loaded = (program.name, verify(program.config))
        self._pipeline.commit(self._loaded[1])

    def write(self, request: p4r.WriteRequest) -> Answer:
        try:
            self.service.Write(request, None)
        except (RpcError, BatchError) as error:
            return _answer(error)
        return Answer(0)

    def read(self, queries: Iterable[p4r.Entity]) -> tuple[list[p4r.Entity], Answer]:
        entities: list[p4r.Entity] = []
        try:
            request = p4r.ReadRequest(device_id=1, entities=queries)
            for response in self.service.Read(request, None):
                entities += response.entities
        except (RpcError, BatchError) as error:
            return entities, _answer(error)
        return entities, Answer(0)

    def close(self):
        self._pipeline.close()
        self._native.close()


# ---- over gRPC ----


class Remote:
    """A server at HOST:PORT that takes p4c's BMv2 JSON as its device configuration."""

    def __init__(self, address: str):
        self._channel = grpc.insecure_channel(address, [("grpc.max_receive_message_length", -1)])
        self._stub = p4r_grpc.P4RuntimeStub(self._channel)
        self._requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        self._stream = self._stub.StreamChannel(iter(self._requests.get, None))
        claim = p4r.MasterArbitrationUpdate(device_id=1, election_id=p4r.Uint128(low=1))
        self._requests.put(p4r.StreamMessageRequest(arbitration=claim))
        try:
            status = next(self._stream).arbitration.status
        except grpc.RpcError as error:
            raise SystemExit(f"{address}: {error.details()}") from None
        if status.code:
            raise SystemExit(f"{address}: another controller is primary: {status.message}")

    def load(self, program: Program):
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=1,
            election_id=p4r.Uint128(low=1),
            action="VERIFY_AND_COMMIT",
            config=program.config,
        )
        self._stub.SetForwardingPipelineConfig(request, timeout=WAIT_S)

    def write(self, request: p4r.WriteRequest) -> Answer:
        try:
            self._stub.Write(request, timeout=WAIT_S)
        except grpc.RpcError as error:
            packed = dict(error.trailing_metadata() or ()).get(DETAILS, b"")
            return answer(error.code().value[0], error.details() or "", packed)
        return Answer(0)

    def read(self, queries: Iterable[p4r.Entity]) -> tuple[list[p4r.Entity], Answer]:
        entities: list[p4r.Entity] = []
        try:
            for response in self._stub.Read(
                p4r.ReadRequest(device_id=1, entities=queries), timeout=WAIT_S
            ):
                entities += response.entities
        except grpc.RpcError as error:
            packed = dict(error.trailing_metadata() or ()).get(DETAILS, b"")
            return entities, answer(error.code().value[0], error.details() or "", packed)
        return entities, Answer(0)

    def close(self):
        self._requests.put(None)
        self._stream.cancel()
        self._channel.close()


class Bmv2:
    """simple_switch_grpc of PATH. Each pipeline is loaded into a separate process, as one that has
    survived a wrong update may have lost its memory's order."""

    def __init__(self):
        program = shutil.which("simple_switch_grpc")
        if program is None:
            raise SystemExit("simple_switch_grpc (BMv2) is not on PATH: docs/bmv2.md")
        self._program = program
        self._running = contextlib.ExitStack()

    def load(self, program: Program):
        self.close()
        port, self._process = self._running.enter_context(p4rt_bmv2.running(self._program))
        self._remote = Remote(f"127.0.0.1:{port}")
        self._running.callback(self._remote.close)
        self._remote.load(program)

    def write(self, request: p4r.WriteRequest) -> Answer:
        return self._checked(self._remote.write(request))

    def read(self, queries: Iterable[p4r.Entity]) -> tuple[list[p4r.Entity], Answer]:
        entities, answer = self._remote.read(queries)
        return entities, self._checked(answer)

    def _checked(self, answer: Answer) -> Answer:
        """Reports a crash if no answer came, once it has ended."""
        if answer.code != grpc.StatusCode.UNAVAILABLE.value[0]:
            return answer
        return replace(
            answer, message=f"simple_switch_grpc ended with {self._process.wait(WAIT_S)}"
        )

    def close(self):
        self._running.close()


def opened(name: str) -> Target:
    """`embedded`, `bmv2`, or HOST:PORT."""
    targets = {"embedded": Embedded, "bmv2": Bmv2}
    return targets[name]() if name in targets else Remote(name)
