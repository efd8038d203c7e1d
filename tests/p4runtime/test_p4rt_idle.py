"""Idle timeouts over gRPC: what is told, when, and not for entries that packets hit."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest
from conftest import PROGRAMS, Program, Switch, load
from finsy.proto import p4r, rpc_code
from p4rt_client import Client, RefusedError, update

MS = 1_000_000


@pytest.fixture(scope="module")
def idle() -> Program:
    return load(PROGRAMS / "idle")


@pytest.fixture
def client(empty_switch: Switch, idle: Program) -> Iterator[Client]:
    with Client(empty_switch.port) as client:
        client.arbitrate()
        client.set_pipeline(idle.info, idle.json)
        yield client


def flow(idle: Program, key: int, ms: float = 0, result: int = 1, **fields: Any) -> p4r.TableEntry:
    keys = {"key": (key, 255)}
    action = idle.names.action("set", result=result)
    return idle.names.entry("flows", keys, action, priority=3, idle_timeout_ns=int(ms * MS), **fields)


def hit(client: Client, key: int) -> None:
    """Sends a packet and takes what comes back, whatever else does."""
    client.send(packet=p4r.PacketOut(payload=bytes([key, 0])))
    while not client.receive().HasField("packet"):
        pass


def told(client: Client) -> p4r.IdleTimeoutNotification:
    return client.receive().idle_timeout_notification


def test_an_idle_entry_is_told_again_and_again(client: Client, idle: Program) -> None:
    entry = flow(idle, 1, 300, controller_metadata=7, metadata=b"mine")
    start = time.monotonic()
    client.insert(table_entry=entry)
    for n in (1, 2, 3):
        message = told(client)
        assert time.monotonic() - start > 0.3 * n
        assert abs(message.timestamp / 1e9 - time.time()) < 5
        entry.ClearField("action")
        assert list(message.table_entry) == [entry]
    client.delete(table_entry=entry)


def test_hits_keep_an_entry_alive(client: Client, idle: Program) -> None:
    """Of two entries, the one that is hit stays silent."""
    client.write(*(update("INSERT", table_entry=flow(idle, key, 1000)) for key in (1, 2)))
    first: list[p4r.TableEntry] = []
    end = time.monotonic() + 2.5
    while time.monotonic() < end:
        client.send(packet=p4r.PacketOut(payload=bytes([1, 0])))
        message = client.receive()
        first += message.idle_timeout_notification.table_entry
        if message.HasField("packet"):
            time.sleep(0.01)
    keys = {found.match[0].ternary.value for found in first}
    assert keys == {b"\2"}


def test_a_changed_timeout(client: Client, idle: Program) -> None:
    client.insert(table_entry=flow(idle, 1, 100_000))
    client.insert(table_entry=flow(idle, 2))
    client.modify(table_entry=flow(idle, 1, 50, result=2))
    (found,) = told(client).table_entry
    assert found.idle_timeout_ns == 50 * MS
    client.modify(table_entry=flow(idle, 1))
    client.modify(table_entry=flow(idle, 2, 50))
    while (seen := told(client).table_entry[0].match[0].ternary.value) != b"\2":
        assert seen == b"\1"  # was on its way
    client.delete(table_entry=flow(idle, 2))
    client.insert(table_entry=flow(idle, 3, 1e-6))  # as short as can be
    while told(client).table_entry[0].match[0].ternary.value != b"\3":
        pass
    reads = client.read(table_entry=flow(idle, 1)), client.read(table_entry=flow(idle, 3))
    assert [read[0].idle_timeout_ns for read in reads] == [0, 1]


def test_time_since_last_hit(client: Client, idle: Program) -> None:
    client.insert(table_entry=flow(idle, 1))
    start = time.monotonic_ns()
    time.sleep(0.05)
    query = idle.names.entry("flows")
    assert not client.read(table_entry=query)[0].HasField("time_since_last_hit")
    query.time_since_last_hit.SetInParent()
    (found,) = client.read(table_entry=query)
    assert 50 * MS <= found.time_since_last_hit.elapsed_ns <= time.monotonic_ns() - start + 1000 * MS
    before = time.monotonic_ns()
    hit(client, 1)
    (found,) = client.read(table_entry=query)
    assert found.time_since_last_hit.elapsed_ns <= time.monotonic_ns() - before + MS


def test_refusals(client: Client, idle: Program) -> None:
    names = idle.names
    action = names.action("set", result=1)
    bad = (
        names.entry("fixed", {"key": 1}, action, idle_timeout_ns=1),
        flow(idle, 1, -1),
        flow(idle, 1, time_since_last_hit={}),
    )
    for entry in bad:
        with pytest.raises(RefusedError) as failure:
            client.insert(table_entry=entry)
        assert failure.value.codes == [rpc_code.INVALID_ARGUMENT]
    default = names.entry("flows", None, action, is_default_action=True, idle_timeout_ns=1)
    with pytest.raises(RefusedError):
        client.modify(table_entry=default)
    for query in (
        names.entry("fixed", time_since_last_hit={}),
        names.entry("flows", is_default_action=True, time_since_last_hit={}),
    ):
        with pytest.raises(RefusedError) as failure:
            client.read(table_entry=query)
        assert failure.value.codes == [rpc_code.INVALID_ARGUMENT]


def test_rollback_restores_the_timeout(client: Client, idle: Program) -> None:
    client.insert(table_entry=flow(idle, 1, 100_000))
    with pytest.raises(RefusedError):
        client.write(
            update("MODIFY", table_entry=flow(idle, 1, 100)),
            update("DELETE", table_entry=flow(idle, 9)),
            atomicity="ROLLBACK_ON_ERROR",
        )
    assert client.read(table_entry=flow(idle, 1)) == [flow(idle, 1, 100_000)]
    client.set_pipeline(idle.info, idle.json, "RECONCILE_AND_COMMIT")
    assert client.read(table_entry=flow(idle, 1)) == [flow(idle, 1, 100_000)]
