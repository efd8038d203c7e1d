"""Action profiles: members, groups, and what entries refer to. Section 9.2."""

from collections.abc import Iterator, Mapping

from oracle.check import wrong_call
from oracle.forms import Form, call_form, watch_form
from oracle.info import Action, Info, Profile
from oracle.state import Group, State
from pcn.base.p4rt import p4r

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
Type = p4r.Update.Type.ValueType
MEMBER, GROUP, ONESHOT = "member", "group", "oneshot"


class Profiles:
    def __init__(self, info: Info, state: State):
        self._info = info
        self._state = state

    def wrong_member(self, kind: Type, message: p4r.ActionProfileMember) -> Iterator[str]:
        """The rules that a write of a member breaks."""
        profile = self._info.profiles.get(message.action_profile_id)
        if profile is None:
            yield "id-unknown" if message.action_profile_id else "id-zero"
            return
        if not message.member_id:
            yield "member-zero"
        if ONESHOT in _styles(profile, self._state):
            yield "styles-meet"
        old = self._state.members.get((profile.id, message.member_id))
        if kind == INSERT:
            yield from ("exists",) if old is not None else ()
            if len(self._state.members_of(profile.id)) >= profile.size:
                yield "profile-full"
        elif old is None:
            yield "absent"
        elif kind == DELETE:
            if self._member_used(profile, message.member_id):
                yield "member-used"
        elif old[1] != message.action.action_id and self._in_group(profile, message.member_id):
            yield "member-action-changes"
        if kind != DELETE:
            if not message.HasField("action"):
                yield "member-action"
            else:
                yield from wrong_call(
                    profile.actions, message.action, default=False, scope="member-scope"
                )

    def apply_member(self, kind: Type, message: p4r.ActionProfileMember):
        """Carries out a write of a member that breaks no rule."""
        key = (message.action_profile_id, message.member_id)
        if kind == DELETE:
            del self._state.members[key]
        else:
            actions = self._info.profiles[message.action_profile_id].actions
            self._state.members[key] = call_form(
                message.action, actions[message.action.action_id].params
            )

    def wrong_group(self, kind: Type, message: p4r.ActionProfileGroup) -> Iterator[str]:
        """The rules that a write of a group breaks."""
        profile = self._info.profiles.get(message.action_profile_id)
        if profile is None:
            yield "id-unknown" if message.action_profile_id else "id-zero"
            return
        if not profile.selector:
            yield "group-selector"
        if not message.group_id:
            yield "group-zero"
        if ONESHOT in _styles(profile, self._state):
            yield "styles-meet"
        old = self._state.groups.get((profile.id, message.group_id))
        if kind == INSERT:
            yield from ("exists",) if old is not None else ()
            yield from _wrong_max_size(profile, message.max_size)
        elif old is None:
            yield "absent"
        elif kind == DELETE:
            if (GROUP, message.group_id) in set(self._state.actions(profile.tables)):
                yield "group-used"
        elif old.max_size != message.max_size:
            yield "max-size-changed"
        if kind != DELETE:
            yield from self._wrong_members(profile, message)

    def apply_group(self, kind: Type, message: p4r.ActionProfileGroup):
        """Carries out a write of a group that breaks no rule."""
        key = (message.action_profile_id, message.group_id)
        if kind == DELETE:
            del self._state.groups[key]
        else:
            self._state.groups[key] = group_form(message)

    def _wrong_members(self, profile: Profile, message: p4r.ActionProfileGroup) -> Iterator[str]:
        numbers = [item.member_id for item in message.members]
        if len(set(numbers)) < len(numbers):
            yield "group-member-twice"
        known = [
            self._state.members[profile.id, n]
            for n in numbers
            if (profile.id, n) in self._state.members
        ]
        if len(known) < len(numbers):
            yield "group-member-absent"
        if len({call[1] for call in known}) > 1:
            yield "actions-differ"
        weights = []
        for item in message.members:
            weights.append(item.weight)
            yield from _wrong_weight(profile, item)
        size, largest = profile.measure(weights), message.max_size or profile.group_size
        if largest > 0 and size > largest:
            yield "group-size"
        if _used(profile, self._state) + size > profile.size:
            yield "selector-full"

    def _member_used(self, profile: Profile, number: int) -> bool:
        return self._in_group(profile, number) or (MEMBER, number) in set(
            self._state.actions(profile.tables)
        )

    def _in_group(self, profile: Profile, number: int) -> bool:
        return any(
            number == item[0]
            for (owner, _), group in self._state.groups.items()
            if owner == profile.id
            for item in group.members
        )


def group_form(message: p4r.ActionProfileGroup) -> Group:
    """A group without its id."""
    members = tuple(sorted((item.member_id, item.weight) for item in message.members))
    watched = ((item.member_id, watch_form(item)) for item in message.members)
    return Group(
        message.max_size,
        members,
        tuple(sorted((number, watch) for number, watch in watched if watch)),
    )


def wrong_reference(profile: Profile, state: State, message: p4r.TableAction) -> Iterator[str]:
    """The rules that the action of an indirect table's entry breaks."""
    kind = message.WhichOneof("type")
    if kind == "action" or (kind != "action_profile_member_id" and not profile.selector):
        yield "action-kind"
        return
    styles = _styles(profile, state)
    if kind == "action_profile_action_set":
        yield from _wrong_oneshot(profile, state, message.action_profile_action_set)
        if MEMBER in styles:
            yield "styles-mixed"
        elif state.members_of(profile.id) or state.groups_of(profile.id):
            yield "styles-meet"
        return
    number = getattr(message, kind or "")
    if not number:
        yield "reference-zero"
    elif (profile.id, number) not in (
        state.members if kind == "action_profile_member_id" else state.groups
    ):
        yield "reference-absent"
    elif kind == "action_profile_group_id" and not state.groups[profile.id, number].members:
        yield "group-empty"
    if ONESHOT in styles:
        yield "styles-mixed"


def reference_form(message: p4r.TableAction, actions: Mapping[int, Action]) -> Form:
    """The form of a reference or one-shot: canonical where the actions are known to be right."""
    kind = message.WhichOneof("type")
    if kind == "action_profile_member_id":
        return (MEMBER, message.action_profile_member_id)
    if kind == "action_profile_group_id":
        return (GROUP, message.action_profile_group_id)
    return (
        ONESHOT,
        *sorted(
            (
                call_form(item.action, actions[item.action.action_id].params if actions else None),
                item.weight,
                watch_form(item),
            )
            for item in message.action_profile_action_set.action_profile_actions
        ),
    )


def _wrong_oneshot(
    profile: Profile, state: State, message: p4r.ActionProfileActionSet
) -> Iterator[str]:
    weights = []
    for item in message.action_profile_actions:
        weights.append(item.weight)
        yield from wrong_call(profile.actions, item.action, default=False, scope="action-scope")
        yield from _wrong_weight(profile, item)
    if not weights:
        yield "oneshot-empty"
    if len({item.action.action_id for item in message.action_profile_actions}) > 1:
        yield "actions-differ"
    if profile.group_size and profile.measure(weights) > profile.group_size:
        yield "oneshot-size"
    if _used(profile, state) + profile.measure(weights) > profile.size:
        yield "selector-full"


def _wrong_weight(
    profile: Profile, item: p4r.ActionProfileGroup.Member | p4r.ActionProfileAction
) -> Iterator[str]:
    if item.weight <= 0:
        yield "weight"
    if profile.members and 0 < profile.member_weight < item.weight:
        yield "member-weight"
    if any(watch_form(item)[1:]):
        yield "watch"


def _wrong_max_size(profile: Profile, size: int) -> Iterator[str]:
    if size < 0:
        yield "max-size-negative"
    elif profile.group_size and size > profile.group_size:
        yield "max-size-large"
    elif profile.group_size and not size:
        yield "max-size-zero"
    elif size > profile.size:
        yield "max-size-unsupported"


def _styles(profile: Profile, state: State) -> set[str]:
    """How the profile's entries are programmed: by one-shots, or by references (MEMBER stands for
    both)."""
    return {ONESHOT if action[0] == ONESHOT else MEMBER for action in state.actions(profile.tables)}


def _used(profile: Profile, state: State) -> int:
    """The size of all groups and one-shots of a selector."""
    groups = sum(
        profile.measure([weight for _, weight in group.members])
        for (owner, _), group in state.groups.items()
        if owner == profile.id
    )
    oneshots = (action[1:] for action in state.actions(profile.tables) if action[0] == ONESHOT)
    return groups + sum(profile.measure([item[1] for item in items]) for items in oneshots)
