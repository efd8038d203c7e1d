"""A switch over BF Runtime, the driver's own gRPC service: what labs have that run bf_switchd
alone.

    with BfRuntimeSwitch.connect("tofino", "192.0.2.10:50052") as switch:
        switch.set_pipeline(Package.compiled("pcn"))
        switch.insert(...)
        switch.apply(settings(lab))

The service has no authentication and no TLS: a client that reaches its port controls the switch.
"""

from __future__ import annotations

import contextlib
import queue
import secrets
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from types import ModuleType
from typing import TYPE_CHECKING, Any

import grpc
from google.protobuf.message import DecodeError

from pcn.base import signals
from pcn.base.address import AddressError, channel as address_channel
from pcn.base.p4rt import p4r, rpc_status
from pcn.controller import answers
from pcn.controller.control_plane import ControlPlane
from pcn.controller.errors import SwitchError, grpc_errors, refusal_text
from pcn.controller.p4info import Schema
from pcn.controller.tofino import bfrt_messages
from pcn.controller.tofino.bfrt_entities import Entities
from pcn.controller.tofino.bfrt_info import Info
from pcn.controller.tofino.buffers import FIXED, PLACES, Setting
from pcn.controller.tofino.chips import CHIPS, Chip
from pcn.controller.tofino.package import PIPELINE, PIPES, Package

if TYPE_CHECKING:
    from pcn.softswitch.embed.switch import Loadable

CONNECT_LIMIT_S = 10.0
CALL_LIMIT_S = 60.0
WRITE_LIMIT_S = 1800.0
"""A driver moves entries of ranges to make room for further ones: seconds an entry, minutes on a
loaded machine."""
PIPELINE_LIMIT_S = 600.0
_LOOK_S = 0.2  # as long a signal waits
_PROGRESS_S = 5.0
_HEEDED = ("subscribe", "set_forwarding_pipeline_config_response")  # messages of the stream
_MOST_WAITING, _MOST_MESSAGE_BYTES = 1024, 1 << 16  # of these; then the driver waits
_ALL_PIPES, _BOTH_DIRECTIONS, _ALL_PARSERS = 0xFFFF, 0xFF, 0xFF
_CLIENT_IDS = 1 << 24
_NO_PROGRAM = "$SHARED"  # a driver that loaded none has its own tables under this name
_OPTIONS = [
    ("grpc.max_receive_message_length", answers.MESSAGE_BYTES),
    ("grpc.max_send_message_length", -1),
    ("grpc.max_metadata_size", 1 << 20),  # an error for each entry
]


class BfRuntimeSwitch(ControlPlane):
    """A connection to one driver. `progress` gets a line now and then while a call takes long."""

    def __init__(
        self,
        name: str,
        device_id: int,
        channel: grpc.Channel,
        messages: ModuleType,
        progress: Callable[[str], None],
    ) -> None:
        super().__init__(name)
        self._device, self._channel, self._messages, self._progress = (
            device_id,
            channel,
            messages,
            progress,
        )
        self._client = secrets.randbelow(_CLIENT_IDS - 1) + 1
        self._outgoing: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._incoming: queue.Queue[Any] = queue.Queue(_MOST_WAITING)
        self._stream: Any = None
        self._program = ""
        self._schema: Schema | None = None
        self._chip: Chip | None = None
        self._info: Info | None = None
        self._entities: Entities | None = None

    @classmethod
    def connect(
        cls,
        name: str,
        address: str,
        device_id: int = 0,
        progress: Callable[[str], None] = lambda _text: None,
        limit_s: float = CONNECT_LIMIT_S,
    ) -> BfRuntimeSwitch:
        """Connects and subscribes, which every client has to before it may call. Raises
        SwitchError."""
        messages = bfrt_messages.load()
        try:
            channel = address_channel(address, _OPTIONS)
        except AddressError as error:
            raise SwitchError(f"{name}: {error}") from None
        bf_runtime_switch = cls(name, device_id, channel, messages, progress)
        try:
            bf_runtime_switch._subscribe(address, limit_s)
        except Exception:
            bf_runtime_switch.close()
            raise
        return bf_runtime_switch

    def close(self) -> None:
        with signals.deferred():
            self._outgoing.put(None)
            if self._stream is not None:
                self._stream.cancel()
            self._channel.close()

    def _subscribe(self, address: str, limit_s: float) -> None:
        request = self._messages.StreamMessageRequest(client_id=self._client)
        request.subscribe.device_id = self._device
        self._outgoing.put(request)
        with signals.deferred():
            call = self._channel.stream_stream(
                f"{bfrt_messages.SERVICE}/StreamChannel",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=self._messages.StreamMessageResponse.FromString,
            )
            self._stream = call(iter(self._outgoing.get, None))
        threading.Thread(target=self._receive, name="bfrt-stream", daemon=True).start()
        answer = self._next(
            limit_s, f"no BF Runtime server answers at {address} (is bf_switchd up?)"
        )
        code = answer.subscribe.status.code
        if answer.WhichOneof("update") != "subscribe" or code:
            raise SwitchError(
                f"{self.name}: BF Runtime at {address} refuses to subscribe this client: "
                f"{refusal_text(code, answer.subscribe.status.message)}"
            )

    def _next(self, limit_s: float, trouble: str) -> Any:
        """Returns the stream's next message. A signal interrupts the wait."""
        waited = 0.0
        while waited < limit_s:
            with contextlib.suppress(queue.Empty):
                answer = self._incoming.get(timeout=_LOOK_S)
                if isinstance(answer, grpc.RpcError):
                    raise SwitchError(
                        f"{self.name}: {trouble}: {answer.details() or answer.code().name}"
                    )
                if answer is None:
                    raise SwitchError(f"{self.name}: {trouble}: the server closed the stream")
                return answer
            waited += _LOOK_S
        raise SwitchError(f"{self.name}: {trouble}")

    def _receive(self) -> None:
        """Hands on the answers that the stream brings, and the error that ends it, or None. All
        else is dropped, and what is longer than any answer."""
        try:
            for message in self._stream:
                if (
                    message.WhichOneof("update") in _HEEDED
                    and message.ByteSize() <= _MOST_MESSAGE_BYTES
                ):
                    self._incoming.put(message)
            self._incoming.put(None)
        except grpc.RpcError as error:
            self._incoming.put(error)

    # ---- the program ----

    @property
    def schema(self) -> Schema:
        if self._schema is None:
            self._identify()
        assert self._schema is not None
        return self._schema

    def set_pipeline(self, program: Loadable) -> None:
        """Loads a program of p4src/tna, and binds to it, which keeps other clients from writing to
        it. Raises SwitchError for one of another chip."""
        assert isinstance(program, Package)
        _, chip, _ = self._pipeline()
        if program.chip is not chip:
            raise SwitchError(
                f"{self.name}: the driver's chip is a {chip.title}, not a {program.chip.title}: "
                f"write `chip: {chip.name}` in ports.yaml, with the ports of that chip"
            )
        request = self._messages.SetForwardingPipelineConfigRequest(
            device_id=self._device, client_id=self._client
        )
        request.action = request.VERIFY_AND_WARM_INIT_BEGIN_AND_END
        config = request.config.add(p4_name=program.name, bfruntime_info=program.bf_rt)
        config.profiles.add(
            profile_name=PIPELINE, context=program.context, binary=program.binary, pipe_scope=PIPES
        )
        operation = f"loading {program.name}"
        with grpc_errors(self.name, operation):
            self._call("SetForwardingPipelineConfig", request, PIPELINE_LIMIT_S, operation)
        ends_s = time.monotonic() + PIPELINE_LIMIT_S  # whatever else the driver sends
        while True:  # the first answer reports that loading began
            answer = self._next(
                ends_s - time.monotonic(), f"{operation}: the driver doesn't report its end"
            )
            if answer.WhichOneof("update") == "set_forwarding_pipeline_config_response":
                response = answer.set_forwarding_pipeline_config_response
                kind = response.set_forwarding_pipeline_config_response_type
                if kind == self._messages.WARM_INIT_FINISHED:
                    break
        self._identify()
        bind = self._messages.SetForwardingPipelineConfigRequest(
            device_id=self._device, client_id=self._client
        )
        bind.action = bind.BIND
        bind.config.add(p4_name=program.name)
        with grpc_errors(self.name, f"binding to {program.name}"):
            self._call("SetForwardingPipelineConfig", bind, CALL_LIMIT_S, "binding")

    def _identify(self) -> None:
        """Reads which program runs, and its and the driver's own tables."""
        programs, chip, driver_info = self._pipeline()
        if not programs:
            raise SwitchError(f"{self.name}: no program is loaded")
        self._program, self._chip = programs[0].p4_name, chip
        self._info = Info(self.name, [programs[0].bfruntime_info, driver_info])
        self._schema = Package.compiled(self._program, chip).schema
        self._entities = Entities(self._messages, self._info, self._schema)

    def _pipeline(self) -> tuple[Sequence[Any], Chip, bytes]:
        """Returns the programs that run, the chip, by the driver's own tables, and their
        description."""
        request = self._messages.GetForwardingPipelineConfigRequest(
            device_id=self._device, client_id=self._client
        )
        with grpc_errors(self.name, "reading the pipeline"):
            answer = self._call(
                "GetForwardingPipelineConfig", request, CALL_LIMIT_S, "reading the pipeline"
            )
        driver_info = answer.non_p4_config.bfruntime_info
        tables = Info(self.name, [driver_info]).tables
        for chip in CHIPS.values():
            if chip.table(PLACES) in tables:
                return (
                    [program for program in answer.config if program.p4_name != _NO_PROGRAM],
                    chip,
                    driver_info,
                )
        titles = " nor a ".join(chip.title for chip in CHIPS.values())
        raise SwitchError(
            f"{self.name}: the driver's chip is neither a {titles}, by the names of its tables"
        )

    def _call(self, method: str, request: Any, limit_s: float, operation: str) -> Any:
        """Calls, and reports every few seconds how long it waits. A signal interrupts the wait."""
        answer = self._messages.__dict__[f"{method}Response"]
        with signals.deferred():
            call = self._channel.unary_unary(
                f"{bfrt_messages.SERVICE}/{method}",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=answer.FromString,
            ).future(request, timeout=limit_s)
        waited = 0.0
        try:
            while True:
                with contextlib.suppress(grpc.FutureTimeoutError), signals.deferred():
                    return call.result(timeout=_LOOK_S)
                waited += _LOOK_S
                if waited % _PROGRESS_S < _LOOK_S:
                    self._progress(f"{operation}: {waited:.0f} s so far, of {limit_s:g} at most")
        finally:
            with signals.deferred():
                call.cancel()

    # ---- entries ----

    def _ready(self) -> Entities:
        if self._entities is None:
            self._identify()
        assert self._entities is not None
        return self._entities

    def _write(self, updates: Sequence[p4r.Update], operation: str) -> Mapping[int, str]:
        return self._send_updates([self._ready().update(update) for update in updates], operation)

    def _send_updates(
        self, updates: Sequence[Any], operation: str, pipe: int = _ALL_PIPES
    ) -> Mapping[int, str]:
        """Sends them in one call, so that the driver moves entries and completes operations once.
        Returns refusals."""
        # Without the program's name: with it the driver takes updates of clients that aren't bound,
        # too.
        request = self._messages.WriteRequest(
            client_id=self._client, updates=updates, target=self._target(pipe)
        )
        with grpc_errors(self.name, operation):
            try:
                answer = self._call("Write", request, WRITE_LIMIT_S, operation)
            except grpc.RpcError as error:
                if refused := self._refusals(error):
                    return refused
                raise
        return {
            n: refusal_text(status.canonical_code, status.message)
            for n, status in enumerate(answer.status)
            if status.canonical_code
        }

    def _target(self, pipe: int) -> Any:
        return self._messages.TargetDevice(
            device_id=self._device, pipe_id=pipe, direction=_BOTH_DIRECTIONS, prsr_id=_ALL_PARSERS
        )

    def _refusals(self, error: grpc.RpcError) -> dict[int, str]:
        """Returns the reasons that a failed call carries, by the number of the update."""
        raw = dict(error.trailing_metadata() or ()).get("grpc-status-details-bin")
        status, reasons = rpc_status.Status(), {}
        with contextlib.suppress(DecodeError):
            status.ParseFromString(raw or b"")
            for number, detail in enumerate(status.details):
                refusal = self._messages.Error.FromString(detail.value)
                if refusal.canonical_code:
                    reasons[number] = refusal_text(refusal.canonical_code, refusal.message)
        return reasons

    def _read(self, queries: Sequence[p4r.Entity]) -> Iterable[p4r.Entity]:
        entities = self._ready()
        wanted = [entities.query(query) for query in queries]
        answers: list[p4r.Entity] = []
        # Of a whole table the driver returns the default entry as well, so that's taken where it is
        # wanted alone.
        for default in (False, True):
            part = [query for query in wanted if query.is_default_entry is default]
            read = self._read_entries(part, "reading") if part else []
            with self._understood("reading"):
                answers += [
                    entity
                    for entry in read
                    if entry.is_default_entry is default
                    for entity in entities.entities(entry)
                ]
        return answers

    def _read_entries(
        self, entries: Sequence[Any], operation: str, pipe: int = _ALL_PIPES
    ) -> list[Any]:
        request = self._messages.ReadRequest(
            client_id=self._client, p4_name=self._program, target=self._target(pipe)
        )
        for entry in entries:
            request.entities.add(table_entry=entry)
        with grpc_errors(self.name, operation), signals.deferred():
            call = self._channel.unary_stream(
                f"{bfrt_messages.SERVICE}/Read",
                request_serializer=lambda message: message.SerializeToString(),
                response_deserializer=self._messages.ReadResponse.FromString,
            )
            try:
                answer = call(request, timeout=CALL_LIMIT_S)
                try:
                    return [entity.table_entry for entity in answers.entities(self.name, answer)]
                finally:
                    answer.cancel()
            except grpc.RpcError as error:
                for reason in self._refusals(error).values():
                    raise SwitchError(f"{self.name}: {operation} failed: {reason}") from None
                raise

    def _send(self, message: p4r.StreamMessageRequest) -> None:
        raise SwitchError(f"{self.name}: BF Runtime sends no packets; a CPU port's interface does")

    def _take(self, kind: str, wait_s: float) -> list[p4r.StreamMessageResponse]:
        raise SwitchError(f"{self.name}: BF Runtime brings no {kind} here")

    # ---- the driver's own tables ----

    def apply(self, settings: Sequence[Setting]) -> list[str]:
        """Writes settings of ports and traffic manager, then reads back each field: what the driver
        computes from several of them it holds after the last. Returns a line for each that the
        driver ignores without harm. Raises SwitchError for those that it refused or didn't keep."""
        self._ready()
        assert self._info is not None
        ignored: list[str] = []
        lost: list[str] = []
        written: list[tuple[Setting, dict[str, Any]]] = []
        for setting in settings:
            keys = {**setting.keys, **(self._place(*setting.queue) if setting.queue else {})}
            fixed = [
                name
                for name in setting.data
                if self._info.table(setting.table).fields(setting.action)[name].read_only
            ]
            self._set(setting, keys, fixed)
            written.append((setting, keys))
        for setting, keys in written:
            held = self._held(setting, keys)
            for name, wanted in setting.data.items():
                if held.get(name) != wanted:
                    line = f"{setting.table} {keys}: {name} is {held.get(name)!r}, not {wanted!r}"
                    (ignored if name in FIXED else lost).append(line)
        if lost:
            raise SwitchError(
                f"{self.name}: the driver didn't keep {len(lost)} fields: {'; '.join(lost)}"
            )
        return ignored

    def held(self, table: str, keys: Mapping[str, int | str]) -> dict[str, Any]:
        """Returns what an entry of one of the driver's own tables holds, by field. Raises
        SwitchError."""
        return self._held(Setting(table, keys, {}), dict(keys))

    def _set(self, setting: Setting, keys: dict[str, Any], fixed: Sequence[str]) -> None:
        data = {name: value for name, value in setting.data.items() if name not in fixed}
        there = self._held(setting, keys) if setting.adds else {}
        if setting.frees and any(there.get(name) != value for name, value in data.items()):
            for freed_keys in map(dict, setting.frees):
                if self._held(setting, freed_keys):
                    self._change("DELETE", setting, freed_keys, {})
            there = {}
        self._change("INSERT" if setting.adds and not there else "MODIFY", setting, keys, data)

    def _change(
        self, kind: str, setting: Setting, keys: dict[str, Any], data: dict[str, Any]
    ) -> None:
        update = self._messages.Update(type=self._messages.Update.Type.Value(kind))
        self._ready().fill(
            update.entity.table_entry, setting.table, keys, data, setting.action if data else ""
        )
        operation = f"{'deleting' if kind == 'DELETE' else 'writing'} {setting.table} {keys}"
        for reason in self._send_updates([update], operation, _pipe(setting)).values():
            raise SwitchError(f"{self.name}: {operation} failed: {reason}")

    def _held(self, setting: Setting, keys: dict[str, Any]) -> dict[str, Any]:
        """Returns what an entry holds; empty where there is none."""
        entry = self._messages.TableEntry()
        self._ready().fill(entry, setting.table, keys, {})
        try:
            entries = self._read_entries([entry], f"reading {setting.table} {keys}", _pipe(setting))
        except SwitchError:
            if setting.adds:  # it isn't there yet
                return {}
            raise
        with self._understood(f"reading {setting.table} {keys}"):
            return self._ready().values(entries[0]) if entries else {}

    def _place(self, port: int, number: int) -> dict[str, int]:
        """Returns where the queue of a port and class is."""
        assert self._chip is not None
        table = self._chip.table(PLACES)
        place = self._held(Setting(table, {"dev_port": port}, {}), {"dev_port": port})
        with self._understood(f"reading {table} of port {port}"):
            return {"pg_id": place["pg_id"], "pg_queue": place["egress_qid_queues"][number]}

    @contextlib.contextmanager
    def _understood(self, operation: str) -> Iterator[None]:
        """Raises SwitchError for an answer of another form than the driver's description has."""
        try:
            yield
        except (LookupError, ValueError, TypeError, ArithmeticError, AttributeError) as error:
            raise SwitchError(
                f"{self.name}: {operation}: the answer doesn't fit the driver's description: "
                f"{type(error).__name__}: {error}"
            ) from None


def _pipe(setting: Setting) -> int:
    return _ALL_PIPES if setting.pipe is None else setting.pipe
