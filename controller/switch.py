"""One switch, by P4Runtime: pipeline, table entries, counters, registers, by the names of its program.

finsy's schema and entities translate between names and protobuf; the transport is plain synchronous gRPC: reading one
cell is one call, and scripts, tests and the command line need no event loop. Signals wait while a call starts and
while a short one runs: an exception in the middle of gRPC can leave a call behind that its channel's end waits for.

    with SwitchClient.connect("s0", "unix:/run/pcn-lab/dumbbell/s0.grpc", device_id=1) as switch:
        switch.become_primary()
        switch.set_pipeline(Program.compiled("pcn"))
        switch.insert(TableEntry("ipv4_lpm", match=TableMatch(dst_addr="10.0.0.1/32"), action=TableAction(...)))
        switch.read_register("waiting_bytes", 35)
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any, Protocol, TypeVar

import grpc
from finsy import (
    P4CloneSessionEntry as CloneSession,
)
from finsy import (
    P4CounterEntry as CounterEntry,
)
from finsy import (
    P4IndirectAction as TableActions,
)
from finsy import (
    P4RegisterEntry as RegisterEntry,
)
from finsy import (
    P4Schema,
)
from finsy import (
    P4TableAction as TableAction,
)
from finsy import (
    P4TableEntry as TableEntry,
)
from finsy import (
    P4TableMatch as TableMatch,
)
from finsy.p4entity import decode_entity
from finsy.p4schema import P4CounterUnit
from finsy.proto import p4r, p4r_grpc

from controller import signals
from controller.arbitration import Arbitration, uint128
from controller.errors import SwitchError, UnknownNameError, grpc_errors

__all__ = [
    "CloneSession",
    "Counter",
    "RegisterAccess",
    "SwitchClient",
    "TableAction",
    "TableActions",
    "TableEntry",
    "TableMatch",
]

CALL_LIMIT_S = 20.0
_LOOK_S = 0.2  # as long a signal waits while nobody answers
_REASON_LIMIT_S = 10.0  # for gRPC to say why; it has tried for some time by then
PIPELINE_LIMIT_S = 120.0  # the embedded switch compiles a program that it hasn't seen
_Asked = TypeVar("_Asked", p4r.WriteRequest, p4r.SetForwardingPipelineConfigRequest)
_NO_LIMIT = [("grpc.max_receive_message_length", -1), ("grpc.max_send_message_length", -1)]


@dataclass(frozen=True)
class Counter:
    """A cell. `bytes` is None where the program counts packets alone, whatever the target counts beside them."""

    packets: int
    bytes: int | None


class RegisterAccess(Protocol):
    """Registers by name as in the program ("PcnIngress.waiting_bytes" or its last part)."""

    def read(self, name: str, index: int) -> int: ...

    def read_all(self, name: str) -> list[int]: ...


class Loadable(Protocol):
    """A program for some target: its names, and what the target loads."""

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> P4Schema: ...


class SwitchClient:
    """A connection to one switch. Reading needs no more; writing needs `become_primary`.

    Every call raises SwitchError (which names the switch, the call and the switch's answer), or UnknownNameError.
    """

    def __init__(self, name: str, device_id: int, channel: grpc.Channel, registers: RegisterAccess | None) -> None:
        self.name = name
        self.device_id = device_id
        self.channel = channel
        self._stub = p4r_grpc.P4RuntimeStub(channel)
        self._registers = registers
        self._arbitration: Arbitration | None = None
        self._schema: P4Schema | None = None
        self._cell_requests: dict[tuple[str, int], p4r.ReadRequest] = {}

    @classmethod
    def connect(
        cls,
        name: str,
        address: str,
        device_id: int,
        registers: RegisterAccess | None = None,
        limit_s: float = CALL_LIMIT_S,
    ) -> SwitchClient:
        """Connects, and waits until the server answers. `registers` where P4Runtime doesn't have them (BMv2)."""
        channel = grpc.insecure_channel(address, options=_NO_LIMIT)
        try:
            if not _answers(channel, limit_s):
                raise SwitchError(
                    f"{name}: no P4Runtime server answers at {address} within {limit_s:g} s: {_trouble(channel)}"
                )
        except BaseException:
            channel.close()
            raise
        return cls(name, device_id, channel, registers)

    def __enter__(self) -> SwitchClient:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        with signals.deferred():
            if self._arbitration:
                self._arbitration.close()
            close = getattr(self._registers, "close", None)
            if close:
                close()
            self.channel.close()

    def become_primary(self, election_id: int = 1, limit_s: float = CALL_LIMIT_S) -> None:
        """Opens the stream channel and becomes the primary controller. Where the last primary had a higher election id
        and has gone, the next id is taken, which is logged. Raises PrimaryError if another one is primary."""
        with signals.deferred():
            self._arbitration = Arbitration(self.name, self._stub, self.device_id, election_id, limit_s)

    @property
    def election_id(self) -> int:
        """Of the primary controller that we have become."""
        return self._mastership().election_id

    @property
    def schema(self) -> P4Schema:
        """Names of the switch's program: as it was set here, or as the switch tells."""
        if self._schema is None:
            request = p4r.GetForwardingPipelineConfigRequest(
                device_id=self.device_id, response_type=p4r.GetForwardingPipelineConfigRequest.P4INFO_AND_COOKIE
            )
            with grpc_errors(self.name, "reading the pipeline"), signals.deferred():
                config = self._stub.GetForwardingPipelineConfig(request, timeout=CALL_LIMIT_S).config
            if not config.HasField("p4info"):
                raise SwitchError(f"{self.name}: no program is loaded")
            self._schema = P4Schema(config.p4info)
        return self._schema

    def set_pipeline(self, program: Loadable) -> None:
        """Loads and commits a program; tables are empty then."""
        schema = program.schema
        request = p4r.SetForwardingPipelineConfigRequest(
            device_id=self.device_id,
            action=p4r.SetForwardingPipelineConfigRequest.VERIFY_AND_COMMIT,
            config=schema.get_pipeline_config(),
        )
        with grpc_errors(self.name, f"loading {program.name}"):
            self._as_primary(request, self._load)
        self._schema = schema
        self._cell_requests.clear()

    def _load(self, request: p4r.SetForwardingPipelineConfigRequest) -> None:
        with signals.deferred():
            loading = self._stub.SetForwardingPipelineConfig.future(request, timeout=PIPELINE_LIMIT_S)
        try:
            loading.result()
        finally:
            with signals.deferred():
                loading.cancel()

    def insert(self, entries: Iterable[TableEntry | CloneSession]) -> None:
        self._write(entries, p4r.Update.INSERT)

    def modify(self, entries: Iterable[TableEntry | CloneSession]) -> None:
        self._write(entries, p4r.Update.MODIFY)

    def delete(self, entries: Iterable[TableEntry | CloneSession]) -> None:
        self._write(entries, p4r.Update.DELETE)

    def _write(self, entries: Iterable[TableEntry | CloneSession], kind: Any) -> None:
        updates = []
        for entry in entries:
            if isinstance(entry, TableEntry):
                self._table(entry.table_id)
            try:
                updates.append(p4r.Update(type=kind, entity=entry.encode(self.schema)))
            except ValueError as error:  # a name or a value that the program doesn't have
                raise SwitchError(f"{self.name}: {entry}: {error}") from None
        request = p4r.WriteRequest(device_id=self.device_id, updates=updates)
        with (
            grpc_errors(self.name, f"{p4r.Update.Type.Name(kind).lower()} of {len(updates)} entries"),
            signals.deferred(),
        ):
            self._as_primary(request, lambda asked: self._stub.Write(asked, timeout=CALL_LIMIT_S))

    def _as_primary(self, request: _Asked, call: Callable[[_Asked], object]) -> None:
        """Calls with our election id. Who was primary meanwhile and has gone is followed, who is it still is named:
        PrimaryError."""
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
            raise SwitchError(f"{self.name}: only the primary controller may write; call become_primary first")
        return self._arbitration

    def tables(self) -> list[str]:
        return sorted(table.alias for table in self.schema.tables)

    def counters(self) -> list[str]:
        return sorted(counter.alias for counter in self.schema.counters)

    def registers(self) -> list[str]:
        return sorted(register.alias for register in self.schema.registers)

    def _table(self, name: str) -> Any:
        return _lookup("table", self.schema.tables, name, self.tables())

    def read_table(self, name: str) -> list[TableEntry]:
        """Entries of a table, its default entry last."""
        self._table(name)
        asked = (TableEntry(name), TableEntry(name, is_default_action=True))
        return [self._decode(entity) for one in asked for entity in self._read([one.encode(self.schema)])]

    def read_counter(self, name: str, index: int) -> Counter:
        return self.read_counters(name, [index])[index]

    def read_counters(self, name: str, indices: Sequence[int] | None = None) -> dict[int, Counter]:
        """Cells by index: the given ones, or all. One call."""
        unit = _lookup("counter", self.schema.counters, name, self.counters()).unit
        cells = [CounterEntry(name, index=index) for index in indices] if indices is not None else [CounterEntry(name)]
        entities = self._read([cell.encode(self.schema) for cell in cells])
        return {
            entity.counter_entry.index.index: Counter(
                entity.counter_entry.data.packet_count,
                None if unit is P4CounterUnit.PACKETS else entity.counter_entry.data.byte_count,
            )
            for entity in entities
        }

    def read_register(self, name: str, index: int) -> int:
        """One cell; about as cheap as a call is."""
        if self._registers is not None:
            return self._registers.read(self._register_name(name), index)
        request = self._cell_requests.get((name, index))
        if request is None:
            self._register_name(name)
            entity = RegisterEntry(name, index=index).encode(self.schema)
            request = p4r.ReadRequest(device_id=self.device_id, entities=[entity])
            self._cell_requests[name, index] = request
        with grpc_errors(self.name, f"reading {name}[{index}]"), signals.deferred():
            responses = list(self._stub.Read(request, timeout=CALL_LIMIT_S))
        for response in responses:
            for entity in response.entities:
                return int.from_bytes(entity.register_entry.data.bitstring, "big")
        raise SwitchError(f"{self.name}: no cell {name}[{index}]")

    def read_registers(self, name: str, indices: Sequence[int] | None = None) -> dict[int, int]:
        """Cells by index: the given ones, or all."""
        full_name = self._register_name(name)
        if self._registers is not None:
            if indices is not None and len(indices) < 64:
                return {index: self._registers.read(full_name, index) for index in indices}
            cells = dict(enumerate(self._registers.read_all(full_name)))
            return cells if indices is None else {index: cells[index] for index in indices}
        entries = [RegisterEntry(name, index=i) for i in indices] if indices is not None else [RegisterEntry(name)]
        entities = self._read([entry.encode(self.schema) for entry in entries])
        return {
            entity.register_entry.index.index: int.from_bytes(entity.register_entry.data.bitstring, "big")
            for entity in entities
        }

    def _register_name(self, name: str) -> str:
        register = _lookup("register", self.schema.registers, name, self.registers())
        full_name: str = register.name
        return full_name

    def _decode(self, entity: p4r.Entity) -> TableEntry:
        entry: TableEntry = decode_entity(entity, self.schema)
        return entry

    def _read(self, entities: Sequence[p4r.Entity]) -> list[p4r.Entity]:
        request = p4r.ReadRequest(device_id=self.device_id, entities=entities)
        with grpc_errors(self.name, "reading"), signals.deferred():
            responses = list(self._stub.Read(request, timeout=CALL_LIMIT_S))
        return [entity for response in responses for entity in response.entities]


def _lookup(kind: str, entities: Any, name: str, known: Sequence[str]) -> Any:
    found = entities.get(name)
    if found is None:
        raise UnknownNameError(kind, name, known)
    return found


def _within(ready: grpc.Future, limit_s: float) -> bool:
    """Whether an answer comes in this time. Signals wait as long."""
    try:
        with signals.deferred():
            ready.result(limit_s)
    except grpc.FutureTimeoutError:
        return False
    return True


def _answers(channel: grpc.Channel, limit_s: float) -> bool:
    """Whether a server does in this time, be it with a refusal. By a call: gRPC's own future of a channel that gets
    ready leaves a thread behind, which prints a traceback where the channel is closed soon."""
    asked = p4r_grpc.P4RuntimeStub(channel).Capabilities.future(
        p4r.CapabilitiesRequest(), timeout=limit_s, wait_for_ready=True
    )
    try:
        while not _within(asked, _LOOK_S):
            pass
    except grpc.RpcError as error:
        return error.code() not in (grpc.StatusCode.DEADLINE_EXCEEDED, grpc.StatusCode.UNAVAILABLE)
    return True


def _trouble(channel: grpc.Channel) -> str:
    """Why the channel isn't ready, in gRPC's words."""
    asked = p4r_grpc.P4RuntimeStub(channel).Capabilities.future(p4r.CapabilitiesRequest(), timeout=_REASON_LIMIT_S)
    try:
        while not _within(asked, _LOOK_S):
            pass
    except grpc.RpcError as error:
        return str(error.details() or error.code().name)
    return "it has only just come"
