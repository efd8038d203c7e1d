"""Table entries over gRPC: writes, reads, defaults, const entries, direct counters, and each
refusal."""

import pytest
from p4rt_client import Client, Names, RefusedError, refused, update
from p4rt_switch import Switch

from pcn.base.p4rt import p4r, rpc_code


def test_exact_entry_lives(client: Client, names: Names):
    entry = names.entry(
        "l2", {"dst_addr": 0xAABB}, names.action("forward", port=7), metadata=b"mine"
    )
    entry.controller_metadata = 99
    client.insert(entry)
    assert client.read(p4r.TableEntry(table_id=entry.table_id)) == [entry]
    changed = names.entry("l2", {"dst_addr": 0xAABB}, names.action("multicast", group=300))
    client.modify(changed)
    assert client.read(names.entry("l2", {"dst_addr": 0xAABB})) == [changed]
    client.delete(names.entry("l2", {"dst_addr": 0xAABB}))
    assert client.read(p4r.TableEntry(table_id=entry.table_id)) == []


def test_non_canonical_strings_are_read_back_canonical(client: Client, names: Names):
    client.insert(
        names.entry(
            "l2", {"dst_addr": b"\0\0\0\0\0\xaa\xbb"}, names.action("forward", port=b"\0\7")
        )
    )
    expected = names.entry("l2", {"dst_addr": 0xAABB}, names.action("forward", port=7))
    assert client.read(p4r.TableEntry(table_id=expected.table_id)) == [expected]
    again = names.entry("l2", {"dst_addr": b"\xaa\xbb"}, names.action("forward", port=8))
    assert "key" in refused(rpc_code.ALREADY_EXISTS, client.insert, again)


def test_all_match_kinds(client: Client, names: Names):
    wide = names.action("set_wide", value=2**127 + 5, small=9)
    entries = [
        names.entry("prefixes", {"port": 3, "dst_addr": (0x0A0000000000, 8)}, wide),
        names.entry("prefixes", {"port": 3}, wide),
        names.entry(
            "acl", {"src_addr": (0x10, 0xF0), "ether_type": (5, 9), "port": 2}, wide, priority=7
        ),
        names.entry(
            "acl", {"src_addr": (0x10, 0xF0), "ether_type": (5, 9), "port": 2}, wide, priority=8
        ),
        names.entry("acl", {}, names.action("drop"), priority=1),
    ]
    client.write(*(update("INSERT", entry) for entry in entries))
    read_back = client.read(p4r.TableEntry())
    assert [
        entry for entry in read_back if entry.table_id in {e.table_id for e in entries}
    ] == entries
    assert client.read(names.entry("acl", priority=7)) == [entries[2]]
    assert client.read(names.entry("acl", action=names.action("drop"))) == [entries[4]]
    client.write(*(update("DELETE", entry) for entry in entries))
    assert not {e.table_id for e in entries} & {e.table_id for e in client.read(p4r.TableEntry())}


def test_default_entries(client: Client, names: Names):
    query = names.entry("l2", is_default_action=True)
    assert client.read(query)[0].action == names.action("drop")
    changed = names.entry(
        "l2", None, names.action("forward", port=1), is_default_action=True, metadata=b"x"
    )
    client.modify(changed)
    assert client.read(query) == [changed]
    client.modify(query)
    assert client.read(query)[0].action == names.action("drop")
    refused(rpc_code.INVALID_ARGUMENT, client.insert, changed)
    refused(rpc_code.INVALID_ARGUMENT, client.delete, changed)
    forbidden = names.entry(
        "l2", None, names.action("set_wide", value=1, small=1), is_default_action=True
    )
    assert "TABLE_ONLY" in refused(rpc_code.PERMISSION_DENIED, client.modify, forbidden)
    const = names.entry("acl", None, names.action("drop"), is_default_action=True)
    refused(rpc_code.PERMISSION_DENIED, client.modify, const)
    keyless = names.entry(
        "keyless", None, names.action("set_wide", value=1, small=1), is_default_action=True
    )
    client.modify(keyless)
    assert client.read(names.entry("keyless", is_default_action=True)) == [keyless]


def test_const_entries(client: Client, names: Names):
    const_entries = client.read(names.entry("fixed"))
    assert [(entry.priority, entry.is_const) for entry in const_entries] == [(2, True), (1, True)]
    assert const_entries[0].action == names.action("set_wide", value=1, small=2)
    assert const_entries[1].match == names.match("fixed", ether_type=(0x8000, 0x8000))
    new = names.entry("fixed", {"ether_type": (1, 1)}, names.action("NoAction"), priority=3)
    refused(rpc_code.PERMISSION_DENIED, client.insert, new)
    known = names.entry(
        "fixed", {"ether_type": (0x8000, 0x8000)}, names.action("NoAction"), priority=1
    )
    refused(rpc_code.PERMISSION_DENIED, client.modify, known)
    refused(rpc_code.PERMISSION_DENIED, client.delete, known)


def test_entries_that_the_program_brings_and_clients_change(
    client: Client, names: Names, switch: Switch
):
    def reason() -> int:
        switch.native.packet_out(4, bytes.fromhex("000000000022 000000000001 0901") + bytes(46))
        return client.receive().packet.metadata[1].value[0]

    def entry(mask: int, reason: int | None, priority: int) -> p4r.TableEntry:
        action = None if reason is None else names.action("send_to_cpu", reason=reason)
        return names.entry(
            "seeded", {"ether_type": (0x0901 & mask, mask)}, action, priority=priority
        )

    initial = [entry(0xFFFF, 11, 2), entry(0xFF00, 12, 1)]
    assert client.read(names.entry("seeded")) == initial
    assert reason() == 11
    # p4c's JSON gives a table with entries no room for others
    client.delete(entry(0xFF00, None, 1))
    client.insert(entry(0xFFF0, 50, 3))
    assert reason() == 50, "a client's entry of a higher priority comes first"
    client.modify(entry(0xFFF0, 51, 3))
    assert reason() == 51
    client.delete(entry(0xFFF0, None, 3))
    client.modify(entry(0xFFFF, 33, 2))
    assert reason() == 33
    assert client.read(names.entry("seeded")) == [entry(0xFFFF, 33, 2)]


def test_what_is_refused(client: Client, names: Names):
    key = {"dst_addr": 1}
    forward = names.action("forward", port=1)
    invalid, missing = rpc_code.INVALID_ARGUMENT, rpc_code.NOT_FOUND
    refused(missing, client.insert, p4r.TableEntry(table_id=0x02ABCDEF))
    refused(missing, client.modify, names.entry("l2", key, forward))
    refused(missing, client.delete, names.entry("l2", key))
    refused(invalid, client.insert, names.entry("l2", key))
    refused(invalid, client.insert, names.entry("l2", {}, forward))
    refused(invalid, client.insert, names.entry("l2", key, names.action("forward")))
    refused(
        invalid,
        client.insert,
        names.entry("l2", key, names.action("forward", port=512)),
    )
    refused(invalid, client.insert, names.entry("l2", key, names.action("NoAction")))
    refused(invalid, client.insert, names.entry("l2", key, forward, priority=1))
    refused(invalid, client.insert, names.entry("l2", key, forward, is_const=True))
    refused(invalid, client.insert, names.entry("l2", key, forward, idle_timeout_ns=1))
    refused(invalid, client.insert, names.entry("keyless", None, names.action("NoAction")))
    refused(
        invalid,
        client.insert,
        names.entry("prefixes", {"port": 1}, names.action("NoAction"), meter_config={}),
    )
    refused(
        invalid,
        client.insert,
        names.entry("prefixes", {"port": 1}, names.action("NoAction"), counter_data={}),
    )
    refused(
        rpc_code.PERMISSION_DENIED,
        client.insert,
        names.entry("l2", key, names.action("drop")),
    )
    member = p4r.TableAction(action_profile_member_id=1)
    refused(invalid, client.insert, names.entry("l2", key, member))
    extra = names.action("forward", port=1)
    extra.action.params.add(param_id=9, value=b"\1")
    refused(invalid, client.insert, names.entry("l2", key, extra))
    assert client.read(names.entry("l2")) == []


def test_a_full_table(client: Client, names: Names):
    forward = names.action("forward", port=1)
    client.write(*(update("INSERT", names.entry("l2", {"dst_addr": i}, forward)) for i in range(8)))
    message = refused(
        rpc_code.RESOURCE_EXHAUSTED,
        client.insert,
        names.entry("l2", {"dst_addr": 9}, forward),
    )
    assert "l2" in message
    assert "8" in message
    client.delete(names.entry("l2", {"dst_addr": 3}))
    client.insert(names.entry("l2", {"dst_addr": 9}, forward))
    assert len(client.read(names.entry("l2"))) == 8


def test_direct_counters(client: Client, names: Names, switch: Switch):
    entry = names.entry("l2", {"dst_addr": 0xAA}, names.action("forward", port=1))
    with_counter = p4r.TableEntry()
    with_counter.CopyFrom(entry)
    with_counter.counter_data.packet_count = 5
    client.insert(with_counter)
    query = names.entry("l2", {"dst_addr": 0xAA})
    assert client.read(query) == [entry]
    query.counter_data.SetInParent()
    assert client.read(query) == [with_counter]

    direct = p4r.DirectCounterEntry(table_entry=names.entry("l2", {"dst_addr": 0xAA}))
    direct.data.packet_count, direct.data.byte_count = 10, 1000
    client.modify(direct)
    assert client.read(p4r.DirectCounterEntry(table_entry=direct.table_entry)) == [direct]
    everything = p4r.DirectCounterEntry(table_entry=p4r.TableEntry())
    assert client.read(everything) == [direct]
    client.modify(names.entry("l2", {"dst_addr": 0xAA}, names.action("forward", port=2)))
    assert client.read(everything) == [direct], "MODIFY without counter_data keeps the count"

    refused(rpc_code.INVALID_ARGUMENT, client.insert, direct)
    none = p4r.DirectCounterEntry(table_entry=names.entry("prefixes", {"port": 1}))
    refused(rpc_code.INVALID_ARGUMENT, client.modify, none)
    gone = p4r.DirectCounterEntry(table_entry=names.entry("l2", {"dst_addr": 0xBB}))
    refused(rpc_code.NOT_FOUND, client.modify, gone)


def test_direct_counters_count(client: Client, names: Names, switch: Switch):
    client.insert(names.entry("l2", {"dst_addr": 0x22}, names.action("send_to_cpu", reason=1)))
    frame = bytes.fromhex("000000000022 000000000001 0800") + bytes(46)
    for _ in range(3):
        switch.native.packet_out(4, frame)
        assert client.receive().HasField("packet")
    (counter,) = client.read(
        p4r.DirectCounterEntry(table_entry=names.entry("l2", {"dst_addr": 0x22}))
    )
    assert (counter.data.packet_count, counter.data.byte_count) == (3, 180)


def test_reads_that_are_refused(client: Client, names: Names):
    refused(rpc_code.NOT_FOUND, client.read, p4r.TableEntry(table_id=77))
    refused(rpc_code.NOT_FOUND, client.read, names.entry("l2", {"dst_addr": 1}))
    refused(rpc_code.INVALID_ARGUMENT, client.read, p4r.TableEntry(priority=4))
    with pytest.raises(RefusedError) as failure:
        client.read_all([p4r.Entity(table_entry=p4r.TableEntry()), p4r.Entity()])
    assert failure.value.codes == [rpc_code.OK, rpc_code.INVALID_ARGUMENT]


def test_a_const_table_refuses_what_it_does_not_have_alike(client: Client, names: Names):
    """Whether there is such an entry makes no difference, nor whether there could be."""
    absent = names.entry("fixed", {"ether_type": (3, 3)}, names.action("NoAction"), priority=9)
    for call in (client.insert, client.modify, client.delete):
        refused(rpc_code.PERMISSION_DENIED, call, absent)


def test_a_refused_default_entry_stays_as_it_was(client: Client, names: Names):
    query = names.entry("policing", is_default_action=True)
    before = client.read(query)
    metered = names.entry(
        "policing", None, names.action("police"), is_default_action=True, meter_config={"pir": 1}
    )
    refused(rpc_code.UNIMPLEMENTED, client.modify, metered)
    assert client.read(query) == before


def test_a_match_without_a_priority_selects_every_priority(client: Client, names: Names):
    drop, key = names.action("drop"), {"src_addr": (0x10, 0xF0)}
    entries = [names.entry("acl", key, drop, priority=number) for number in (1, 5)]
    unmatched = names.entry("acl", {"src_addr": (0x20, 0xF0)}, drop, priority=5)
    client.write(*(update("INSERT", entry) for entry in (*entries, unmatched)))
    assert client.read(names.entry("acl", key)) == entries
    assert client.read(names.entry("acl", key, priority=5)) == entries[1:]
    refused(rpc_code.NOT_FOUND, client.read, names.entry("acl", {"src_addr": (0x30, 0xF0)}))
