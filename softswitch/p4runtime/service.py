"""The P4Runtime service: each RPC's checks, in the specification's order, and then the work.

One lock orders everything that reads or writes state, so Writes are serialisable and arbitration
waits for them. Programs are compiled outside of it.
"""

from __future__ import annotations

import logging
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from pcn.base.p4rt import p4r, p4r_grpc
from pcn.softswitch.native import (
    EVENT_FENCE,
    EVENT_LOG,
    EVENT_NOTICE,
    NativeError,
    NativeSwitch,
)
from pcn.softswitch.p4runtime import batches, packetio
from pcn.softswitch.p4runtime.arbitration import MAX_OF_CONNECTION, MAX_SILENT, Arbitration, Session
from pcn.softswitch.p4runtime.calls import LARGEST, Call, Method, Outlet, methods
from pcn.softswitch.p4runtime.clock import Clock
from pcn.softswitch.p4runtime.errors import (
    ABORTED,
    FAILED_PRECONDITION,
    INVALID_ARGUMENT,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    RpcError,
)
from pcn.softswitch.p4runtime.limits import READS, SMALL_BYTES, STREAM_BYTES
from pcn.softswitch.p4runtime.pipeline import Pipeline
from pcn.softswitch.p4runtime.roles import Scope

if TYPE_CHECKING:
    from types import TracebackType

    from pcn.softswitch.p4runtime.entities import Forwarding

Request = p4r.SetForwardingPipelineConfigRequest
API_VERSION: Final = "1.5.0"
PUMP_WAIT_NS: Final = (
    200_000_000  # so often the pump looks for a program, and for timers that writes set
)


class EngineTurn(Protocol):
    """A lock that a thread may take again, as `threading.RLock`."""

    def acquire(self, blocking: bool = True) -> bool: ...

    def release(self) -> None: ...

    def __enter__(self) -> object: ...

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
        /,
    ) -> None: ...


class Service:
    """P4Runtime for one switch."""

    def __init__(
        self,
        native: NativeSwitch,
        pipeline: Pipeline,
        device_id: int,
        cpu_port: int,
        engine: EngineTurn | None = None,
    ) -> None:
        """`engine`: of a switch whose packets and time are an engine's, what orders it and us."""
        self._native = native
        self.library = native.library
        self.on_primaries: Callable[[set[int]], None] = lambda peers: None
        """Is called with the connections that have primaries, whenever they change."""
        self._pipeline = pipeline
        self._log = logging.getLogger(f"pcn.softswitch.{device_id}")
        self._cpu_port = cpu_port
        self._lock = engine or threading.RLock()
        # whose Read may take: one competes with a Write, however many there are
        self._turn = threading.Lock()
        # A controller that reads that it is primary sends large messages at once
        self._arbitration = Arbitration(device_id, self._note_primaries)
        self._open: set[Session] = set()
        self._ending = threading.Event()
        self._pump = threading.Thread(target=self._run_pump, name="p4runtime-events", daemon=True)
        self.clock = Clock(native, pipeline) if native.manual and engine is None else None

    def start(self) -> None:
        """Starts to forward packets and digests of the data plane."""
        self._pump.start()

    def stop(self) -> None:
        """Ends every stream and waits for the thread."""
        self._ending.set()
        if self.clock:
            self.clock.stop()
        with self._lock:
            for session in list(self._open):
                session.close()
        if self._pump.is_alive():
            with suppress(NativeError):  # the switch stopped, and the pump with it
                self._native.fence(0)  # wakes it
            self._pump.join()

    def methods(self) -> Iterable[Method]:
        """Returns the methods of P4Runtime, which raise RpcError and BatchError."""
        handlers: dict[str, Callable[..., Any]] = {
            "Write": self.Write,
            "Read": self.Read,
            "SetForwardingPipelineConfig": self.SetForwardingPipelineConfig,
            "GetForwardingPipelineConfig": self.GetForwardingPipelineConfig,
            "Capabilities": self.Capabilities,
            "StreamChannel": self.StreamChannel,
        }
        large = ("Write", "SetForwardingPipelineConfig")
        most = {**dict.fromkeys(large, LARGEST), "StreamChannel": STREAM_BYTES}
        # Parsing 16 MB of small fields takes 1.3 s, in which no other thread of Python's runs, and
        # 50 times the memory: a stranger's would keep primaries waiting, only to be refused.
        most_of_strangers = dict.fromkeys(large, SMALL_BYTES)
        return methods(
            p4r_grpc.SERVICE,
            handlers,
            most=most,
            most_of_strangers=most_of_strangers,
            begun={"Read": READS},
        )

    # ---- unary RPCs ----

    def Write(self, request: p4r.WriteRequest, call: Call) -> p4r.WriteResponse:  # noqa: N802
        with self._lock:
            scope = self._check_writer(request)
            state = self._state()
            succeeded = batches.write(state, request.updates, request.atomicity, scope)
            self._pipeline.record(succeeded.updates)
            if succeeded.error:
                raise succeeded.error
        return p4r.WriteResponse()

    def Read(self, request: p4r.ReadRequest, call: Call) -> Iterator[p4r.ReadResponse]:  # noqa: N802
        with self._turn, self._lock:
            self._arbitration.check_device(request.device_id)
            state = self._state()
            reading = batches.Reading(
                state, request.entities, self._arbitration.scope(request.role)
            )
            parts = reading.take()
        yield from reading.responses(parts)
        while not reading.done:
            with self._turn, self._lock:
                if state is not self._pipeline.state:
                    raise RpcError(ABORTED, "the pipeline has changed while it was read")
                parts = reading.take()
            yield from reading.responses(parts)
        if reading.error:
            raise reading.error

    def SetForwardingPipelineConfig(  # noqa: N802
        self, request: p4r.SetForwardingPipelineConfigRequest, call: Call
    ) -> p4r.SetForwardingPipelineConfigResponse:
        try:
            with self._lock:
                self._check_configurer(request)
            self._configure(request)
        except RpcError as error:
            self._log.warning("pipeline refused: %s", error.message)
            raise
        return p4r.SetForwardingPipelineConfigResponse()

    def GetForwardingPipelineConfig(  # noqa: N802
        self, request: p4r.GetForwardingPipelineConfigRequest, call: Call
    ) -> p4r.GetForwardingPipelineConfigResponse:
        response = p4r.GetForwardingPipelineConfigResponse()
        with self._lock:
            self._arbitration.check_device(request.device_id)
            config = self._pipeline.config
        if config is None:
            return response
        wanted = request.response_type
        response.config.SetInParent()
        if config.HasField("cookie"):
            response.config.cookie.CopyFrom(config.cookie)
        if wanted in (request.ALL, request.P4INFO_AND_COOKIE):
            response.config.p4info.CopyFrom(config.p4info)
        if wanted in (request.ALL, request.DEVICE_CONFIG_AND_COOKIE):
            response.config.p4_device_config = config.p4_device_config
        return response

    def Capabilities(  # noqa: N802
        self, request: p4r.CapabilitiesRequest, call: Call
    ) -> p4r.CapabilitiesResponse:
        if getattr(request, "device_id", 0):
            self._arbitration.check_device(request.device_id)
        return p4r.CapabilitiesResponse(p4runtime_api_version=API_VERSION)

    # ---- this process ----

    @contextmanager
    def locally(self) -> Iterator[Forwarding]:
        """Yields the state, for a face of this process that isn't P4Runtime's, with the lock held.
        Raises RpcError."""
        with self._lock:
            yield self._state()

    def write_locally(self, update: p4r.Update) -> None:
        """An update of such a face, whichever client is primary. Raises RpcError."""
        with self.locally() as state:
            state.apply(update)
            self._pipeline.record([update])

    def read_locally(self, query: p4r.Entity) -> list[p4r.Entity]:
        """Returns the entities that a query selects. Raises RpcError."""
        with self.locally() as state:
            return list(state.read(query))

    def program_locally(self) -> str:
        """Returns the JSON of the program; empty: there is none."""
        with self._lock:
            return self._pipeline.json_text

    def reset_locally(self) -> None:
        """The program runs on, with the state that it began with. Raises RpcError."""
        with self._lock:
            self._pipeline.restart()

    # ---- streams ----

    def StreamChannel(self, outlet: Outlet) -> Channel:  # noqa: N802
        session = Session(outlet)
        with self._lock:
            self._admit(session)
        return Channel(self, session)

    def _admit(self, session: Session) -> None:
        """Takes a stream among the open ones. Silent ones make room. Raises RpcError."""
        if self._ending.is_set():
            raise RpcError(RESOURCE_EXHAUSTED, "the switch is ending")
        if (
            not session.is_private
            and sum(s.peer == session.peer for s in self._open) >= MAX_OF_CONNECTION
        ):
            raise RpcError(
                RESOURCE_EXHAUSTED, f"the connection has {MAX_OF_CONNECTION} streams already"
            )
        silent = [session for session in self._open if session.role is None]
        if len(silent) >= MAX_SILENT:
            # Of the connection with most of them: one that opens streams on and on would otherwise
            # push out a controller's in the moment before its claim is read.
            of_peer = Counter(session.peer for session in silent)
            self._dismiss(max(silent, key=lambda s: (of_peer[s.peer], -s.since_s)))
        self._open.add(session)

    def _dismiss(self, session: Session) -> None:
        """Ends a stream, whose place is free from now on."""
        self._leave(session)
        session.close(
            RpcError(RESOURCE_EXHAUSTED, "the stream makes room for another controller's")
        )

    def _leave(self, session: Session) -> None:
        self._open.discard(session)
        self._arbitration.leave(session)
        self._note_primaries()

    def _note_primaries(self) -> None:
        self.on_primaries({session.peer for session, _ in self._arbitration.primaries()})

    def leave(self, session: Session) -> None:
        """A stream has ended."""
        session.close()
        with self._lock:
            self._leave(session)

    def _arbitrate(self, session: Session, claim: p4r.MasterArbitrationUpdate) -> None:
        """Takes a claim, and ends the session whose place it takes. Raises RpcError."""
        late = None
        if session.role is None and not session.left:
            late = self._arbitration.make_room(claim)
        self._arbitration.update(session, claim)
        if late is not None:
            self._dismiss(late)

    def hear(self, session: Session, request: p4r.StreamMessageRequest) -> None:
        """Takes a stream's message. Raises RpcError, which ends the stream."""
        which = request.WhichOneof("update")
        if which == "arbitration":
            with self._lock:
                try:
                    self._arbitrate(session, request.arbitration)
                finally:  # sessions that ended leave also where the claim is refused
                    self._note_primaries()
            return
        reply = p4r.StreamMessageResponse()
        try:
            if which == "packet":
                self._packet_out(session, request.packet)
            elif which == "digest_ack":
                self._digest_ack(session, request.digest_ack)
            else:
                raise RpcError(
                    UNIMPLEMENTED, f"the switch does not support stream messages of kind {which}"
                )
        except RpcError as error:
            reply.error.canonical_code, reply.error.message = error.code, error.message
            if which == "packet":
                reply.error.packet_out.packet_out.CopyFrom(request.packet)
            elif which == "digest_ack":
                reply.error.digest_list_ack.digest_list_ack.CopyFrom(request.digest_ack)
            else:
                reply.error.other.other.CopyFrom(request.other)
            session.send(reply)

    def _packet_out(self, session: Session, message: p4r.PacketOut) -> None:
        if not self._cpu_port:
            raise RpcError(
                FAILED_PRECONDITION, "the switch has no CPU port: start it with --cpu-port"
            )
        with self._lock:
            if not self._arbitration.is_primary(session):
                raise RpcError(PERMISSION_DENIED, "only the primary controller may send packets")
            running = self._pipeline.running
        if running is None:
            raise RpcError(FAILED_PRECONDITION, "the switch has no pipeline")
        frame = packetio.pack_out(running.schema.packet_out, message)
        try:
            self._native.packet_out(self._cpu_port, frame)
        except NativeError as error:
            raise RpcError(
                RESOURCE_EXHAUSTED, f"the switch did not take the packet: {error}"
            ) from error

    def _digest_ack(self, session: Session, message: p4r.DigestListAck) -> None:
        with self._lock:
            if not self._arbitration.is_primary(session):
                raise RpcError(
                    PERMISSION_DENIED, "only the primary controller may acknowledge digests"
                )
            running = self._pipeline.running
        if running is not None:
            running.digests.acknowledge(message)

    # ---- events of the data plane ----

    def _run_pump(self) -> None:
        """Sends the data plane's notifications. A live clock wakes it; the manual one moves by
        fences."""
        while not self._ending.is_set():
            try:
                event = self._native.next_event((self._pump_wait_ns() + 999_999) // 1_000_000)
                now_ns = self._native.now_ns
            except NativeError:
                return  # the switch stopped
            if event is not None and event.kind == EVENT_LOG:
                self._log.info("data plane: %s", event.data.decode("utf-8", "replace"))
            elif event is not None and event.kind == EVENT_NOTICE:
                self._log.warning("%s", event.data.decode("utf-8", "replace"))
            fenced = event is not None and event.kind == EVENT_FENCE
            running = self._pipeline.running
            if running is not None:
                if event is not None:
                    for message in running.messages(event):
                        self._offer(message)
                if fenced or not self.clock:
                    for digest in running.digests.due(now_ns):
                        self._offer(p4r.StreamMessageResponse(digest=digest))
                    self._tell_idle(running, now_ns, wait=fenced)
            if fenced and self.clock:
                self.clock.note_fence()

    def _pump_wait_ns(self) -> int:
        running = self._pipeline.running
        if running is None or self.clock:
            return PUMP_WAIT_NS
        now_ns = self._native.now_ns
        digests_ns = max(running.digests.next_ns - now_ns, 0)
        return min(PUMP_WAIT_NS, digests_ns, max(running.tables.timers.next_ns - now_ns, 1_000_000))

    def _tell_idle(self, running: Forwarding, now_ns: int, *, wait: bool) -> None:
        """Packet-ins don't wait for a long batch of writes: while there is one, idle entries are
        reported later."""
        if running.tables.timers.next_ns > now_ns or not self._lock.acquire(blocking=wait):
            return
        try:
            if running is not self._pipeline.running:
                return
            notification = running.tables.idle(now_ns)
        finally:
            self._lock.release()
        if notification is not None:
            self._offer(p4r.StreamMessageResponse(idle_timeout_notification=notification))

    def _offer(self, message: p4r.StreamMessageResponse) -> None:
        for session, scope in self._arbitration.primaries():
            heard = message if scope is None else scope.heard(message)
            if heard is not None:
                session.offer(heard)

    # ---- what several use ----

    def _state(self) -> Forwarding:
        state = self._pipeline.state
        if state is None:
            raise RpcError(FAILED_PRECONDITION, "no forwarding pipeline is set")
        return state

    def _check_writer(
        self, request: p4r.WriteRequest | p4r.SetForwardingPipelineConfigRequest
    ) -> Scope | None:
        self._arbitration.check_device(request.device_id)
        return self._arbitration.check_primary(request.role, request.election_id)

    def _check_configurer(self, request: p4r.SetForwardingPipelineConfigRequest) -> None:
        scope = self._check_writer(request)
        if scope is not None and not scope.pipeline:
            raise RpcError(PERMISSION_DENIED, f"the role {request.role!r} may not set the pipeline")

    def _configure(self, request: p4r.SetForwardingPipelineConfigRequest) -> None:
        action = request.action
        if action == Request.COMMIT:
            if request.HasField("config"):
                raise RpcError(
                    INVALID_ARGUMENT, "COMMIT takes no configuration: it commits the saved one"
                )
            with self._lock:
                self._check_configurer(request)
                self._pipeline.commit_saved()
            return
        steps = {
            Request.VERIFY: None,
            Request.VERIFY_AND_SAVE: self._pipeline.save,
            Request.VERIFY_AND_COMMIT: self._pipeline.commit,
            Request.RECONCILE_AND_COMMIT: self._pipeline.reconcile,
        }
        if action not in steps:
            raise RpcError(INVALID_ARGUMENT, "the request has no action")
        if not request.HasField("config"):
            raise RpcError(INVALID_ARGUMENT, "the request has no configuration")
        # late: no switch waits for it at its start
        from pcn.softswitch.p4runtime.checked_config import (
            verify,
        )

        started = time.monotonic()
        verified = verify(
            request.config, traced=self._pipeline.traced, covered=self._pipeline.covered
        )
        step = steps[cast(Any, action)]
        with self._lock:
            self._check_configurer(request)  # another controller may have become primary meanwhile
            if step is not None:
                step(verified)
        self._log.info(
            "%s took %.0f ms", Request.Action.Name(action), 1000 * (time.monotonic() - started)
        )


class Channel:
    """A session as its server's stream: its client's messages, in order."""

    def __init__(self, service: Service, session: Session) -> None:
        self._service = service
        self._session = session

    def hear(self, request: p4r.StreamMessageRequest) -> None:
        if self._session.closed:
            return
        try:
            self._service.hear(self._session, request)
        except RpcError as error:
            self._session.close(error)

    def half_close(self) -> None:
        self._session.close()

    def gone(self) -> None:
        self._service.leave(self._session)
