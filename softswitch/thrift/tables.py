"""Calls of match-action tables."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime import matches
from pcn.softswitch.p4runtime.actions import Call
from pcn.softswitch.p4runtime.bytestring import encode
from pcn.softswitch.p4runtime.errors import RpcError
from pcn.softswitch.p4runtime.matches import prefix_mask
from pcn.softswitch.p4runtime.references import Reference
from pcn.softswitch.p4runtime.schema import Action, Match, Table
from pcn.softswitch.p4runtime.table_state import Entry
from pcn.softswitch.thrift.face import DELETE, INSERT, MODIFY, Face, named

INDEX: Final = 0xFFFFFF
"""Of a handle: what an entry shares with others that had its place."""
MOST_PRIORITY: Final = 2**31 - 1
"""In BMv2 the lowest number wins, in P4Runtime the highest."""


class TableCalls(Face):
    """bm_mt_*. Handles are BMv2's: the lowest free index, and above 24 bits how often it was
    freed."""

    def bm_mt_get_num_entries(self, _context: int, name: str) -> int:
        return len(self._entries(self._table(name)))

    def bm_mt_clear_entries(self, _context: int, name: str, reset_default: bool) -> None:
        table = self._table(name)
        for entry in self._entries(table):
            self._delete(table, entry)
        if reset_default:
            self.bm_mt_reset_default_entry(0, name)

    def bm_mt_add_entry(
        self,
        _context: int,
        name: str,
        key: Sequence[Any],
        action: str,
        data: Sequence[bytes],
        options: Any,
    ) -> int:
        table = self._direct(name)
        return self._add(table, key, options, self._action(table.actions, action, data))

    def bm_mt_set_default_action(
        self, _context: int, name: str, action: str, data: Sequence[bytes]
    ) -> None:
        table = self._direct(name)
        if table.const_default:
            raise self.table_error("DEFAULT_ENTRY_IS_CONST")
        default_action = self._action(table.actions, action, data)
        self._try(
            MODIFY, p4r.TableEntry(table_id=table.id, is_default_action=True, action=default_action)
        )

    def bm_mt_reset_default_entry(self, _context: int, name: str) -> None:
        table = self._table(name)
        if table.const_default:
            raise self.table_error("DEFAULT_ENTRY_IS_CONST")
        self._try(MODIFY, p4r.TableEntry(table_id=table.id, is_default_action=True))

    def bm_mt_delete_entry(self, _context: int, name: str, handle: int) -> None:
        table = self._table(name)
        self._delete(table, self._entry(table, handle))

    def bm_mt_modify_entry(
        self, _context: int, name: str, handle: int, action: str, data: Sequence[bytes]
    ) -> None:
        table = self._direct(name)
        self._modify(table, handle, self._action(table.actions, action, data))

    def bm_mt_set_entry_ttl(self, _context: int, name: str, handle: int, timeout_ms: int) -> None:
        table = self._table(name)
        if not table.idle_timeout:
            raise self.table_error("AGEING_DISABLED")
        entry = self._entry(table, handle)
        message = self._message(table, entry)
        assert entry.call is not None
        entry.call.fill(message.action)
        message.idle_timeout_ns = timeout_ms * 1_000_000
        self._try(MODIFY, message)

    # ---- indirect tables: a member's handle is its id less 1, so is a group's ----

    def bm_mt_indirect_add_entry(
        self, _context: int, name: str, key: Sequence[Any], member: int, options: Any
    ) -> int:
        table = self._indirect(name)
        return self._add(table, key, options, self._to_member(table, member))

    def bm_mt_indirect_modify_entry(
        self, _context: int, name: str, handle: int, member: int
    ) -> None:
        table = self._indirect(name)
        self._modify(table, handle, self._to_member(table, member))

    def bm_mt_indirect_ws_add_entry(
        self, _context: int, name: str, key: Sequence[Any], group: int, options: Any
    ) -> int:
        table = self._indirect(name)
        return self._add(table, key, options, self._to_group(table, group))

    def bm_mt_indirect_ws_modify_entry(
        self, _context: int, name: str, handle: int, group: int
    ) -> None:
        table = self._indirect(name)
        self._modify(table, handle, self._to_group(table, group))

    def bm_mt_indirect_delete_entry(self, context: int, name: str, handle: int) -> None:
        self.bm_mt_delete_entry(context, name, handle)

    def bm_mt_indirect_set_entry_ttl(
        self, context: int, name: str, handle: int, timeout_ms: int
    ) -> None:
        self.bm_mt_set_entry_ttl(context, name, handle, timeout_ms)

    def bm_mt_indirect_set_default_member(self, _context: int, name: str, _member: int) -> None:
        self._indirect(name)
        raise self.table_error("DEFAULT_ENTRY_IS_CONST")  # P4Runtime has none of indirect tables

    def bm_mt_indirect_ws_set_default_group(self, context: int, name: str, group: int) -> None:
        self.bm_mt_indirect_set_default_member(context, name, group)

    def bm_mt_indirect_reset_default_entry(self, _context: int, name: str) -> None:
        self._indirect(name)

    # ---- reading ----

    def bm_mt_get_entries(self, _context: int, name: str) -> list[Any]:
        table = self._table(name)
        return [
            self._described(table, entry)
            for entry in sorted(self._entries(table), key=lambda entry: entry.number & INDEX)
        ]

    def bm_mt_get_entry(self, _context: int, name: str, handle: int) -> Any:
        table = self._table(name)
        return self._described(table, self._entry(table, handle))

    def bm_mt_get_entry_from_key(
        self, _context: int, name: str, key: Sequence[Any], options: Any
    ) -> Any:
        table = self._table(name)
        wanted = p4r.TableEntry(
            table_id=table.id, match=self._match(table, key), priority=_priority(table, options)
        )
        try:
            with self.service.locally() as state:
                return self._described(table, state.tables.find(wanted)[1])
        except RpcError:
            raise self.table_error("BAD_MATCH_KEY") from None

    def bm_mt_get_default_entry(self, _context: int, name: str) -> Any:
        table = self._table(name)
        with self.service.locally() as state:
            _, entry = state.tables.find(p4r.TableEntry(table_id=table.id, is_default_action=True))
        return self._action_entry(entry)

    # ---- direct counters ----

    def bm_mt_read_counter(self, _context: int, name: str, handle: int) -> Any:
        table = self._counted(name)
        with self.service.locally() as state:
            value = state.tables.counter(table, self._entry(table, handle))
        return self.idl.CounterValue(value.bytes, value.packets)

    def bm_mt_write_counter(self, _context: int, name: str, handle: int, value: Any) -> None:
        table = self._counted(name)
        self._set_direct_counter(table, self._entry(table, handle), value.packets, value.bytes)

    def bm_mt_reset_counters(self, _context: int, name: str) -> None:
        table = self._counted(name)
        for entry in self._entries(table):
            self._set_direct_counter(table, entry, 0, 0)

    # ---- inside ----

    def _table(self, name: str) -> Table:
        with self.service.locally() as state:
            table = named(state.schema.tables, name)
        if table is None:
            raise self.table_error("INVALID_TABLE_NAME")
        return table

    def _direct(self, name: str) -> Table:
        table = self._table(name)
        if table.profile:
            raise self.table_error("WRONG_TABLE_TYPE")
        return table

    def _indirect(self, name: str) -> Table:
        table = self._table(name)
        if not table.profile:
            raise self.table_error("WRONG_TABLE_TYPE")
        return table

    def _to_member(self, table: Table, handle: int) -> p4r.TableAction:
        query = p4r.ActionProfileMember(action_profile_id=table.profile)
        if handle + 1 not in {
            member.member_id for member in self.read(action_profile_member=query)
        }:
            raise self.table_error("INVALID_MBR_HANDLE")
        return p4r.TableAction(action_profile_member_id=handle + 1)

    def _to_group(self, table: Table, handle: int) -> p4r.TableAction:
        query = p4r.ActionProfileGroup(action_profile_id=table.profile)
        group = next(
            (
                candidate
                for candidate in self.read(action_profile_group=query)
                if candidate.group_id == handle + 1
            ),
            None,
        )
        if group is None:
            raise self.table_error("INVALID_GRP_HANDLE")
        if not group.members:
            raise self.table_error("EMPTY_GRP")
        return p4r.TableAction(action_profile_group_id=handle + 1)

    def _counted(self, name: str) -> Table:
        table = self._table(name)
        if not table.direct_counter:
            raise self.table_error("COUNTERS_DISABLED")
        return table

    def _entries(self, table: Table) -> list[Entry]:
        with self.service.locally() as state:
            return [
                entry
                for selected in state.tables.select(p4r.TableEntry(table_id=table.id))
                for entry in selected.entries
            ]

    def _entry(self, table: Table, handle: int) -> Entry:
        match = next((entry for entry in self._entries(table) if entry.number == handle), None)
        if match is None:
            expired = any(entry.number & INDEX == handle & INDEX for entry in self._entries(table))
            raise self.table_error("EXPIRED_HANDLE" if expired else "INVALID_HANDLE")
        return match

    def _try(self, kind: p4r.Update.Type.ValueType, message: p4r.TableEntry) -> None:
        try:
            self.write(kind, table_entry=message)
        except RpcError as error:
            raise self.refusal(error) from None

    def _add(self, table: Table, key: Sequence[Any], options: Any, action: p4r.TableAction) -> int:
        if not table.fields:
            raise self.table_error("NO_TABLE_KEY")
        message = p4r.TableEntry(
            table_id=table.id,
            match=self._match(table, key),
            priority=_priority(table, options),
            action=action,
        )
        self._try(INSERT, message)
        with self.service.locally() as state:
            return state.tables.find(message)[1].number

    def _modify(self, table: Table, handle: int, action: p4r.TableAction) -> None:
        message = self._message(table, self._entry(table, handle))
        message.action.CopyFrom(action)
        self._try(MODIFY, message)

    def _delete(self, table: Table, entry: Entry) -> None:
        self._try(DELETE, self._message(table, entry))

    def _message(self, table: Table, entry: Entry) -> p4r.TableEntry:
        """Returns what names an entry."""
        assert entry.key is not None
        return p4r.TableEntry(
            table_id=table.id, match=matches.unpack(table, entry.key), priority=entry.key.priority
        )

    def _set_direct_counter(self, table: Table, entry: Entry, packets: int, octets: int) -> None:
        data = p4r.CounterData(packet_count=packets, byte_count=octets)
        message = p4r.DirectCounterEntry(table_entry=self._message(table, entry), data=data)
        try:
            self.write(MODIFY, direct_counter_entry=message)
        except RpcError as error:
            raise self.refusal(error) from None

    def _action(self, actions: Any, name: str, data: Sequence[bytes]) -> p4r.TableAction:
        action: Action | None = named(actions, name)
        if action is None:
            raise self.table_error("INVALID_ACTION_NAME")
        if len(data) != len(action.params):
            raise self.table_error("BAD_ACTION_DATA")
        table_action = p4r.TableAction(action=p4r.Action(action_id=action.id))
        for parameter, value in zip(action.params, data, strict=True):
            number = int.from_bytes(value, "big")
            if number >> parameter.width:
                raise self.table_error("BAD_ACTION_DATA")
            table_action.action.params.add(param_id=parameter.id, value=encode(number))
        return table_action

    def _match(self, table: Table, key: Sequence[Any]) -> list[p4r.FieldMatch]:
        if len(key) != len(table.fields):
            raise self.table_error("BAD_MATCH_KEY")
        field_matches = []
        for field, parameter in zip(table.fields, key, strict=True):
            field_match = _field(field.id, field.match, field.width, parameter)
            if field_match is None:
                raise self.table_error("BAD_MATCH_KEY")
            if field_match.WhichOneof("field_match_type") is not None:
                field_matches.append(field_match)
        return field_matches

    def _described(self, table: Table, entry: Entry) -> Any:
        assert entry.key is not None
        life = None
        if table.idle_timeout:
            with self.service.locally() as state:
                quiet_ns = state.tables.timers.quiet_ns(table, entry)
            life = self.idl.Life(
                entry.idle_timeout_ns // 1_000_000, min(quiet_ns // 1_000_000, MOST_PRIORITY)
            )
        options = self.idl.Options(_shown_priority(table, entry.key) if table.prioritised else -1)
        return self.idl.Entry(
            self._key(table, entry), options, entry.number, self._action_entry(entry), life
        )

    def _key(self, table: Table, entry: Entry) -> list[Any]:
        assert entry.key is not None
        parts, at = [], 0
        for field in table.fields:
            low = entry.key.key[at : at + field.size]
            high = entry.key.mask[at : at + field.size] if entry.key.mask is not None else b""
            at += field.size
            parts.append(self._part(field.match, field.width, low, high, entry.key.prefix))
        return parts

    def _part(self, match: Match, width: int, low: bytes, high: bytes, prefix: int) -> Any:
        kinds = self.idl.MatchKind
        if match is Match.EXACT:
            return self.idl.Match(kinds.EXACT, exact=self.idl.Exact(low))
        if match is Match.LPM:
            length = int.from_bytes(high, "big").bit_count() if high else prefix
            return self.idl.Match(kinds.LPM, lpm=self.idl.Lpm(low, length))
        if match is Match.RANGE:
            return self.idl.Match(kinds.RANGE, range=self.idl.Range(low, high))
        return self.idl.Match(kinds.TERNARY, ternary=self.idl.Ternary(low, high))

    def _action_entry(self, entry: Entry) -> Any:
        kinds, call = self.idl.ActionKind, entry.call
        if call is None:
            return self.idl.ActionEntry(kinds.NONE)
        if isinstance(call, Reference):
            return self._reference(call)
        return self.idl.ActionEntry(kinds.DATA, call.action.name, arguments(call))

    def _reference(self, call: Reference) -> Any:
        kinds = self.idl.ActionKind
        shown = p4r.TableAction()
        call.fill(shown)
        if shown.WhichOneof("type") == "action_profile_group_id":
            return self.idl.ActionEntry(kinds.GROUP, grp_handle=shown.action_profile_group_id - 1)
        return self.idl.ActionEntry(kinds.MEMBER, mbr_handle=shown.action_profile_member_id - 1)


def arguments(call: Call) -> list[bytes]:
    """Returns an action's arguments, each as short as it can be."""
    values, words = [], list(call.args)
    for parameter in call.action.params:
        mine, words = words[: parameter.words], words[parameter.words :]
        number = sum(word << 64 * i for i, word in enumerate(mine))
        values.append(encode(number))
    return values


def _priority(table: Table, options: Any) -> int:
    if not table.prioritised:
        return 0
    bmv2_priority = options.priority if options is not None and options.priority is not None else 0
    return max(MOST_PRIORITY - bmv2_priority, 1)


def _shown_priority(table: Table, key: matches.Key) -> int:
    """Returns BMv2's priority of an entry: of those of the source, their order, from 1 on."""
    priorities = [initial.priority for initial in table.initial]
    of_source = any(
        (initial.key, initial.mask, initial.priority) == (key.key, key.mask, key.priority)
        for initial in table.initial
    )
    return max(priorities) + 1 - key.priority if of_source else MOST_PRIORITY - key.priority


def _field(number: int, match: Match, width: int, parameter: Any) -> p4r.FieldMatch | None:
    """Returns a part of a key. None: it isn't of the field's kind, or doesn't fit."""
    field_match, ones = p4r.FieldMatch(field_id=number), (1 << width) - 1
    if match is Match.EXACT:
        if parameter.exact is None and parameter.valid is None:
            return None
        value = (
            int(parameter.valid.key)
            if parameter.exact is None
            else int.from_bytes(parameter.exact.key, "big")
        )
        field_match.exact.value = encode(value)
        return field_match if value <= ones else None
    if match is Match.LPM:
        if parameter.lpm is None or not 0 <= parameter.lpm.prefix_length <= width:
            return None
        value = int.from_bytes(parameter.lpm.key, "big")
        if parameter.lpm.prefix_length:
            field_match.lpm.value = encode(value & prefix_mask(width, parameter.lpm.prefix_length))
            field_match.lpm.prefix_len = parameter.lpm.prefix_length
        return field_match if value <= ones else None
    if match is Match.RANGE:
        if parameter.range is None:
            return None
        low, high = (
            int.from_bytes(parameter.range.start, "big"),
            int.from_bytes(parameter.range.end_, "big"),
        )
        if (low, high) != (0, ones):
            field_match.range.low, field_match.range.high = encode(low), encode(high)
        return field_match if low <= high <= ones else None
    if parameter.ternary is None:
        return None
    value, mask = (
        int.from_bytes(parameter.ternary.key, "big"),
        int.from_bytes(parameter.ternary.mask, "big"),
    )
    if match is Match.OPTIONAL:
        if mask not in (0, ones) or value > ones:
            return None
        if mask:
            field_match.optional.value = encode(value)
        return field_match
    if mask:
        field_match.ternary.value, field_match.ternary.mask = encode(value & mask), encode(mask)
    return field_match if max(value, mask) <= ones else None
