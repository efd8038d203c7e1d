"""Clone sessions and multicast groups."""

import pytest
from p4rt_client import Client, RefusedError, refused, update
from p4rt_switch import Program, Switch

from pcn.base.p4rt import p4r, rpc_code
from pcn.softswitch.clock import ManualClock


def session(number: int, *replicas: p4r.Replica, **fields: int) -> p4r.PacketReplicationEngineEntry:
    entry = p4r.CloneSessionEntry(session_id=number, replicas=replicas, **fields)
    return p4r.PacketReplicationEngineEntry(clone_session_entry=entry)


def group(number: int, *replicas: p4r.Replica, **fields: bytes) -> p4r.PacketReplicationEngineEntry:
    entry = p4r.MulticastGroupEntry(multicast_group_id=number, replicas=replicas, **fields)
    return p4r.PacketReplicationEngineEntry(multicast_group_entry=entry)


COPY, COPY_2 = p4r.Replica(egress_port=1, instance=1), p4r.Replica(port=b"\2", instance=9)


def code_of(client: Client, kind: str, entry: p4r.PacketReplicationEngineEntry) -> int:
    with pytest.raises(RefusedError) as failure:
        client.write(update(kind, entry))
    return failure.value.codes[0]


@pytest.mark.parametrize("make", [session, group])
def test_life_of_an_entry(client: Client, make):
    client.insert(make(3, COPY, COPY_2))
    assert client.read(make(3)) == [make(3, COPY, COPY_2)]
    assert code_of(client, "INSERT", make(3, COPY)) == rpc_code.ALREADY_EXISTS
    client.modify(make(3, COPY_2))
    client.insert(make(4, COPY))
    assert client.read(make(0)) == [make(3, COPY_2), make(4, COPY)]
    client.delete(make(3))
    assert client.read(make(0)) == [make(4, COPY)]
    assert code_of(client, "DELETE", make(3)) == rpc_code.NOT_FOUND
    assert code_of(client, "MODIFY", make(3, COPY)) == rpc_code.NOT_FOUND
    refused(rpc_code.NOT_FOUND, client.read, make(3))


@pytest.mark.parametrize("make", [session, group])
def test_an_entry_without_replicas(client: Client, make):
    client.insert(make(5))
    client.modify(make(5, COPY))
    client.modify(make(5))
    assert client.read(make(0)) == [make(5)]
    client.delete(make(5))
    assert client.read(make(0)) == []


@pytest.mark.parametrize("make", [session, group])
def test_what_is_refused(client: Client, make):
    for entry, code in (
        (make(0, COPY), rpc_code.INVALID_ARGUMENT),
        (make(1 << 20, COPY), rpc_code.OUT_OF_RANGE),
        (
            make(1, p4r.Replica(instance=1), p4r.Replica(egress_port=0, instance=1)),
            rpc_code.INVALID_ARGUMENT,
        ),
        (make(1, p4r.Replica(egress_port=512)), rpc_code.INVALID_ARGUMENT),
        (make(1, p4r.Replica(port=b"")), rpc_code.INVALID_ARGUMENT),
        (make(1, p4r.Replica(egress_port=1, instance=65536)), rpc_code.INVALID_ARGUMENT),
        (make(1, COPY, p4r.Replica(port=b"\0\1", instance=1)), rpc_code.INVALID_ARGUMENT),
        (
            make(1, p4r.Replica(egress_port=1, backup_replicas=[{"port": b"\2"}])),
            rpc_code.UNIMPLEMENTED,
        ),
        (p4r.PacketReplicationEngineEntry(), rpc_code.INVALID_ARGUMENT),
    ):
        assert code_of(client, "INSERT", entry) == code
    assert client.read(p4r.PacketReplicationEngineEntry()) == []


def test_session_details(client: Client):
    client.insert(session(1, COPY, packet_length_bytes=60))
    assert client.read(session(1)) == [session(1, COPY, packet_length_bytes=60)]
    assert code_of(client, "MODIFY", session(1, COPY, class_of_service=1)) == rpc_code.UNIMPLEMENTED
    assert (
        code_of(client, "MODIFY", session(1, COPY, packet_length_bytes=-1))
        == rpc_code.INVALID_ARGUMENT
    )


def test_group_metadata(client: Client):
    client.insert(group(1, COPY, metadata=b"note"))
    assert client.read(group(1)) == [group(1, COPY, metadata=b"note")]


@pytest.mark.parametrize("make", [session, group])
def test_ports_are_read_back_canonical(client: Client, make):
    client.insert(make(1, p4r.Replica(port=b"\0\0\2", instance=9), COPY))
    assert client.read(make(1)) == [make(1, COPY_2, COPY)]
    client.modify(make(1, p4r.Replica(port=b"\0\0")))
    assert client.read(make(1)) == [make(1, p4r.Replica(port=b"\0"))]


@pytest.mark.parametrize("make", [session, group])
def test_replica_without_a_port_kind_is_at_port_0(
    manual_switch: Switch, clock: ManualClock, program: Program, make
):
    """As clients send it whose P4Runtime is older than 1.4, where port 0 isn't on the wire; it is
    read back alike."""
    manual_switch.native.port_add(0, None)
    entry, names = make(7, p4r.Replica(instance=1)), program.names
    action = (
        names.action("mirror", port=2) if make is session else names.action("multicast", group=7)
    )
    with Client(manual_switch.port) as client:
        client.arbitrate()
        client.set_pipeline(program.info, program.json)
        client.insert(names.entry("l2", {"dst_addr": 0xBB}, action))
        client.insert(entry)
        assert client.read(make(7)) == [entry]
        clock.send(1, bytes.fromhex("0000000000bb") + bytes(54))
        assert 0 in [port for port, _, _ in clock.received()]
