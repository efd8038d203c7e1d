"""Parser value sets over gRPC: members of each kind, what packets do then, and each refusal."""

from collections.abc import Iterator

import pytest
from p4rt_client import Client, RefusedError, octets, refused, update
from p4rt_switch import PROGRAMS, Program, Switch, load

from pcn.base.p4rt import p4r, rpc_code

INVALID = rpc_code.INVALID_ARGUMENT
ACCEPTED, SINGLE, NONE, BOTH = 0, 1, 2, 4


@pytest.fixture(scope="module")
def sets() -> Program:
    return load(PROGRAMS / "valuesets")


@pytest.fixture
def client(empty_switch: Switch, sets: Program) -> Iterator[Client]:
    with Client(empty_switch.port) as client:
        client.arbitrate()
        client.set_pipeline(sets.info, sets.json)
        yield client


def singles(sets: Program, *values: int | bytes) -> p4r.ValueSetEntry:
    entry = p4r.ValueSetEntry(value_set_id=sets.names.id("value_sets", "singles"))
    for value in values:
        entry.members.add().match.add(field_id=1).exact.value = octets(value)
    return entry


def mixed(
    sets: Program, *members: tuple[int, tuple[int, int] | None, tuple[int, int] | None]
) -> p4r.ValueSetEntry:
    """Members of an exact, a ternary and an LPM field; None: any."""
    entry = p4r.ValueSetEntry(value_set_id=sets.names.id("value_sets", "mixed"))
    for b, d, e in members:
        member = entry.members.add()
        member.match.add(field_id=1).exact.value = octets(b)
        if d:
            match = member.match.add(field_id=2)
            match.ternary.value, match.ternary.mask = octets(d[0]), octets(d[1])
        if e:
            match = member.match.add(field_id=3)
            match.lpm.value, match.lpm.prefix_len = octets(e[0]), e[1]
    return entry


def probe(client: Client, a: int = 0, b: int = 0, d: int = 0, e: int = 0) -> int:
    """Which states a packet went through."""
    bits = ((a << 13 | b) << 3 << 72 | d) << 136 | e
    client.send(packet=p4r.PacketOut(payload=bits.to_bytes(30, "big") + b"\xff"))
    return client.receive().packet.payload[-1]


def test_exact_members(client: Client, sets: Program):
    assert [probe(client, a) for a in (7, 8, 9)] == [ACCEPTED, ACCEPTED, NONE]
    client.modify(singles(sets, 9, b"\0\0\7", 0x1234))
    assert [probe(client, a) for a in (7, 8, 9)] == [ACCEPTED, ACCEPTED, SINGLE | NONE]
    assert [probe(client, a) for a in (0x1234, 0x3412)] == [SINGLE | NONE, NONE]
    assert client.read(singles(sets)) == [singles(sets, 9, 7, 0x1234)]
    client.modify(singles(sets, 8, 9))
    assert [probe(client, a) for a in (8, 9, 0x1234)] == [SINGLE | NONE, SINGLE | NONE, NONE]
    client.modify(singles(sets))
    assert probe(client, 9) == NONE


def test_members_of_several_fields(client: Client, sets: Program):
    """Overlapping ones; of odd widths, of more than 64 and of more than 128 bits."""
    high, top = 1 << 71, 0xAB << 128
    entry = mixed(
        sets, (0x1FFF, (high, high), (top, 8)), (0x1FFF, None, (top, 7)), (5, (6, 2**72 - 1), None)
    )
    refused(INVALID, client.modify, entry)  # bits beyond the prefix
    entry.members[1].match[1].lpm.value = octets(0xAA << 128)
    refused(INVALID, client.modify, mixed(sets, (5, (1, 2), None)))
    refused(INVALID, client.modify, mixed(sets, (0x2000, None, None)))
    client.modify(mixed(sets, (5, (6, 2**72 - 1), None), (0x1FFF, (high, high), (top, 8))))
    cases = [
        (5, 6, 0), (5, 7, 0), (4, 6, 0), (0x1FFF, high | 3, top | 1), (0x1FFF, 3, top),
        (0x1FFF, high, top ^ 1 << 128),
    ]  # fmt: skip
    yes, no = NONE | BOTH, NONE
    assert [probe(client, 1, *case) for case in cases] == [yes, no, no, yes, no, no]
    client.modify(entry)
    assert [probe(client, 1, *case) for case in cases] == [yes, no, no, yes, yes, yes]
    assert client.read(mixed(sets)) == [entry]


def test_refusals(client: Client, sets: Program):
    refused(INVALID, client.insert, singles(sets, 1))
    refused(INVALID, client.delete, singles(sets))
    refused(rpc_code.NOT_FOUND, client.modify, p4r.ValueSetEntry(value_set_id=1))
    refused(rpc_code.ALREADY_EXISTS, client.modify, singles(sets, 1, 2, b"\0\1"))
    refused(rpc_code.RESOURCE_EXHAUSTED, client.modify, singles(sets, 1, 2, 3, 4))
    refused(INVALID, client.modify, singles(sets, 0x10000))
    empty = singles(sets)
    empty.members.add()
    refused(INVALID, client.modify, empty)
    ranged = p4r.ValueSetEntry(value_set_id=sets.names.id("value_sets", "ranged"))
    ranged.members.add().match.add(field_id=1).range.high = b"\3"
    refused(rpc_code.UNIMPLEMENTED, client.modify, ranged)
    assert [len(value_set.members) for value_set in client.read(p4r.ValueSetEntry())] == [0, 0, 0]


def test_rollback_and_reconcile(client: Client, sets: Program):
    client.modify(singles(sets, 1, 2))
    with pytest.raises(RefusedError):
        client.write(
            update("MODIFY", singles(sets, 3)),
            update("MODIFY", singles(sets, 4, 4)),
            atomicity="ROLLBACK_ON_ERROR",
        )
    assert [probe(client, a) for a in (1, 2, 3)] == [SINGLE | NONE, SINGLE | NONE, NONE]
    client.set_pipeline(sets.info, sets.json, "RECONCILE_AND_COMMIT")
    assert [probe(client, a) for a in (1, 2, 3)] == [SINGLE | NONE, SINGLE | NONE, NONE]
    client.set_pipeline(sets.info, sets.json)
    assert probe(client, 1) == NONE
