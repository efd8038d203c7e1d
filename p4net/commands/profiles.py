"""Commands of action profiles and of the tables that refer to them. A handle of BMv2 is an id of
P4Runtime less 1."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from pcn.base.p4rt import p4r
from pcn.controller.control_plane import TableEntry
from pcn.controller.entities import GroupMember, ProfileGroup, ProfileMember, TableActions
from pcn.p4net import values
from pcn.p4net.commands import tables
from pcn.p4net.commands.session import DELETE, INSERT, MODIFY, Command, Handles, Session
from pcn.p4net.steps import Read, Step


def _profile(session: Session, name: str) -> str:
    full_name: str = values.find("action profile", session.schema.action_profiles, name).name
    return full_name


def _members(session: Session, profile: str) -> Handles[None]:
    return session.members.setdefault(profile, Handles("member", session.changes))


def _groups(session: Session, profile: str) -> Handles[tuple[int, ...]]:
    return session.groups.setdefault(profile, Handles("group", session.changes))


def _create_member(session: Session, words: Sequence[str]) -> Sequence[Step]:
    profile = _profile(session, words[0])
    action = tables.action(session, None, words[1], words[2:])
    handle = _members(session, profile).add(None)
    return [session.write(INSERT, ProfileMember(profile, member_id=handle + 1, action=action))]


def _modify_member(session: Session, words: Sequence[str]) -> Sequence[Step]:
    profile, handle = _profile(session, words[0]), values.whole(words[2])
    _ = _members(session, profile)[handle]
    action = tables.action(session, None, words[1], words[3:])
    return [session.write(MODIFY, ProfileMember(profile, member_id=handle + 1, action=action))]


def _delete_member(session: Session, words: Sequence[str]) -> Sequence[Step]:
    profile, handle = _profile(session, words[0]), values.whole(words[1])
    _members(session, profile).remove(handle)
    return [session.write(DELETE, ProfileMember(profile, member_id=handle + 1))]


def _create_group(session: Session, words: Sequence[str]) -> Sequence[Step]:
    profile = _profile(session, words[0])
    return [
        session.write(INSERT, ProfileGroup(profile, group_id=_groups(session, profile).add(()) + 1))
    ]


def _delete_group(session: Session, words: Sequence[str]) -> Sequence[Step]:
    profile, handle = _profile(session, words[0]), values.whole(words[1])
    _groups(session, profile).remove(handle)
    return [session.write(DELETE, ProfileGroup(profile, group_id=handle + 1))]


def _add_to_group(session: Session, words: Sequence[str]) -> Sequence[Step]:
    return _change_group(session, words, lambda members, handle: (*members, handle))


def _remove_from_group(session: Session, words: Sequence[str]) -> Sequence[Step]:
    def removed(members: tuple[int, ...], handle: int) -> tuple[int, ...]:
        if handle not in members:
            raise ValueError(f"member {handle} isn't in group {words[2]}")
        return tuple(member for member in members if member != handle)

    return _change_group(session, words, removed)


def _change_group(
    session: Session,
    words: Sequence[str],
    change: Callable[[tuple[int, ...], int], tuple[int, ...]],
) -> Sequence[Step]:
    profile = _profile(session, words[0])
    member, handle = values.whole(words[1]), values.whole(words[2])
    _ = _members(session, profile)[member]
    groups = _groups(session, profile)
    members = change(groups[handle], member)
    weighted = [GroupMember(member + 1, weight=1) for member in members]
    step = session.write(MODIFY, ProfileGroup(profile, group_id=handle + 1, members=weighted))
    groups[handle] = members
    return [step]


def _reference(session: Session, table: Any, word: str, group: bool) -> TableActions:
    profile = table.action_profile
    if profile is None:
        raise ValueError(f"{table.name} has no action profile: use table_add")
    handle = values.whole(word)
    if group:
        _ = _groups(session, profile.name)[handle]
        return TableActions(group_id=handle + 1)
    _ = _members(session, profile.name)[handle]
    return TableActions(member_id=handle + 1)


def _add(group: bool) -> Callable[[Session, Sequence[str]], Sequence[Step]]:
    def run(session: Session, words: Sequence[str]) -> Sequence[Step]:
        table = tables.find(session, words[0])
        key, rest = tables.split(words[1:])
        if not rest:
            raise ValueError(f"a handle is needed behind {tables.ARROW}")
        reference = _reference(session, table, rest[0], group)
        ranked = tables.priority(table, rest[1:])
        entry = TableEntry(
            table.name, match=tables.match(table, key), action=reference, priority=ranked
        )
        return tables.added(session, table, entry)

    return run


def _modify(group: bool) -> Callable[[Session, Sequence[str]], Sequence[Step]]:
    def run(session: Session, words: Sequence[str]) -> Sequence[Step]:
        table = tables.find(session, words[0])
        rest = [word for word in words[1:] if word != tables.ARROW]
        if len(rest) != 2:
            raise ValueError("an entry's handle and another handle are needed")
        return tables.modified(session, table, rest[0], _reference(session, table, rest[1], group))

    return run


def _set_default(group: bool) -> Callable[[Session, Sequence[str]], Sequence[Step]]:
    def run(session: Session, words: Sequence[str]) -> Sequence[Step]:
        table = tables.find(session, words[0])
        reference = _reference(session, table, words[1], group)
        return [
            session.write(MODIFY, TableEntry(table.name, action=reference, is_default_action=True))
        ]

    return run


_MEMBER, _GROUP = "PROFILE ACTION", "PROFILE MEMBER GROUP"
_LEGACY = (
    "create_member",
    "modify_member",
    "delete_member",
    "create_group",
    "delete_group",
    "add_member_to_group",
    "remove_member_from_group",
)
"""Commands that BMv2 also has by the name of a table, whose profile they mean."""


def _of_table(command: Command) -> Command:
    """Returns the command of a profile as that of a table."""

    def run(session: Session, words: Sequence[str]) -> Sequence[Step]:
        table = tables.find(session, words[0])
        if table.action_profile is None:
            raise ValueError(f"{table.name} has no action profile")
        return command.run(session, [table.action_profile.name, *words[1:]])

    usage = command.usage.replace("PROFILE", "TABLE", 1)
    return Command(usage, run, command.least, command.most)


def _dump(session: Session, words: Sequence[str]) -> Sequence[Step]:
    profile = _profile(session, words[0])

    def members(entities: Sequence[p4r.Entity]) -> list[str]:
        decoded = [ProfileMember.decode(entity, session.schema) for entity in entities]
        decoded.sort(key=lambda member: member.member_id)
        return [
            f" member {member.member_id - 1}: {values.shown_action(member.action)}"
            for member in decoded
        ]

    def groups(entities: Sequence[p4r.Entity]) -> list[str]:
        ordered = sorted(
            (entity.action_profile_group for entity in entities), key=lambda group: group.group_id
        )
        return [
            f" group {group.group_id - 1}: {', '.join(str(m.member_id - 1) for m in group.members)}"
            for group in ordered
        ]

    kinds = ((ProfileMember(profile), members), (ProfileGroup(profile), groups))
    return [
        Read(session.place, words[0], entity.encode(session.schema), show) for entity, show in kinds
    ]


_COMMANDS = {
    "act_prof_dump": Command("PROFILE", _dump, 1, 1),
    "act_prof_create_member": Command(f"{_MEMBER} ARGUMENT...", _create_member, 2),
    "act_prof_modify_member": Command(f"{_MEMBER} MEMBER ARGUMENT...", _modify_member, 3),
    "act_prof_delete_member": Command("PROFILE MEMBER", _delete_member, 2, 2),
    "act_prof_create_group": Command("PROFILE", _create_group, 1, 1),
    "act_prof_delete_group": Command("PROFILE GROUP", _delete_group, 2, 2),
    "act_prof_add_member_to_group": Command(_GROUP, _add_to_group, 3, 3),
    "act_prof_remove_member_from_group": Command(_GROUP, _remove_from_group, 3, 3),
    "table_indirect_add": Command("TABLE MATCH... => MEMBER [PRIORITY]", _add(False), 3),
    "table_indirect_add_with_group": Command("TABLE MATCH... => GROUP [PRIORITY]", _add(True), 3),
    "table_indirect_modify": Command("TABLE HANDLE [=>] MEMBER", _modify(False), 3, 4),
    "table_indirect_modify_with_group": Command("TABLE HANDLE [=>] GROUP", _modify(True), 3, 4),
    "table_indirect_set_default": Command("TABLE MEMBER", _set_default(False), 2, 2),
    "table_indirect_set_default_with_group": Command("TABLE GROUP", _set_default(True), 2, 2),
}

COMMANDS = {
    **_COMMANDS,
    "table_indirect_delete": tables.COMMANDS["table_delete"],
    **{f"table_indirect_{name}": _of_table(_COMMANDS[f"act_prof_{name}"]) for name in _LEGACY},
}
