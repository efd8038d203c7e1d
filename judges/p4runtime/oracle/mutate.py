"""Mutations: each breaks one rule of rules.py, by the name of that rule, in an update that breaks
none.

A mutation returns whether it applies. The model, which is independent of it, decides whether the
rule is then broken.
"""

from collections.abc import Callable
from typing import Any

from oracle.draw import DELETE, INSERT, MODIFY, Draw
from oracle.info import Field, Table
from pcn.base.p4rt import p4r

Mutation = Callable[[Draw, p4r.Update], bool]
MUTATIONS: dict[str, list[Mutation]] = {}


def breaks(*rules: str) -> Callable[[Mutation], Mutation]:
    """Registers a mutation under the rules that it may break."""

    def register(function: Mutation) -> Mutation:
        for rule in rules:
            MUTATIONS.setdefault(rule, []).append(function)
        return function

    return register


def entity(update: p4r.Update, *kinds: str):
    """The message in an update of one of these kinds of entities; None for another."""
    which = update.entity.WhichOneof("entity")
    return getattr(update.entity, which) if which in kinds else None


def table_of(draw: Draw, update: p4r.Update) -> tuple[p4r.TableEntry, Table] | None:
    """The table entry, not a default one, that an update is for, and its table."""
    entry = entity(update, "table_entry")
    if entry is None or entry.is_default_action:
        return None
    return entry, draw.info.tables[entry.table_id]


def call_of(draw: Draw, update: p4r.Update) -> p4r.Action | None:
    """The action with parameters that an update gives."""
    if update.type == DELETE:
        return None
    entry, member = entity(update, "table_entry"), entity(update, "action_profile_member")
    if entry is not None and entry.action.WhichOneof("type") == "action":
        return entry.action.action
    if entry is not None and entry.action.action_profile_action_set.action_profile_actions:
        return draw.rng.choice(entry.action.action_profile_action_set.action_profile_actions).action
    return member.action if member is not None else None


def fields_of(draw: Draw, update: p4r.Update) -> list[tuple[Field, p4r.FieldMatch, Any]]:
    """The fields that are matched, with their messages, and all matches."""
    entry_and_table, value_set = table_of(draw, update), entity(update, "value_set_entry")
    if entry_and_table:
        return [
            (entry_and_table[1].fields[match.field_id], match, entry_and_table[0].match)
            for match in entry_and_table[0].match
        ]
    if value_set is not None:
        fields = draw.info.value_sets[value_set.value_set_id].fields
        return [
            (fields[match.field_id], match, member.match)
            for member in value_set.members
            for match in member.match
        ]
    return []


def field_of(
    draw: Draw, update: p4r.Update, *kinds: str
) -> tuple[Field, p4r.FieldMatch, Any] | None:
    """One of them, of these kinds, that is not a string where it can't be any."""
    candidates = [
        candidate
        for candidate in fields_of(draw, update)
        if not kinds or candidate[0].kind in kinds
    ]
    return draw.rng.choice(candidates) if candidates else None


# ---- updates of any kind ----


@breaks("type-unset")
def _type(draw: Draw, update: p4r.Update) -> bool:
    update.type = p4r.Update.UNSPECIFIED
    return True


@breaks("entity-unset")
def _entity(draw: Draw, update: p4r.Update) -> bool:
    update.entity.Clear()
    return True


@breaks("extern")
def _extern(draw: Draw, update: p4r.Update) -> bool:
    update.entity.extern_entry.extern_type_id = 0x81
    return True


@breaks("id-zero", "id-unknown")
def _id(draw: Draw, update: p4r.Update) -> bool:
    which = update.entity.WhichOneof("entity") or ""
    message = getattr(update.entity, which)
    if which == "packet_replication_engine_entry":
        return False
    for counts in ("data", "counter_data"):
        if isinstance(getattr(message, counts, None), p4r.CounterData):
            # nothing is said of a count of what another counter doesn't count
            message.ClearField(counts)
    message = message.table_entry if which.startswith("direct") else message
    name = message.DESCRIPTOR.fields[0].name  # the id comes first in each
    others = draw.info.ids - {getattr(message, name)}
    setattr(message, name, draw.rng.choice((0, getattr(message, name) ^ 1, *sorted(others)[:3])))
    return True


@breaks("exists")
def _again(draw: Draw, update: p4r.Update) -> bool:
    if (
        update.type != MODIFY
        or entity(update, "table_entry", "action_profile_member", "action_profile_group") is None
    ):
        return entity(update, "digest_entry") is not None and _insert(update)
    return _insert(update)


def _insert(update: p4r.Update) -> bool:
    update.type = INSERT
    return True


@breaks("absent", "reference-absent")
def _absent(draw: Draw, update: p4r.Update) -> bool:
    if update.type != INSERT:
        return False
    update.type = draw.rng.choice((MODIFY, DELETE))
    return True


@breaks("modify-only")
def _modify_only(draw: Draw, update: p4r.Update) -> bool:
    update.type = draw.rng.choice((INSERT, DELETE))
    return True
