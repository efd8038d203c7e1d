"""What an entry of an indirect table refers to: a member, a group, or a one-shot set of actions.

Source: P4Runtime specification, "TableEntry: Action Specification", "One Shot Action Selector
Programming".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from pcn.base.p4rt import p4r
from pcn.softswitch.native_state import REFER_GROUP, REFER_MEMBER
from pcn.softswitch.p4runtime import actions
from pcn.softswitch.p4runtime.actions import Call
from pcn.softswitch.p4runtime.errors import (
    INVALID_ARGUMENT,
    PERMISSION_DENIED,
    RESOURCE_EXHAUSTED,
    UNIMPLEMENTED,
    RpcError,
)
from pcn.softswitch.p4runtime.schema import Profile

MEMBER, GROUP, SET = (
    "action_profile_member_id",
    "action_profile_group_id",
    "action_profile_action_set",
)
ActionSet = p4r.ActionProfileActionSet


@dataclass(eq=False, slots=True)
class Reference:
    """`kind`: the field of TableAction. `number`: the member's or group's id. `calls` of a
    one-shot: each action with how many times it stands in the group; `size`: of that group.
    `handle`, and `copies` of a one-shot, are C's, while an entry uses it."""

    profile: Profile
    kind: str
    number: int = 0
    calls: tuple[tuple[Call, int], ...] = ()
    size: int = 0
    message: p4r.ActionProfileActionSet = field(default_factory=p4r.ActionProfileActionSet)
    handle: int = -1
    copies: list[int] = field(default_factory=list)

    @property
    def code(self) -> int:
        """What C takes instead of an action."""
        return REFER_MEMBER if self.kind == MEMBER else REFER_GROUP

    @property
    def args(self) -> tuple[int, ...]:
        """What C takes as arguments."""
        return (self.handle,)

    def fill(self, message: p4r.TableAction) -> None:
        """Writes the reference into a message, a one-shot as the client wrote it."""
        if self.kind == SET:
            message.action_profile_action_set.CopyFrom(self.message)
        else:
            setattr(message, self.kind, self.number)

    def fits(self, query: p4r.TableAction) -> bool:
        """Returns whether a read with this action as a filter selects the entry."""
        kind = query.WhichOneof("type")
        return kind == self.kind and (kind == SET or getattr(query, self.kind) == self.number)

    @classmethod
    def parse(cls, profile: Profile, message: p4r.TableAction) -> Reference:
        """Returns the reference in a message. Raises RpcError where the specification forbids
        it."""
        kind = message.WhichOneof("type")
        where = f"action profile {profile.name}"
        if kind == MEMBER:
            return cls(profile, MEMBER, message.action_profile_member_id)
        if kind not in (GROUP, SET):
            raise RpcError(
                INVALID_ARGUMENT, f"{where}: an entry needs a member, a group or an action set"
            )
        if not profile.selector:
            raise RpcError(INVALID_ARGUMENT, f"{where} has no selector: its entries need a member")
        if kind == GROUP:
            return cls(profile, GROUP, message.action_profile_group_id)
        return cls._parse_set(profile, message.action_profile_action_set)

    @classmethod
    def _parse_set(cls, profile: Profile, message: p4r.ActionProfileActionSet) -> Reference:
        where = f"action profile {profile.name}"
        if message.action_selection_mode == ActionSet.RANDOM:
            raise RpcError(UNIMPLEMENTED, f"{where}: random selection is not implemented")
        if message.size_semantics:
            raise RpcError(
                UNIMPLEMENTED, f"{where}: size semantics of one action set are not implemented"
            )
        if message.HasField("group_action"):
            raise RpcError(UNIMPLEMENTED, f"{where}: actions of a whole group are not implemented")
        if not message.action_profile_actions:
            raise RpcError(INVALID_ARGUMENT, f"{where}: the action set is empty")
        calls, action_set = (
            [],
            p4r.ActionProfileActionSet(action_selection_mode=message.action_selection_mode),
        )
        for item in message.action_profile_actions:
            check_watch(profile, item)
            check_weight(profile, item.weight)
            call = actions.pack(where, profile.actions, item.action)
            if not call.action.in_table:
                raise RpcError(
                    PERMISSION_DENIED, f"{where}: action {call.action.name} is DEFAULT_ONLY"
                )
            calls.append((call, max(item.weight, 1)))
            action_set.action_profile_actions.add(action=actions.unpack(*call), weight=item.weight)
        size = profile.measure(times for _, times in calls)
        if profile.max_group_size and size > profile.max_group_size:
            raise RpcError(
                INVALID_ARGUMENT,
                f"{where}: a group holds at most {profile.max_group_size}, not {size}",
            )
        if sum(times for _, times in calls) > profile.limit:
            raise RpcError(RESOURCE_EXHAUSTED, f"{where}: weights of more than {profile.limit}")
        return cls(profile, SET, calls=tuple(calls), size=size, message=action_set)


def check_watch(
    profile: Profile, item: p4r.ActionProfileGroup.Member | p4r.ActionProfileAction
) -> None:
    """Raises RpcError UNIMPLEMENTED for a member that depends on a port."""
    if item.watch_port or item.watch:
        raise RpcError(
            UNIMPLEMENTED, f"action profile {profile.name}: watch ports are not implemented"
        )


def check_weight(profile: Profile, weight: int) -> None:
    """Raises RpcError INVALID_ARGUMENT for a weight that the profile does not take."""
    where = f"action profile {profile.name}"
    if profile.weights_disallowed:
        if weight:
            raise RpcError(INVALID_ARGUMENT, f"{where} takes no weights")
    elif weight <= 0:
        raise RpcError(INVALID_ARGUMENT, f"{where}: a weight must be above 0, not {weight}")
    elif profile.max_member_weight and weight > profile.max_member_weight:
        raise RpcError(
            INVALID_ARGUMENT,
            f"{where}: a weight is at most {profile.max_member_weight}, not {weight}",
        )
