"""Action profiles: members and groups as clients write them, with C's handles beside them.

Source: P4Runtime specification, "Action Profile Member and Group", "One Shot Action Selector
Programming". Writes return what undoes them, for batches that roll back.

A member of weight n stands in its group n times, by n members of C. Which handles they get decides
which packet selects what; the order in which they are made and removed here is that of BMv2's
server, so that both select alike.
"""

from __future__ import annotations

import functools
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field

from pcn.base.p4rt import p4r
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.p4runtime import actions
from pcn.softswitch.p4runtime.actions import Call
from pcn.softswitch.p4runtime.errors import (
    ALREADY_EXISTS,
    FAILED_PRECONDITION,
    INVALID_ARGUMENT,
    NOT_FOUND,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    RpcError,
)
from pcn.softswitch.p4runtime.parts import Part, entities
from pcn.softswitch.p4runtime.references import GROUP, MEMBER, Reference, check_watch, check_weight
from pcn.softswitch.p4runtime.schema import Profile, Schema, Table

Undo = Callable[[], None]


@dataclass(slots=True)
class Member:
    """A member: `handles` in C, one for each time that it stands in the group where its weight is
    largest, at least one. `weights`: how many groups hold it with each weight. `entries`: how many
    table entries refer to it."""

    id: int
    call: Call
    handles: list[int]
    weights: Counter[int] = field(default_factory=Counter)
    entries: int = 0


@dataclass(slots=True)
class Group:
    """A group: `weights` by member id, as the client wrote them (0 where the profile has no
    weights)."""

    id: int
    max_size: int
    handle: int
    weights: dict[int, int] = field(default_factory=dict)
    entries: int = 0


@dataclass
class ProfileState:
    """A profile and what is in it. `sets`: one-shot action sets."""

    profile: Profile
    members: dict[int, Member] = field(default_factory=dict)
    groups: dict[int, Group] = field(default_factory=dict)
    sets: int = 0
    size: int = 0  # of all groups and sets together, as the profile measures it


class Profiles:
    """All action profiles of one pipeline."""

    def __init__(self, schema: Schema, native: NativeSwitch) -> None:
        self._schema = schema
        self._native = native
        self._states = {profile.id: ProfileState(profile) for profile in schema.profiles.values()}

    # ---- ActionProfileMember ----

    def write_member(
        self, kind: p4r.Update.Type.ValueType, message: p4r.ActionProfileMember
    ) -> Undo:
        """Carries out INSERT, MODIFY or DELETE of an ActionProfileMember."""
        state = self._state(message.action_profile_id)
        if kind == p4r.Update.INSERT:
            return self._insert_member(state, message)
        member = _member(state, message.member_id)
        if kind == p4r.Update.MODIFY:
            old, call = member.call, _call(state.profile, message)
            self._set_action(state, member, call)
            return functools.partial(self._set_action, state, member, old)
        if member.entries or member.weights.total():
            user = "a table entry" if member.entries else "a group"
            raise RpcError(FAILED_PRECONDITION, f"{_name(state)}: {user} uses member {member.id}")
        self._remove_member(state, member)
        return functools.partial(self._add_member, state, member)

    def read_members(self, query: p4r.ActionProfileMember) -> Iterator[Part]:
        """Yields the members that a query selects: of all profiles, of one, or one."""
        for state in self._select(query.action_profile_id, query.member_id):
            selected = (
                [_member(state, query.member_id)] if query.member_id else state.members.values()
            )
            members = [(member.id, member.call) for member in selected]
            yield Part(len(members), _member_entities(state.profile, members))

    def _insert_member(self, state: ProfileState, message: p4r.ActionProfileMember) -> Undo:
        profile = state.profile
        _check_id(state, "member", message.member_id)
        _check_mode(state, "members", state.sets)
        if message.member_id in state.members:
            raise RpcError(ALREADY_EXISTS, f"{_name(state)} has a member {message.member_id}")
        if not profile.selector and profile.size and len(state.members) >= profile.size:
            raise RpcError(RESOURCE_EXHAUSTED, f"{_name(state)} is full ({profile.size} members)")
        member = Member(message.member_id, _call(profile, message), [])
        self._add_member(state, member)
        return functools.partial(self._remove_member, state, member)

    def _add_member(self, state: ProfileState, member: Member) -> None:
        member.handles = [
            self._native.member_put(state.profile.c_index, member.call.code, member.call.args)
        ]
        state.members[member.id] = member

    def _remove_member(self, state: ProfileState, member: Member) -> None:
        for handle in member.handles:
            self._native.member_delete(state.profile.c_index, handle)
        del state.members[member.id]

    def _set_action(self, state: ProfileState, member: Member, call: Call) -> None:
        for handle in member.handles:
            self._native.member_put(state.profile.c_index, call.code, call.args, handle)
        member.call = call

    # ---- ActionProfileGroup ----

    def write_group(self, kind: p4r.Update.Type.ValueType, message: p4r.ActionProfileGroup) -> Undo:
        """Carries out INSERT, MODIFY or DELETE of an ActionProfileGroup."""
        state = self._state(message.action_profile_id)
        if not state.profile.selector:
            raise RpcError(INVALID_ARGUMENT, f"{_name(state)} has no selector, so it has no groups")
        if kind == p4r.Update.INSERT:
            return self._insert_group(state, message)
        group = _group(state, message.group_id)
        if kind == p4r.Update.MODIFY:
            if message.max_size != group.max_size:
                raise RpcError(
                    INVALID_ARGUMENT,
                    f"{_name(state)}: max_size of group {group.id} is {group.max_size}",
                )
            old, weights = (
                group.weights,
                _weights(state, message, state.profile.measure(group.weights.values())),
            )
            self._set_members(state, group, weights)
            return functools.partial(self._set_members, state, group, old)
        if group.entries:
            raise RpcError(
                FAILED_PRECONDITION, f"{_name(state)}: a table entry uses group {group.id}"
            )
        old = group.weights
        self._remove_group(state, group)
        return functools.partial(self._add_group, state, group, old)

    def read_groups(self, query: p4r.ActionProfileGroup) -> Iterator[Part]:
        """Yields the groups that a query selects: of all profiles, of one, or one."""
        for state in self._select(query.action_profile_id, query.group_id):
            selected = [_group(state, query.group_id)] if query.group_id else state.groups.values()
            groups = [(group.id, group.max_size, group.weights) for group in selected]
            yield Part(len(groups), _group_entities(state.profile, groups))

    def _insert_group(self, state: ProfileState, message: p4r.ActionProfileGroup) -> Undo:
        _check_id(state, "group", message.group_id)
        _check_mode(state, "groups", state.sets)
        if message.group_id in state.groups:
            raise RpcError(ALREADY_EXISTS, f"{_name(state)} has a group {message.group_id}")
        largest = state.profile.max_group_size
        if message.max_size < 0 or (largest and message.max_size > largest):
            raise RpcError(
                INVALID_ARGUMENT, f"{_name(state)}: a group's max_size is 0 to {largest or 'any'}"
            )
        weights = _weights(state, message, 0)
        group = Group(message.group_id, message.max_size, -1)
        self._add_group(state, group, weights)
        return functools.partial(self._remove_group, state, group)

    def _add_group(self, state: ProfileState, group: Group, weights: dict[int, int]) -> None:
        group.handle = self._native.group_put(state.profile.c_index, ())
        state.groups[group.id] = group
        self._set_members(state, group, weights)

    def _remove_group(self, state: ProfileState, group: Group) -> None:
        self._native.group_delete(state.profile.c_index, group.handle)
        del state.groups[group.id]
        self._count(state, group, {})
        group.weights = {}

    def _set_members(self, state: ProfileState, group: Group, weights: dict[int, int]) -> None:
        handles: list[int] = []
        for number in sorted(weights):
            member, times = state.members[number], max(weights[number], 1)
            while len(member.handles) < times:
                copy = self._native.member_put(
                    state.profile.c_index, member.call.code, member.call.args
                )
                member.handles.append(copy)
            handles += member.handles[:times]
        self._native.group_put(state.profile.c_index, handles, group.handle)
        self._count(state, group, weights)
        group.weights = weights

    def _count(self, state: ProfileState, group: Group, weights: dict[int, int]) -> None:
        """Keeps the books of a group that is to hold `weights`, and removes members of C that no
        group needs now."""
        state.size += state.profile.measure(weights.values()) - state.profile.measure(
            group.weights.values()
        )
        for number in sorted(group.weights.keys() | weights.keys()):
            member = state.members[number]
            if number in group.weights:
                member.weights -= Counter([max(group.weights[number], 1)])
            if number in weights:
                member.weights[max(weights[number], 1)] += 1
            while len(member.handles) > max(member.weights, default=1):
                self._native.member_delete(state.profile.c_index, member.handles.pop())

    # ---- what table entries refer to ----

    def refer(self, table: Table, message: p4r.TableAction) -> Reference:
        """Returns what an entry's action refers to. Raises RpcError where the specification forbids
        it."""
        return Reference.parse(self._states[table.profile].profile, message)

    def acquire(self, reference: Reference) -> None:
        """Counts a use; makes a one-shot's group. Raises RpcError NOT_FOUND, RESOURCE_EXHAUSTED or
        INVALID_ARGUMENT."""
        state = self._states[reference.profile.id]
        if reference.kind == MEMBER:
            member = _member(state, reference.number)
            member.entries += 1
            reference.handle = member.handles[0]
        elif reference.kind == GROUP:
            group = _group(state, reference.number)
            group.entries += 1
            reference.handle = group.handle
        else:
            _check_mode(state, "action sets", len(state.members) + len(state.groups))
            _check_room(state, reference.size)
            put = functools.partial(self._native.member_put, state.profile.c_index)
            reference.copies = [
                put(call.code, call.args) for call, times in reference.calls for _ in range(times)
            ]
            reference.handle = self._native.group_put(state.profile.c_index, reference.copies)
            state.sets += 1
            state.size += reference.size

    def release(self, reference: Reference) -> None:
        """Ends a use."""
        state = self._states[reference.profile.id]
        if reference.kind == MEMBER:
            state.members[reference.number].entries -= 1
        elif reference.kind == GROUP:
            state.groups[reference.number].entries -= 1
        else:
            self._native.group_delete(state.profile.c_index, reference.handle)
            for handle in reference.copies:
                self._native.member_delete(state.profile.c_index, handle)
            state.sets -= 1
            state.size -= reference.size

    def snapshot(self) -> Iterator[p4r.Update]:
        """Yields the updates that turn fresh profiles into these, one-shots apart: those come with
        their entries."""
        for entity in (
            *entities(self.read_members(p4r.ActionProfileMember())),
            *entities(self.read_groups(p4r.ActionProfileGroup())),
        ):
            yield p4r.Update(type=p4r.Update.INSERT, entity=entity)

    def _state(self, profile_id: int) -> ProfileState:
        return self._states[self._schema.profile(profile_id).id]

    def _select(self, profile_id: int, inner_id: int) -> list[ProfileState]:
        if not profile_id and inner_id:
            raise RpcError(INVALID_ARGUMENT, "a read of all action profiles takes no other id")
        return [self._state(profile_id)] if profile_id else list(self._states.values())


def _member_entities(profile: Profile, members: list[tuple[int, Call]]) -> Iterator[p4r.Entity]:
    for number, call in members:
        entity = p4r.Entity()
        message = entity.action_profile_member
        message.action_profile_id, message.member_id = profile.id, number
        message.action.CopyFrom(actions.unpack(*call))
        yield entity


def _group_entities(
    profile: Profile, groups: list[tuple[int, int, dict[int, int]]]
) -> Iterator[p4r.Entity]:
    for number, max_size, weights in groups:
        entity = p4r.Entity()
        message = entity.action_profile_group
        message.action_profile_id, message.group_id, message.max_size = profile.id, number, max_size
        for member, weight in weights.items():
            message.members.add(member_id=member, weight=weight)
        yield entity


def _name(state: ProfileState) -> str:
    return f"action profile {state.profile.name}"


def _call(profile: Profile, message: p4r.ActionProfileMember) -> Call:
    where = f"action profile {profile.name}"
    if not message.HasField("action"):
        raise RpcError(INVALID_ARGUMENT, f"{where}: the member has no action")
    call = actions.pack(where, profile.actions, message.action)
    if not call.action.in_table:
        raise RpcError(PERMISSION_DENIED, f"{where}: action {call.action.name} is DEFAULT_ONLY")
    return call


def _member(state: ProfileState, number: int) -> Member:
    if number not in state.members:
        raise RpcError(NOT_FOUND, f"{_name(state)} has no member {number}")
    return state.members[number]


def _group(state: ProfileState, number: int) -> Group:
    if number not in state.groups:
        raise RpcError(NOT_FOUND, f"{_name(state)} has no group {number}")
    return state.groups[number]


def _check_id(state: ProfileState, kind: str, number: int) -> None:
    if not number:
        raise RpcError(INVALID_ARGUMENT, f"{_name(state)}: a {kind}'s id must not be 0")


def _check_mode(state: ProfileState, way: str, others: int) -> None:
    if others:
        raise RpcError(
            INVALID_ARGUMENT,
            f"{_name(state)}: {way} cannot be mixed with the other way to program it",
        )


def _check_room(state: ProfileState, more: int) -> None:
    if state.size + more > state.profile.limit:
        raise RpcError(
            RESOURCE_EXHAUSTED, f"{_name(state)} is full (groups of {state.profile.limit} together)"
        )


def _weights(state: ProfileState, message: p4r.ActionProfileGroup, before: int) -> dict[int, int]:
    """Returns a group's weights by member id, in the message's order. `before`: the size that the
    group has now."""
    profile = state.profile
    weights: dict[int, int] = {}
    for item in message.members:
        _member(state, item.member_id)
        if item.member_id in weights:
            raise RpcError(
                INVALID_ARGUMENT,
                f"{_name(state)}: member {item.member_id} is given twice; give it a weight",
            )
        check_watch(profile, item)
        check_weight(profile, item.weight)
        weights[item.member_id] = item.weight
    size = profile.measure(weights.values())
    largest = message.max_size or profile.max_group_size
    if largest and size > largest:
        raise RpcError(
            RESOURCE_EXHAUSTED, f"{_name(state)}: the group holds at most {largest}, not {size}"
        )
    _check_copies(profile, weights)
    _check_room(state, size - before)
    return weights


def _check_copies(profile: Profile, weights: Mapping[int, int]) -> None:
    if sum(weights.values()) > profile.limit:
        raise RpcError(
            RESOURCE_EXHAUSTED,
            f"action profile {profile.name}: weights of more than {profile.limit}",
        )
