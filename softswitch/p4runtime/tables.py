"""Table entries: the P4Runtime view of each table, with C's handles beside it.

Source: P4Runtime specification, "TableEntry". Writes return what undoes them, for batches that roll
back.
"""

from __future__ import annotations

import errno
import functools
import os
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace

from pcn.base.p4rt import p4r
from pcn.softswitch.native import NativeError, NativeSwitch
from pcn.softswitch.native_state import PROGRAM_DEFAULT, Counter, MeterConfig
from pcn.softswitch.p4runtime import actions, matches
from pcn.softswitch.p4runtime.actions import Call
from pcn.softswitch.p4runtime.entry_fields import check_write, counter_of, meter_of
from pcn.softswitch.p4runtime.errors import (
    ALREADY_EXISTS,
    INVALID_ARGUMENT,
    NOT_FOUND,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    RpcError,
    from_native,
)
from pcn.softswitch.p4runtime.idle import IdleTimers
from pcn.softswitch.p4runtime.insertions import Insertion
from pcn.softswitch.p4runtime.matches import Key
from pcn.softswitch.p4runtime.parts import Part
from pcn.softswitch.p4runtime.profiles import Profiles
from pcn.softswitch.p4runtime.references import Reference
from pcn.softswitch.p4runtime.schema import Schema, Table
from pcn.softswitch.p4runtime.shown import Shown, entity_of, fill_key
from pcn.softswitch.p4runtime.table_state import DEFAULT_HANDLE, Direct, Entry, Selected, TableState

Undo = Callable[[], None]
_ANY_ACTION = p4r.TableAction(action=p4r.Action())


class Tables:
    """All tables of one pipeline."""

    def __init__(self, schema: Schema, native: NativeSwitch, profiles: Profiles) -> None:
        self._schema = schema
        self._profiles = profiles
        self.timers = IdleTimers(native)
        self._native = native
        self._states = {table.id: self._initial(table) for table in schema.tables.values()}

    # ---- TableEntry ----

    def insert(self, message: p4r.TableEntry) -> Undo:
        """Carries out INSERT of a TableEntry."""
        state = self._state(message)
        table = state.table
        if message.is_default_action:
            raise RpcError(
                INVALID_ARGUMENT,
                f"table {table.name}: the default entry is always there; use MODIFY",
            )
        if table.const:
            raise RpcError(PERMISSION_DENIED, f"table {table.name} has const entries")
        if not table.fields:
            raise RpcError(
                INVALID_ARGUMENT, f"table {table.name} has no key, so only a default entry"
            )
        check_write(table, message)
        key = matches.pack(table, message.match, message.priority)
        if key in state.entries:
            raise _refusal(state, NativeError(errno.EEXIST, ""))
        if not message.HasField("action"):
            raise RpcError(INVALID_ARGUMENT, f"table {table.name}: the entry has no action")
        call = self._call(table, message.action, default=False)
        entry = Entry(
            -1,
            key,
            call,
            False,
            message.controller_metadata,
            message.metadata,
            message.idle_timeout_ns,
        )
        direct = Direct(
            counter_of(message) if message.HasField("counter_data") else None,
            meter_of(table, message),
        )
        self._add(state, entry, direct)
        return functools.partial(self._remove, state, entry)

    def insert_all(self, insertions: Sequence[Insertion]) -> dict[int, RpcError]:
        """Carries out INSERT of entries that were read for any switch of the program. Returns why
        some are refused, by number; these keep none of the others out."""
        packed = [insertion.packed for insertion in insertions if insertion.packed is not None]
        handles = iter(self._native.table_add_all(packed))
        refused = {}
        for number, (table_id, key, call, _) in enumerate(insertions):
            state = self._states[table_id]
            try:
                if isinstance(call, Reference):
                    self._add_set(state, key, call)
                    continue
                if (handle := next(handles)) < 0:
                    code = errno.EEXIST if key in state.entries else -handle  # even in a full table
                    raise _refusal(state, NativeError(code, os.strerror(code)))
            except RpcError as error:
                refused[number] = error
                continue
            state.entries[key] = Entry(handle, key, call, number=state.numbers.take())
        return refused

    def modify(self, message: p4r.TableEntry) -> Undo:
        """Carries out MODIFY of a TableEntry or a default entry."""
        state = self._state(message)
        table = state.table
        check_write(table, message)
        if message.is_default_action:
            return self._modify_default(state, message)
        if table.const and message.HasField("action"):
            raise RpcError(PERMISSION_DENIED, f"table {table.name} has const entries")
        entry = self._entry(state, message)
        if entry.const and message.HasField("action"):
            raise RpcError(
                PERMISSION_DENIED, f"table {table.name}: the action of a const entry cannot change"
            )
        call = (
            self._call(table, message.action, default=False) if message.HasField("action") else None
        )
        meter = meter_of(table, message)
        undo = self._restorer(state, entry)
        if call is not None:
            self._set_call(state, entry, call)
        if not entry.const:
            entry.controller_metadata, entry.metadata = (
                message.controller_metadata,
                message.metadata,
            )
            entry.idle_timeout_ns = message.idle_timeout_ns
            self.timers.watch(table, entry)
        if message.HasField("counter_data"):
            self.set_counter(table, entry, counter_of(message))
        self.set_meter(table, entry, meter)
        return undo

    def delete(self, message: p4r.TableEntry) -> Undo:
        """Carries out DELETE of a TableEntry."""
        state = self._state(message)
        table = state.table
        if message.is_default_action:
            raise RpcError(
                INVALID_ARGUMENT,
                f"table {table.name}: the default entry is always there; use MODIFY",
            )
        if message.is_const:
            raise RpcError(
                INVALID_ARGUMENT, f"table {table.name}: is_const must be false in a write"
            )
        if table.const:
            raise RpcError(PERMISSION_DENIED, f"table {table.name} has const entries")
        entry = self._entry(state, message)
        if entry.const:
            raise RpcError(PERMISSION_DENIED, f"table {table.name}: the entry is const")
        direct = self._direct(table, entry)
        self._remove(state, entry)
        return functools.partial(self._add, state, entry, direct)

    def read(self, query: p4r.TableEntry) -> Iterator[Part]:
        """Yields the entries that a TableEntry query selects, table by table, by the
        specification's "Wildcard Reads"."""
        filtered = query.match or query.HasField("action") or query.priority
        if not query.table_id and (filtered or query.controller_metadata or query.metadata):
            raise RpcError(INVALID_ARGUMENT, "a read of all tables takes no other filter")
        timed = bool(query.idle_timeout_ns) or query.HasField("time_since_last_hit")
        if (
            timed
            and query.table_id
            and (query.is_default_action or not self._state(query).table.idle_timeout)
        ):
            raise RpcError(
                INVALID_ARGUMENT,
                f"table {self._state(query).table.name} has no idle timeout for this entry",
            )
        counter, meter = query.HasField("counter_data"), query.HasField("meter_config")
        for table, entries, looked_at in self.select(query):
            hit = query.HasField("time_since_last_hit") and table.idle_timeout
            shown = [
                self._show(table, entry, counter=counter, meter=meter, hit=hit) for entry in entries
            ]
            yield Part(looked_at, map(functools.partial(entity_of, table), shown))

    def select(self, query: p4r.TableEntry) -> Iterator[Selected]:
        """Yields the entries that a query selects: of all tables where it names none."""
        for state in [self._state(query)] if query.table_id else list(self._states.values()):
            yield self._select(state, query)

    def find(self, message: p4r.TableEntry) -> tuple[Table, Entry]:
        """Returns the one entry that a message means. Raises RpcError NOT_FOUND."""
        state = self._state(message)
        return state.table, state.default if message.is_default_action else self._entry(
            state, message
        )

    def idle(self, now_ns: int) -> p4r.IdleTimeoutNotification | None:
        """Returns the notifications of the entries that have become idle."""
        message = p4r.IdleTimeoutNotification(timestamp=self._native.timestamp_ns())
        for table, entry in self.timers.due(now_ns):
            assert isinstance(entry, Entry)
            idle_entry = message.table_entry.add(idle_timeout_ns=entry.idle_timeout_ns)
            idle_entry.controller_metadata, idle_entry.metadata = (
                entry.controller_metadata,
                entry.metadata,
            )
            fill_key(idle_entry, table, entry.key)
        return message if message.table_entry else None

    # ---- direct resources ----

    def counter(self, table: Table, entry: Entry) -> Counter:
        """Returns an entry's direct counter; zeros without one."""
        return (
            self._native.table_counter(table.c_index, entry.handle)
            if table.direct_counter
            else Counter(0, 0)
        )

    def set_counter(self, table: Table, entry: Entry, value: Counter) -> None:
        """Writes an entry's direct counter, if it has one."""
        if table.direct_counter:
            self._native.set_table_counter(table.c_index, entry.handle, value)

    def meter(self, table: Table, entry: Entry) -> MeterConfig | None:
        """Returns an entry's direct meter; None without one, or without a configuration."""
        return (
            self._native.table_meter(table.c_index, entry.handle)
            if _metered(table, entry)
            else None
        )

    def set_meter(self, table: Table, entry: Entry, value: MeterConfig | None) -> None:
        """Writes an entry's direct meter, if it has one."""
        _check_meter(table, entry, value)
        if _metered(table, entry):
            self._native.set_table_meter(table.c_index, entry.handle, value)

    def _direct(self, table: Table, entry: Entry) -> Direct:
        return Direct(self.counter(table, entry), self.meter(table, entry))

    def _set_direct(self, table: Table, entry: Entry, direct: Direct) -> None:
        if direct.counter is not None:
            self.set_counter(table, entry, direct.counter)
        self.set_meter(table, entry, direct.meter)

    def snapshot(self) -> Iterator[p4r.Update]:
        """Yields the updates that turn fresh tables into these. Initial entries, which a fresh
        table has, are modified."""
        for state in self._states.values():
            table = state.table
            initial = {Key(i.key, i.mask, i.prefix, i.priority) for i in table.initial}
            if not table.const:
                for key in initial - state.entries.keys():
                    gone = p4r.Update(type=p4r.Update.DELETE)
                    fill_key(gone.entity.table_entry, table, key)
                    yield gone
                for entry in state.entries.values():
                    kind = p4r.Update.MODIFY if entry.key in initial else p4r.Update.INSERT
                    yield p4r.Update(
                        type=kind,
                        entity=entity_of(table, self._show(table, entry, counter=True, meter=True)),
                    )
            if not table.const_default and state.default.call != _program_default(table):
                shown = self._show(table, state.default, counter=True, meter=True)
                yield p4r.Update(type=p4r.Update.MODIFY, entity=entity_of(table, shown))

    # ---- what both use ----

    def _initial(self, table: Table) -> TableState:
        default = Entry(DEFAULT_HANDLE, None, _program_default(table), table.const_default)
        state = TableState(table, default)
        for handle, initial in enumerate(table.initial):
            key = Key(initial.key, initial.mask, initial.prefix, initial.priority)
            call = Call(table.by_index[initial.action], initial.args)
            state.entries[key] = Entry(
                handle, key, call, initial.const, number=state.numbers.take()
            )
        return state

    def _state(self, message: p4r.TableEntry) -> TableState:
        return self._states[self._schema.table(message.table_id).id]

    def _entry(self, state: TableState, message: p4r.TableEntry) -> Entry:
        entry = state.entries.get(
            matches.pack(state.table, message.match, message.priority, known=True)
        )
        if entry is None:
            raise RpcError(NOT_FOUND, f"table {state.table.name} has no entry with this key")
        return entry

    def _call(self, table: Table, message: p4r.TableAction, default: bool) -> Call | Reference:
        if table.profile:
            return self._profiles.refer(table, message)
        if message.WhichOneof("type") != "action":
            raise RpcError(
                INVALID_ARGUMENT, f"table {table.name} is direct: its entries need an action"
            )
        call = actions.pack(f"table {table.name}", table.actions, message.action)
        if not (call.action.in_default if default else call.action.in_table):
            scope = "TABLE_ONLY" if default else "DEFAULT_ONLY"
            raise RpcError(
                PERMISSION_DENIED, f"table {table.name}: action {call.action.name} is {scope}"
            )
        return call

    def _modify_default(self, state: TableState, message: p4r.TableEntry) -> Undo:
        table, entry = state.table, state.default
        if message.match or message.priority:
            raise RpcError(
                INVALID_ARGUMENT,
                f"table {table.name}: a default entry has no match and no priority",
            )
        if table.profile:
            raise RpcError(
                INVALID_ARGUMENT,
                f"table {table.name} has an action profile, so its default action is fixed",
            )
        reset = not message.HasField("action")
        if table.const_default and not (reset and message.HasField("counter_data")):
            raise RpcError(PERMISSION_DENIED, f"table {table.name}: the default action is const")
        call = None if reset else self._call(table, message.action, default=True)
        meter = meter_of(table, message)
        _check_meter(table, entry, meter)
        undo = self._restorer(state, entry)
        self._set_call(state, entry, call)
        entry.controller_metadata = 0 if reset else message.controller_metadata
        entry.metadata = b"" if reset else message.metadata
        if message.HasField("counter_data"):
            self.set_counter(table, entry, counter_of(message))
        elif reset:
            self.set_counter(table, entry, Counter(0, 0))
        self.set_meter(table, entry, meter)
        return undo

    def _select(self, state: TableState, query: p4r.TableEntry) -> Selected:
        if query.is_default_action:
            if query.match or query.priority:
                raise RpcError(
                    INVALID_ARGUMENT,
                    f"table {state.table.name}: a default entry has no match or priority",
                )
            entries = [state.default]
        elif query.match:
            entries = self._matching(state, query)
        else:
            entries = list(state.entries.values())
        wanted = (
            query.action
            if query.action.WhichOneof("type") and query.action != _ANY_ACTION
            else None
        )
        priority, number, metadata = query.priority, query.controller_metadata, query.metadata
        selected = [
            entry
            for entry in entries
            if (not priority or (entry.key is not None and entry.key.priority == priority))
            and (wanted is None or (entry.call is not None and entry.call.fits(wanted)))
            and (not number or entry.controller_metadata == number)
            and (not metadata or entry.metadata == metadata)
        ]
        by_key = query.is_default_action or (
            query.match and (query.priority or not state.table.prioritised)
        )
        return Selected(state.table, selected, 1 if by_key else len(state.entries))

    def _matching(self, state: TableState, query: p4r.TableEntry) -> list[Entry]:
        """Returns the entries with a query's match: of every priority, where it gives none."""
        if query.priority or not state.table.prioritised:
            return [self._entry(state, query)]
        wanted = matches.pack(state.table, query.match, 1, known=True)
        entries = [
            entry for key, entry in state.entries.items() if key._replace(priority=1) == wanted
        ]
        if not entries:
            raise RpcError(NOT_FOUND, f"table {state.table.name} has no entry with this match")
        return entries

    def _show(
        self, table: Table, entry: Entry, *, counter: bool, meter: bool, hit: bool = False
    ) -> Shown:
        return Shown(
            entry.key,
            entry.call,
            entry.const,
            entry.controller_metadata,
            entry.metadata,
            entry.idle_timeout_ns,
            self.counter(table, entry) if counter and table.direct_counter else None,
            self.meter(table, entry) if meter else None,
            self.timers.quiet_ns(table, entry) if hit else None,
        )

    def _add_set(self, state: TableState, key: Key, shared: Reference) -> None:
        """Inserts an entry with a one-shot: each switch makes another group for it."""
        if key in state.entries:
            raise _refusal(state, NativeError(errno.EEXIST, ""))
        call = replace(shared, copies=[])
        self._add(state, Entry(-1, key, call), Direct())

    def _add(self, state: TableState, entry: Entry, direct: Direct) -> None:
        assert entry.key is not None
        assert entry.call is not None
        key, call = entry.key, entry.call
        self._acquire(call)
        try:
            entry.handle = self._native.table_add(
                state.table.c_index,
                key.key,
                key.mask,
                key.prefix,
                key.priority,
                call.code,
                call.args,
            )
        except NativeError as error:
            self._release(call)
            raise _refusal(state, error) from error
        entry.number = state.numbers.take()
        state.entries[key] = entry
        if direct != Direct():
            self._set_direct(state.table, entry, direct)
        self.timers.watch(state.table, entry)

    def _remove(self, state: TableState, entry: Entry) -> None:
        assert entry.key is not None
        self._native.table_delete(state.table.c_index, entry.handle)
        del state.entries[entry.key]
        state.numbers.give(entry.number)
        entry.timer = 0
        self._release(entry.call)

    def _acquire(self, call: Call | Reference | None) -> None:
        if isinstance(call, Reference):
            self._profiles.acquire(call)

    def _release(self, call: Call | Reference | None) -> None:
        if isinstance(call, Reference):
            self._profiles.release(call)

    def _set_call(self, state: TableState, entry: Entry, call: Call | Reference | None) -> None:
        """Gives an entry an action; a default entry without one gets the program's."""
        index = state.table.c_index
        if entry.key is not None:
            assert call is not None
            if call is entry.call:
                return
            # before the old one goes, as in BMv2: a new group doesn't get its members' handles
            self._acquire(call)
            self._native.table_modify(index, entry.handle, call.code, call.args)
            self._release(entry.call)
        elif call is None:
            self._native.table_set_default(index, PROGRAM_DEFAULT)
            call = _program_default(state.table)
        else:
            self._native.table_set_default(index, call.code, call.args)
        entry.call = call

    def _restorer(self, state: TableState, entry: Entry) -> Undo:
        """Returns what brings an entry back to how it is now."""
        call, direct = entry.call, self._direct(state.table, entry)
        controller_metadata, metadata = entry.controller_metadata, entry.metadata
        idle_timeout_ns = entry.idle_timeout_ns

        def restore() -> None:
            if not entry.const:
                self._set_call(state, entry, call)
            entry.controller_metadata, entry.metadata = controller_metadata, metadata
            if entry.idle_timeout_ns != idle_timeout_ns:
                entry.idle_timeout_ns = idle_timeout_ns
                self.timers.watch(state.table, entry)
            self._set_direct(state.table, entry, direct)

        return restore


def _refusal(state: TableState, error: NativeError) -> RpcError:
    """Returns why a table takes an entry no more."""
    refusal, table = from_native(error), state.table
    if refusal.code == ALREADY_EXISTS:
        return RpcError(refusal.code, f"table {table.name} has an entry with this key")
    if refusal.code == RESOURCE_EXHAUSTED:
        return RpcError(refusal.code, f"table {table.name} is full ({table.size} entries)")
    return refusal


def _program_default(table: Table) -> Call | None:
    action = None if table.default_action is None else table.by_index.get(table.default_action)
    return None if action is None else Call(action, table.default_args)


def _metered(table: Table, entry: Entry) -> bool:
    return bool(table.direct_meter) and entry.handle != DEFAULT_HANDLE


def _check_meter(table: Table, entry: Entry, value: MeterConfig | None) -> None:
    """Raises RpcError UNIMPLEMENTED for a configuration of a meter that the entry lacks."""
    if value is not None and not _metered(table, entry):
        raise RpcError(
            UNIMPLEMENTED,
            f"table {table.name}: the default entry's direct meter is not implemented",
        )
