"""Batches whose updates don't depend on each other: a server may carry them out in any order
(12.1)."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from oracle import mutate_entries, mutate_others  # noqa: F401 - they register mutations
from oracle.check import wrong_matches
from oracle.draw import Draw
from oracle.forms import Form
from oracle.model import Model
from oracle.mutate import MUTATIONS
from oracle.profiles import GROUP, MEMBER, ONESHOT
from pcn.base.p4rt import p4r

Token = tuple[Any, ...]
MUTATED = 0.35  # of all updates
TRIES = 4  # mutations, until one applies
ELECTION = p4r.Uint128(low=1)
_ALL = [mutation for mutations in MUTATIONS.values() for mutation in mutations]


@dataclass
class Touched:
    """What the updates of a batch write and use, and which way each selector is programmed."""

    writes: set[Token] = field(default_factory=set)
    uses: set[Token] = field(default_factory=set)
    styles: dict[int, str] = field(default_factory=dict)

    def add(self, touched: Touched) -> bool:
        """Adds another update's, unless one of the two depends on the other."""
        if touched.writes & (self.writes | self.uses) or touched.uses & self.writes:
            return False
        if any(
            self.styles.get(profile, style) != style for profile, style in touched.styles.items()
        ):
            return False
        self.writes |= touched.writes
        self.uses |= touched.uses
        self.styles.update(touched.styles)
        return True


def touched(model: Model, update: p4r.Update) -> Touched:
    """What one update writes and uses, whatever is wrong with it."""
    out = Touched()
    which = update.entity.WhichOneof("entity") or ""
    message = getattr(update.entity, which) if which else None
    if which in ("table_entry", "direct_counter_entry", "direct_meter_entry"):
        _touch_entry(model, message if which == "table_entry" else message.table_entry, out)
    elif which == "action_profile_member":
        out.writes.add((MEMBER, message.action_profile_id, message.member_id))
        out.styles[message.action_profile_id] = MEMBER
    elif which == "action_profile_group":
        key = (message.action_profile_id, message.group_id)
        out.writes.add((GROUP, *key))
        out.styles[message.action_profile_id] = MEMBER
        held = (
            [number for number, _ in model.state.groups[key].members]
            if key in model.state.groups
            else []
        )
        out.uses |= {
            (MEMBER, key[0], number)
            for number in (*held, *(item.member_id for item in message.members))
        }
    elif which in ("counter_entry", "meter_entry", "register_entry"):
        array = (which, getattr(message, which.replace("entry", "id")))
        if message.HasField("index"):
            out.writes.add((*array, message.index.index))
            out.uses.add(array)
        else:
            out.writes.add(array)
    elif which == "packet_replication_engine_entry":
        multicast, session = message.multicast_group_entry, message.clone_session_entry
        out.writes.add(
            (message.WhichOneof("type"), multicast.multicast_group_id, session.session_id)
        )
    elif which in ("value_set_entry", "digest_entry"):
        out.writes.add((which, getattr(message, which.replace("entry", "id"))))
    return out


def _touch_entry(model: Model, message: p4r.TableEntry, out: Touched):
    table = model.info.tables.get(message.table_id)
    if table is None:
        return
    if not message.is_default_action and list(wrong_matches(table.fields, message.match)):
        return  # it's refused, whatever else happens
    key = model.tables.key(message)
    out.writes.add(("entry", key))
    held = model.state.entries.get(key)
    if not table.profile:
        return
    kind = message.action.WhichOneof("type")
    if kind == "action_profile_member_id":
        _touch_action(table.profile, (MEMBER, message.action.action_profile_member_id), out)
    elif kind == "action_profile_group_id":
        _touch_action(table.profile, (GROUP, message.action.action_profile_group_id), out)
    elif kind == "action_profile_action_set":
        _touch_action(table.profile, (ONESHOT,), out)
    if held is not None and held.action is not None and key.match is not None:
        _touch_action(table.profile, held.action, out)


def _touch_action(profile: int, action: Form, out: Touched):
    style = ONESHOT if action[0] == ONESHOT else MEMBER
    if out.styles.get(profile, style) != style:
        out.writes.add(("both styles", profile))
    out.styles[profile] = style
    if style != ONESHOT:
        out.uses.add((action[0], profile, action[1]))


def draw_update(draw: Draw) -> p4r.Update:
    """A valid update, or a mutated one."""
    update = draw.valid()
    if draw.rng.random() < MUTATED:
        for _ in range(TRIES):
            changed = p4r.Update()
            changed.CopyFrom(update)
            if draw.rng.choice(_ALL)(draw, changed):
                return changed
    return update


def draw_batch(draw: Draw, most: int) -> tuple[p4r.WriteRequest, str]:
    """A request of up to `most` updates, and the rule that it breaks as a whole, or ""."""
    request = p4r.WriteRequest(device_id=1, election_id=ELECTION)
    seen = Touched()
    for _ in range(draw.rng.randint(1, most)):
        update = draw_update(draw)
        if seen.add(touched(draw.model, update)):
            request.updates.append(update)
    if draw.rng.random() < 0.2:
        request.atomicity = p4r.WriteRequest.ROLLBACK_ON_ERROR
    whole = (
        draw.rng.choice(("device", "role", "election", "atomic"))
        if draw.rng.random() < 0.02
        else ""
    )
    if whole == "device":
        request.device_id = draw.rng.choice((0, 2, 2**64 - 1))
    elif whole == "role":
        request.role = "nobody"
    elif whole == "election" and draw.rng.random() < 0.3:
        request.ClearField("election_id")
    elif whole == "election":
        request.election_id.low, request.election_id.high = draw.rng.choice(
            ((0, 0), (2, 0), (1, 1))
        )
    elif whole == "atomic":
        request.atomicity = p4r.WriteRequest.DATAPLANE_ATOMIC
    elif request.atomicity == p4r.WriteRequest.ROLLBACK_ON_ERROR:
        whole = "rollback"
    return request, whole
