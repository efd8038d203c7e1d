"""A switch in this process, written, read and sent to by P4Runtime's messages, without a server,
ports and thread.

Its owner moves packets and time: by the manual clock of its `NativeSwitch`, or by an engine of
virtual time.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

from pcn.base.p4rt import p4r
from pcn.softswitch.embed.entries import EntryReader, PlainEntry
from pcn.softswitch.native import NativeError, NativeSwitch
from pcn.softswitch.p4runtime import packetio
from pcn.softswitch.p4runtime.checked_config import verify
from pcn.softswitch.p4runtime.entities import Forwarding
from pcn.softswitch.p4runtime.errors import FAILED_PRECONDITION, RpcError, from_native
from pcn.softswitch.p4runtime.idle import NEVER
from pcn.softswitch.p4runtime.insertions import Insertion
from pcn.softswitch.p4runtime.schema import Array, Register, Schema

if TYPE_CHECKING:
    from pcn.softswitch.coverage.counts import Counts
    from pcn.softswitch.trace.tracer import Tracer

__all__ = [
    "FAILED_PRECONDITION",
    "Array",
    "EmbeddedSwitch",
    "Insertion",
    "Loadable",
    "LoadedProgram",
    "NativeError",
    "NativeSwitch",
    "Register",
    "RpcError",
    "load",
]


class Names(Protocol):
    """A program's names, as a controller has them."""

    @property
    def tables(self) -> Any:
        """By name: what `entries` reads of a table."""

    def get_pipeline_config(self) -> p4r.ForwardingPipelineConfig:
        """Returns what a switch is given to run the program."""


class Loadable(Protocol):
    """A program for some target: its names, and as the configuration's p4_device_config what the
    target loads, here p4c's JSON."""

    def __hash__(self) -> int: ...

    @property
    def name(self) -> str: ...

    @property
    def schema(self) -> Names: ...


@dataclass(frozen=True)
class LoadedProgram:
    """A program, compiled: what every switch that runs it shares."""

    names: Names
    schema: Schema
    json_text: str
    shared_object: Path

    @cached_property
    def entries(self) -> EntryReader:
        """Reads table entries for the program's switches."""
        return EntryReader(self.names, self.schema)


@lru_cache(maxsize=16)
def load(
    program: Loadable, *, inplace: bool = False, traced: bool = False, covered: bool = False
) -> LoadedProgram:
    """Compiles the program if the cache doesn't have it; `inplace`: with that form, too; `traced`:
    it reports its steps; `covered`: it counts what packets run through. Raises RpcError."""
    config = program.schema.get_pipeline_config()
    verified = verify(config, inplace=inplace, traced=traced, covered=covered)
    return LoadedProgram(
        program.schema, verified.schema, verified.json_text, verified.shared_object
    )


class EmbeddedSwitch:
    """`native` and the entities of the program that it runs. Callers serialise their calls.
    `cpu_port` is the native switch's; 0: it has none. `tracer`: of traced programs; `counts`: of
    covered ones. Raises RpcError; NativeError once it is closed."""

    def __init__(
        self,
        native: NativeSwitch,
        cpu_port: int = 0,
        tracer: Tracer | None = None,
        counts: Counts | None = None,
    ) -> None:
        self.native = native
        self.tracer = tracer
        self._counts = counts
        self._cpu_port = cpu_port
        self._program: LoadedProgram | None = None
        self._state: Forwarding | None = None
        self._message_ns = 0  # the time of the message that is made

    def close(self) -> None:
        """Frees the switch."""
        self.native.close()

    def load(self, program: LoadedProgram) -> None:
        """Runs a program, with empty tables."""
        if self.tracer is not None:
            self.tracer.loading(program.json_text)
        counts = self._counts.of(program.json_text) if self._counts is not None else None
        try:
            self.native.load(program.shared_object, counts)
        except NativeError as error:
            if self.tracer is not None:
                self.tracer.not_loaded()
            raise from_native(error) from error
        if self._state is not None:
            self._state.replication.clear()
        self._program = program
        self._state = Forwarding(program.schema, self.native, lambda: self._message_ns)
        self._registers = {
            register.name: register for register in program.schema.registers.values()
        }
        self._counters = {counter.name: counter for counter in program.schema.counters.values()}

    @property
    def names(self) -> Names | None:
        """Names of the program; None: there is none."""
        return self._program.names if self._program else None

    @property
    def program(self) -> LoadedProgram | None:
        """What it runs; None: nothing."""
        return self._program

    @property
    def forwarding(self) -> Forwarding:
        """The entities of its program. Raises RpcError."""
        return self._running()

    def catch_up(self) -> None:
        """What its owner's calls do next, they do at the switch's time."""
        self._be_at(self.now_ns)

    def apply(self, update: p4r.Update) -> None:
        """Carries out one update."""
        self._be_at(self.now_ns)
        self._running().apply(update)

    def readable(self, entry: PlainEntry) -> Insertion | None:
        """Returns an entry as `insert` takes it at any switch of the program; None: only `apply`
        takes it."""
        return self._program.entries.read(entry) if self._program else None

    def insert(self, insertions: Sequence[Insertion]) -> dict[int, RpcError]:
        """Inserts entries that are `readable`. Returns why some are refused, by number; these keep
        none of the others out."""
        self._be_at(self.now_ns)
        return self._running().insert(insertions)

    def read(self, query: p4r.Entity) -> Iterator[p4r.Entity]:
        """Returns the entities that a query selects."""
        self._be_at(self.now_ns)
        return self._running().read(query)

    def register(self, name: str) -> Register:
        """Returns the layout of the register with this whole name."""
        return self._registers[name]

    def counter(self, name: str) -> Array:
        """Returns the layout of the counter with this whole name."""
        return self._counters[name]

    # ---- packets and digests ----

    @property
    def now_ns(self) -> int:
        """The switch's time."""
        return self.native.now_ns

    def packet_out(self, message: p4r.PacketOut) -> None:
        """Takes in a packet at the CPU port, now."""
        fields = self._running().schema.packet_out
        if not self._cpu_port:
            raise RpcError(FAILED_PRECONDITION, "the switch has no CPU port")
        self._take_in(packetio.pack_out(fields, message))

    def acknowledge(self, message: p4r.DigestListAck) -> None:
        """Takes note that a digest list has arrived."""
        self._running().digests.acknowledge(message)

    def messages(self) -> Iterator[p4r.StreamMessageResponse]:
        """Returns the packet-ins, digest lists and idle timeouts since the last call, up to the
        switch's time, each once, in order."""
        running = self._running()
        while (event := self.native.next_event(0)) is not None:
            yield from self._due(event.now_ns)
            self._message_ns = event.now_ns
            yield from running.messages(event)
        yield from self._due(self.now_ns)

    @property
    def next_ns(self) -> int | None:
        """The earliest time at which `messages` may have one that no packet causes: a digest list
        whose time is over, or entries that are idle. None: there is none to come."""
        running = self._running()
        due = min(running.digests.next_ns, running.tables.timers.next_ns)
        return None if due == NEVER else due

    def _take_in(self, frame: bytes) -> None:
        self.native.packet_out(self._cpu_port, frame)

    def _be_at(self, now_ns: int) -> None:
        """What the native switch does next, it does at this time; one with its own clock needs no
        word of it."""

    def _due(self, until_ns: int) -> Iterator[p4r.StreamMessageResponse]:
        running = self._running()
        while (due_ns := self.next_ns) is not None and due_ns <= until_ns:
            self._message_ns = due_ns
            for digest in running.digests.due(due_ns):
                yield p4r.StreamMessageResponse(digest=digest)
            self._be_at(due_ns)
            if (
                running.tables.timers.next_ns <= due_ns
                and (idle := running.tables.idle(due_ns)) is not None
            ):
                yield p4r.StreamMessageResponse(idle_timeout_notification=idle)

    def _running(self) -> Forwarding:
        if self._state is None:
            raise RpcError(FAILED_PRECONDITION, "no forwarding pipeline is set")
        return self._state
