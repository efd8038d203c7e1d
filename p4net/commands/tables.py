"""Commands of tables."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from pcn.base.p4rt import p4r
from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.entities import TableActions
from pcn.controller.p4info import MatchKind, Table
from pcn.p4net import values
from pcn.p4net.commands.session import DELETE, INSERT, MODIFY, Command, Session
from pcn.p4net.steps import Read, Step

ARROW = "=>"
_MOST_MS = 2**31 - 1
_FIELD: dict[Any, re.Pattern[str]] = {
    MatchKind.EXACT: re.compile(r"(.+)\Z"),
    MatchKind.OPTIONAL: re.compile(r"(.+?)(?:&&&(.+))?\Z"),
    MatchKind.LPM: re.compile(r"(.+)/([0-9]+)\Z"),
    MatchKind.TERNARY: re.compile(r"(.+)&&&(.+)\Z"),
    MatchKind.RANGE: re.compile(r"(.+)->(.+)\Z"),
}
_FORMS: dict[Any, str] = {
    MatchKind.EXACT: "VALUE",
    MatchKind.OPTIONAL: "VALUE, or VALUE&&&MASK",
    MatchKind.LPM: "VALUE/LENGTH",
    MatchKind.TERNARY: "VALUE&&&MASK",
    MatchKind.RANGE: "LOW->HIGH",
}


def find(session: Session, name: str) -> Table:
    """Finds a table. Raises ValueError."""
    return values.find("table", session.schema.tables, name)  # type: ignore[no-any-return]


def action(session: Session, table: Table | None, name: str, words: Sequence[str]) -> TableAction:
    """Returns an action with its arguments in order. Raises ValueError."""

    def by_name(p4_action: Any) -> dict[str, str]:
        names = [param.name for param in p4_action.params]
        if len(words) != len(names):
            wanted = f"takes {' '.join(names)}" if names else "takes no arguments"
            raise ValueError(f"{p4_action.name} {wanted}, not {len(words)}")
        return dict(zip(names, words, strict=True))

    whole, arguments = values.arguments(session.schema, table, name, by_name)
    return TableAction(whole, **arguments)


def split(words: Sequence[str]) -> tuple[list[str], list[str]]:
    """Returns what stands before and behind the arrow. Raises ValueError."""
    if ARROW not in words:
        raise ValueError(f"{ARROW} is needed between match fields and arguments")
    at = list(words).index(ARROW)
    return list(words[:at]), list(words[at + 1 :])


def match(table: Table, words: Sequence[str]) -> TableMatch:
    """Returns the match of an entry. Raises ValueError."""
    fields = list(table.match_fields)
    if len(words) != len(fields):
        names = " ".join(field.name for field in fields)
        raise ValueError(f"{table.name} has {len(fields)} match fields ({names}), not {len(words)}")
    key: dict[str, Any] = {}
    for field, word in zip(fields, words, strict=True):
        form = _FIELD.get(field.match_type)
        parts = form.match(word) if form else None
        if parts is None:
            raise ValueError(
                f"{field.name}: {word!r}: write it as "
                f"{_FORMS.get(field.match_type, 'P4Runtime has it')}"
            )
        value = (
            _optional(field, parts)
            if field.match_type is MatchKind.OPTIONAL
            else values.field(field, parts.groups())
        )
        if value is not None:
            key[field.name] = value
    return TableMatch(key)


def _optional(field: Any, parts: re.Match[str]) -> Any:
    """Returns the value of an optional field. BMv2 has optional fields as ternary ones, with a mask
    of zeros or ones."""
    if parts[2] is None:
        return values.field(field, parts.groups()[:1])
    mask, ones = values.number(parts[2], field.bitwidth), (1 << field.bitwidth) - 1
    if mask not in (0, ones):
        raise ValueError(f"{field.name} is optional: its mask has no ones, or ones alone")
    return values.field(field, [parts[1]]) if mask else None


def priority(table: Table, words: Sequence[str]) -> int:
    """Returns an entry's priority from the word behind its arguments: in BMv2 the lowest number
    wins, in P4Runtime the highest. Raises ValueError."""
    if not values.needs_priority(table):
        if words:
            raise ValueError(f"{table.name} has no priorities: {' '.join(words)!r} is too much")
        return 0
    if len(words) != 1:
        raise ValueError(f"{table.name} needs one priority behind the arguments; the lowest wins")
    return values.MOST_PRIORITY - values.whole(words[0], 0, values.MOST_PRIORITY - 1)


def added(session: Session, table: Table, entry: TableEntry) -> list[Step]:
    """Adds an entry; which gets the next handle."""
    step = session.write(INSERT, entry)
    session.handles(table.name).add(entry)
    return [step]


def _add(session: Session, words: Sequence[str]) -> Sequence[Step]:
    table = find(session, words[0])
    key, rest = split(words[2:])
    count = len(list(values.find_action(session.schema, table, words[1]).params))
    table_action = action(session, table, words[1], rest[:count])
    if not len(table.match_fields):
        return _add_default(session, table, [*key, *rest[count:]], table_action)
    entry = TableEntry(
        table.name,
        match=match(table, key),
        action=table_action,
        priority=priority(table, rest[count:]),
    )
    return added(session, table, entry)


def _add_default(
    session: Session, table: Table, more: Sequence[str], table_action: TableAction
) -> Sequence[Step]:
    """Sets the default entry. BMv2 has one entry in a table without a key, which all packets hit:
    in P4Runtime its default entry."""
    if more:
        raise ValueError(
            f"{table.name} has no key and no priorities: {' '.join(more)!r} is too much"
        )
    if session.handles(table.name).items():
        raise ValueError(f"{table.name} has no key, and its entry is there")
    entry = TableEntry(table.name, action=table_action, is_default_action=True)
    step = session.write(MODIFY, entry)
    session.handles(table.name).add(entry)
    return [step]


def _removed(session: Session, entry: TableEntry) -> Step:
    return session.write(MODIFY if entry.is_default_action else DELETE, replace(entry, action=None))


def _set_default(session: Session, words: Sequence[str]) -> Sequence[Step]:
    table = find(session, words[0])
    table_action = action(session, table, words[1], [word for word in words[2:] if word != ARROW])
    return [
        session.write(MODIFY, TableEntry(table.name, action=table_action, is_default_action=True))
    ]


def _reset_default(session: Session, words: Sequence[str]) -> Sequence[Step]:
    return [session.write(MODIFY, TableEntry(find(session, words[0]).name, is_default_action=True))]


def modified(
    session: Session, table: Table, handle: str, action: TableAction | TableActions
) -> list[Step]:
    """Changes the action of the entry with a handle."""
    entries, number = session.handles(table.name), values.whole(handle)
    entry = replace(entries[number], action=action)
    step = session.write(MODIFY, entry)
    entries[number] = entry
    return [step]


def _modify(session: Session, words: Sequence[str]) -> Sequence[Step]:
    table = find(session, words[0])
    table_action = action(session, table, words[1], [word for word in words[3:] if word != ARROW])
    return modified(session, table, words[2], table_action)


def _delete(session: Session, words: Sequence[str]) -> Sequence[Step]:
    table = find(session, words[0])
    entry = session.handles(table.name).remove(values.whole(words[1]))
    return [_removed(session, entry)]


def _clear(session: Session, words: Sequence[str]) -> Sequence[Step]:
    table = find(session, words[0])
    handles = session.handles(table.name)
    return [_removed(session, handles.remove(handle)) for handle in list(handles.items())]


def _set_timeout(session: Session, words: Sequence[str]) -> Sequence[Step]:
    table = find(session, words[0])
    entries, number = session.handles(table.name), values.whole(words[1])
    entry = replace(entries[number], idle_timeout_ns=values.whole(words[2], 0, _MOST_MS) * 10**6)
    step = session.write(MODIFY, entry)
    entries[number] = entry
    return [step]


def _dump(session: Session, words: Sequence[str]) -> Sequence[Step]:
    table = find(session, words[0])

    def lines(entities: Sequence[p4r.Entity]) -> list[str]:
        return [_line(table, TableEntry.decode(entity, session.schema)) for entity in entities]

    queries = (TableEntry(table.name), TableEntry(table.name, is_default_action=True))
    return [Read(session.place, words[0], query.encode(session.schema), lines) for query in queries]


def _line(table: Table, entry: TableEntry) -> str:
    fields = entry.match or TableMatch()
    match = " ".join(
        f"{field.alias}={values.shown(field, fields.get(field.alias))}"
        for field in table.match_fields
    )
    entry_action = entry.action
    if isinstance(entry_action, TableActions) and (entry_action.group_id or entry_action.member_id):
        action = (
            f"group {entry_action.group_id - 1}"
            if entry_action.group_id
            else f"member {(entry_action.member_id or 1) - 1}"
        )
    else:
        action = values.shown_action(entry_action)
    if entry.is_default_action:
        return f": default => {action}"
    ranked = (
        f", priority {values.MOST_PRIORITY - entry.priority}"
        if values.needs_priority(table)
        else ""
    )
    return f": {match} => {action}{ranked}"


def _count(session: Session, words: Sequence[str]) -> Sequence[Step]:
    query = TableEntry(find(session, words[0]).name).encode(session.schema)
    return [Read(session.place, words[0], query, lambda entities: [f": {len(entities)} entries"])]


COMMANDS = {
    "table_add": Command("TABLE ACTION MATCH... => ARGUMENT... [PRIORITY]", _add, 3),
    "table_set_default": Command("TABLE ACTION ARGUMENT...", _set_default, 2),
    "table_reset_default": Command("TABLE", _reset_default, 1, 1),
    "table_indirect_reset_default": Command("TABLE", _reset_default, 1, 1),
    "table_modify": Command("TABLE ACTION HANDLE [=>] ARGUMENT...", _modify, 3),
    "table_delete": Command("TABLE HANDLE", _delete, 2, 2),
    "table_clear": Command("TABLE", _clear, 1, 1),
    "table_set_timeout": Command("TABLE HANDLE MILLISECONDS", _set_timeout, 3, 3),
    "table_dump": Command("TABLE", _dump, 1, 1),
    "table_num_entries": Command("TABLE", _count, 1, 1),
}
