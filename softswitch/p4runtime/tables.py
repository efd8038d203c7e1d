"""Table entries and their direct counters: the P4Runtime view of each table, with C's handles beside it.

Source: P4Runtime specification, "TableEntry". Writes return what undoes them, for batches that roll back.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from finsy.proto import p4r

from softswitch.native import PROGRAM_DEFAULT, Counter, NativeError, NativeSwitch
from softswitch.p4runtime import actions, matches
from softswitch.p4runtime.actions import Call
from softswitch.p4runtime.errors import (
    ALREADY_EXISTS,
    INVALID_ARGUMENT,
    NOT_FOUND,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    RpcError,
    from_native,
)
from softswitch.p4runtime.matches import Key
from softswitch.p4runtime.schema import Schema, Table

Undo = Callable[[], None]
DEFAULT_HANDLE = -1  # of the default entry, for direct counters


@dataclass(slots=True)
class Entry:
    """One entry as the client wrote it. `key` is None for a default entry; `call` too, where a miss does nothing."""

    handle: int
    key: Key | None
    call: Call | None
    const: bool = False
    controller_metadata: int = 0
    metadata: bytes = b""


@dataclass(slots=True)
class TableState:
    """A table and what is in it."""

    table: Table
    default: Entry
    entries: dict[Key, Entry] = field(default_factory=dict)


class Tables:
    """All tables of one pipeline."""

    def __init__(self, schema: Schema, native: NativeSwitch) -> None:
        self._schema = schema
        self._native = native
        self._states = {table.id: self._initial(table) for table in schema.tables.values()}

    # ---- TableEntry ----

    def insert(self, message: p4r.TableEntry) -> Undo:
        """INSERT of a TableEntry."""
        state = self._state(message)
        table = state.table
        if message.is_default_action:
            raise RpcError(INVALID_ARGUMENT, f"table {table.name}: the default entry is always there; use MODIFY")
        if table.const:
            raise RpcError(PERMISSION_DENIED, f"table {table.name} has const entries")
        if not table.fields:
            raise RpcError(INVALID_ARGUMENT, f"table {table.name} has no key, so only a default entry")
        _check_write(table, message)
        key = matches.pack(table, message.match, message.priority)
        if key in state.entries:
            raise RpcError(ALREADY_EXISTS, f"table {table.name} has an entry with this key")
        if not message.HasField("action"):
            raise RpcError(INVALID_ARGUMENT, f"table {table.name}: the entry has no action")
        call = self._call(table, message.action, default=False)
        entry = Entry(-1, key, call, False, message.controller_metadata, message.metadata)
        counter = _counter(message)
        self._add(state, entry, counter)
        return functools.partial(self._remove, state, entry)

    def modify(self, message: p4r.TableEntry) -> Undo:
        """MODIFY of a TableEntry or a default entry."""
        state = self._state(message)
        table = state.table
        _check_write(table, message)
        if message.is_default_action:
            return self._modify_default(state, message)
        entry = self._entry(state, message)
        if (table.const or entry.const) and message.HasField("action"):
            raise RpcError(PERMISSION_DENIED, f"table {table.name}: the action of a const entry cannot change")
        undo = self._restorer(state, entry)
        if message.HasField("action"):
            self._set_call(state, entry, self._call(table, message.action, default=False))
        if not entry.const:
            entry.controller_metadata, entry.metadata = message.controller_metadata, message.metadata
        if message.HasField("counter_data"):
            self._write_counter(table, entry, _counter(message))
        return undo

    def delete(self, message: p4r.TableEntry) -> Undo:
        """DELETE of a TableEntry."""
        state = self._state(message)
        table = state.table
        if message.is_default_action:
            raise RpcError(INVALID_ARGUMENT, f"table {table.name}: the default entry is always there; use MODIFY")
        if message.is_const:
            raise RpcError(INVALID_ARGUMENT, f"table {table.name}: is_const must be false in a write")
        entry = self._entry(state, message)
        if table.const or entry.const:
            raise RpcError(PERMISSION_DENIED, f"table {table.name}: the entry is const")
        counter = self._read_counter(table, entry)
        self._remove(state, entry)
        return functools.partial(self._add, state, entry, counter)

    def read(self, query: p4r.TableEntry) -> Iterator[p4r.Entity]:
        """The entries that a TableEntry query selects, as the specification's "Wildcard Reads" says."""
        if not query.table_id:
            if query.match or query.HasField("action") or query.priority or query.controller_metadata or query.metadata:
                raise RpcError(INVALID_ARGUMENT, "a read of all tables takes no other filter")
            states = list(self._states.values())
        else:
            states = [self._state(query)]
        for state in states:
            for entry in self._select(state, query):
                yield self._entity(state.table, entry, query.HasField("counter_data"))

    # ---- DirectCounterEntry ----

    def modify_counter(self, message: p4r.DirectCounterEntry) -> Undo:
        """MODIFY of a DirectCounterEntry."""
        state = self._counted(message)
        entry = state.default if message.table_entry.is_default_action else self._entry(state, message.table_entry)
        old = self._read_counter(state.table, entry)
        if message.HasField("data"):
            self._write_counter(state.table, entry, Counter(message.data.packet_count, message.data.byte_count))
        return functools.partial(self._write_counter, state.table, entry, old)

    def read_counters(self, query: p4r.DirectCounterEntry) -> Iterator[p4r.Entity]:
        """The direct counters that a query selects: of all tables, of one, or of one entry."""
        if query.table_entry.table_id:
            states = [self._counted(query)]
        else:
            states = [state for state in self._states.values() if state.table.direct_counter]
        for state in states:
            for entry in self._select(state, query.table_entry):
                entity = p4r.Entity()
                answer = entity.direct_counter_entry
                _fill_key(answer.table_entry, state.table, entry)
                _fill_counter(answer.data, self._read_counter(state.table, entry))
                yield entity

    def _counted(self, message: p4r.DirectCounterEntry) -> TableState:
        if not message.HasField("table_entry"):
            raise RpcError(INVALID_ARGUMENT, "a direct counter entry needs its table entry")
        state = self._state(message.table_entry)
        if not state.table.direct_counter:
            raise RpcError(INVALID_ARGUMENT, f"table {state.table.name} has no direct counter")
        return state

    def snapshot(self) -> Iterator[p4r.Update]:
        """The updates that turn fresh tables into these. Initial entries, which a fresh table has, are modified."""
        for state in self._states.values():
            table = state.table
            initial = {Key(i.key, i.mask, i.prefix, i.priority) for i in table.initial}
            if not table.const:
                for key in initial - state.entries.keys():
                    gone = p4r.Update(type=p4r.Update.DELETE)
                    _fill_key(gone.entity.table_entry, table, Entry(-1, key, None))
                    yield gone
                for entry in state.entries.values():
                    kind = p4r.Update.MODIFY if entry.key in initial else p4r.Update.INSERT
                    yield p4r.Update(type=kind, entity=self._entity(table, entry, counter=True))
            if not table.const_default and state.default.call != _program_default(table):
                yield p4r.Update(type=p4r.Update.MODIFY, entity=self._entity(table, state.default, counter=True))

    # ---- what both use ----

    def _initial(self, table: Table) -> TableState:
        default = Entry(DEFAULT_HANDLE, None, _program_default(table), table.const_default)
        state = TableState(table, default)
        for handle, initial in enumerate(table.initial):
            key = Key(initial.key, initial.mask, initial.prefix, initial.priority)
            call = Call(table.by_index[initial.action], initial.args)
            state.entries[key] = Entry(handle, key, call, initial.const)
        return state

    def _state(self, message: p4r.TableEntry) -> TableState:
        return self._states[self._schema.table(message.table_id).id]

    def _entry(self, state: TableState, message: p4r.TableEntry) -> Entry:
        entry = state.entries.get(matches.pack(state.table, message.match, message.priority))
        if entry is None:
            raise RpcError(NOT_FOUND, f"table {state.table.name} has no entry with this key")
        return entry

    def _call(self, table: Table, message: p4r.TableAction, default: bool) -> Call:
        if table.profile:
            raise RpcError(UNIMPLEMENTED, f"table {table.name}: action profiles are not implemented")
        if message.WhichOneof("type") != "action":
            raise RpcError(INVALID_ARGUMENT, f"table {table.name} is direct: its entries need an action")
        call = actions.pack(f"table {table.name}", table.actions, message.action)
        if not (call.action.in_default if default else call.action.in_table):
            scope = "TABLE_ONLY" if default else "DEFAULT_ONLY"
            raise RpcError(PERMISSION_DENIED, f"table {table.name}: action {call.action.name} is {scope}")
        return call

    def _modify_default(self, state: TableState, message: p4r.TableEntry) -> Undo:
        table, entry = state.table, state.default
        if message.match or message.priority:
            raise RpcError(INVALID_ARGUMENT, f"table {table.name}: a default entry has no match and no priority")
        reset = not message.HasField("action")
        if table.const_default and not (reset and message.HasField("counter_data")):
            raise RpcError(PERMISSION_DENIED, f"table {table.name}: the default action is const")
        undo = self._restorer(state, entry)
        self._set_call(state, entry, None if reset else self._call(table, message.action, default=True))
        entry.controller_metadata = 0 if reset else message.controller_metadata
        entry.metadata = b"" if reset else message.metadata
        if message.HasField("counter_data"):
            self._write_counter(table, entry, _counter(message))
        elif reset:
            self._write_counter(table, entry, Counter(0, 0))
        return undo

    def _select(self, state: TableState, query: p4r.TableEntry) -> Iterator[Entry]:
        if query.is_default_action:
            if query.match or query.priority:
                raise RpcError(INVALID_ARGUMENT, f"table {state.table.name}: a default entry has no match or priority")
            entries = iter([state.default])
        elif query.match:
            entries = iter([self._entry(state, query)])
        else:
            entries = iter(list(state.entries.values()))
        action = query.action.action.action_id
        for entry in entries:
            if (
                (not query.priority or (entry.key is not None and entry.key.priority == query.priority))
                and (not action or (entry.call is not None and entry.call.action.id == action))
                and (not query.controller_metadata or entry.controller_metadata == query.controller_metadata)
                and (not query.metadata or entry.metadata == query.metadata)
            ):
                yield entry

    def _entity(self, table: Table, entry: Entry, counter: bool) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.table_entry
        _fill_key(message, table, entry)
        if entry.call is not None:
            message.action.action.CopyFrom(actions.unpack(*entry.call))
        message.controller_metadata, message.metadata = entry.controller_metadata, entry.metadata
        message.is_const = entry.const
        if counter and table.direct_counter:
            _fill_counter(message.counter_data, self._read_counter(table, entry))
        return entity

    def _add(self, state: TableState, entry: Entry, counter: Counter) -> None:
        assert entry.key is not None
        assert entry.call is not None
        key, call = entry.key, entry.call
        try:
            entry.handle = self._native.table_add(
                state.table.index, key.key, key.mask, key.prefix, key.priority, call.action.index, call.args
            )
        except NativeError as error:
            refusal = from_native(error)
            if refusal.code == RESOURCE_EXHAUSTED:
                refusal = RpcError(RESOURCE_EXHAUSTED, f"table {state.table.name} is full ({state.table.size} entries)")
            raise refusal from error
        state.entries[key] = entry
        if counter.packets or counter.bytes:
            self._write_counter(state.table, entry, counter)

    def _remove(self, state: TableState, entry: Entry) -> None:
        assert entry.key is not None
        self._native.table_delete(state.table.index, entry.handle)
        del state.entries[entry.key]

    def _set_call(self, state: TableState, entry: Entry, call: Call | None) -> None:
        """Gives an entry an action; a default entry without one gets the program's."""
        index = state.table.index
        if entry.key is not None:
            assert call is not None
            self._native.table_modify(index, entry.handle, call.action.index, call.args)
        elif call is None:
            self._native.table_set_default(index, PROGRAM_DEFAULT)
            call = _program_default(state.table)
        else:
            self._native.table_set_default(index, call.action.index, call.args)
        entry.call = call

    def _restorer(self, state: TableState, entry: Entry) -> Undo:
        """What brings an entry back to how it is now."""
        call, counter = entry.call, self._read_counter(state.table, entry)
        controller_metadata, metadata = entry.controller_metadata, entry.metadata

        def restore() -> None:
            if not entry.const:
                self._set_call(state, entry, call)
            entry.controller_metadata, entry.metadata = controller_metadata, metadata
            self._write_counter(state.table, entry, counter)

        return restore

    def _read_counter(self, table: Table, entry: Entry) -> Counter:
        return self._native.table_counter(table.index, entry.handle) if table.direct_counter else Counter(0, 0)

    def _write_counter(self, table: Table, entry: Entry, value: Counter) -> None:
        if table.direct_counter:
            self._native.set_table_counter(table.index, entry.handle, value)


def _program_default(table: Table) -> Call | None:
    action = None if table.default_action is None else table.by_index.get(table.default_action)
    return None if action is None else Call(action, table.default_args)


def _check_write(table: Table, message: p4r.TableEntry) -> None:
    """What an INSERT or MODIFY may not hold, whatever the entry."""
    where = f"table {table.name}"
    if message.is_const:
        raise RpcError(INVALID_ARGUMENT, f"{where}: is_const must be false in a write")
    if message.HasField("time_since_last_hit"):
        raise RpcError(INVALID_ARGUMENT, f"{where}: time_since_last_hit must be unset in a write")
    if message.idle_timeout_ns:
        if not table.idle_timeout or message.is_default_action:
            raise RpcError(INVALID_ARGUMENT, f"{where} has no idle timeout for this entry")
        raise RpcError(UNIMPLEMENTED, f"{where}: idle timeouts are not implemented")
    if message.HasField("counter_data") and not table.direct_counter:
        raise RpcError(INVALID_ARGUMENT, f"{where} has no direct counter")
    if message.HasField("meter_config") or message.HasField("meter_counter_data"):
        if not table.direct_meter:
            raise RpcError(INVALID_ARGUMENT, f"{where} has no direct meter")
        raise RpcError(UNIMPLEMENTED, f"{where}: direct meters are not implemented")


def _counter(message: p4r.TableEntry) -> Counter:
    return Counter(message.counter_data.packet_count, message.counter_data.byte_count)


def _fill_key(message: p4r.TableEntry, table: Table, entry: Entry) -> None:
    message.table_id = table.id
    if entry.key is None:
        message.is_default_action = True
    else:
        message.match.extend(matches.unpack(table, entry.key))
        message.priority = entry.key.priority


def _fill_counter(message: p4r.CounterData, value: Counter) -> None:
    message.SetInParent()
    message.packet_count, message.byte_count = value.packets, value.bytes
