"""Calls of action profiles. A member's handle is its id of P4Runtime less 1, and so is a
group's."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime.bytestring import encode
from pcn.softswitch.p4runtime.errors import (
    ALREADY_EXISTS,
    FAILED_PRECONDITION,
    NOT_FOUND,
    RESOURCE_EXHAUSTED,
    RpcError,
)
from pcn.softswitch.p4runtime.schema import Profile
from pcn.softswitch.thrift.face import DELETE, INSERT, MODIFY, Face, named


class ProfileCalls(Face):
    """bm_mt_act_prof_*."""

    def bm_mt_act_prof_add_member(
        self, _context: int, name: str, action: str, data: Sequence[bytes]
    ) -> int:
        profile = self._profile(name)
        number = _free(member.member_id for member in self._members(profile))
        member_action = self._member_action(profile, action, data)
        self._write_member(
            INSERT, p4r.ActionProfileMember(member_id=number, action=member_action), profile
        )
        return number - 1

    def bm_mt_act_prof_modify_member(
        self, _context: int, name: str, member: int, action: str, data: Sequence[bytes]
    ) -> None:
        profile = self._profile(name)
        self._known_member(profile, member)
        member_action = self._member_action(profile, action, data)
        self._write_member(
            MODIFY, p4r.ActionProfileMember(member_id=member + 1, action=member_action), profile
        )

    def bm_mt_act_prof_delete_member(self, _context: int, name: str, member: int) -> None:
        profile = self._profile(name)
        self._known_member(profile, member)
        self._write_member(DELETE, p4r.ActionProfileMember(member_id=member + 1), profile)

    def bm_mt_act_prof_get_members(self, _context: int, name: str) -> list[Any]:
        profile = self._profile(name)
        return [
            self._shown_member(profile, member)
            for member in sorted(self._members(profile), key=lambda m: m.member_id)
        ]

    def bm_mt_act_prof_get_member(self, _context: int, name: str, member: int) -> Any:
        profile = self._profile(name)
        return self._shown_member(profile, self._known_member(profile, member))

    def bm_mt_act_prof_create_group(self, _context: int, name: str) -> int:
        profile = self._selector(name)
        number = _free(group.group_id for group in self._groups(profile))
        self._write_group(INSERT, p4r.ActionProfileGroup(group_id=number), profile)
        return number - 1

    def bm_mt_act_prof_delete_group(self, _context: int, name: str, group: int) -> None:
        profile = self._selector(name)
        self._known_group(profile, group)
        self._write_group(DELETE, p4r.ActionProfileGroup(group_id=group + 1), profile)

    def bm_mt_act_prof_add_member_to_group(
        self, _context: int, name: str, member: int, group: int
    ) -> None:
        profile = self._selector(name)
        self._known_member(profile, member)
        message = self._known_group(profile, group)
        if any(group_member.member_id == member + 1 for group_member in message.members):
            raise self.table_error("MBR_ALREADY_IN_GRP")
        message.members.add(member_id=member + 1, weight=1)
        self._write_group(MODIFY, message, profile)

    def bm_mt_act_prof_remove_member_from_group(
        self, _context: int, name: str, member: int, group: int
    ) -> None:
        profile = self._selector(name)
        self._known_member(profile, member)
        message = self._known_group(profile, group)
        left = [
            group_member for group_member in message.members if group_member.member_id != member + 1
        ]
        if len(left) == len(message.members):
            raise self.table_error("MBR_NOT_IN_GRP")
        self._write_group(MODIFY, p4r.ActionProfileGroup(group_id=group + 1, members=left), profile)

    def bm_mt_act_prof_get_groups(self, _context: int, name: str) -> list[Any]:
        groups = self._groups(self._selector(name))
        return [
            self._shown_group(group) for group in sorted(groups, key=lambda group: group.group_id)
        ]

    def bm_mt_act_prof_get_group(self, _context: int, name: str, group: int) -> Any:
        return self._shown_group(self._known_group(self._selector(name), group))

    # ---- inside ----

    def _profile(self, name: str) -> Profile:
        with self.service.locally() as state:
            profile = named(state.schema.profiles, name)
        if profile is None:
            raise self.table_error("INVALID_ACTION_PROFILE_NAME")
        return profile

    def _selector(self, name: str) -> Profile:
        profile = self._profile(name)
        if not profile.selector:
            raise self.table_error("NO_ACTION_PROFILE_SELECTION")
        return profile

    def _members(self, profile: Profile) -> Iterator[p4r.ActionProfileMember]:
        return self.read(
            action_profile_member=p4r.ActionProfileMember(action_profile_id=profile.id)
        )

    def _groups(self, profile: Profile) -> Iterator[p4r.ActionProfileGroup]:
        return self.read(action_profile_group=p4r.ActionProfileGroup(action_profile_id=profile.id))

    def _known_member(self, profile: Profile, handle: int) -> p4r.ActionProfileMember:
        action_profile_member = next(
            (member for member in self._members(profile) if member.member_id == handle + 1), None
        )
        if action_profile_member is None:
            raise self.table_error("INVALID_MBR_HANDLE")
        return action_profile_member

    def _known_group(self, profile: Profile, handle: int) -> p4r.ActionProfileGroup:
        action_profile_group = next(
            (group for group in self._groups(profile) if group.group_id == handle + 1), None
        )
        if action_profile_group is None:
            raise self.table_error("INVALID_GRP_HANDLE")
        return action_profile_group

    def _member_action(self, profile: Profile, name: str, data: Sequence[bytes]) -> p4r.Action:
        schema_action = named(profile.actions, name)
        if schema_action is None:
            raise self.table_error("INVALID_ACTION_NAME")
        values = [int.from_bytes(value, "big") for value in data]
        if len(data) != len(schema_action.params) or any(
            value >> parameter.width
            for value, parameter in zip(values, schema_action.params, strict=True)
        ):
            raise self.table_error("BAD_ACTION_DATA")
        action = p4r.Action(action_id=schema_action.id)
        for parameter, value in zip(schema_action.params, values, strict=True):
            action.params.add(param_id=parameter.id, value=encode(value))
        return action

    def _write_member(self, kind: Any, message: p4r.ActionProfileMember, profile: Profile) -> None:
        message.action_profile_id = profile.id
        try:
            self.write(kind, action_profile_member=message)
        except RpcError as error:
            raise self._profile_error(error, "MBR_STILL_USED") from None

    def _write_group(self, kind: Any, message: p4r.ActionProfileGroup, profile: Profile) -> None:
        message.action_profile_id = profile.id
        try:
            self.write(kind, action_profile_group=message)
        except RpcError as error:
            raise self._profile_error(error, "GRP_STILL_USED") from None

    def _profile_error(self, error: RpcError, used: str) -> Exception:
        codes = {
            FAILED_PRECONDITION: used,
            RESOURCE_EXHAUSTED: "TABLE_FULL",
            NOT_FOUND: "INVALID_MBR_HANDLE",
        }
        codes[ALREADY_EXISTS] = "ERROR"
        return self.table_error(codes.get(error.code, "ERROR"))

    def _shown_member(self, profile: Profile, message: p4r.ActionProfileMember) -> Any:
        action = profile.actions[message.action.action_id]
        arguments = {parameter.param_id: parameter.value for parameter in message.action.params}
        values = [encode(int.from_bytes(arguments[param.id], "big")) for param in action.params]
        return self.idl.Member(message.member_id - 1, action.name, values)

    def _shown_group(self, message: p4r.ActionProfileGroup) -> Any:
        return self.idl.Group(
            message.group_id - 1, [member.member_id - 1 for member in message.members]
        )


def _free(used: Iterator[int]) -> int:
    """Returns the lowest id that is free, from 1 on."""
    taken = set(used)
    return next(number for number in range(1, len(taken) + 2) if number not in taken)
