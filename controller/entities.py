"""P4Runtime's entities by the names of a program.

    entry = TableEntry(
        "ipv4_lpm",
        match=TableMatch(dst_addr="10.0.0.0/8"),
        action=TableAction("forward", port=1),
    )
    message = entry.encode(schema)
    entry = decode_entity(message, schema)

An entity without a name, or without a key, selects all in a read. `encode` raises ValueError, which
names what the program lacks or a value that doesn't fit; so does `decode`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import KW_ONLY, dataclass, field
from typing import Any, Final, TypeAlias

from pcn.base import p4values
from pcn.base.p4rt import p4r
from pcn.controller.p4info import Action, MatchField, Names, Schema, Table

# ---- what table entries consist of ----


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
            given = {known[name].id for name in self.args}
            missing = ", ".join(param.name for param in known if param.id not in given)
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


def _weigh(weight: Weight, message: Any) -> None:
    if isinstance(weight, int):
        message.weight = weight
    elif isinstance(weight, tuple) and len(weight) == 2:
        message.weight = weight[0]
        message.watch_port = p4values.exact(weight[1], PORT_BITS)
    else:
        raise ValueError(f"a weight is a number, or (weight, port), not {weight!r:.200}")


def _weight(message: Any) -> Weight:
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
        given = (self.action_set, self.member_id, self.group_id)
        if sum(value is not None for value in given) != 1:
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
                _weigh(weight, weighted)

    @classmethod
    def decode_action_set(cls, message: p4r.ActionProfileActionSet, table: Table) -> TableActions:
        """Returns a set of actions. Raises ValueError."""
        return cls(
            [
                (_weight(weighted), TableAction.decode_action(weighted.action, table))
                for weighted in message.action_profile_actions
            ],
            selection_mode=message.action_selection_mode,
            size_semantics=message.size_semantics,
        )


@dataclass(kw_only=True, slots=True)
class MeterConfig:
    """Rates in units a second, bursts in units: of bytes or packets, as the meter counts. `eburst`:
    of single-rate meters."""

    cir: int
    cburst: int
    pir: int
    pburst: int
    eburst: int = 0

    def encode(self) -> p4r.MeterConfig:
        """Returns P4Runtime's form."""
        return p4r.MeterConfig(
            cir=self.cir, cburst=self.cburst, pir=self.pir, pburst=self.pburst, eburst=self.eburst
        )

    @classmethod
    def decode(cls, message: p4r.MeterConfig) -> MeterConfig:
        """Returns what a message has."""
        return cls(
            cir=message.cir,
            cburst=message.cburst,
            pir=message.pir,
            pburst=message.pburst,
            eburst=message.eburst,
        )


@dataclass(kw_only=True, slots=True)
class CounterData:
    """What a counter has counted."""

    byte_count: int = 0
    packet_count: int = 0

    def encode(self) -> p4r.CounterData:
        """Returns P4Runtime's form."""
        return p4r.CounterData(byte_count=self.byte_count, packet_count=self.packet_count)

    @classmethod
    def decode(cls, message: p4r.CounterData) -> CounterData:
        """Returns what a message has."""
        return cls(byte_count=message.byte_count, packet_count=message.packet_count)


@dataclass(kw_only=True, slots=True)
class MeterCounterData:
    """What a meter has counted, by colour."""

    green: CounterData
    yellow: CounterData
    red: CounterData

    def encode(self) -> p4r.MeterCounterData:
        """Returns P4Runtime's form."""
        return p4r.MeterCounterData(
            green=self.green.encode(), yellow=self.yellow.encode(), red=self.red.encode()
        )

    @classmethod
    def decode(cls, message: p4r.MeterCounterData) -> MeterCounterData:
        """Returns what a message has."""
        return cls(
            green=CounterData.decode(message.green),
            yellow=CounterData.decode(message.yellow),
            red=CounterData.decode(message.red),
        )


# ---- entities ----


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


def _index(message: Any) -> int | None:
    return int(message.index.index) if message.HasField("index") else None


def _set_index(message: Any, index: int | None) -> None:
    if index is not None:
        message.index.SetInParent()
        message.index.index = index


@dataclass(slots=True)
class RegisterEntry:
    """A cell of a register; index None: all. `data` as `data_types` has it."""

    register_id: str = ""
    _: KW_ONLY
    index: int | None = None
    data: Any = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.register_entry
        message.SetInParent()
        if self.register_id:
            register = schema.registers[self.register_id]
            message.register_id = register.id
            _set_index(message, self.index)
            if self.data is not None:
                message.data.CopyFrom(register.type_spec.encode_data(self.data))
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> RegisterEntry:
        message = entity.register_entry
        if not message.register_id:
            return cls()
        register = schema.registers[message.register_id]
        data = register.type_spec.decode_data(message.data) if message.HasField("data") else None
        return cls(register.alias, index=_index(message), data=data)


@dataclass(slots=True)
class CounterEntry:
    """A cell of a counter; index None: all."""

    counter_id: str = ""
    _: KW_ONLY
    index: int | None = None
    data: CounterData | None = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.counter_entry
        message.SetInParent()
        if self.counter_id:
            message.counter_id = schema.counters[self.counter_id].id
            _set_index(message, self.index)
            if self.data is not None:
                message.data.CopyFrom(self.data.encode())
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> CounterEntry:
        message = entity.counter_entry
        if not message.counter_id:
            return cls()
        name = schema.counters[message.counter_id].alias
        data = CounterData.decode(message.data) if message.HasField("data") else None
        return cls(name, index=_index(message), data=data)


@dataclass(slots=True)
class DirectCounterEntry:
    """The counter of a table's entry; without an entry: of all of `counter_id`'s table."""

    counter_id: str = ""
    _: KW_ONLY
    table_entry: TableEntry | None = None
    data: CounterData | None = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.direct_counter_entry
        entry = self.table_entry
        if entry is None:
            counter = schema.direct_counters[self.counter_id] if self.counter_id else None
            entry = TableEntry(counter.direct_table_name if counter is not None else "")
        entry.encode_entry(schema, message.table_entry)
        if self.data is not None:
            message.data.CopyFrom(self.data.encode())
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> DirectCounterEntry:
        message = entity.direct_counter_entry
        entry, name = None, ""
        if message.HasField("table_entry"):
            entry = TableEntry.decode_entry(message.table_entry, schema)
            if entry.table_id:
                counter = schema.tables[message.table_entry.table_id].direct_counter
                if counter is None:
                    raise ValueError(f"table {entry.table_id!r} has no direct counter")
                name = counter.alias
        data = CounterData.decode(message.data) if message.HasField("data") else None
        return cls(name, table_entry=entry, data=data)


@dataclass(slots=True)
class MeterEntry:
    """A cell of a meter; index None: all. Without a `config` every packet is green."""

    meter_id: str = ""
    _: KW_ONLY
    index: int | None = None
    config: MeterConfig | None = None
    counter_data: MeterCounterData | None = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.meter_entry
        message.SetInParent()
        if self.meter_id:
            message.meter_id = schema.meters[self.meter_id].id
            _set_index(message, self.index)
            _encode_meter(message, self.config, self.counter_data)
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> MeterEntry:
        message = entity.meter_entry
        if not message.meter_id:
            return cls()
        config, counts = _decode_meter(message)
        name = schema.meters[message.meter_id].alias
        return cls(name, index=_index(message), config=config, counter_data=counts)


@dataclass(kw_only=True, slots=True)
class DirectMeterEntry:
    """The meter of a table's entry."""

    table_entry: TableEntry | None = None
    config: MeterConfig | None = None
    counter_data: MeterCounterData | None = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.direct_meter_entry
        message.SetInParent()
        if self.table_entry is not None:
            self.table_entry.encode_entry(schema, message.table_entry)
        _encode_meter(message, self.config, self.counter_data)
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> DirectMeterEntry:
        message = entity.direct_meter_entry
        entry = None
        if message.HasField("table_entry"):
            entry = TableEntry.decode_entry(message.table_entry, schema)
        config, counts = _decode_meter(message)
        return cls(table_entry=entry, config=config, counter_data=counts)


def _encode_meter(
    message: Any, config: MeterConfig | None, counts: MeterCounterData | None
) -> None:
    if config is not None:
        message.config.CopyFrom(config.encode())
    if counts is not None:
        message.counter_data.CopyFrom(counts.encode())


def _decode_meter(message: Any) -> tuple[MeterConfig | None, MeterCounterData | None]:
    return (
        MeterConfig.decode(message.config) if message.HasField("config") else None,
        MeterCounterData.decode(message.counter_data) if message.HasField("counter_data") else None,
    )


@dataclass(slots=True)
class Replica:
    """A copy's port, and the number that the program sees it by. `backup_replicas`: (port,
    instance) of those that replace it while its port is down."""

    port: int
    _: KW_ONLY
    instance: int = 0
    backup_replicas: Sequence[tuple[int, int]] = ()

    def encode(self, message: p4r.Replica) -> None:
        """Writes it into a message: the port as older servers have it too, where that can be."""
        message.instance = self.instance
        if not self.backup_replicas:
            message.egress_port = self.port
            return
        message.port = p4values.exact(self.port, PORT_BITS)
        for port, instance in self.backup_replicas:
            message.backup_replicas.add(port=p4values.exact(port, PORT_BITS), instance=instance)

    @classmethod
    def decode(cls, message: p4r.Replica) -> Replica:
        """Returns what a message has. Raises ValueError."""
        if message.WhichOneof("port_kind") == "port":
            port = p4values.decoded(message.port, PORT_BITS)
        else:
            port = message.egress_port
        return cls(
            port,
            instance=message.instance,
            backup_replicas=tuple(
                (p4values.decoded(backup.port, PORT_BITS), backup.instance)
                for backup in message.backup_replicas
            ),
        )


Copies: TypeAlias = Sequence[int | tuple[int, int] | Replica]
"""Of each copy its port, (port, instance), or the whole."""


def _encode_copies(copies: Copies, replicas: Any) -> None:
    for copy in copies:
        if isinstance(copy, int):
            copy = Replica(copy)
        elif isinstance(copy, tuple):
            copy = Replica(copy[0], instance=copy[1])
        copy.encode(replicas.add())


def _decode_copies(replicas: Iterable[p4r.Replica]) -> tuple[int | Replica, ...]:
    """Returns of each copy its port alone, where it has nothing beside it."""
    copies = (Replica.decode(replica) for replica in replicas)
    return tuple(copy if copy.instance or copy.backup_replicas else copy.port for copy in copies)


@dataclass(slots=True)
class MulticastGroup:
    """A multicast group."""

    multicast_group_id: int = 0
    _: KW_ONLY
    replicas: Copies = ()
    metadata: bytes = b""

    def encode(self, _schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.packet_replication_engine_entry.multicast_group_entry
        message.SetInParent()
        message.multicast_group_id = self.multicast_group_id
        message.metadata = self.metadata
        _encode_copies(self.replicas, message.replicas)
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, _schema: Schema) -> MulticastGroup:
        message = entity.packet_replication_engine_entry.multicast_group_entry
        return cls(
            message.multicast_group_id,
            replicas=_decode_copies(message.replicas),
            metadata=message.metadata,
        )


@dataclass(slots=True)
class CloneSession:
    """A clone session; `packet_length_bytes` 0: packets are copied whole."""

    session_id: int = 0
    _: KW_ONLY
    class_of_service: int = 0
    packet_length_bytes: int = 0
    replicas: Copies = ()

    def encode(self, _schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.packet_replication_engine_entry.clone_session_entry
        message.SetInParent()
        message.session_id = self.session_id
        message.class_of_service = self.class_of_service
        message.packet_length_bytes = self.packet_length_bytes
        _encode_copies(self.replicas, message.replicas)
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, _schema: Schema) -> CloneSession:
        message = entity.packet_replication_engine_entry.clone_session_entry
        return cls(
            message.session_id,
            class_of_service=message.class_of_service,
            packet_length_bytes=message.packet_length_bytes,
            replicas=_decode_copies(message.replicas),
        )


@dataclass(slots=True)
class DigestEntry:
    """What a controller wants of a digest: lists of at most `max_list_size` values, after at most
    `max_timeout_ns`, and a value again only `ack_timeout_ns` after it wasn't acknowledged."""

    digest_id: str = ""
    _: KW_ONLY
    max_list_size: int = 0
    max_timeout_ns: int = 0
    ack_timeout_ns: int = 0

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.digest_entry
        message.SetInParent()
        if self.digest_id:
            message.digest_id = schema.digests[self.digest_id].id
            if self.max_list_size or self.max_timeout_ns or self.ack_timeout_ns:
                config = message.config
                config.max_list_size = self.max_list_size
                config.max_timeout_ns = self.max_timeout_ns
                config.ack_timeout_ns = self.ack_timeout_ns
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> DigestEntry:
        message = entity.digest_entry
        if not message.digest_id:
            return cls()
        config = message.config
        return cls(
            schema.digests[message.digest_id].alias,
            max_list_size=config.max_list_size,
            max_timeout_ns=config.max_timeout_ns,
            ack_timeout_ns=config.ack_timeout_ns,
        )


@dataclass(slots=True)
class ProfileMember:
    """A member of an action profile."""

    action_profile_id: str = ""
    _: KW_ONLY
    member_id: int = 0
    action: TableAction | None = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.action_profile_member
        message.SetInParent()
        if self.action_profile_id:
            message.action_profile_id = schema.action_profiles[self.action_profile_id].id
            message.member_id = self.member_id
            if self.action is not None:
                self.action.encode_action(schema, message.action)
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> ProfileMember:
        message = entity.action_profile_member
        if not message.action_profile_id:
            return cls()
        action = None
        if message.HasField("action"):
            action = TableAction.decode_action(message.action, schema)
        name = schema.action_profiles[message.action_profile_id].alias
        return cls(name, member_id=message.member_id, action=action)


@dataclass(slots=True)
class GroupMember:
    """A member of a group, with its weight."""

    member_id: int
    _: KW_ONLY
    weight: Weight


@dataclass(slots=True)
class ProfileGroup:
    """A group of an action profile's members."""

    action_profile_id: str = ""
    _: KW_ONLY
    group_id: int = 0
    max_size: int = 0
    members: Sequence[GroupMember] | None = None

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.action_profile_group
        message.SetInParent()
        if self.action_profile_id:
            message.action_profile_id = schema.action_profiles[self.action_profile_id].id
            message.group_id = self.group_id
            message.max_size = self.max_size
            for member in self.members or ():
                _weigh(member.weight, message.members.add(member_id=member.member_id))
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> ProfileGroup:
        message = entity.action_profile_group
        if not message.action_profile_id:
            return cls()
        return cls(
            schema.action_profiles[message.action_profile_id].alias,
            group_id=message.group_id,
            max_size=message.max_size,
            members=[
                GroupMember(member.member_id, weight=_weight(member)) for member in message.members
            ]
            or None,
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


_ENTITIES: Final[Mapping[str, Any]] = {
    "table_entry": TableEntry,
    "register_entry": RegisterEntry,
    "counter_entry": CounterEntry,
    "direct_counter_entry": DirectCounterEntry,
    "meter_entry": MeterEntry,
    "direct_meter_entry": DirectMeterEntry,
    "multicast_group_entry": MulticastGroup,
    "clone_session_entry": CloneSession,
    "digest_entry": DigestEntry,
    "action_profile_member": ProfileMember,
    "action_profile_group": ProfileGroup,
    "value_set_entry": ValueSetEntry,
}


def decode_entity(entity: p4r.Entity, schema: Schema) -> Any:
    """Returns what a message has, as one of these classes. Raises ValueError."""
    which: str | None = entity.WhichOneof("entity")
    if which == "packet_replication_engine_entry":
        which = entity.packet_replication_engine_entry.WhichOneof("type")
    if which is None or which not in _ENTITIES:
        raise ValueError(f"an entity of the kind {which} isn't read")
    return _ENTITIES[which].decode(entity, schema)


# ---- what comes by itself ----


@dataclass(slots=True)
class PacketIn:
    """A packet of the program, with the fields of its packet_in header."""

    payload: bytes
    _: KW_ONLY
    metadata: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        """Returns a field. Raises KeyError."""
        return self.metadata[key]

    @classmethod
    def decode(cls, message: p4r.StreamMessageResponse, schema: Schema) -> PacketIn:
        header = schema.controller_packet_metadata.get("packet_in")
        packet = message.packet
        return cls(packet.payload, metadata=header.decode(packet.metadata) if header else {})


@dataclass(slots=True)
class DigestList:
    """Values that a program sent by a digest, as `data_types` has them; `timestamp` in ns."""

    digest_id: str
    _: KW_ONLY
    list_id: int
    timestamp: int
    data: list[Any]

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, number: int) -> Any:
        return self.data[number]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)

    @classmethod
    def decode(cls, message: p4r.StreamMessageResponse, schema: Schema) -> DigestList:
        digest = schema.digests[message.digest.digest_id]
        return cls(
            digest.alias,
            list_id=message.digest.list_id,
            timestamp=message.digest.timestamp,
            data=[digest.type_spec.decode_data(value) for value in message.digest.data],
        )

    def acknowledgement(self, schema: Schema) -> p4r.StreamMessageRequest:
        """Returns the message that acknowledges it."""
        acknowledgement = p4r.DigestListAck(
            digest_id=schema.digests[self.digest_id].id, list_id=self.list_id
        )
        return p4r.StreamMessageRequest(digest_ack=acknowledgement)


@dataclass(slots=True)
class IdleTimeouts:
    """Entries that no packet has hit for as long as their `idle_timeout_ns`; `timestamp` in ns."""

    table_entry: list[TableEntry]
    timestamp: int

    def __len__(self) -> int:
        return len(self.table_entry)

    def __getitem__(self, number: int) -> TableEntry:
        return self.table_entry[number]

    def __iter__(self) -> Iterator[TableEntry]:
        return iter(self.table_entry)

    @classmethod
    def decode(cls, message: p4r.StreamMessageResponse, schema: Schema) -> IdleTimeouts:
        notification = message.idle_timeout_notification
        entries = [TableEntry.decode_entry(entry, schema) for entry in notification.table_entry]
        return cls(entries, notification.timestamp)
