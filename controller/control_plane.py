"""One switch's control plane by the names of its program, wherever the switch runs.

`ControlPlane` has two kinds: `pcn.controller.switch.SwitchClient` over P4Runtime,
`pcn.controller.in_process.InProcessSwitch`. Plans are written through it, and what a switch holds
is read through it, so that neither depends on the kind. `entities` translates between names and
P4Runtime's messages.

    match, action = TableMatch(dst_addr="10.0.0.1/32"), TableAction(...)
    switch.insert([TableEntry("ipv4_lpm", match=match, action=action)])
    switch.read_register("waiting_bytes", 35)
    switch.packet_out(frame, egress_port=3)
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import TYPE_CHECKING, Any, TypeAlias, TypeVar

from pcn.base.p4rt import p4r
from pcn.controller.entities import (
    CloneSession,
    CounterEntry,
    DigestEntry,
    DigestList,
    IdleTimeouts,
    MeterConfig,
    MeterEntry,
    MulticastGroup,
    PacketIn,
    ProfileGroup,
    ProfileMember,
    RegisterEntry,
    TableAction,
    TableActions,
    TableEntry,
    TableMatch,
    decode_entity,
)
from pcn.controller.errors import SwitchError, UnknownNameError, WriteError
from pcn.controller.p4info import CounterUnit, Schema

if TYPE_CHECKING:
    from pcn.softswitch.embed.switch import Loadable

__all__ = [
    "CloneSession",
    "ControlPlane",
    "Counter",
    "DigestEntry",
    "DigestList",
    "Entry",
    "IdleTimeouts",
    "MeterConfig",
    "MulticastGroup",
    "PacketIn",
    "Prepared",
    "ProfileGroup",
    "ProfileMember",
    "RegisterEntry",
    "TableAction",
    "TableActions",
    "TableEntry",
    "TableMatch",
]

Entry: TypeAlias = (
    TableEntry
    | CloneSession
    | MulticastGroup
    | DigestEntry
    | ProfileMember
    | ProfileGroup
    | RegisterEntry
)
_Cell = TypeVar("_Cell")
_Plane = TypeVar("_Plane", bound="ControlPlane")


class Prepared(tuple[tuple[Entry, Any], ...]):
    """Entries, each with its update in the form that `ControlPlane.prepare`'s switch takes."""


@dataclass(frozen=True)
class Counter:
    """A cell. `bytes` is None where the program counts packets alone, whatever the target counts
    beside them."""

    packets: int
    bytes: int | None


class ControlPlane(ABC):
    """What a switch is programmed and read by. A name is the program's, or its last part where no
    other ends so.

    Every call raises SwitchError, which names the switch and what it refused (WriteError with the
    entries), or UnknownNameError. A context manager, which closes it.
    """

    def __init__(self, name: str) -> None:
        self.name = name

    def __enter__(self: _Plane) -> _Plane:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @property
    @abstractmethod
    def schema(self) -> Schema:
        """Names of the switch's program."""

    @abstractmethod
    def set_pipeline(self, program: Loadable) -> None:
        """Loads a program; tables are empty then."""

    @abstractmethod
    def close(self) -> None:
        """Ends the connection, or frees the switch."""

    @abstractmethod
    def _write(self, updates: Sequence[p4r.Update], operation: str) -> Mapping[int, str]:
        """Carries out updates. Returns why the switch refused some, by number; these don't keep it
        from the others. `operation`: for other errors."""

    @abstractmethod
    def _read(self, queries: Sequence[p4r.Entity]) -> Iterable[p4r.Entity]:
        """Returns the entities that the queries select."""

    @abstractmethod
    def _send(self, message: p4r.StreamMessageRequest) -> None:
        """Sends a message; the switch may refuse it at once, or at a later `_take`."""

    @abstractmethod
    def _take(self, kind: str, wait_s: float) -> list[p4r.StreamMessageResponse]:
        """Returns the messages of a kind ("packet", "digest", "idle_timeout_notification") that
        have come since the last call, each once."""

    # ---- entries ----

    def insert(self, entries: Iterable[Entry]) -> None:
        """Adds entries."""
        self._update(p4r.Update.INSERT, entries)

    def prepare(self, entries: Iterable[Entry]) -> Prepared:
        """Returns entries ready to be added, to any switch of this kind that runs the program."""
        return Prepared((entry, self._encoded(p4r.Update.INSERT, entry)) for entry in entries)

    def insert_prepared(self, entries: Sequence[Prepared]) -> None:
        """Adds entries, in order."""
        pairs = list(chain.from_iterable(entries))
        self._carry_out(
            p4r.Update.INSERT, [entry for entry, _ in pairs], [update for _, update in pairs]
        )

    def modify(self, entries: Iterable[Entry]) -> None:
        """Changes entries that are there."""
        self._update(p4r.Update.MODIFY, entries)

    def delete(self, entries: Iterable[Entry]) -> None:
        """Removes entries that are there."""
        self._update(p4r.Update.DELETE, entries)

    def write(self, updates: Sequence[p4r.Update]) -> None:
        """Carries out updates in P4Runtime's own form: of any entity, by the ids of the program."""
        operation = f"write of {len(updates)} updates"
        self._refuse(operation, updates, self._write(updates, operation))

    def read(self, queries: Sequence[p4r.Entity]) -> Iterable[p4r.Entity]:
        """Returns the entities that the queries select, in the same form."""
        return self._read(queries)

    def tables(self) -> list[str]:
        """Returns their names."""
        return sorted(table.alias for table in self.schema.tables)

    def read_table(self, name: str) -> list[TableEntry]:
        """Returns a table's entries, its default entry last."""
        _find("table", self.schema.tables, name, self.tables)
        queries = (TableEntry(name), TableEntry(name, is_default_action=True))
        return [
            self._decode(entity)
            for query in queries
            for entity in self._read([query.encode(self.schema)])
        ]

    # ---- counters, registers, meters ----

    def counters(self) -> list[str]:
        """Returns their names."""
        return sorted(counter.alias for counter in self.schema.counters)

    def read_counter(self, name: str, index: int) -> Counter:
        """Returns one cell."""
        return self._cell(self.read_counters(name, [index]), name, index)

    def read_counters(self, name: str, indices: Sequence[int] | None = None) -> dict[int, Counter]:
        """Returns cells by index: these, or all. One call."""
        self.counter_name(name)
        cells = (
            [CounterEntry(name, index=index) for index in indices]
            if indices is not None
            else [CounterEntry(name)]
        )
        return self._counts(name, self._read([cell.encode(self.schema) for cell in cells]))

    def read_cells(
        self,
        counters: Sequence[str],
        registers: Sequence[str],
        indices: Sequence[int] | None = None,
    ) -> tuple[dict[str, dict[int, Counter]], dict[str, dict[int, int]]]:
        """Returns the same cells of several counters and registers, or all, by name and index. One
        call."""
        counter_ids = {
            name: _find("counter", self.schema.counters, name, self.counters).id
            for name in counters
        }
        register_ids = {
            name: _find("register", self.schema.registers, name, self.registers).id
            for name in registers
        }
        wanted: Sequence[int | None] = [None] if indices is None else indices
        queries = [
            CounterEntry(name, index=index).encode(self.schema)
            for name in counters
            for index in wanted
        ]
        queries += [
            RegisterEntry(name, index=index).encode(self.schema)
            for name in registers
            for index in wanted
        ]
        by_id: dict[int, list[p4r.Entity]] = defaultdict(list)  # by the id of what has the cell
        for entity in self._read(queries) if queries else ():
            by_id[entity.counter_entry.counter_id or entity.register_entry.register_id].append(
                entity
            )
        return (
            {name: self._counts(name, by_id[number]) for name, number in counter_ids.items()},
            {name: _values(by_id[number]) for name, number in register_ids.items()},
        )

    def _counts(self, name: str, cells: Iterable[p4r.Entity]) -> dict[int, Counter]:
        of_packets = self.counter_unit(name) is CounterUnit.PACKETS
        return {
            cell.index.index: Counter(
                cell.data.packet_count, None if of_packets else cell.data.byte_count
            )
            for cell in (entity.counter_entry for entity in cells)
        }

    def counter_name(self, name: str) -> str:
        """Returns a counter's whole name."""
        whole: str = _find("counter", self.schema.counters, name, self.counters).name
        return whole

    def counter_unit(self, name: str) -> CounterUnit:
        """Returns what a counter counts."""
        unit: CounterUnit = _find("counter", self.schema.counters, name, self.counters).unit
        return unit

    def registers(self) -> list[str]:
        """Returns their names."""
        return sorted(register.alias for register in self.schema.registers)

    def read_register(self, name: str, index: int) -> int:
        """Returns one cell."""
        return self._cell(self.read_registers(name, [index]), name, index)

    def read_registers(self, name: str, indices: Sequence[int] | None = None) -> dict[int, int]:
        """Returns cells by index: these, or all. One call."""
        self.register_name(name)
        cells = (
            [RegisterEntry(name, index=i) for i in indices]
            if indices is not None
            else [RegisterEntry(name)]
        )
        return _values(self._read([cell.encode(self.schema) for cell in cells]))

    def register_name(self, name: str) -> str:
        """Returns a register's whole name."""
        whole: str = _find("register", self.schema.registers, name, self.registers).name
        return whole

    def meters(self) -> list[str]:
        """Returns their names."""
        return sorted(meter.alias for meter in self.schema.meters)

    def read_meters(self, name: str) -> dict[int, MeterConfig | None]:
        """Returns the configuration of all cells by index; None: every packet is green."""
        _find("meter", self.schema.meters, name, self.meters)
        entries = [
            self._decode(entity) for entity in self._read([MeterEntry(name).encode(self.schema)])
        ]
        return {entry.index: entry.config for entry in entries}

    def write_meter(self, name: str, index: int, config: MeterConfig | None) -> None:
        """Configures one cell; None: every packet is green."""
        _find("meter", self.schema.meters, name, self.meters)
        self._update(p4r.Update.MODIFY, [MeterEntry(name, index=index, config=config)])

    # ---- packets and digests ----

    def packet_out(self, payload: bytes, **metadata: int) -> None:
        """Sends a packet into the program, with the fields of its packet_out header. Only the
        primary controller may. Over P4Runtime a refusal comes late: packets_in or digests raises
        it, where there is nothing to return."""
        header = self.schema.controller_packet_metadata.get("packet_out")
        fields = header.metadata if header else ()
        padding = {field.name: 0 for field in fields if "@padding" in field.annotations}
        try:
            if header is None and metadata:
                raise ValueError(f"the program has no header for {', '.join(metadata)}")
            encoded = header.encode(padding | metadata) if header else []
        except ValueError as error:
            raise SwitchError(f"{self.name}: packet-out: {error}") from None
        self._send(
            p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=payload, metadata=encoded))
        )

    def packets_in(self, wait_s: float = 0.0) -> list[PacketIn]:
        """Returns the packets that came from the program since the last call; where there is none,
        waits for the first at most `wait_s` (in process nothing comes meanwhile). Only the primary
        controller gets any."""
        return [PacketIn.decode(message, self.schema) for message in self._take("packet", wait_s)]

    def digests(self, wait_s: float = 0.0) -> list[DigestList]:
        """Returns the digest lists that came since the last call, as `packets_in` does packets. A
        digest is sent once a DigestEntry is inserted for it."""
        return [DigestList.decode(message, self.schema) for message in self._take("digest", wait_s)]

    def idle_timeouts(self, wait_s: float = 0.0) -> list[IdleTimeouts]:
        """Returns the notifications of entries that no packet has hit for as long as their
        `idle_timeout_ns`, since the last call, as `packets_in` does packets."""
        taken = self._take("idle_timeout_notification", wait_s)
        return [IdleTimeouts.decode(message, self.schema) for message in taken]

    def acknowledge(self, digests: Iterable[DigestList]) -> None:
        """Acknowledges digest lists: what they hold is sent again when it is learned again."""
        for digest in digests:
            self._send(digest.acknowledgement(self.schema))

    def _cell(self, cells: Mapping[int, _Cell], name: str, index: int) -> _Cell:
        if index not in cells:
            raise SwitchError(f"{self.name}: no cell {name}[{index}]")
        return cells[index]

    # ---- entities and protobuf ----

    def _update(
        self, kind: p4r.Update.Type.ValueType, entries: Iterable[Entry | MeterEntry]
    ) -> None:
        written = list(entries)
        self._carry_out(kind, written, [self._encoded(kind, entry) for entry in written])

    def _carry_out(
        self,
        kind: p4r.Update.Type.ValueType,
        written: Sequence[Entry | MeterEntry],
        updates: Sequence[Any],
    ) -> None:
        operation = f"{p4r.Update.Type.Name(kind).lower()} of {len(updates)} entries"
        self._refuse(operation, written, self._write(updates, operation))

    def _encoded(self, kind: p4r.Update.Type.ValueType, entry: Entry | MeterEntry) -> Any:
        """Returns an update as `_write` takes it. Raises SwitchError."""
        if isinstance(entry, TableEntry):
            _find("table", self.schema.tables, entry.table_id, self.tables)
        if isinstance(entry, DigestEntry):
            _find("digest", self.schema.digests, entry.digest_id, self._digest_names)
        try:
            return p4r.Update(type=kind, entity=entry.encode(self.schema))
        except ValueError as error:  # a name or a value that the program doesn't have
            raise SwitchError(f"{self.name}: {_text(entry)}: {error}") from None

    def _refuse(self, operation: str, written: Sequence[Any], reasons: Mapping[int, str]) -> None:
        """Raises WriteError where the switch refused some of what was written."""
        if reasons:
            refused = [(written[number], reason) for number, reason in sorted(reasons.items())]
            texts = [f"{_text(entry)}: {reason}" for entry, reason in refused]
            raise WriteError("; ".join((f"{self.name}: {operation} failed", *texts)), refused)

    def _digest_names(self) -> list[str]:
        return sorted(digest.alias for digest in self.schema.digests)

    def _decode(self, entity: p4r.Entity) -> Any:
        return decode_entity(entity, self.schema)


def _values(cells: Iterable[p4r.Entity]) -> dict[int, int]:
    """Returns the cells of a register, by index."""
    return {
        cell.index.index: int.from_bytes(cell.data.bitstring, "big")
        for cell in (entity.register_entry for entity in cells)
    }


def _text(entry: Entry | MeterEntry | p4r.Update) -> str:
    if isinstance(entry, p4r.Update):
        kind = entry.entity.WhichOneof("entity")
        return "an update without an entity" if kind is None else kind.replace("_", " ")
    if isinstance(entry, CloneSession):
        return f"clone session {entry.session_id}"
    if isinstance(entry, MulticastGroup):
        return f"multicast group {entry.multicast_group_id}"
    if isinstance(entry, ProfileMember):
        return f"member {entry.member_id} of {entry.action_profile_id}"
    if isinstance(entry, ProfileGroup):
        return f"group {entry.group_id} of {entry.action_profile_id}"
    if isinstance(entry, RegisterEntry):
        return f"register {entry.register_id}[{'' if entry.index is None else entry.index}]"
    if isinstance(entry, DigestEntry):
        return f"digest {entry.digest_id}"
    if isinstance(entry, MeterEntry):
        return f"meter {entry.meter_id}[{entry.index}]"
    keys = [f"{name}={value}" for name, value in (entry.match or {}).items()]
    return " ".join((entry.table_id, *(keys or ["default"])))


def _find(kind: str, entities: Any, name: str, known: Callable[[], list[str]]) -> Any:
    entity = entities.get(name)
    if entity is None:
        raise UnknownNameError(kind, name, known())
    return entity
