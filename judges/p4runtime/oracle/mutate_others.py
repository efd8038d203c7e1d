"""Mutations of what is no table entry: action profiles, arrays, replication, value sets,
digests."""

from oracle.draw import DELETE, INSERT, Draw
from oracle.mutate import breaks, entity
from oracle.profiles import GROUP, MEMBER
from oracle.values import shortest
from pcn.base.p4rt import p4r

# ---- action profiles ----


@breaks("reference-absent", "reference-zero")
def _reference(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "table_entry")
    kind = entry.action.WhichOneof("type") if entry is not None else None
    if kind not in ("action_profile_member_id", "action_profile_group_id"):
        return False
    setattr(entry.action, kind, draw.rng.choice((0, 77, 2**32 - 1)))
    return True


@breaks(
    "styles-mixed",
    "styles-meet",
    "oneshot-empty",
    "oneshot-size",
    "actions-differ",
    "selector-full",
)
def _oneshot(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "table_entry")
    table = draw.info.tables.get(entry.table_id) if entry is not None else None
    if table is None or not table.profile or not entry.HasField("action"):
        return False
    profile = draw.info.profiles[table.profile]
    entry.action.Clear()
    message = entry.action.action_profile_action_set
    message.SetInParent()
    if draw.rng.random() < 0.7:
        draw.fill_oneshot(profile, message)
    if draw.rng.random() < 0.5:
        for item in message.action_profile_actions:
            item.weight = draw.rng.choice((8, 40, 70))
    return True


@breaks("styles-mixed", "styles-meet")
def _mixed(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "table_entry")
    if entry is None or entry.action.WhichOneof("type") != "action_profile_action_set":
        return False
    entry.action.action_profile_member_id = 1
    return True


@breaks("weight", "member-weight", "watch")
def _weight(draw: Draw, update: p4r.Update) -> bool:
    group, entry = entity(update, "action_profile_group"), entity(update, "table_entry")
    if group is not None:
        items = group.members
    elif entry is not None:
        items = entry.action.action_profile_action_set.action_profile_actions
    else:
        return False
    if not items or update.type == DELETE:
        return False
    item = draw.rng.choice(items)
    if draw.rng.random() < 0.6:
        item.weight = draw.rng.choice((0, -1, -(2**31), 4))
    else:
        item.watch_port = b"\1"
    return True


@breaks("member-zero", "group-zero")
def _profile_zero(draw: Draw, update: p4r.Update) -> bool:
    member, group = entity(update, "action_profile_member"), entity(update, "action_profile_group")
    if member is not None:
        member.member_id = 0
    elif group is not None:
        group.group_id = 0
    return member is not None or group is not None


@breaks("member-used", "group-used", "member-action-changes")
def _used(draw: Draw, update: p4r.Update) -> bool:
    used: list[tuple[str, int, int]] = []
    for profile in draw.info.profiles.values():
        used += [
            (*action, profile.id)
            for action in draw.model.state.actions(profile.tables)
            if action[0] in (MEMBER, GROUP)
        ]
    used += [
        (MEMBER, item[0], p)
        for (p, _), group in draw.model.state.groups.items()
        for item in group.members
    ]
    if not used:
        return False
    kind, number, profile_id = draw.rng.choice(used)
    update.Clear()
    update.type = DELETE
    if kind == GROUP:
        update.entity.action_profile_group.action_profile_id = profile_id
        update.entity.action_profile_group.group_id = number
        return True
    member = update.entity.action_profile_member
    member.action_profile_id, member.member_id = profile_id, number
    if draw.rng.random() < 0.3:
        update.type = p4r.Update.MODIFY
        return draw.fill_call(member.action, draw.info.profiles[profile_id].actions)
    return True


@breaks("group-selector")
def _group_selector(draw: Draw, update: p4r.Update) -> bool:
    group = entity(update, "action_profile_group")
    plain = [profile.id for profile in draw.info.profiles.values() if not profile.selector]
    if group is None or not plain:
        return False
    group.action_profile_id = draw.rng.choice(plain)
    return True


@breaks("group-member-absent", "group-member-twice", "group-size")
def _group_members(draw: Draw, update: p4r.Update) -> bool:
    group = entity(update, "action_profile_group")
    if group is None or update.type == DELETE:
        return False
    if group.members and draw.rng.random() < 0.4:
        group.members.add().CopyFrom(draw.rng.choice(group.members))
    elif group.members and draw.rng.random() < 0.6:
        draw.rng.choice(group.members).weight = draw.rng.choice((9, 2**31 - 1))
    else:
        group.members.add(member_id=draw.rng.choice((0, 99)), weight=1)
    return True


@breaks(
    "max-size-large",
    "max-size-zero",
    "max-size-negative",
    "max-size-changed",
    "max-size-unsupported",
)
def _max_size(draw: Draw, update: p4r.Update) -> bool:
    group = entity(update, "action_profile_group")
    if group is None or update.type == DELETE:
        return False
    group.max_size = draw.rng.choice((0, -1, 9, 65, 2**31 - 1, group.max_size ^ 1))
    return True


# ---- arrays ----


@breaks("index-negative", "index-large")
def _index(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "counter_entry", "meter_entry", "register_entry")
    if entry is None:
        return False
    entry.index.index = draw.rng.choice((-1, -(2**63), 2**63 - 1, 10**6))
    return True


@breaks("data-form", "data-value")
def _data(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "register_entry")
    if entry is None:
        return False
    width = draw.info.registers[entry.register_id].width
    entry.data.Clear()
    kind = draw.rng.choice(("nothing", "bool", "struct", "empty", "wide", "wide"))
    if kind == "bool":
        entry.data.bool = True
    elif kind == "struct":
        entry.data.struct.members.add(bitstring=b"\1")
    elif kind == "empty":
        entry.data.bitstring = b""
    elif kind == "wide":
        entry.data.bitstring = shortest(2 ** (width + draw.rng.choice((0, 1, 9))))
    return True


# ---- packet replication ----


@breaks("pre-empty")
def _pre_empty(draw: Draw, update: p4r.Update) -> bool:
    update.entity.packet_replication_engine_entry.Clear()
    update.entity.packet_replication_engine_entry.SetInParent()
    return True


@breaks("multicast-zero", "session-zero", "pre-large")
def _pre_id(draw: Draw, update: p4r.Update) -> bool:
    engine = entity(update, "packet_replication_engine_entry")
    number = draw.rng.choice((0, 0, 2**31, 2**32 - 1))
    if engine is None or update.type != INSERT:
        return False
    if engine.HasField("multicast_group_entry"):
        engine.multicast_group_entry.multicast_group_id = number
    else:
        engine.clone_session_entry.session_id = number
    return True


@breaks("exists")
def _pre_exists(draw: Draw, update: p4r.Update) -> bool:
    if entity(update, "packet_replication_engine_entry") is None or update.type == DELETE:
        return False
    update.type = INSERT
    return True


@breaks(
    "replica-port",
    "replica-port-zero",
    "replica-twice",
    "replica-twice-clone",
    "instance-large",
    "class-of-service",
    "length-negative",
)
def _replica(draw: Draw, update: p4r.Update) -> bool:
    engine = entity(update, "packet_replication_engine_entry")
    if engine is None or update.type == DELETE:
        return False
    which = engine.WhichOneof("type")
    message = getattr(engine, which)
    if which == "clone_session_entry" and draw.rng.random() < 0.3:
        if draw.rng.random() < 0.5:
            message.class_of_service = 1
        else:
            message.packet_length_bytes = -1
        return True
    kind = draw.rng.choice(
        ("none", "empty", "wide", "number", "zero", "instance", "twice", "twice")
    )
    if kind == "twice":
        first = (
            message.replicas[0]
            if message.replicas
            else message.replicas.add(egress_port=3, instance=1)
        )
        port = first.egress_port or int.from_bytes(first.port, "big")
        if draw.rng.random() < 0.5:
            message.replicas.add(egress_port=port, instance=first.instance)
        else:
            message.replicas.add(port=b"\0" + shortest(port), instance=first.instance)
        return True
    replica = message.replicas.add(instance=7)
    if kind == "empty":
        replica.port = b""
    elif kind == "wide":
        replica.port = shortest(2**40)
    elif kind == "number":
        replica.egress_port = 2**32 - 1
    elif kind == "zero":
        replica.egress_port = 0
    elif kind == "instance":
        replica.egress_port, replica.instance = 1, 2**32 - 1
    return True


# ---- value sets, digests ----


@breaks("set-full", "set-twice")
def _members(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "value_set_entry")
    if entry is None:
        return False
    value_set = draw.info.value_sets[entry.value_set_id]
    while len(entry.members) <= value_set.size:
        entry.members.add(match=draw.matches(list(value_set.fields.values())))
    if draw.rng.random() < 0.5:
        del entry.members[1:]
        entry.members.add().CopyFrom(entry.members[0])
    return True


@breaks("digest-negative")
def _digest(draw: Draw, update: p4r.Update) -> bool:
    entry = entity(update, "digest_entry")
    if entry is None:
        return False
    entry.config.max_list_size = -1
    return True
