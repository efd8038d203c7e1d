"""Idle timeouts over gRPC: which entries are reported, when, and not those that packets hit."""

import time
from collections.abc import Iterator

import pytest
from p4rt_client import Client, RefusedError, refused, update
from p4rt_switch import PROGRAMS, Program, Switch, load

from pcn.base.p4rt import p4r, rpc_code
from pcn.softswitch.clock import ManualClock

MS = 1_000_000


@pytest.fixture(scope="module")
def idle() -> Program:
    return load(PROGRAMS / "idle")


@pytest.fixture
def client(manual_switch: Switch, idle: Program) -> Iterator[Client]:
    with Client(manual_switch.port) as client:
        client.arbitrate()
        client.set_pipeline(idle.info, idle.json)
        yield client


def flow(idle: Program, key: int, ms: float = 0, result: int = 1, **fields) -> p4r.TableEntry:
    keys = {"key": (key, 255)}
    action = idle.names.action("set", result=result)
    return idle.names.entry(
        "flows", keys, action, priority=3, idle_timeout_ns=int(ms * MS), **fields
    )


def notified(client: Client) -> list[tuple[int, int]]:
    """The next notification's time in ms, and its entries' keys."""
    message = client.receive().idle_timeout_notification
    return [
        (message.timestamp // MS, entry.match[0].ternary.value[0]) for entry in message.table_entry
    ]


def nothing_notified(client: Client):
    """No notification is on its way after this answer: a call of the clock returns when all are
    sent."""
    assert client.arbitrate().device_id == 1


def test_idle_entry_is_reported_after_each_timeout(empty_switch: Switch, idle: Program):
    """On the live clock: never early."""
    with Client(empty_switch.port) as client:
        client.arbitrate()
        client.set_pipeline(idle.info, idle.json)
        entry = flow(idle, 1, 30, controller_metadata=7, metadata=b"mine")
        start = time.monotonic()
        client.insert(entry)
        entry.ClearField("action")
        for n in (1, 2, 3):
            message = client.receive().idle_timeout_notification
            assert time.monotonic() - start >= 0.03 * n
            assert list(message.table_entry) == [entry]


def test_idle_entry_is_reported_after_its_timeout(
    client: Client, clock: ManualClock, idle: Program
):
    entry = flow(idle, 1, 300, controller_metadata=7, metadata=b"mine")
    clock.advance(1)
    client.insert(entry)
    clock.advance(0.3 - 1e-9)
    nothing_notified(client)
    clock.advance(1e-9)
    message = client.receive().idle_timeout_notification
    entry.ClearField("action")
    assert message.timestamp == 1300 * MS
    assert list(message.table_entry) == [entry]
    clock.advance(1)
    assert [notified(client) for _ in range(3)] == [[(ms, 1)] for ms in (1600, 1900, 2200)]
    client.delete(entry)
    clock.advance(10)
    nothing_notified(client)


def test_hits_keep_an_entry_alive(client: Client, clock: ManualClock, idle: Program):
    """Of two entries, the one that is hit is reported a timeout after its last hit."""
    client.write(*(update("INSERT", flow(idle, key, 1000)) for key in (1, 2)))
    for _ in range(4):
        clock.advance(0.4)
        clock.send(1, b"\1\0")
    clock.advance(1)
    heard = [client.receive() for _ in range(7)]
    kinds = [message.WhichOneof("update") for message in heard]
    assert kinds.count("packet") == 4
    times = [
        (message.idle_timeout_notification.timestamp // MS, entry.match[0].ternary.value[0])
        for message in heard
        for entry in message.idle_timeout_notification.table_entry
    ]
    assert times == [(1000, 2), (2000, 2), (2600, 1)]


def test_a_changed_timeout(client: Client, clock: ManualClock, idle: Program):
    client.insert(flow(idle, 1, 100_000))
    client.insert(flow(idle, 2))
    clock.advance(1)
    client.modify(flow(idle, 1, 50, result=2))
    clock.advance(0.05)
    assert notified(client) == [(1050, 1)]
    client.modify(flow(idle, 1))
    client.modify(flow(idle, 2, 50))
    clock.advance(0.05)
    assert notified(client) == [(1100, 2)]
    client.delete(flow(idle, 2))
    client.insert(flow(idle, 3, 1e-6))  # as short as can be
    clock.advance(0.025)
    assert [notified(client) for _ in range(2)] == [[(1110, 3)], [(1120, 3)]]
    nothing_notified(client)
    reads = client.read(flow(idle, 1)), client.read(flow(idle, 3))
    assert [read[0].idle_timeout_ns for read in reads] == [0, 1]


def test_time_since_last_hit(client: Client, clock: ManualClock, idle: Program):
    client.insert(flow(idle, 1))
    clock.advance(0.05)
    query = idle.names.entry("flows")
    assert not client.read(query)[0].HasField("time_since_last_hit")
    query.time_since_last_hit.SetInParent()
    (entry,) = client.read(query)
    assert entry.time_since_last_hit.elapsed_ns == 50 * MS
    clock.send(1, b"\1\0")
    clock.advance(0.007)
    (entry,) = client.read(query)
    assert entry.time_since_last_hit.elapsed_ns == 7 * MS


def test_refusals(client: Client, idle: Program):
    names = idle.names
    action = names.action("set", result=1)
    bad = (
        names.entry("fixed", {"key": 1}, action, idle_timeout_ns=1),
        flow(idle, 1, -1),
        flow(idle, 1, time_since_last_hit={}),
    )
    for entry in bad:
        refused(rpc_code.INVALID_ARGUMENT, client.insert, entry)
    default = names.entry("flows", None, action, is_default_action=True, idle_timeout_ns=1)
    with pytest.raises(RefusedError):
        client.modify(default)
    for query in (
        names.entry("fixed", time_since_last_hit={}),
        names.entry("flows", is_default_action=True, time_since_last_hit={}),
    ):
        refused(rpc_code.INVALID_ARGUMENT, client.read, query)


def test_rollback_restores_the_timeout(client: Client, idle: Program):
    client.insert(flow(idle, 1, 100_000))
    with pytest.raises(RefusedError):
        client.write(
            update("MODIFY", flow(idle, 1, 100)),
            update("DELETE", flow(idle, 9)),
            atomicity="ROLLBACK_ON_ERROR",
        )
    assert client.read(flow(idle, 1)) == [flow(idle, 1, 100_000)]
    client.set_pipeline(idle.info, idle.json, "RECONCILE_AND_COMMIT")
    assert client.read(flow(idle, 1)) == [flow(idle, 1, 100_000)]
