"""Table entries: keys, actions, and what counts beside them; members of a parser's value sets."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, TypeAlias

from pcn.base import p4values
from pcn.base.p4rt import p4r
from pcn.controller.entities.counts import CounterData, MeterConfig, MeterCounterData
from pcn.controller.p4info import Action, MatchField, Names, Schema, Table


class TableMatch(dict[str, Any]):
    """Values of key fields by their names: TableMatch(dst_addr="10.0.0.0/8"). Their forms are those
    of `p4values`: exact and optional fields, LPM ("10.0.0.0/8", (value, length)), ternary
    ("0x800/&0xff00", (value, mask)), range ("1...5", (low, high)). None, and a field
    without a value, matches all packets."""

    def encode(self, table: Table, fields: Any) -> None:
        """Adds what matches to a message's fields. Raises ValueError."""
        _encode_match(self, table.match_fields, table.name, fields)

    @classmethod
    def decode(cls, fields: Iterable[p4r.FieldMatch], table: Table) -> TableMatch:
        """Returns the values by the fields' aliases. Raises ValueError."""
        return cls(_decode_match(fields, table.match_fields))


def _encode_match(
    values: Mapping[str, Any], known: Names[MatchField], owner: str, fields: Any
) -> None:
    for name, value in values.items():
        try:
            known[name].encode(value, fields)
        except (ValueError, TypeError) as error:
            raise ValueError(f"{owner!r}: match field {name!r}: {error}") from None


def _decode_match(
    fields: Iterable[p4r.FieldMatch], known: Names[MatchField]
) -> Iterator[tuple[str, Any]]:
    for message in fields:
        match_field = known[message.field_id]
        yield match_field.alias, match_field.decode(message)


@dataclass(init=False, slots=True)
class TableAction:
    """An action with its arguments by their names: TableAction("forward", port=1)."""

    name: str
    args: dict[str, Any]

    def __init__(self, name: str, /, **args: Any) -> None:
        self.name = name
        self.args = args

    def encode_table_action(self, table: Table, message: p4r.TableAction) -> None:
        """Writes it into a message; in a table with an action profile it is a set of one action.
        Raises ValueError."""
        try:
            action = table.actions[self.name]
        except ValueError as error:
            raise ValueError(f"{table.name!r}: {error}") from None
        if table.action_profile is None:
            self._encode(action, message.action)
        else:
            actions = message.action_profile_action_set.action_profile_actions
            self._encode(action, actions.add(weight=1).action)

    def encode_action(self, owner: Schema | Table, message: p4r.Action) -> None:
        """Writes it into a message, as an action of a table's or of all. Raises ValueError."""
        self._encode(owner.actions[self.name], message)

    def _encode(self, action: Action, message: p4r.Action) -> None:
        """Without arguments it selects in a read."""
        message.action_id = action.id
        params, known = message.params, action.params
        name = ""
        try:
            for name, value in self.args.items():
                param = known[name]
                params.add(param_id=param.id, value=p4values.exact(value, param.bitwidth))
        except ValueError as error:
            raise ValueError(f"action {action.alias!r}: {name}: {error}") from None
        if self.args and len(params) != len(known):
            ids = {known[name].id for name in self.args}
            missing = ", ".join(param.name for param in known if param.id not in ids)
            raise ValueError(
                f"action {action.alias!r}: "
                + (f"{missing} is missing" if missing else "a parameter is given twice")
            )

    @classmethod
    def decode_table_action(
        cls, message: p4r.TableAction, table: Table
    ) -> TableAction | TableActions:
        """Returns a table's action, or what stands for it. Raises ValueError."""
        which = message.WhichOneof("type")
        if which == "action":
            return cls.decode_action(message.action, table)
        if which == "action_profile_member_id":
            return TableActions(member_id=message.action_profile_member_id)
        if which == "action_profile_group_id":
            return TableActions(group_id=message.action_profile_group_id)
        if which == "action_profile_action_set":
            return TableActions.decode_action_set(message.action_profile_action_set, table)
        raise ValueError(f"{table.name!r}: an action is empty")

    @classmethod
    def decode_action(cls, message: p4r.Action, owner: Schema | Table) -> TableAction:
        """Returns an action. Raises ValueError."""
        action = owner.actions[message.action_id]
        call = cls(action.alias)
        for argument in message.params:
            param = action.params[argument.param_id]
            call.args[param.name] = p4values.decoded(
                argument.value, param.bitwidth, address=param.address
            )
        return call


Weight: TypeAlias = int | tuple[int, int]
"""Of an action or a member; with a port: it counts while that is up."""


def weigh(weight: Weight, message: Any) -> None:
    if isinstance(weight, int):
        message.weight = weight
    elif isinstance(weight, tuple) and len(weight) == 2:
        message.weight = weight[0]
        message.watch_port = p4values.exact(weight[1], PORT_BITS)
    else:
        raise ValueError(f"a weight is a number, or (weight, port), not {weight!r:.200}")


def weight_of(message: Any) -> Weight:
    watched = message.WhichOneof("watch_kind")
    if watched is None:
        return int(message.weight)
    if watched == "watch_port":
        return message.weight, p4values.decoded(message.watch_port, PORT_BITS)
    return message.weight, message.watch  # which is deprecated


PORT_BITS: Final = 32


@dataclass(slots=True)
class TableActions:
    """What a table with an action profile has for an action: a set of weighted ones, or a member or
    group of the profile by its id. `selection_mode`, `size_semantics`: of a set, as P4Runtime
    numbers them."""

    action_set: Sequence[tuple[Weight, TableAction]] | None = None
    _: KW_ONLY
    member_id: int | None = None
    group_id: int | None = None
    selection_mode: int = 0
    size_semantics: int = 0

    def __post_init__(self) -> None:
        alternatives = (self.action_set, self.member_id, self.group_id)
        if sum(value is not None for value in alternatives) != 1:
            raise ValueError("exactly one of action_set, member_id, or group_id must be set")

    def encode_table_action(self, table: Table, message: p4r.TableAction) -> None:
        """Writes them into a message. Raises ValueError."""
        if self.member_id is not None:
            message.action_profile_member_id = self.member_id
        elif self.group_id is not None:
            message.action_profile_group_id = self.group_id
        else:
            action_set: Any = message.action_profile_action_set
            action_set.SetInParent()
            action_set.action_selection_mode = self.selection_mode
            action_set.size_semantics = self.size_semantics
            for weight, call in self.action_set or ():
                weighted = action_set.action_profile_actions.add()
                call.encode_action(table, weighted.action)
                weigh(weight, weighted)

    @classmethod
    def decode_action_set(cls, message: p4r.ActionProfileActionSet, table: Table) -> TableActions:
        """Returns a set of actions. Raises ValueError."""
        return cls(
            [
                (weight_of(weighted), TableAction.decode_action(weighted.action, table))
                for weighted in message.action_profile_actions
            ],
            selection_mode=message.action_selection_mode,
            size_semantics=message.size_semantics,
        )


@dataclass(slots=True)
class TableEntry:
    """An entry of a table, or with `is_default_action` what packets get that hit none.

    `priority` where a key has ternary, range or optional fields: the highest wins. `metadata`: the
    controller's own. `time_since_last_hit` in ns, like `idle_timeout_ns`; in a read it
    requests that, as `counter_data` does."""

    table_id: str = ""
    _: KW_ONLY
    match: TableMatch | None = None
    action: TableAction | TableActions | None = None
    is_default_action: bool = False
    priority: int = 0
    metadata: bytes = b""
    controller_metadata: int = 0
    meter_config: MeterConfig | None = None
    counter_data: CounterData | None = None
    meter_counter_data: MeterCounterData | None = None
    idle_timeout_ns: int = 0
    time_since_last_hit: int | None = None
    is_const: bool = False

    def __getitem__(self, key: str) -> Any:
        """Returns the value of a key field. Raises KeyError."""
        if self.match is None:
            raise KeyError(key)
        return self.match[key]

    @property
    def plain(self) -> bool:
        """Whether it has a match and an action alone."""
        return not (
            self.is_default_action
            or self.priority
            or self.metadata
            or self.controller_metadata
            or self.meter_config is not None
            or self.counter_data is not None
            or self.meter_counter_data is not None
            or self.idle_timeout_ns
            or self.time_since_last_hit is not None
            or self.is_const
        )

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        self.encode_entry(schema, entity.table_entry)
        return entity

    def encode_entry(self, schema: Schema, message: p4r.TableEntry) -> None:
        """Writes it into a message. Raises ValueError."""
        message.SetInParent()
        if self.table_id:
            table = schema.tables[self.table_id]
            message.table_id = table.id
            if self.match:
                _encode_match(self.match, table.match_fields, table.name, message.match)
            if self.action is not None:
                self.action.encode_table_action(table, message.action)
            if not self.plain:
                self._encode_rest(message)
        elif not self.plain:
            self._encode_asked(message)

    def _encode_rest(self, message: p4r.TableEntry) -> None:
        message.is_default_action = self.is_default_action
        message.priority = self.priority
        message.metadata = self.metadata
        message.controller_metadata = self.controller_metadata
        message.idle_timeout_ns = self.idle_timeout_ns
        message.is_const = self.is_const
        if self.meter_config is not None:
            message.meter_config.CopyFrom(self.meter_config.encode())
        if self.meter_counter_data is not None:
            message.meter_counter_data.CopyFrom(self.meter_counter_data.encode())
        self._encode_asked(message)

    def _encode_asked(self, message: p4r.TableEntry) -> None:
        if self.counter_data is not None:
            message.counter_data.CopyFrom(self.counter_data.encode())
        if self.time_since_last_hit is not None:
            message.time_since_last_hit.SetInParent()
            message.time_since_last_hit.elapsed_ns = self.time_since_last_hit

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> TableEntry:
        return cls.decode_entry(entity.table_entry, schema)

    @classmethod
    def decode_entry(cls, message: p4r.TableEntry, schema: Schema) -> TableEntry:
        """Returns what a message has. Raises ValueError."""
        if not message.table_id:
            return cls()
        table = schema.tables[message.table_id]
        has = message.HasField
        return cls(
            table.alias,
            match=TableMatch.decode(message.match, table) if message.match else None,
            action=TableAction.decode_table_action(message.action, table)
            if has("action")
            else None,
            is_default_action=message.is_default_action,
            priority=message.priority,
            metadata=message.metadata,
            controller_metadata=message.controller_metadata,
            meter_config=MeterConfig.decode(message.meter_config) if has("meter_config") else None,
            counter_data=CounterData.decode(message.counter_data) if has("counter_data") else None,
            meter_counter_data=MeterCounterData.decode(message.meter_counter_data)
            if has("meter_counter_data")
            else None,
            idle_timeout_ns=message.idle_timeout_ns,
            time_since_last_hit=message.time_since_last_hit.elapsed_ns
            if has("time_since_last_hit")
            else None,
            is_const=message.is_const,
        )


@dataclass(slots=True)
class ValueSetEntry:
    """All that a parser's value set holds: of each member values by the fields' names, as
    `TableMatch` has them."""

    value_set_id: str
    _: KW_ONLY
    members: Sequence[Mapping[str, Any]] = field(default_factory=list)

    def encode(self, schema: Schema) -> p4r.Entity:
        value_set = schema.value_sets[self.value_set_id]
        entity = p4r.Entity()
        message = entity.value_set_entry
        message.value_set_id = value_set.id
        for member in self.members:
            _encode_match(
                member, value_set.match_fields, value_set.name, message.members.add().match
            )
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> ValueSetEntry:
        message = entity.value_set_entry
        value_set = schema.value_sets[message.value_set_id]
        return cls(
            value_set.alias,
            members=[
                dict(_decode_match(member.match, value_set.match_fields))
                for member in message.members
            ],
        )
