"""Runtime JSON of p4lang/tutorials (utils/p4runtime_lib/simple_controller.py): the entries of one
switch.

    {"target": "bmv2", "p4info": "build/basic.p4.p4info.txtpb", "bmv2_json": "build/basic.json",
     "table_entries": [{"table": "MyIngress.ipv4_lpm", "match": {"hdr.ipv4.dstAddr": ["10.0.1.1",
     32]},
                        "action_name": "MyIngress.ipv4_forward", "action_params": {"dstAddr": ...,
                        "port": 1}}],
     "multicast_group_entries": [...], "clone_session_entries": [...]}

Paths in it are relative to the folder in which the exercise is run.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from functools import cached_property, partial
from pathlib import Path
from typing import Any, NamedTuple

from pcn.base.p4rt import p4r
from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.entities import CloneSession, MulticastGroup, Replica
from pcn.controller.p4info import Schema, Table
from pcn.p4net import values
from pcn.p4net.errors import P4NetError
from pcn.p4net.steps import Insert, Place, Write
from pcn.topologies.tree import FileError, Node, needed as required, optional, read_file
from pcn.topologies.tree_parts import Root, Spot

_EMPTY = "write {} where there are no entries"


class _Raw(NamedTuple):
    """An entry as it stands in the file; what it means depends on the program."""

    spot: Spot | Root
    fields: dict[str, Any]


class _Contents(NamedTuple):
    p4info: str | None
    bmv2_json: str | None
    tables: tuple[_Raw, ...]
    groups: tuple[_Raw, ...]
    sessions: tuple[_Raw, ...]


class Alike:
    """Entries that files of one network have alike, as those of its switches mostly are: each is
    read once, and means one thing to a program."""

    def __init__(self) -> None:
        self._fields: dict[Hashable, dict[str, Any]] = {}
        self._entries: dict[int, tuple[Schema, dict[int, TableEntry]]] = {}

    def raw(self, node: Node) -> _Raw:
        """Returns an entry of a table. Raises FaultError."""
        content = node.content
        fields = self._fields.get(content)
        if fields is None:
            fields = self._fields[content] = node.fields(_TABLE)
        return _Raw(node.spot, fields)

    def entries(self, schema: Schema) -> dict[int, TableEntry]:
        """Returns what entries mean to a program so far, by the ids of their `fields`."""
        return self._entries.setdefault(id(schema), (schema, {}))[1]


@dataclass(frozen=True)
class RuntimeJson:
    """A file. `alike`: that of other files of its network."""

    path: Path
    alike: Alike = field(default_factory=Alike, compare=False, repr=False)

    @property
    def program(self) -> str | None:
        """The compiled program that the file names; None: it names none. Raises P4NetError."""
        return self._contents.bmv2_json

    @property
    def p4info(self) -> str | None:
        """The p4info that the file names."""
        return self._contents.p4info

    @cached_property
    def _contents(self) -> _Contents:
        try:
            return read_file(self.path, partial(_contents, self.alike), _EMPTY)
        except FileError as error:
            raise P4NetError(str(error)) from None

    def steps(self, schema: Schema) -> list[Write | Insert]:
        """Returns an update for each entry. Raises P4NetError."""
        contents, entries = self._contents, _Entries(schema)
        known = self.alike.entries(schema)
        steps = list[Write | Insert]()
        for raw in contents.tables:
            entry = known.get(id(raw.fields))
            if entry is not None:
                steps.append(Insert(Place(self.path, raw.spot), entry))
                continue
            step = self._step(raw, entries.table_entry)
            if isinstance(step, Insert):
                known[id(raw.fields)] = step.entry
            steps.append(step)
        for raws, make in ((contents.groups, entries.group), (contents.sessions, entries.session)):
            steps += [self._step(raw, make) for raw in raws]
        return steps

    def _step(
        self, raw: _Raw, make: Callable[[dict[str, Any]], p4r.Update | TableEntry]
    ) -> Write | Insert:
        place = Place(self.path, raw.spot)
        try:
            update = make(raw.fields)
        except ValueError as error:
            raise place.fail(str(error)) from None
        return Insert(place, update) if isinstance(update, TableEntry) else Write(place, update)


def _contents(alike: Alike, node: Node) -> _Contents:
    fields = node.fields(
        {
            "target": optional(_target),
            "p4info": optional(Node.text),
            "bmv2_json": optional(Node.text),
            "table_entries": optional(partial(Node.elements, read=alike.raw, least=0), ()),
            "multicast_group_entries": optional(_list_of(_GROUP), ()),
            "clone_session_entries": optional(_list_of(_SESSION), ()),
        }
    )
    return _Contents(
        fields["p4info"],
        fields["bmv2_json"],
        fields["table_entries"],
        fields["multicast_group_entries"],
        fields["clone_session_entries"],
    )


def _target(node: Node) -> str:
    if node.text() != "bmv2":
        raise node.fail(f"target {node.text()!r}: entries for bmv2 alone are read")
    return node.text()


def _list_of(known: dict[str, Any]) -> Callable[[Node], tuple[_Raw, ...]]:
    return lambda node: node.elements(
        lambda element: _Raw(element.spot, element.fields(known)), least=0
    )


def _whole(least: int, most: int) -> Callable[[Node], int]:
    return lambda node: node.value(lambda text: values.whole(text, least, most))


def _truth(node: Node) -> bool:
    text = node.text()
    if text not in ("true", "false"):
        raise node.fail(f"{text!r}: true or false is needed")
    return text == "true"


def _parts(node: Node) -> tuple[str, ...]:
    """Returns one value, or the two of a list."""
    return node.elements(Node.text) if node.is_list else (node.text(),)


def _by_name(read: Callable[[Node], Any]) -> Callable[[Node], dict[str, Any]]:
    return lambda node: node.entries(str, read) if not node.is_nothing else {}


def _replicas(node: Node) -> tuple[Replica, ...]:
    known = {"egress_port": required(_whole(0, 511)), "instance": optional(_whole(0, 2**16 - 1), 0)}
    replicas = node.elements(lambda element: element.fields(known), least=0)
    return tuple(
        Replica(replica["egress_port"], instance=replica["instance"]) for replica in replicas
    )


_TABLE = {
    "table": required(Node.text),
    "match": optional(_by_name(_parts), {}),
    "default_action": optional(_truth, False),
    "action_name": required(Node.text),
    "action_params": optional(_by_name(Node.text), {}),
    "priority": optional(_whole(0, values.MOST_PRIORITY)),
}
_GROUP = {"multicast_group_id": required(_whole(1, 2**16 - 1)), "replicas": required(_replicas)}
_SESSION = {
    "clone_session_id": required(_whole(1, 2**15 - 1)),
    "replicas": required(_replicas),
    "packet_length_bytes": optional(_whole(0, 2**16 - 1), 0),
}


class _Named(NamedTuple):
    """What a table's and an action's name stand for. `widths`: of the parameters, by name."""

    table: Table
    action: str
    widths: dict[str, int]
    has_priority: bool


class _Entries:
    """What entries mean to a program. Raises ValueError."""

    def __init__(self, schema: Schema) -> None:
        self._schema = schema
        self._named = dict[tuple[str, str], _Named]()
        self._keyless = set[str]()
        """Tables without a key that have their entry."""

    def table_entry(self, fields: dict[str, Any]) -> p4r.Update | TableEntry:
        """Returns an INSERT, or the MODIFY of a default action. A table without a key has one
        entry, which all packets hit: in P4Runtime its default entry. BMv2's server took it for an
        entry until August 2023, and refuses it since."""
        names = fields["table"], fields["action_name"]
        named = self._named.get(names)
        if named is None:  # once: thousands of entries have the same names
            table = values.find("table", self._schema.tables, names[0])
            action = values.find_action(self._schema, table, names[1])
            widths = {param.name: param.bitwidth for param in action.params}
            named = _Named(table, action.name, widths, values.needs_priority(table))
            self._named[names] = named
        table, action_name, widths, has_priority = named
        params = fields["action_params"]
        if params.keys() != widths.keys():
            raise ValueError(
                f"{action_name} has the parameters {list(widths) or 'none'}, not "
                f"{list(params) or 'none'}"
            )
        arguments = {name: values.number(params[name], widths[name]) for name in widths}
        call = TableAction(action_name, **arguments)
        if fields["default_action"]:
            if fields["match"]:
                raise ValueError(f"{table.name}: a default action has no match")
            return self._default(table, call)
        if not len(table.match_fields) and not fields["match"]:
            if table.name in self._keyless:
                raise ValueError(f"{table.name} has no key, and its entry is there")
            self._keyless.add(table.name)
            return self._default(table, call)
        match = TableMatch()
        for key, parts in fields["match"].items():
            value = values.field(_match_field(table, key), parts)
            if value is not None:
                match[key] = value
        priority = fields["priority"] or 0
        if has_priority and not priority:
            raise ValueError(f"{table.name}: each entry needs a priority above 0, the highest wins")
        if not has_priority:
            priority = 0  # the tutorials' controller sends it, and BMv2 ignores it
        return TableEntry(table.name, match=match, action=call, priority=priority)

    def _default(self, table: Table, call: TableAction) -> p4r.Update:
        entry = TableEntry(table.name, action=call, is_default_action=True)
        return p4r.Update(type=p4r.Update.MODIFY, entity=entry.encode(self._schema))

    def group(self, fields: dict[str, Any]) -> p4r.Update:
        """Returns an INSERT; so does `session`."""
        return self._insert(
            MulticastGroup(fields["multicast_group_id"], replicas=fields["replicas"])
        )

    def session(self, fields: dict[str, Any]) -> p4r.Update:
        return self._insert(
            CloneSession(
                fields["clone_session_id"],
                replicas=fields["replicas"],
                packet_length_bytes=fields["packet_length_bytes"],
            )
        )

    def _insert(self, entry: MulticastGroup | CloneSession) -> p4r.Update:
        return p4r.Update(type=p4r.Update.INSERT, entity=entry.encode(self._schema))


def _match_field(table: Table, name: str) -> Any:
    key = table.match_fields.get(name)
    if key is None:
        known = ", ".join(match.name for match in table.match_fields)
        raise ValueError(
            f"{table.name} has no match field {name!r}; it has {known}"
            if known
            else f"{table.name} has no match fields, so none is {name!r}"
        )
    return key


__all__: Sequence[str] = ("RuntimeJson",)
