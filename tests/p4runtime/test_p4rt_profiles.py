"""Action profiles over gRPC: members, groups, one-shot sets, what uses them, and each refusal."""

from collections.abc import Iterator

import pytest
from p4rt_client import Client, RefusedError, refused, update
from p4rt_switch import PROGRAMS, Program, Switch, load
from selection import CRC16, CRC32, PLAIN, SHARED_BOTH, SHARED_ONE, SHARED_TWO, Probes

from pcn.base.p4rt import p4r, rpc_code

INVALID = rpc_code.INVALID_ARGUMENT


@pytest.fixture(scope="module")
def indirect() -> Program:
    return load(PROGRAMS / "indirect")


@pytest.fixture
def p(empty_switch: Switch, indirect: Program) -> Iterator[Probes]:
    with Client(empty_switch.port) as client:
        client.arbitrate()
        client.set_pipeline(indirect.info, indirect.json)
        yield Probes(client, indirect.names)


def by_member(number: int) -> p4r.TableAction:
    return p4r.TableAction(action_profile_member_id=number)


def by_group(number: int) -> p4r.TableAction:
    return p4r.TableAction(action_profile_group_id=number)


def test_members_live(p: Probes):
    first, second = p.member("plain_profile", 1, 11), p.member("plain_profile", 2, 22)
    p.client.insert(first)
    p.client.insert(second)
    assert p.client.read(p4r.ActionProfileMember()) == [first, second]
    assert p.client.read(p.member("plain_profile", 2)) == [second]
    entry = p.entry(PLAIN, 7, by_member(1))
    p.client.insert(entry)
    assert p.client.read(p4r.TableEntry(table_id=entry.table_id)) == [entry]
    assert p.probe(PLAIN, 7)[0] == 11
    p.client.modify(p.member("plain_profile", 1, 33))
    assert p.probe(PLAIN, 7)[0] == 33
    p.client.modify(p.entry(PLAIN, 7, by_member(2)))
    assert p.probe(PLAIN, 7)[0] == 22
    refused(
        rpc_code.FAILED_PRECONDITION,
        p.client.delete,
        p.member("plain_profile", 2),
    )
    p.client.delete(p.member("plain_profile", 1))
    p.client.delete(p.entry(PLAIN, 7))
    p.client.delete(p.member("plain_profile", 2))
    assert p.client.read(p4r.ActionProfileMember()) == []


def test_members_are_refused(p: Probes):
    insert, member = p.client.insert, p.member
    insert(member("plain_profile", 1, 1))
    refused(rpc_code.ALREADY_EXISTS, insert, member("plain_profile", 1, 1))
    refused(INVALID, insert, member("plain_profile", 0, 1))
    refused(INVALID, insert, member("plain_profile", 2))
    refused(
        rpc_code.NOT_FOUND,
        insert,
        p4r.ActionProfileMember(action_profile_id=1),
    )
    refused(rpc_code.NOT_FOUND, p.client.modify, member("plain_profile", 2, 1))
    refused(rpc_code.NOT_FOUND, p.client.delete, member("plain_profile", 2))
    refused(INVALID, insert, p.group("plain_profile", 1))
    for number in (2, 3, 4):
        insert(member("plain_profile", number, 1))
    refused(rpc_code.RESOURCE_EXHAUSTED, insert, member("plain_profile", 5, 1))
    for action in (by_group(1), p.oneshot((1, 1)), p.set(1), None):
        refused(INVALID, insert, p.entry(PLAIN, 1, action))
    refused(rpc_code.NOT_FOUND, insert, p.entry(PLAIN, 1, by_member(9)))
    default = p4r.TableEntry(
        table_id=p.entry(PLAIN, 1).table_id, is_default_action=True, action=by_member(1)
    )
    refused(INVALID, p.client.modify, default)


def test_groups_live(p: Probes):
    for number in (1, 2, 3):
        p.client.insert(p.member("by_crc16", number, number))
    group = p.group("by_crc16", 5, {2: 1, 1: 2}, 4)
    p.client.insert(group)
    p.client.insert(p.entry(CRC16, 1, by_group(5)))
    p.client.insert(p.entry(CRC16, 2, by_member(3)))
    assert p.client.read(p4r.ActionProfileGroup()) == [group]
    assert p.client.read(p.group("by_crc16", 5)) == [group]
    seen = [p.probe(CRC16, 1, a)[0] for a in range(90)]
    assert set(seen) == {1, 2}
    assert 45 < seen.count(1) < 75, "a weight of 2 gets two thirds"
    assert {p.probe(CRC16, 2, a)[0] for a in range(9)} == {3}
    p.client.modify(p.group("by_crc16", 5, {3: 1}, 4))
    assert {p.probe(CRC16, 1, a)[0] for a in range(9)} == {3}
    p.client.modify(p.group("by_crc16", 5, {}, 4))
    assert p.probe(CRC16, 1) == (0, 1), "an empty group: a hit, and no action"
    refused(rpc_code.FAILED_PRECONDITION, p.client.delete, p.group("by_crc16", 5))
    p.client.delete(p.entry(CRC16, 1))
    p.client.delete(p.group("by_crc16", 5))
    assert p.client.read(p4r.ActionProfileGroup()) == []
    p.client.delete(p.member("by_crc16", 1))


def test_groups_are_refused(p: Probes):
    insert = p.client.insert
    for number in (1, 2):
        insert(p.member("by_crc16", number, number))
    insert(p.group("by_crc16", 1, {1: 1}, 3))
    refused(rpc_code.FAILED_PRECONDITION, p.client.delete, p.member("by_crc16", 1))
    refused(rpc_code.ALREADY_EXISTS, insert, p.group("by_crc16", 1, {1: 1}, 3))
    refused(INVALID, insert, p.group("by_crc16", 0, {1: 1}, 3))
    # max_group_size is 8
    refused(INVALID, insert, p.group("by_crc16", 2, {1: 1}, 9))
    refused(INVALID, insert, p.group("by_crc16", 2, {1: 0}))
    refused(INVALID, insert, p.group("by_crc16", 2, {1: -1}))
    refused(rpc_code.NOT_FOUND, insert, p.group("by_crc16", 2, {9: 1}))
    refused(
        rpc_code.RESOURCE_EXHAUSTED,
        insert,
        p.group("by_crc16", 2, {1: 2, 2: 2}, 3),
    )
    refused(
        rpc_code.RESOURCE_EXHAUSTED,
        insert,
        p.group("by_crc16", 2, {1: 2**31 - 1}),
    )
    twice = p.group("by_crc16", 2, {1: 1})
    twice.members.add(member_id=1, weight=1)
    refused(INVALID, insert, twice)
    watched = p.group("by_crc16", 2, {1: 1})
    watched.members[0].watch_port = b"\1"
    refused(rpc_code.UNIMPLEMENTED, insert, watched)
    refused(INVALID, p.client.modify, p.group("by_crc16", 1, {1: 1}, 4))
    refused(rpc_code.NOT_FOUND, p.client.modify, p.group("by_crc16", 2, {1: 1}))
    refused(rpc_code.NOT_FOUND, p.client.delete, p.group("by_crc16", 2))
    refused(rpc_code.NOT_FOUND, insert, p.entry(CRC16, 1, by_group(2)))
    # not both ways at once
    refused(INVALID, insert, p.entry(CRC16, 1, p.oneshot((1, 1))))
    assert p.client.read(p4r.ActionProfileGroup()) == [p.group("by_crc16", 1, {1: 1}, 3)]


def test_oneshots_live(p: Probes):
    entry = p.entry(CRC16, 1, p.oneshot((1, 1), (2, 3), (1, 1)))
    p.client.insert(entry)
    assert p.client.read(p4r.TableEntry(table_id=entry.table_id)) == [entry]
    assert p.client.read(p4r.ActionProfileMember()) == []
    assert {p.probe(CRC16, 1, a)[0] for a in range(50)} == {1, 2}
    refused(INVALID, p.client.insert, p.member("by_crc16", 1, 1))
    for action in (p.oneshot(), p.oneshot((1, 0)), p.oneshot((1, 9))):
        refused(INVALID, p.client.insert, p.entry(CRC16, 2, action))
    refused(
        rpc_code.RESOURCE_EXHAUSTED,
        p.client.insert,
        p.entry(CRC32, 1, p.oneshot((1, 65))),
    )
    p.client.insert(p.entry(CRC32, 1, p.oneshot((1, 60))))
    refused(
        rpc_code.RESOURCE_EXHAUSTED,
        p.client.insert,
        p.entry(CRC32, 2, p.oneshot((1, 5))),
    )
    p.client.modify(p.entry(CRC16, 1, p.oneshot((9, 1))))
    assert {p.probe(CRC16, 1, a)[0] for a in range(9)} == {9}
    p.client.delete(p.entry(CRC16, 1))
    p.client.insert(p.member("by_crc16", 1, 1))


def test_tables_that_share_a_selector(p: Probes):
    p.client.insert(p.member("shared", 1, 5))
    p.client.insert(p.member("shared", 2, 0))
    p.client.insert(p.entry(SHARED_ONE, 1, by_member(1)))
    p.client.insert(p.entry(SHARED_TWO, 1, by_member(1)))
    p.client.insert(p.entry(SHARED_TWO, 2, by_member(2)))
    assert p.probe(SHARED_ONE, 1) == (5, 1)
    assert p.probe(SHARED_TWO, 1) == (5, 16)
    assert p.probe(SHARED_BOTH, 1) == (5, 17)
    assert p.probe(SHARED_TWO, 2) == (0, 32)


def test_a_batch_rolls_back(p: Probes):
    for number in (1, 2):
        p.client.insert(p.member("by_crc16", number, number))
    p.client.insert(p.group("by_crc16", 1, {1: 1, 2: 2}))
    p.client.insert(p.entry(CRC16, 1, by_group(1)))
    p.client.insert(p.entry(CRC32, 1, p.oneshot((7, 1), (8, 1))))
    queries = [
        p4r.Entity(action_profile_member=p4r.ActionProfileMember()),
        p4r.Entity(action_profile_group=p4r.ActionProfileGroup()),
        p4r.Entity(table_entry=p4r.TableEntry()),
    ]
    before = p.client.read_all(queries)
    selected = [[p.probe(table, 1, a)[0] for a in range(20)] for table in (CRC16, CRC32)]
    with pytest.raises(RefusedError):
        p.client.write(
            update("INSERT", p.member("by_crc16", 3, 3)),
            update("MODIFY", p.member("by_crc16", 1, 9)),
            update("MODIFY", p.group("by_crc16", 1, {3: 1})),
            update("DELETE", p.entry(CRC16, 1)),
            update("DELETE", p.group("by_crc16", 1)),
            update("DELETE", p.member("by_crc16", 2)),
            update("MODIFY", p.entry(CRC32, 1, p.oneshot((9, 1)))),
            update("DELETE", p.entry(CRC32, 1)),
            update("DELETE", p.member("by_crc16", 77)),
            atomicity="ROLLBACK_ON_ERROR",
        )
    assert p.client.read_all(queries) == before
    assert [sorted(p.probe(table, 1, a)[0] for a in range(20)) for table in (CRC16, CRC32)] == list(
        map(sorted, selected)
    )


def test_state_survives_reconcile(p: Probes, indirect: Program):
    p.client.insert(p.member("by_crc16", 4, 44))
    p.client.insert(p.group("by_crc16", 1, {4: 2}))
    p.client.insert(p.entry(CRC16, 1, by_group(1)))
    p.client.insert(p.entry(CRC32, 1, p.oneshot((7, 1))))
    p.client.set_pipeline(indirect.info, indirect.json, "RECONCILE_AND_COMMIT")
    assert [p.probe(table, 1)[0] for table in (CRC16, CRC32)] == [44, 7]


def test_p4info_of_another_program(p: Probes, indirect: Program):
    info = type(indirect.info)()
    info.CopyFrom(indirect.info)
    info.action_profiles[0].with_selector = not info.action_profiles[0].with_selector
    with pytest.raises(RefusedError, match="selector"):
        p.client.set_pipeline(info, indirect.json)
