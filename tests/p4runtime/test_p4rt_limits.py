"""What one client may take of the server: beyond it that client is refused, and all others go
on."""

import ctypes
import itertools
import resource
import signal
import threading
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any

import grpc
import pytest
import waiting
from hypothesis import given, strategies as st
from p4rt_client import Client, Names, RefusedError
from p4rt_outlet import ListOutlet
from p4rt_process import Process
from p4rt_switch import Switch, running_switch

from pcn.base.p4rt import p4r, stratum
from pcn.softswitch.p4runtime import arbitration, batches, limits
from pcn.softswitch.p4runtime.arbitration import Arbitration, Session
from pcn.softswitch.p4runtime.errors import NOT_FOUND, RESOURCE_EXHAUSTED, RpcError

# of one who isn't primary: refused, and sent back
PACKET = {"packet": p4r.PacketOut(payload=bytes(60_000))}
UNKNOWN = {"other": {"type_url": "x", "value": bytes(60_000)}}


def code_of(client: Client, **update) -> grpc.StatusCode:
    """Of the stream that ends because of it."""
    client.send(**update)
    return end_of(client)


def end_of(client: Client) -> grpc.StatusCode:
    """Of a stream, after all that waits on it."""
    try:
        while True:
            client.receive()
    except RefusedError as error:
        return error.code


@pytest.fixture
def processes() -> Iterator[Any]:
    """Starts switch processes; they are gone after the test."""
    with ExitStack() as stack:

        def start(*arguments: str) -> Process:
            process = Process("--no-p4", "--device-id", "1", *arguments)
            stack.callback(process.end, signal.SIGKILL)
            return process

        yield start


# ---- streams ----


def claims() -> Iterator[dict[str, Any]]:
    """Of a role whose configuration comes back each time."""
    role = p4r.Role(name="large")
    role.config.Pack(stratum.P4RoleConfig(shared_p4_ids=range(1 << 14, (1 << 14) + 20_000)))
    for number in itertools.count():
        election_id = p4r.Uint128(low=number % 2)
        yield {
            "arbitration": p4r.MasterArbitrationUpdate(
                device_id=1, role=role, election_id=election_id
            )
        }


FLOODS = {
    "claims": claims,
    "packets": lambda: itertools.repeat(PACKET),
    "unknown": lambda: itertools.repeat(UNKNOWN),
}


def flood(client: Client, kind: str, caplog: pytest.LogCaptureFixture):
    """Sends, and doesn't read, until the switch ends the stream."""
    messages = FLOODS[kind]()

    def sent() -> bool:
        while client._requests.qsize() < 100:
            client.send(**next(messages))
        return "its client does not read it" in caplog.text

    waiting.wait_until(sent, "the switch to end the stream")


@pytest.mark.parametrize("kind", FLOODS)
def test_unread_stream_ends(client: Client, switch: Switch, kind, monkeypatch, caplog):
    """Answers wait for their client, in number and bytes bounded; the others' streams go on."""
    monkeypatch.setattr(arbitration, "MAX_WAITING_BYTES", 1 << 20)
    with Client(switch.port) as stranger:
        flood(stranger, kind, caplog)
        assert end_of(stranger) is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert client.arbitrate(3).status.code == 0


@given(st.lists(st.integers(0, 3000), max_size=40), st.integers(0, 10))
def test_session_holds_what_it_may(sizes, taken):
    """A model of the queue: messages that fit wait in their order; the first that doesn't ends the
    stream."""
    patch = pytest.MonkeyPatch()
    patch.setattr(arbitration, "MAX_WAITING", 8)
    patch.setattr(arbitration, "MAX_WAITING_BYTES", 10_000)
    try:
        outlet, messages = ListOutlet(), []
        session = Session(outlet)
        for number, size in enumerate(sizes):
            message = p4r.StreamMessageResponse(packet=p4r.PacketIn(payload=bytes(size)))
            fits = (
                len(messages) < 8
                and sum(m.ByteSize() for m in messages) + message.ByteSize() <= 10_000
            )
            session.send(message)
            assert session.closed is not fits
            if not fits:
                assert outlet.status.code == RESOURCE_EXHAUSTED
                assert not outlet.waiting, "what waited is gone"
                return
            messages.append(message)
            if number < taken:
                assert outlet.messages()[0] == messages.pop(0)
                del outlet.waiting[0]
    finally:
        patch.undo()


def test_large_messages_of_a_stream_are_refused(switch: Switch):
    payload = bytes(limits.STREAM_BYTES)
    with Client(switch.port) as client:
        assert (
            code_of(client, packet=p4r.PacketOut(payload=payload))
            is grpc.StatusCode.RESOURCE_EXHAUSTED
        )


# ---- roles ----


def test_roles_are_bounded(switch: Switch, monkeypatch):
    monkeypatch.setattr(arbitration, "MAX_ROLES", 3)
    longest = "ä" * (arbitration.MAX_ROLE_NAME // 2)
    large = p4r.Role(name="large")
    large.config.Pack(stratum.P4RoleConfig(shared_p4_ids=range(1, arbitration.MAX_ROLE_CONFIG)))
    claim = p4r.MasterArbitrationUpdate(device_id=1)
    with Client(switch.port, role=longest) as first, Client(switch.port, role="second") as second:
        assert first.arbitrate().status.code == 0
        assert second.arbitrate().status.code == 0
        for name, why in (("third", "RESOURCE_EXHAUSTED"), (longest + "x", "INVALID_ARGUMENT")):
            with Client(switch.port) as client:
                claim.role.name = name
                assert code_of(client, arbitration=claim) is grpc.StatusCode[why]
        with Client(switch.port) as client:
            claim.role.CopyFrom(large)
            assert code_of(client, arbitration=claim) is grpc.StatusCode.RESOURCE_EXHAUSTED


STEP = st.tuples(st.integers(0, 3), st.sampled_from(("a", "b", "c")), st.none() | st.integers(0, 5))


@given(st.lists(STEP, max_size=30))
def test_roles_are_kept_as_long_as_they_mean_something(steps):
    """Sessions come, claim and leave: a role is known while it has a session, and for good once it
    had an election id.

    A step of a session that has a role already ends it.
    """
    arbitrator, sessions, marked = (
        Arbitration(1),
        {n: Session(ListOutlet()) for n in range(4)},
        set[str](),
    )
    for number, name, election_id in steps:
        session = sessions[number]
        if session.role is not None:
            arbitrator.leave(session)
            late = p4r.MasterArbitrationUpdate(
                device_id=1, election_id=p4r.Uint128(low=9), role=p4r.Role(name=name)
            )
            # read before the stream ended; it means nothing any more
            arbitrator.update(session, late)
            sessions[number] = Session(ListOutlet())
            continue
        claim = p4r.MasterArbitrationUpdate(device_id=1, role=p4r.Role(name=name))
        if election_id is not None:
            claim.election_id.low = election_id
        with suppress(RpcError):
            arbitrator.update(session, claim)
            marked |= {name} if election_id is not None else set()
        alive = {s.role for s in sessions.values()} - {None}
        for role in "abc":
            with pytest.raises(RpcError) as refusal:
                arbitrator.check_primary(role, p4r.Uint128(high=1))
            assert (refusal.value.code == NOT_FOUND) is (role not in marked | alive)
        assert all(not session.left for session, _ in arbitrator.primaries())


# ---- requests ----


def test_requests_larger_than_the_limit_are_refused(processes):
    process = processes("--grpc-max-message-size", "1MB")
    with Client(process.port) as client:
        client.arbitrate()
        table = p4r.TableEntry(table_id=1, metadata=bytes(1 << 20))
        for call in (
            lambda: client.insert(table),
            lambda: client.read(table),
        ):
            with pytest.raises(
                RefusedError, match=r"a message of 10\d+ bytes is larger than 1000000"
            ) as failure:
                call()
            assert failure.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        assert client.get_pipeline() is None
    assert process.end() == 0


def test_option_permits_larger_requests(processes):
    process = processes("--grpc-max-message-size", "32MB")
    with Client(process.port) as client:
        client.arbitrate()
        with pytest.raises(RefusedError) as failure:
            client.insert(p4r.TableEntry(table_id=1, metadata=bytes(20_000_000)))
        assert failure.value.code is grpc.StatusCode.FAILED_PRECONDITION, "it has no pipeline"
    assert process.end() == 0


def test_large_reads_are_refused_where_large_writes_are_not(client: Client, names: Names):
    entry = names.entry(
        "l2", {"dst_addr": 1}, names.action("forward", port=1), metadata=bytes(limits.SMALL_BYTES)
    )
    client.insert(entry)
    with pytest.raises(RefusedError, match="is larger than 1048576") as failure:
        client.read(entry)
    assert failure.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_batches_of_too_many_updates_are_refused(client: Client, monkeypatch):
    monkeypatch.setattr(batches, "MAX_UPDATES", 3)
    with pytest.raises(RefusedError, match="at most 3 updates, not 4") as failure:
        client.write(*[p4r.Update()] * 4)
    assert failure.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED


def test_bytes_that_are_no_request_are_refused(client: Client, switch: Switch):
    for method in ("Read", "Write", "GetForwardingPipelineConfig"):
        call = client.channel.unary_unary(f"/p4.v1.P4Runtime/{method}")
        with pytest.raises(grpc.RpcError) as failure:
            call(b"\xff\xff\xff", timeout=waiting.LIMIT_S)
        assert failure.value.code() is grpc.StatusCode.INVALID_ARGUMENT


def _nothing(until: threading.Event) -> Iterator[bytes]:
    until.wait()
    yield from ()


def test_request_that_does_not_come_is_cut_off(library: ctypes.CDLL, monkeypatch):
    """More calls than there are workers, none of which sends its message: each ends, and others are
    answered."""
    monkeypatch.setattr(limits, "PEER_S", 0.05)
    with ExitStack() as stack:
        switch = stack.enter_context(running_switch(library))
        calls, gone = [], threading.Event()
        stack.callback(gone.set)
        for _ in range(2):
            stranger = stack.enter_context(Client(switch.port))
            method = stranger.channel.stream_unary("/p4.v1.P4Runtime/Write")
            calls += [method.future(_nothing(gone)) for _ in range(100)]
        for call in calls:
            waiting.wait_until(call.done, "the switch to end the call")
            assert call.code() in (grpc.StatusCode.CANCELLED, grpc.StatusCode.RESOURCE_EXHAUSTED)
        client = stack.enter_context(Client(switch.port))
        assert client.arbitrate().status.code == 0


def test_messages_of_errors_are_short(client: Client, names: Names):
    """They quote the client's text, but not all of it."""
    entry = names.entry("l2", {"dst_addr": b"\1" * 100_000}, names.action("forward", port=1))
    with pytest.raises(
        RefusedError, match="a value of 100000 bytes does not fit into 48 bits"
    ) as failure:
        client.insert(entry)
    assert len(failure.value.outcomes[0].message) < 2000
    client.role = "x" * 100_000
    with pytest.raises(RefusedError) as failure:
        client.write()
    assert len(failure.value.message) < 2000


def test_switch_answers_where_its_memory_is_nearly_used(processes):
    """Under `ulimit -v` it refuses what would take more, and goes on as soon as there is room."""
    process = processes()
    with Client(process.port) as client:
        client.arbitrate()
        pages = int(Path(f"/proc/{process.process.pid}/statm").read_text().split()[0])
        most = pages * resource.getpagesize() + limits.SPARE_BYTES // 2
        resource.prlimit(process.process.pid, resource.RLIMIT_AS, (most, resource.RLIM_INFINITY))
        with pytest.raises(RefusedError, match="out of memory") as failure:
            client.get_pipeline()
        assert failure.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED
        unlimited = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
        resource.prlimit(process.process.pid, resource.RLIMIT_AS, unlimited)
        assert client.get_pipeline() is None
    assert process.end() == 0
