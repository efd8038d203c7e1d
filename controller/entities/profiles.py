"""Members and groups of action profiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import KW_ONLY, dataclass

from pcn.base.p4rt import p4r
from pcn.controller.entities.tables import TableAction, Weight, weigh, weight_of
from pcn.controller.p4info import Schema


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
                weigh(member.weight, message.members.add(member_id=member.member_id))
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
                GroupMember(member.member_id, weight=weight_of(member))
                for member in message.members
            ]
            or None,
        )
