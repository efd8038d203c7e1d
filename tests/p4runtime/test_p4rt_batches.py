"""Batches: one outcome an update, and what each atomicity promises."""

import grpc
import pytest
from p4rt_client import Client, Names, RefusedError, refused, update

from pcn.base.p4rt import p4r, rpc_code


@pytest.fixture
def batch(names: Names) -> list[p4r.Update]:
    """Five updates, of which the third fails."""
    forward = names.action("forward", port=1)
    register = p4r.RegisterEntry(register_id=names.id("registers", "cells"))
    register.index.index, register.data.bitstring = 4, b"\x09"
    session = p4r.CloneSessionEntry(session_id=1, replicas=[p4r.Replica(egress_port=1)])
    return [
        update("INSERT", names.entry("l2", {"dst_addr": 1}, forward)),
        update("MODIFY", register),
        update("INSERT", names.entry("l2", {"dst_addr": 1}, forward)),
        update("DELETE", names.entry("l2", {"dst_addr": 7})),
        update(
            "INSERT",
            session,
        ),
    ]


def state(client: Client, names: Names) -> list[object]:
    register = p4r.RegisterEntry(register_id=names.id("registers", "cells"))
    register.index.index = 4
    return [
        client.read(names.entry("l2")),
        client.read(register),
        client.read(p4r.PacketReplicationEngineEntry()),
    ]


def test_continue_on_error(client: Client, names: Names, batch: list[p4r.Update]):
    old = names.entry("l2", {"dst_addr": 7}, names.action("forward", port=7))
    client.insert(old)
    with pytest.raises(RefusedError) as failure:
        client.write(*batch)
    assert failure.value.code == grpc.StatusCode.UNKNOWN
    assert failure.value.codes == [
        rpc_code.OK, rpc_code.OK, rpc_code.ALREADY_EXISTS, rpc_code.OK, rpc_code.OK,
    ]  # fmt: skip
    assert failure.value.outcomes[0] == p4r.Error()
    assert "l2" in failure.value.outcomes[2].message
    entries, cells, sessions = state(client, names)
    assert entries == [batch[0].entity.table_entry]
    assert cells == [batch[1].entity.register_entry]
    assert sessions == [batch[4].entity.packet_replication_engine_entry]


def test_rollback_on_error(client: Client, names: Names, batch: list[p4r.Update]):
    old = names.entry("l2", {"dst_addr": 7}, names.action("forward", port=7))
    client.insert(old)
    before = state(client, names)
    changes = [
        update(
            "MODIFY",
            names.entry("l2", {"dst_addr": 7}, names.action("forward", port=8)),
        ),
        update("DELETE", names.entry("l2", {"dst_addr": 7})),
    ]
    with pytest.raises(RefusedError) as failure:
        client.write(*changes, *batch, atomicity="ROLLBACK_ON_ERROR")
    assert (
        failure.value.codes
        == [rpc_code.ABORTED] * 4 + [rpc_code.ALREADY_EXISTS] + [rpc_code.ABORTED] * 2
    )
    assert state(client, names) == before
    client.write(*changes, batch[0], atomicity="ROLLBACK_ON_ERROR")
    assert client.read(names.entry("l2")) == [batch[0].entity.table_entry]


def test_dataplane_atomic_is_refused_as_a_whole(
    client: Client, names: Names, batch: list[p4r.Update]
):
    before = state(client, names)
    with pytest.raises(RefusedError) as failure:
        client.write(batch[0], atomicity="DATAPLANE_ATOMIC")
    assert failure.value.code == grpc.StatusCode.UNIMPLEMENTED
    assert failure.value.outcomes == []
    assert state(client, names) == before


def test_details_of_a_large_batch_fit_a_default_client(client: Client, names: Names):
    missing = update("DELETE", names.entry("l2", {"dst_addr": 1}))
    with pytest.raises(RefusedError) as failure:
        client.write(*[missing] * 100)
    assert failure.value.codes == [rpc_code.NOT_FOUND] * 100
    assert failure.value.outcomes[0].message


def test_what_is_no_entity(client: Client):
    refused(rpc_code.INVALID_ARGUMENT, client.modify, p4r.Entity())
    refused(rpc_code.UNIMPLEMENTED, client.modify, p4r.ExternEntry())
    refused(rpc_code.NOT_FOUND, client.modify, p4r.ValueSetEntry(value_set_id=1))


def test_a_large_batch(client: Client, names: Names):
    wide = names.action("set_wide", value=1, small=1)
    entries = [
        names.entry("prefixes", {"port": i % 512, "dst_addr": (i << 16, 32)}, wide)
        for i in range(1000)
    ]
    client.write(*(update("INSERT", entry) for entry in entries))
    assert client.read(names.entry("prefixes")) == entries
