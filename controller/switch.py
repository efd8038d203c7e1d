"""One switch over P4Runtime.

The transport is plain synchronous gRPC: reading one cell is one call, and scripts, tests and the
command line need no event loop. Signals wait while a call starts and while a short one runs: an
exception in the middle of gRPC can leave a call behind that its channel's end waits for.

    with SwitchClient.connect("s0", "unix:/run/pcn-lab/dumbbell/s0.grpc", device_id=1) as switch:
        switch.become_primary()
        switch.set_pipeline(Program.compiled("pcn"))
        switch.insert(...)
"""

from __future__ import annotations

import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar, cast

import grpc

from pcn.base import signals
from pcn.base.address import AddressError, channel as address_channel
from pcn.base.p4rt import p4r, p4r_grpc
from pcn.controller.answers import MESSAGE_BYTES, entities
from pcn.controller.arbitration import Arbitration, uint128
from pcn.controller.control_plane import ControlPlane, Counter
from pcn.controller.errors import SwitchError, grpc_errors, update_errors
from pcn.controller.schema import schema_of

if TYPE_CHECKING:
    from pcn.controller.p4info import Schema
    from pcn.softswitch.embed.switch import Loadable

CALL_LIMIT_S = 20.0
_LOOK_S = 0.2  # as long a signal waits while nobody answers
_REASON_LIMIT_S = 10.0  # for gRPC to say why; it has tried for some time by then
PIPELINE_LIMIT_S = 120.0  # the embedded switch compiles a program that it hasn't seen
_Request = TypeVar("_Request", p4r.WriteRequest, p4r.SetForwardingPipelineConfigRequest)
_FEW = 64  # cells of a register that are read faster one by one than all, by Thrift
_OPTIONS = [
    ("grpc.max_receive_message_length", MESSAGE_BYTES),
    ("grpc.max_send_message_length", -1),
]


class RegisterAccess(Protocol):
    """Registers by name as in the program ("PcnIngress.waiting_bytes" or its last part)."""

    def read(self, name: str, index: int) -> int: ...

    def read_all(self, name: str) -> list[int]: ...


class SwitchClient(ControlPlane):
    """A connection to one switch. Reading needs no more; writing needs `become_primary`."""

    def __init__(
        self, name: str, device_id: int, channel: grpc.Channel, registers: RegisterAccess | None
    ) -> None:
        super().__init__(name)
        self.device_id = device_id
        self.channel = channel
        self._stub = p4r_grpc.P4RuntimeStub(channel)
        self._registers = registers
        self._arbitration: Arbitration | None = None
        self._schema: Schema | None = None

    @classmethod
    def connect(
        cls,
        name: str,
        address: str,
        device_id: int,
        registers: RegisterAccess | None = None,
        limit_s: float = CALL_LIMIT_S,
        process: subprocess.Popen[Any] | None = None,
    ) -> SwitchClient:
        """Connects, and waits until the server answers. `registers` where P4Runtime doesn't have
        them (BMv2). `process`: the server's, whose end ends the wait. Raises SwitchError."""
        try:
            channel = address_channel(address, _OPTIONS)
        except AddressError as error:
            raise SwitchError(f"{name}: {error}") from None
        try:
            if not _answers(channel, limit_s, process):
                if process is not None and process.poll() is not None:
                    command = process.args if isinstance(process.args, list) else [process.args]
                    raise SwitchError(
                        f"{name}: its server ended with exit code {process.returncode} before it "
                        f"answered at {address}; it was started by {shlex.join(map(str, command))}"
                    )
                raise SwitchError(
                    f"{name}: no P4Runtime server answers at {address} within {limit_s:g} s: "
                    f"{_trouble(channel)}"
                )
        except BaseException:
            channel.close()
            raise
        return cls(name, device_id, channel, registers)

    def close(self) -> None:
        with signals.deferred():
            if self._arbitration:
                self._arbitration.close()
            close = getattr(self._registers, "close", None)
            if close:
                close()
            self.channel.close()

    def become_primary(self, election_id: int = 1) -> None:
        """Opens the stream channel and becomes the primary controller. Where the last primary had a
        higher election id and has gone, the next id is taken, which is logged. Raises PrimaryError
        if another one is primary."""
        with signals.deferred():
            self._arbitration = Arbitration(
                self.name, self._stub, self.device_id, election_id, CALL_LIMIT_S
            )

    @property
    def election_id(self) -> int:
        """Of the primary controller that we have become."""
        return self._mastership().election_id

    @property
    def schema(self) -> Schema:
        """Names of the switch's program: as set by this client, or as read from the switch."""
        if self._schema is None:
            request = p4r.GetForwardingPipelineConfigRequest(
                device_id=self.device_id,
                response_type=p4r.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE,
            )
            with grpc_errors(self.name, "reading the pipeline"), signals.deferred():
                config = self._stub.GetForwardingPipelineConfig(
                    request, timeout=CALL_LIMIT_S
                ).config
            if not config.HasField("p4info"):
                raise SwitchError(f"{self.name}: no program is loaded")
            try:
                self._schema = schema_of(config.p4info)
            except ValueError as error:
                raise SwitchError(f"{self.name}: its p4info: {error}") from None
        return self._schema

    def set_pipeline(self, program: Loadable) -> None:
        """Loads and commits a program; tables are empty then."""
        schema = cast("Schema", program.schema)
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=schema.get_pipeline_config(),
        )
        with grpc_errors(self.name, f"loading {program.name}"):
            self._as_primary(request, self._load)
        self._schema = schema

    def _load(self, request: p4r.SetForwardingPipelineConfigRequest) -> None:
        with signals.deferred():
            loading = self._stub.SetForwardingPipelineConfig.future(
                request, timeout=PIPELINE_LIMIT_S
            )
        try:
            loading.result()
        finally:
            with signals.deferred():
                loading.cancel()

    def _write(self, updates: Sequence[p4r.Update], operation: str) -> Mapping[int, str]:
        request = p4r.WriteRequest(device_id=self.device_id, updates=updates)
        with grpc_errors(self.name, operation), signals.deferred():
            try:
                self._as_primary(
                    request, lambda message: self._stub.Write(message, timeout=CALL_LIMIT_S)
                )
            except grpc.RpcError as error:
                if refused := update_errors(error):
                    return refused
                raise
        return {}

    def _send(self, message: p4r.StreamMessageRequest) -> None:
        self._mastership().send(message)

    def _take(self, kind: str, wait_s: float) -> list[p4r.StreamMessageResponse]:
        return self._mastership().inbox.take(kind, wait_s)

    def _as_primary(self, request: _Request, call: Callable[[_Request], object]) -> None:
        """Calls with our election id. Who was primary meanwhile and has gone is followed, who is it
        still is named: PrimaryError."""
        mastership = self._mastership()
        request.election_id.CopyFrom(uint128(mastership.election_id))
        try:
            call(request)
        except grpc.RpcError as error:
            if error.code() != grpc.StatusCode.PERMISSION_DENIED:
                raise
            mastership.settle(CALL_LIMIT_S)
            request.election_id.CopyFrom(uint128(mastership.election_id))
            call(request)

    def _mastership(self) -> Arbitration:
        if self._arbitration is None:
            raise SwitchError(
                f"{self.name}: only the primary controller may write; call become_primary first"
            )
        return self._arbitration

    def read_registers(self, name: str, indices: Sequence[int] | None = None) -> dict[int, int]:
        if self._registers is None:
            return super().read_registers(name, indices)
        whole = self.register_name(name)
        if indices is not None and len(indices) < _FEW:
            return {index: self._registers.read(whole, index) for index in indices}
        cells = dict(enumerate(self._registers.read_all(whole)))
        return cells if indices is None else {index: cells[index] for index in indices}

    def read_cells(
        self,
        counters: Sequence[str],
        registers: Sequence[str],
        indices: Sequence[int] | None = None,
    ) -> tuple[dict[str, dict[int, Counter]], dict[str, dict[int, int]]]:
        if self._registers is None:
            return super().read_cells(counters, registers, indices)
        counts, _ = super().read_cells(counters, (), indices)
        return counts, {name: self.read_registers(name, indices) for name in registers}

    def _read(self, queries: Sequence[p4r.Entity]) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=self.device_id, entities=queries)
        with grpc_errors(self.name, "reading"), signals.deferred():
            try:
                call = self._stub.Read(request, timeout=CALL_LIMIT_S)
                try:
                    return entities(self.name, call)
                finally:
                    call.cancel()  # of one that has ended it does nothing
            except grpc.RpcError as error:
                for reason in update_errors(
                    error
                ).values():  # of the first entity that can't be read
                    raise SwitchError(f"{self.name}: reading failed: {reason}") from None
                raise


def _within(ready: grpc.Future, limit_s: float) -> bool:
    """Returns whether an answer comes in this time. Signals wait as long."""
    try:
        with signals.deferred():
            ready.result(limit_s)
    except grpc.FutureTimeoutError:
        return False
    return True


def _answers(
    channel: grpc.Channel, limit_s: float, process: subprocess.Popen[Any] | None = None
) -> bool:
    """Returns whether a server does in this time, be it with a refusal; not where its process has
    ended. By a call: gRPC's own
    future of a channel that gets ready leaves a thread behind, which prints a traceback where the
    channel is closed soon."""
    # a call that is half made is never over, and closing its channel waits for it
    with signals.deferred():
        call = p4r_grpc.P4RuntimeStub(channel).Capabilities.future(
            p4r.CapabilitiesRequest(), timeout=limit_s, wait_for_ready=True
        )
    try:
        while not _within(call, _LOOK_S):
            if process is not None and process.poll() is not None:
                call.cancel()
                return False
    except grpc.RpcError as error:
        return error.code() not in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE)
    return True


def _trouble(channel: grpc.Channel) -> str:
    """Returns why the channel isn't ready, in gRPC's words."""
    with signals.deferred():
        call = p4r_grpc.P4RuntimeStub(channel).Capabilities.future(
            p4r.CapabilitiesRequest(), timeout=_REASON_LIMIT_S
        )
    try:
        while not _within(call, _LOOK_S):
            pass
    except grpc.RpcError as error:
        return str(error.details() or error.code().name)
    return "it has only just come"
