"""The forwarding state of one pipeline: every entity that a client can write or read, dispatched by
its kind."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from pcn.base.p4rt import p4r
from pcn.softswitch.native import EVENT_DIGEST, EVENT_PACKET_IN, Event, NativeError, NativeSwitch
from pcn.softswitch.p4runtime import packetio
from pcn.softswitch.p4runtime.arrays import Arrays
from pcn.softswitch.p4runtime.digests import Digests
from pcn.softswitch.p4runtime.direct import DirectResources
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, UNIMPLEMENTED, RpcError, from_native
from pcn.softswitch.p4runtime.insertions import Insertion
from pcn.softswitch.p4runtime.parts import Part, entities
from pcn.softswitch.p4runtime.profiles import Profiles
from pcn.softswitch.p4runtime.replication import Replication
from pcn.softswitch.p4runtime.schema import Schema
from pcn.softswitch.p4runtime.tables import Tables
from pcn.softswitch.p4runtime.value_sets import ValueSets

Undo = Callable[[], None]
INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE

_NAMES = {
    "extern_entry": "externs",
}

log = logging.getLogger(__name__)


class Forwarding:
    """The state of a schema's pipeline in a switch that runs it. Callers serialise their calls.
    `timestamp_ns`: of messages to controllers; the native switch's by default."""

    def __init__(
        self, schema: Schema, native: NativeSwitch, timestamp_ns: Callable[[], int] | None = None
    ) -> None:
        self.schema = schema
        self.profiles = Profiles(schema, native)
        self.tables = Tables(schema, native, self.profiles)
        self.direct = DirectResources(schema, self.tables)
        self.value_sets = ValueSets(schema, native)
        self.arrays = Arrays(schema, native)
        self.replication = Replication(native)
        self.digests = Digests(schema, timestamp_ns or native.timestamp_ns)
        self._modifiers: dict[str, Callable[[Any], Undo]] = {
            "register_entry": self.arrays.write_register,
            "value_set_entry": self.value_sets.modify,
            "counter_entry": self.arrays.write_counter,
            "meter_entry": self.arrays.write_meter,
            "direct_counter_entry": self.direct.modify_counter,
            "direct_meter_entry": self.direct.modify_meter,
        }
        self._readers: dict[str, Callable[[Any], Iterator[Part]]] = {
            "register_entry": self.arrays.read_registers,
            "value_set_entry": self.value_sets.read,
            "counter_entry": self.arrays.read_counters,
            "meter_entry": self.arrays.read_meters,
            "table_entry": self.tables.read,
            "action_profile_member": self.profiles.read_members,
            "action_profile_group": self.profiles.read_groups,
            "direct_counter_entry": self.direct.read_counters,
            "direct_meter_entry": self.direct.read_meters,
            "packet_replication_engine_entry": self.replication.read,
            "digest_entry": self.digests.read,
        }

    def apply(self, update: p4r.Update) -> Undo:
        """Carries out one update and returns what undoes it. Raises RpcError, and then has changed
        nothing."""
        if update.type not in (INSERT, MODIFY, DELETE):
            raise RpcError(INVALID_ARGUMENT, "the update has no type (INSERT, MODIFY or DELETE)")
        try:
            return self._apply(update.type, update.entity)
        except NativeError as error:
            raise from_native(error) from error

    def insert(self, insertions: Sequence[Insertion]) -> dict[int, RpcError]:
        """Inserts table entries that were read before. Returns why some are refused, by number."""
        return self.tables.insert_all(insertions)

    def parts(self, query: p4r.Entity) -> Iterator[Part]:
        """Yields what a query selects, each part as of the moment at which it is taken. Raises
        RpcError, at the latest while it is consumed."""
        try:
            yield from self._read(query)
        except NativeError as error:
            raise from_native(error) from error

    def read(self, query: p4r.Entity) -> Iterator[p4r.Entity]:
        """Yields the entities that a query selects, if no client writes meanwhile. Raises as
        `parts`."""
        return entities(self.parts(query))

    def messages(self, event: Event) -> Iterator[p4r.StreamMessageResponse]:
        """Yields what controllers get because of an event of the data plane."""
        if event.kind == EVENT_PACKET_IN:
            packet = packetio.unpack_in(self.schema.packet_in, event.data)
            if packet is None:
                log.warning(
                    "a frame of %d bytes for the CPU port lacks the packet_in header",
                    len(event.data),
                )
            else:
                yield p4r.StreamMessageResponse(packet=packet)
        elif event.kind == EVENT_DIGEST:
            for digest in self.digests.learned(event.id, event.data, event.now_ns):
                yield p4r.StreamMessageResponse(digest=digest)

    def snapshot(self) -> Iterator[p4r.Update]:
        """Yields the updates that turn a fresh pipeline into this one: entries, defaults, arrays
        and replication."""
        yield from self.profiles.snapshot()
        yield from self.tables.snapshot()
        for entity in (
            *entities(self.replication.read(p4r.PacketReplicationEngineEntry())),
            *entities(self.digests.read(p4r.DigestEntry())),
        ):
            yield p4r.Update(type=INSERT, entity=entity)
        for entity in (
            *entities(self.value_sets.read(p4r.ValueSetEntry())),
            *entities(self.arrays.read_counters(p4r.CounterEntry())),
            *entities(self.arrays.read_registers(p4r.RegisterEntry())),
            *entities(self.arrays.read_meters(p4r.MeterEntry())),
        ):
            yield p4r.Update(type=MODIFY, entity=entity)

    def _apply(self, kind: p4r.Update.Type.ValueType, entity: p4r.Entity) -> Undo:
        which = entity.WhichOneof("entity")
        if which == "table_entry":
            if kind == INSERT:
                return self.tables.insert(entity.table_entry)
            if kind == MODIFY:
                return self.tables.modify(entity.table_entry)
            return self.tables.delete(entity.table_entry)
        if which == "action_profile_member":
            return self.profiles.write_member(kind, entity.action_profile_member)
        if which == "action_profile_group":
            return self.profiles.write_group(kind, entity.action_profile_group)
        if which == "packet_replication_engine_entry":
            return self.replication.write(kind, entity.packet_replication_engine_entry)
        if which == "digest_entry":
            return self.digests.write(kind, entity.digest_entry)
        if which in self._modifiers:
            if kind != MODIFY:
                raise RpcError(INVALID_ARGUMENT, f"a {which} can only be modified")
            return self._modifiers[which](getattr(entity, which))
        raise _refusal(which)

    def _read(self, query: p4r.Entity) -> Iterator[Part]:
        which = query.WhichOneof("entity")
        if which in self._readers:
            return self._readers[which](getattr(query, which))
        # a wildcard: all of what there is none of
        if which in _NAMES and not getattr(query, which).ByteSize():
            return iter(())
        raise _refusal(which)


def _refusal(which: str | None) -> RpcError:
    if which is None:
        return RpcError(INVALID_ARGUMENT, "the entity is empty")
    return RpcError(UNIMPLEMENTED, f"{_NAMES.get(which, which)} are not implemented")
