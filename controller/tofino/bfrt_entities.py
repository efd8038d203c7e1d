"""P4Runtime's entities as BF Runtime's, and back: what `ControlPlane` speaks, in the words of the
driver.

Both name the same things of one compilation: tables, keys, actions and parameters have the same
names. They differ in

- priorities: P4Runtime's highest wins, BF Runtime's lowest;
- keys that don't matter: P4Runtime leaves them out, BF Runtime wants each;
- numbers: P4Runtime's have no leading zeros, BF Runtime's have the field's width.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

from pcn.base.p4rt import p4r
from pcn.controller.errors import SwitchError
from pcn.controller.p4info import Schema
from pcn.controller.tofino.bfrt_info import BYTES, INDEXES, PACKETS, PRIORITY, Field, Info, Table

MOST_PRIORITY = (1 << 24) - 1
SESSIONS = "$mirror.cfg"
_PIPES = 4  # that an index of a port's array can name
Value = Any  # of one field: bool, int, str, or a list of them


class Entities:
    """Translates for one program and one release's messages."""

    def __init__(self, messages: ModuleType, info: Info, schema: Schema) -> None:
        self._messages, self._info = messages, info
        kinds = (schema.p4info.tables, schema.p4info.counters, schema.p4info.registers)
        self._names = {
            resource.preamble.id: resource.preamble.name for kind in kinds for resource in kind
        }
        self._ids = {self._info.table(name).id: number for number, name in self._names.items()}
        self._keys = {
            table.preamble.id: {key.id: key.name for key in table.match_fields}
            for table in schema.p4info.tables
        }
        self._actions = {
            action.preamble.id: (
                action.preamble.name,
                {param.id: param.name for param in action.params},
            )
            for action in schema.p4info.actions
        }
        self._action_ids = {name: number for number, (name, _) in self._actions.items()}

    # ---- to the driver ----

    def update(self, update: p4r.Update) -> Any:
        """Returns BF Runtime's update. Raises SwitchError for an entity that has no counterpart."""
        kind = {
            p4r.Update.INSERT: "INSERT",
            p4r.Update.MODIFY: "MODIFY",
            p4r.Update.DELETE: "DELETE",
        }[update.type]
        driver_update = self._messages.Update(type=self._messages.Update.Type.Value(kind))
        which, entity = update.entity.WhichOneof("entity"), update.entity
        if which == "table_entry":
            self._entry(
                entity.table_entry, driver_update.entity.table_entry, with_data=kind != "DELETE"
            )
        elif which == "packet_replication_engine_entry" and _is_session(entity):
            self._session(
                entity.packet_replication_engine_entry.clone_session_entry,
                driver_update.entity.table_entry,
            )
        else:
            raise SwitchError(f"BF Runtime: no {str(which).replace('_', ' ')} is written here")
        return driver_update

    def query(self, entity: p4r.Entity) -> Any:
        """Returns the table entry that selects what is wanted. Raises SwitchError."""
        driver_entry, which = self._messages.TableEntry(), entity.WhichOneof("entity")
        if which == "table_entry":
            self._entry(entity.table_entry, driver_entry, with_data=False)
        elif which in ("counter_entry", "register_entry"):
            cell = getattr(entity, which)
            table = self._table(cell.counter_id if which == "counter_entry" else cell.register_id)
            driver_entry.table_id = table.id
            driver_entry.table_flags.from_hw = True
            if cell.HasField("index"):
                key = table.keys[INDEXES[table.kind]]
                driver_entry.key.fields.add(
                    field_id=key.id
                ).exact.value = cell.index.index.to_bytes(key.bytes, "big")
        elif which == "packet_replication_engine_entry" and _is_session(entity):
            session = entity.packet_replication_engine_entry.clone_session_entry
            self.fill(driver_entry, SESSIONS, {"$sid": session.session_id}, {})
        else:
            raise SwitchError(f"BF Runtime: no {str(which).replace('_', ' ')} is read here")
        return driver_entry

    def _table(self, number: int) -> Table:
        return self._info.table(self._names[number])

    def _entry(self, entry: p4r.TableEntry, driver_entry: Any, with_data: bool) -> None:
        table = self._table(entry.table_id)
        driver_entry.table_id = table.id
        if entry.is_default_action:
            driver_entry.is_default_entry = True
        elif entry.match or with_data:
            by_name = {self._keys[entry.table_id][match.field_id]: match for match in entry.match}
            for name, key in table.keys.items():
                field = driver_entry.key.fields.add(field_id=key.id)
                if name == PRIORITY:
                    field.exact.value = (MOST_PRIORITY - entry.priority).to_bytes(key.bytes, "big")
                else:
                    _match(key, by_name.get(name), field)
        if with_data:
            name, params = self._actions[entry.action.action.action_id]
            driver_entry.data.action_id, fields = table.actions[name]
            for param in entry.action.action.params:
                field = fields[params[param.param_id]]
                driver_entry.data.fields.add(field_id=field.id, stream=_wide(param.value, field))

    def _session(self, session: p4r.CloneSessionEntry, driver_entry: Any) -> None:
        """One copy, of both directions' packets."""
        data: dict[str, Value] = {
            "$session_enable": True,
            "$direction": "BOTH",
            "$ucast_egress_port": session.replicas[0].egress_port,
            "$ucast_egress_port_valid": True,
            "$ingress_cos": session.class_of_service,
            "$max_pkt_len": session.packet_length_bytes,
        }
        self.fill(driver_entry, SESSIONS, {"$sid": session.session_id}, data, "$normal")

    def fill(
        self,
        driver_entry: Any,
        name: str,
        keys: dict[str, Value],
        data: dict[str, Value],
        action: str = "",
    ) -> None:
        """Fills in an entry of one of the driver's own tables. Raises SwitchError for a name that
        it doesn't have."""
        table = self._info.table(name)
        driver_entry.table_id = table.id
        for field_name, value in keys.items():
            field = _named(table.keys, field_name, name)
            raw = (
                value.encode()
                if isinstance(value, str)
                else int(value).to_bytes(field.bytes, "big")
            )
            driver_entry.key.fields.add(field_id=field.id).exact.value = raw
        fields = table.fields(action)
        if action:
            driver_entry.data.action_id = table.actions[action][0]
        for field_name, value in data.items():
            _put(driver_entry.data.fields.add(), _named(fields, field_name, name), value)

    # ---- from the driver ----

    def values(self, entry: Any) -> dict[str, Value]:
        """Returns the data of an entry by name: bool, int, str, or a list of them."""
        table = self._info.by_id[entry.table_id]
        action = next(
            (name for name, (number, _) in table.actions.items() if number == entry.data.action_id),
            "",
        )
        # The driver's own tables may leave the action out; their ids are each of one field.
        known = [action] if action else ["", *table.actions]
        names = {
            field.id: field for action_name in known for field in table.fields(action_name).values()
        }
        by_field: dict[str, Value] = {}
        for data_field in entry.data.fields:
            if data_field.field_id in names:
                field = names[data_field.field_id]
                value = _value(data_field, field)
                if table.kind == "Register":  # a field for each pipe
                    value = [*by_field.get(field.name, []), value]
                by_field[field.name] = value
        return by_field

    def entities(self, entry: Any) -> Iterator[p4r.Entity]:
        """Yields P4Runtime's entity of an entry that was read; nothing for entries of other
        tables."""
        number = self._ids.get(entry.table_id)
        table = self._info.by_id.get(entry.table_id)
        if table is not None and table.name == SESSIONS:
            yield self._read_session(entry)
            return
        if number is None or table is None:
            return
        if table.kind == "Counter":
            data = self.values(entry)
            cell = p4r.CounterEntry(counter_id=number, index=p4r.Index(index=_index(entry)))
            cell.data.packet_count, cell.data.byte_count = data.get(PACKETS, 0), data.get(BYTES, 0)
            yield p4r.Entity(counter_entry=cell)
        elif table.kind == "Register":
            yield p4r.Entity(register_entry=self._register(number, table, entry))
        else:
            yield p4r.Entity(table_entry=self._table_entry(number, table, entry))

    def _read_session(self, entry: Any) -> p4r.Entity:
        entity, data = p4r.Entity(), self.values(entry)
        session = entity.packet_replication_engine_entry.clone_session_entry
        session.session_id = _index(entry)
        if data.get("$session_enable") and data.get("$ucast_egress_port_valid"):
            session.replicas.add(egress_port=data["$ucast_egress_port"])
        session.class_of_service, session.packet_length_bytes = (
            data.get("$ingress_cos", 0),
            data.get("$max_pkt_len", 0),
        )
        return entity

    def _register(self, number: int, table: Table, entry: Any) -> p4r.RegisterEntry:
        """Fields side by side, the first in the highest bits: those of the pipe that has the port
        of this cell."""
        index = _index(entry)
        pipe, whole = index * _PIPES // table.size, 0
        for name, values in self.values(entry).items():
            whole = (
                whole << (table.data[name].width or 0) | values[pipe if pipe < len(values) else 0]
            )
        register_entry = p4r.RegisterEntry(register_id=number, index=p4r.Index(index=index))
        register_entry.data.bitstring = _short(whole)
        return register_entry

    def _table_entry(self, number: int, table: Table, entry: Any) -> p4r.TableEntry:
        table_entry = p4r.TableEntry(table_id=number, is_default_action=entry.is_default_entry)
        ids = {name: key for key, name in self._keys[number].items()}
        for key in entry.key.fields:
            field = {key.id: key for key in table.keys.values()}[key.field_id]
            if field.name == PRIORITY:
                table_entry.priority = MOST_PRIORITY - int.from_bytes(key.exact.value, "big")
            elif not _matches_all(field, key):
                _match_back(key, table_entry.match.add(field_id=ids[field.name]))
        name = next(
            (
                action_name
                for action_name, (action, _) in table.actions.items()
                if action == entry.data.action_id
            ),
            None,
        )
        if name is not None:
            table_entry.action.action.action_id = self._action_ids[name]
            params = {
                text: param for param, text in self._actions[self._action_ids[name]][1].items()
            }
            fields = {field.id: field.name for field in table.actions[name][1].values()}
            for data_field in entry.data.fields:
                if data_field.field_id in fields:
                    value = _short(int.from_bytes(data_field.stream, "big"))
                    table_entry.action.action.params.add(
                        param_id=params[fields[data_field.field_id]], value=value
                    )
        return table_entry


def _is_session(entity: p4r.Entity) -> bool:
    return entity.packet_replication_engine_entry.HasField("clone_session_entry")


def _short(value: int) -> bytes:
    return value.to_bytes((value.bit_length() + 7) // 8 or 1, "big")


def _wide(value: bytes, field: Field) -> bytes:
    return value.rjust(field.bytes, b"\0")


def _named(fields: Mapping[str, Field], name: str, table: str) -> Field:
    if name not in fields:
        raise SwitchError(f"BF Runtime: table {table} has no {name} in this release of the driver")
    return fields[name]


def _match(field: Field, match: p4r.FieldMatch | None, driver_match: Any) -> None:
    """Fills in a key's field; None: what matches everything."""
    least, most = bytes(field.bytes), ((1 << (field.width or 0)) - 1).to_bytes(field.bytes, "big")
    if field.match == "Exact":
        driver_match.exact.value = _wide(match.exact.value, field) if match else least
    elif field.match == "LPM":
        driver_match.lpm.value = _wide(match.lpm.value, field) if match else least
        driver_match.lpm.prefix_len = match.lpm.prefix_len if match else 0
    elif field.match == "Ternary":
        driver_match.ternary.value = _wide(match.ternary.value, field) if match else least
        driver_match.ternary.mask = _wide(match.ternary.mask, field) if match else least
    else:
        driver_match.range.low = _wide(match.range.low, field) if match else least
        driver_match.range.high = _wide(match.range.high, field) if match else most


def _matches_all(field: Field, key: Any) -> bool:
    number = int.from_bytes
    if field.match == "Ternary":
        return not number(key.ternary.mask, "big")
    if field.match == "Range":
        return (
            not number(key.range.low, "big")
            and number(key.range.high, "big") == (1 << (field.width or 0)) - 1
        )
    return field.match == "LPM" and not key.lpm.prefix_len


def _match_back(key: Any, field_match: p4r.FieldMatch) -> None:
    kind = key.WhichOneof("match_type")
    for part in ("value", "mask", "low", "high"):
        if hasattr(getattr(key, kind), part):
            setattr(
                getattr(field_match, kind),
                part,
                _short(int.from_bytes(getattr(getattr(key, kind), part), "big")),
            )
    if kind == "lpm":
        field_match.lpm.prefix_len = key.lpm.prefix_len


def _index(entry: Any) -> int:
    return int.from_bytes(entry.key.fields[0].exact.value, "big")


def _put(data_field: Any, field: Field, value: Value) -> None:
    data_field.field_id = field.id
    if isinstance(value, bool):
        data_field.bool_val = value
    elif isinstance(value, str):
        data_field.str_val = value
    elif isinstance(value, list):
        data_field.int_arr_val.val.extend(value)
    else:
        data_field.stream = value.to_bytes(field.bytes, "big")


def _value(data_field: Any, field: Field) -> Value:
    kind = data_field.WhichOneof("value")
    if kind == "stream":
        return int.from_bytes(data_field.stream, "big")
    if kind in ("int_arr_val", "bool_arr_val", "str_arr_val"):
        return list(getattr(data_field, kind).val)
    if kind is None:  # a number or a text of no length
        return "" if field.width is None else 0
    return getattr(data_field, kind)
