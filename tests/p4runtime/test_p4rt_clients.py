"""Messages as clients that people have build them, where those differ from what the other tests
send.

docs/p4runtime.md lists the clients, and what each of them did against the switch."""

from collections.abc import Iterator

import pytest
from p4rt_client import Client, Names, update
from p4rt_switch import Program, Switch

from pcn.base.p4rt import p4r

WIDTHS = {"dst_addr": 6, "src_addr": 6, "port": 2, "reason": 1, "ether_type": 2}


def full(name: str, value: int) -> bytes:
    """A value in as many bytes as its field has, zeros in front: not the canonical form of
    P4Runtime, but accepted."""
    return value.to_bytes(WIDTHS[name], "big")


def forward(names: Names, mac: int, port: int) -> p4r.TableEntry:
    action = names.action("forward", port=full("port", port))
    return names.entry("l2", {"dst_addr": full("dst_addr", mac)}, action)


def canonical(names: Names, mac: int, port: int) -> p4r.TableEntry:
    return names.entry("l2", {"dst_addr": mac}, names.action("forward", port=port))


@pytest.fixture(params=[1, 1 << 64], ids=["low", "high"])
def primary(request, empty_switch: Switch, program: Program) -> Iterator[Client]:
    """A primary that has set the pipeline. p4runtime-shell takes the election id (0, 1), p4-utils
    (1, 0)."""
    with Client(empty_switch.port, election_id=request.param) as client:
        assert client.arbitrate().status.code == 0
        assert client.get_pipeline() is None, "nothing was set: the response has no config"
        client.set_pipeline(program.info, program.json)
        yield client


def test_switch_takes_values_of_full_width_and_answers_canonically(primary: Client, names: Names):
    """p4runtime_lib, p4-utils and PTF's base class pad what they send."""
    primary.insert(forward(names, 0xAA, 2))
    primary.modify(forward(names, 0xAA, 3))
    (entry,) = primary.read(p4r.TableEntry(table_id=names.tables["l2"].preamble.id))
    entry.ClearField("counter_data")
    assert entry == canonical(names, 0xAA, 3)


def test_switch_undoes_what_a_client_wrote_when_it_is_sent_again_as_deletes(
    primary: Client, names: Names
):
    """PTF's base class keeps its requests, and at a test's end sends each as DELETE, backwards,
    actions included."""
    acl = names.entry(
        "acl",
        {"src_addr": (full("src_addr", 0x10), full("src_addr", 0xF0)), "port": full("port", 9)},
        names.action("drop"),
        priority=3,
    )
    group = p4r.MulticastGroupEntry(
        multicast_group_id=4, replicas=[p4r.Replica(egress_port=1, instance=1)]
    )
    session = p4r.CloneSessionEntry(session_id=7, replicas=[p4r.Replica(egress_port=1, instance=1)])
    written = [
        p4r.Entity(table_entry=forward(names, 0xAA, 2)),
        p4r.Entity(table_entry=acl),
        p4r.Entity(
            packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
                multicast_group_entry=group
            )
        ),
        p4r.Entity(
            packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
                clone_session_entry=session
            )
        ),
    ]
    queries = [
        p4r.Entity(table_entry=names.entry("l2")),
        p4r.Entity(table_entry=names.entry("acl")),
        p4r.Entity(
            packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
                multicast_group_entry=p4r.MulticastGroupEntry()
            )
        ),
    ]
    for entity in written:
        primary.write(p4r.Update(type=p4r.Update.INSERT, entity=entity))
    assert len(primary.read_all(queries)) == 3
    for entity in reversed(written):
        primary.write(p4r.Update(type=p4r.Update.DELETE, entity=entity))
    assert primary.read_all(queries) == []


def test_switch_sets_all_cells_of_an_array_at_once(primary: Client, names: Names):
    """p4-utils leaves the index away to set a whole meter array, or to reset a counter."""
    meters = names.id("meters", "limits")
    config = p4r.MeterConfig(cir=1000, cburst=100, pir=2000, pburst=200)
    primary.modify(p4r.MeterEntry(meter_id=meters, config=config))
    assert [cell.config for cell in primary.read(p4r.MeterEntry(meter_id=meters))] == [config] * 8
    received = names.id("counters", "received")
    index = p4r.Index(index=3)
    data = p4r.CounterData(packet_count=5, byte_count=6)
    primary.modify(p4r.CounterEntry(counter_id=received, index=index, data=data))
    primary.modify(p4r.CounterEntry(counter_id=received, data=p4r.CounterData()))
    cells = primary.read(p4r.CounterEntry(counter_id=received))
    assert [cell.data for cell in cells] == [p4r.CounterData()] * 16


def test_switch_reads_every_table_and_counter_without_ids(primary: Client, names: Names):
    """p4runtime_lib reads all tables with a TableEntry that names none, and cells one by one."""
    primary.write(*(update("INSERT", forward(names, mac, mac)) for mac in (1, 2, 3)))
    tables = [entry.table_id for entry in primary.read(p4r.TableEntry())]
    assert tables.count(names.tables["l2"].preamble.id) == 3
    received = names.id("counters", "received")
    query = p4r.CounterEntry(counter_id=received, index=p4r.Index(index=1))
    assert [cell.index.index for cell in primary.read(query)] == [1]
