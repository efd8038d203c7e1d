"""Updates that break no rule, drawn from the p4info and what the model holds."""

import random
from collections.abc import Sequence

from oracle.cells import COUNTER, METER, encoded
from oracle.info import (
    EXACT,
    LPM,
    OPTIONAL,
    RANGE,
    TERNARY,
    Action,
    Array,
    Field,
    Param,
    Profile,
    Table,
)
from oracle.model import Model
from oracle.rules import RULES
from oracle.state import Entry, EntryKey
from oracle.values import shortest
from pcn.base.p4rt import p4r

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
# translated strings
NAMES = (b"uplink", b"Ethernet0", b"7", b"a b", b"port 4", b"Ethernet0/1", b"host")
MOST = 10  # entries of a table, members and so on; a table of at most SMALL is filled up
SMALL = 16


class Draw:
    """Draws from one random source, for one model."""

    def __init__(self, rng: random.Random, model: Model):
        self.rng = rng
        self.model = model
        self.info = model.info
        self._kinds = [self.multicast, self.session]
        if self.info.tables:
            self._kinds += [self.entry] * 8 + [self.default]
        if any(table.counter or table.meter for table in self.info.tables.values()):
            self._kinds += [self.direct] * 2
        if self.info.profiles:
            self._kinds += [self.member] * 3 + [self.group] * 3
        if any(self._arrays()):
            self._kinds += [self.cell] * 3
        if self.info.value_sets:
            self._kinds += [self.value_set] * 4
        if self.info.digests:
            self._kinds.append(self.digest)

    def valid(self) -> p4r.Update:
        """An update that has to be accepted, except for limits of the target."""
        while True:
            update = self.rng.choice(self._kinds)()
            if update is not None and all(
                RULES[name].choice for name in self.model.decide(update).broken
            ):
                return update

    # ---- values ----

    def number(self, width: int) -> int:
        """A number of `width` bits: often small, an edge, or one bit."""
        top = 2**width - 1
        small = self.rng.randrange(8) & top
        return self.rng.choice(
            (0, 1, small, small, top, 1 << self.rng.randrange(width), self.rng.getrandbits(width))
        )

    def octets(self, value: int) -> bytes:
        """Its byte string, at times with zeros in front, which 8.3 lets through."""
        return bytes(self.rng.choice((0,) * 9 + (1, 1, 20))) + shortest(value)

    def value(self, shape: Field | Param) -> bytes:
        """A value of a field or parameter."""
        return self.rng.choice(NAMES) if shape.string else self.octets(self.number(shape.width))

    def matches(self, fields: Sequence[Field]) -> list[p4r.FieldMatch]:
        """A key, in any order, without its don't-cares."""
        drawn = [match for match in map(self.match, fields) if match is not None]
        self.rng.shuffle(drawn)
        return drawn

    def match(self, field: Field) -> p4r.FieldMatch | None:
        """A match of one field; None: don't care."""
        match = p4r.FieldMatch(field_id=field.id)
        if field.kind != EXACT and self.rng.random() < 0.25:
            return None
        if field.kind == EXACT:
            match.exact.value = self.value(field)
        elif field.kind == OPTIONAL:
            match.optional.value = self.value(field)
        elif field.kind == LPM:
            length = self.rng.randint(1, field.width)
            low = field.width - length
            match.lpm.value, match.lpm.prefix_len = (
                self.octets(self.number(field.width) >> low << low),
                length,
            )
        elif field.kind == TERNARY:
            mask = self.number(field.width) or 1
            match.ternary.value, match.ternary.mask = (
                self.octets(self.number(field.width) & mask),
                self.octets(mask),
            )
        elif field.kind == RANGE:
            low, high = sorted((self.number(field.width), self.number(field.width)))
            if (low, high) == (0, 2**field.width - 1):
                return None
            match.range.low, match.range.high = self.octets(low), self.octets(high)
        return match

    def width(self, call: p4r.Action, param: int) -> int:
        """The bits of an action's parameter; 0 of a string."""
        for table in self.info.tables.values():
            if call.action_id in table.actions:
                return table.actions[call.action_id].params[param].width
        return 0

    def fill_call(
        self, message: p4r.Action, actions: dict[int, Action], *, default: bool = False
    ) -> bool:
        """Fills in an action that may stand here. Returns whether there is one."""
        allowed = [
            action
            for action in actions.values()
            if (action.in_default if default else action.in_table)
        ]
        if not allowed:
            return False
        action = self.rng.choice(allowed)
        message.action_id = action.id
        params = list(action.params.values())
        self.rng.shuffle(params)
        for param in params:
            message.params.add(param_id=param.id, value=self.value(param))
        return True

    # ---- tables ----

    def entry(self) -> p4r.Update | None:
        """INSERT, MODIFY or DELETE of a table entry."""
        table = self.rng.choice(list(self.info.tables.values()))
        held = list(self.model.state.of_table(table.id))
        full = table.size + 2 if 0 < table.size <= SMALL else MOST
        kind = self._kind(len(held), full)
        if kind == INSERT:
            update = p4r.Update(type=INSERT)
            entry = update.entity.table_entry
            entry.table_id = table.id
            entry.match.extend(self.matches(list(table.fields.values())))
            if table.prioritised:
                entry.priority = self.rng.choice((1, 2, 3, 100, 2**31 - 1))
        else:
            update = self.keyed(kind, *self.rng.choice(held))
            entry = update.entity.table_entry
        if kind == DELETE:
            if self.rng.random() < 0.3:  # all but the key is ignored
                entry.action.action.action_id, entry.metadata, entry.idle_timeout_ns = 77, b"x", -1
            return update
        const = table.const or (kind == MODIFY and self._held(table, entry).const)
        if kind == INSERT or (not const and self.rng.random() < 0.8):
            if not self.fill_action(table, entry.action):
                return None
            self._decorate(table, entry)
        elif not const:  # whether metadata change without an action is unclear in 9.1.2: they stay
            old = self._held(table, entry)
            entry.controller_metadata, entry.metadata, entry.idle_timeout_ns = (
                old[1],
                old[2],
                old[3],
            )
        self._hang(table, entry)
        return update

    def default(self) -> p4r.Update | None:
        """MODIFY of a default entry, or its reset."""
        table = self.rng.choice(list(self.info.tables.values()))
        update = p4r.Update(type=MODIFY)
        entry = update.entity.table_entry
        entry.table_id, entry.is_default_action = table.id, True
        if self.rng.random() < 0.7:
            if table.profile or not self.fill_call(
                entry.action.action, table.actions, default=True
            ):
                return None
            entry.metadata = self.rng.choice((b"", b"why", b"\0"))
            entry.controller_metadata = self.rng.choice((0, 9))
        if table.counter and self.rng.random() < 0.3:
            self._count(entry.counter_data, table.counter)
        return update

    def fill_action(self, table: Table, message: p4r.TableAction) -> bool:
        """Fills in an action of the table's kind. Returns whether there is one."""
        if not table.profile:
            return self.fill_call(message.action, table.actions)
        profile = self.info.profiles[table.profile]
        members, groups = (
            self.model.state.members_of(profile.id),
            self.model.state.groups_of(profile.id),
        )
        if profile.selector and not members and not groups and self.rng.random() < 0.6:
            return self.fill_oneshot(profile, message.action_profile_action_set)
        if groups and self.rng.random() < 0.5:
            message.action_profile_group_id = self.rng.choice(groups)
        elif members:
            message.action_profile_member_id = self.rng.choice(members)
        return bool(members or groups)

    def fill_oneshot(self, profile: Profile, message: p4r.ActionProfileActionSet) -> bool:
        """Fills in a one-shot set of actions."""
        for _ in range(self.rng.randint(1, 3)):
            item = message.action_profile_actions.add(weight=self.rng.randint(1, 2))
            if not self.fill_call(item.action, profile.actions):
                return False
        return True

    def direct(self) -> p4r.Update | None:
        """MODIFY of an entry's direct counter or meter."""
        tables = [table for table in self.info.tables.values() if table.counter or table.meter]
        table = self.rng.choice(tables)
        held = list(self.model.state.of_table(table.id))
        default = table.counter and (not held or self.rng.random() < 0.1)
        if not held and not default:
            return None
        table_entry = p4r.TableEntry(table_id=table.id, is_default_action=True)
        if not default:
            table_entry = self.keyed(MODIFY, *self.rng.choice(held)).entity.table_entry
        update = p4r.Update(type=MODIFY)
        if table.counter and (default or not table.meter or self.rng.random() < 0.5):
            counter = update.entity.direct_counter_entry
            counter.table_entry.CopyFrom(table_entry)
            if self.rng.random() < 0.9:
                self._count(counter.data, table.counter)
        else:
            meter = update.entity.direct_meter_entry
            meter.table_entry.CopyFrom(table_entry)
            if self.rng.random() < 0.8:
                self._rates(meter.config, table.single_rate)
        return update

    def keyed(self, kind: p4r.Update.Type.ValueType, key: EntryKey, _entry: Entry) -> p4r.Update:
        update = p4r.Update(type=kind)
        message = update.entity.table_entry
        message.table_id, message.priority = key.table, key.priority
        for number, form, *values in key.match or ():
            match = message.match.add(field_id=number)
            inner = getattr(match, form)
            fields = {
                "lpm": ("value", "prefix_len"),
                "ternary": ("value", "mask"),
                "range": ("low", "high"),
            }
            for name, value in zip(fields.get(form, ("value",)), values, strict=True):
                setattr(inner, name, value)
        return update

    def _held(self, table: Table, message: p4r.TableEntry) -> Entry:
        return self.model.state.entries[self.model.tables.key(message)]

    def _decorate(self, table: Table, entry: p4r.TableEntry):
        entry.controller_metadata = self.rng.choice((0, 0, 1, 2**64 - 1))
        entry.metadata = self.rng.choice((b"", b"", b"\0", b"cookie", bytes(300)))
        if table.idle:
            entry.idle_timeout_ns = self.rng.choice((0, 1, 10**9, 2**63 - 1))

    def _hang(self, table: Table, entry: p4r.TableEntry):
        if table.counter and self.rng.random() < 0.4:
            self._count(entry.counter_data, table.counter)
        if table.meter and self.rng.random() < 0.5:
            self._rates(entry.meter_config, table.single_rate)

    def _count(self, data: p4r.CounterData, unit: str):
        """A count in the counter's unit (6.4.4); the specification doesn't define the rest."""
        data.SetInParent()
        if unit != "BYTES":
            data.packet_count = self.rng.choice((0, 1, 77, 2**40))
        if unit != "PACKETS":
            data.byte_count = self.rng.choice((0, 64, 2**50))

    def _rates(self, config: p4r.MeterConfig, single_rate: bool):
        config.SetInParent()
        config.cir = self.rng.choice((0, 1, 1000, 10**9))
        config.pir = config.cir + self.rng.choice((0, 1, 5000))
        config.cburst, config.pburst = self.rng.choice((0, 1, 1500)), self.rng.choice((0, 1, 9000))
        if single_rate:
            config.pir, config.pburst = config.cir, config.cburst

    # ---- action profiles ----

    def member(self) -> p4r.Update | None:
        """INSERT, MODIFY or DELETE of a member."""
        profile = self.rng.choice(list(self.info.profiles.values()))
        members = self.model.state.members_of(profile.id)
        kind = self._kind(len(members), profile.size + 2 if profile.size <= SMALL else MOST)
        update = p4r.Update(type=kind)
        message = update.entity.action_profile_member
        message.action_profile_id = profile.id
        message.member_id = self._id(members) if kind == INSERT else self.rng.choice(members)
        if kind != DELETE:
            self.fill_call(message.action, profile.actions)
        return update

    def group(self) -> p4r.Update | None:
        """INSERT, MODIFY or DELETE of a group."""
        profiles = [profile for profile in self.info.profiles.values() if profile.selector]
        if not profiles:
            return None
        profile = self.rng.choice(profiles)
        groups, members = (
            self.model.state.groups_of(profile.id),
            self.model.state.members_of(profile.id),
        )
        kind = self._kind(len(groups), MOST // 2)
        update = p4r.Update(type=kind)
        message = update.entity.action_profile_group
        message.action_profile_id = profile.id
        message.group_id = self._id(groups) if kind == INSERT else self.rng.choice(groups)
        if kind == INSERT:
            message.max_size = self.rng.choice(
                (4, profile.group_size) if profile.group_size else (0, 0, 4, 6)
            )
        else:
            message.max_size = self.model.state.groups[profile.id, message.group_id][0]
        for number in self.rng.sample(members, min(len(members), self.rng.randrange(4))):
            message.members.add(member_id=number, weight=self.rng.randint(1, 2))
        return update

    # ---- arrays, replication, value sets, digests ----

    def _arrays(self) -> list[tuple[str, Array]]:
        return [
            (array_kind, array)
            for array_kind, arrays in self.model.cells.arrays.items()
            for array in arrays.values()
            if array.size and array.form != "other"
        ]

    def cell(self) -> p4r.Update:
        """MODIFY of a cell, or of a whole array that is not too large."""
        array_kind, array = self.rng.choice(self._arrays())
        update = p4r.Update(type=MODIFY)
        entry = getattr(update.entity, f"{array_kind}_entry")
        setattr(entry, f"{array_kind}_id", array.id)
        if array.size > 10_000 or self.rng.random() < 0.95:
            entry.index.index = self.rng.choice((0, array.size - 1, min(3, array.size - 1)))
        if array_kind == COUNTER:
            if self.rng.random() < 0.9:
                self._count(entry.data, array.form)
        elif array_kind == METER:
            if self.rng.random() < 0.7:
                self._rates(entry.config, array.single_rate)
        else:
            value = self.number(array.width)
            signed = value - (
                2**array.width if array.form == "signed" and value >> (array.width - 1) else 0
            )
            entry.data.CopyFrom(encoded(array, signed))
            if array.form == "bits":
                entry.data.bitstring = self.octets(value)
        return update

    def multicast(self) -> p4r.Update:
        """INSERT, MODIFY or DELETE of a multicast group."""
        held = list(self.model.state.multicasts)
        kind = self._kind(len(held), MOST)
        update = p4r.Update(type=kind)
        message = update.entity.packet_replication_engine_entry.multicast_group_entry
        message.multicast_group_id = self._id(held) if kind == INSERT else self.rng.choice(held)
        if kind != DELETE:
            self._replicas(message)
            message.metadata = self.rng.choice((b"", b"", b"tree"))
        return update

    def session(self) -> p4r.Update:
        """INSERT, MODIFY or DELETE of a clone session."""
        held = list(self.model.state.sessions)
        kind = self._kind(len(held), MOST)
        update = p4r.Update(type=kind)
        message = update.entity.packet_replication_engine_entry.clone_session_entry
        message.session_id = self._id(held) if kind == INSERT else self.rng.choice(held)
        if kind != DELETE:
            self._replicas(message)
            message.packet_length_bytes = self.rng.choice((0, 0, 64, 2000))
        return update

    def _replicas(self, message):
        for port in self.rng.sample(range(1, 9), self.rng.randrange(4)):
            replica = message.replicas.add(instance=self.rng.choice((0, 1, 65535)))
            if self.rng.random() < 0.5:
                replica.egress_port = port
            else:
                replica.port = self.octets(port)

    def value_set(self) -> p4r.Update:
        """MODIFY of a value set."""
        value_set = self.rng.choice(list(self.info.value_sets.values()))
        update = p4r.Update(type=MODIFY)
        message = update.entity.value_set_entry
        message.value_set_id = value_set.id
        for _ in range(self.rng.randint(0, min(value_set.size, 4))):
            message.members.add(match=self.matches(list(value_set.fields.values())))
        return update

    def digest(self) -> p4r.Update:
        """INSERT, MODIFY or DELETE of a digest's configuration."""
        number = self.rng.choice(self.info.digests)
        kind = (
            self.rng.choice((MODIFY, MODIFY, DELETE))
            if number in self.model.state.digests
            else INSERT
        )
        update = p4r.Update(type=kind)
        message = update.entity.digest_entry
        message.digest_id = number
        if kind != DELETE:
            message.config.max_timeout_ns = self.rng.choice((0, 10**6))
            message.config.max_list_size = self.rng.choice((0, 1, 100))
            message.config.ack_timeout_ns = self.rng.choice((0, 10**9))
        return update

    def _kind(self, held: int, most: int) -> p4r.Update.Type.ValueType:
        if not held or self.rng.random() < (0.55 if held < most else 0.15):
            return INSERT
        return MODIFY if self.rng.random() < 0.55 else DELETE

    def _id(self, held: Sequence[int]) -> int:
        return self.rng.choice(
            [number for number in (*range(1, 15), 4000) if number not in held] or [1]
        )
