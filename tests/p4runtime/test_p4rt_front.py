"""What strangers hold of a switch before it has read a request: it is bounded, and the primary's
calls go on."""

import ctypes
import multiprocessing
import resource
import signal
import socket
import struct
import threading
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import grpc
import pytest
import waiting
from hypothesis import HealthCheck, given, settings, strategies as st
from p4rt_client import Client, Names, RefusedError
from p4rt_process import Process
from p4rt_stranger import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PADDED,
    PING,
    PREFACE,
    SETTINGS,
    Stranger,
    frame,
    headers,
)
from p4rt_switch import Program, Switch, running_switch

from pcn.base.p4rt import p4r, p4r_grpc, rpc_code
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.native_types import FrontEvent
from pcn.softswitch.p4runtime import arbitration, front, limits, server, service
from pcn.softswitch.p4runtime.calls import Kind, Method
from pcn.softswitch.p4runtime.front import Front, Listeners
from pcn.softswitch.p4runtime.pipeline import Pipeline
from pcn.softswitch.p4runtime.server import Server
from pcn.softswitch.p4runtime.service import Service

CONTEXT = multiprocessing.get_context("fork")

P4RUNTIME = (
    "Write",
    "Read",
    "SetForwardingPipelineConfig",
    "GetForwardingPipelineConfig",
    "Capabilities",
    "StreamChannel",
)
OTHERS = (
    "/gnmi.gNMI/Get",
    "/gnmi.gNMI/Capabilities",
    "/grpc.reflection.v1alpha.ServerReflection/ServerReflectionInfo",
)
LARGE = b"\0" + struct.pack("!I", limits.SMALL_BYTES - 1000)
"""The beginning of a message of nearly as many bytes as a stranger's may have."""


PACKET = p4r.PacketOut(payload=b"x")
"""Of one who isn't primary: the stream goes on, and has an error."""


def stream_message(**update) -> bytes:
    data = p4r.StreamMessageRequest(**update).SerializeToString()
    return b"\0" + struct.pack("!I", len(data)) + data


def resident() -> int:
    """Bytes of this process, which the switch is part of."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


@pytest.fixture
def strangers(switch: Switch) -> Iterator[list[Stranger]]:
    """Four that have begun HTTP/2."""
    with ExitStack() as stack:
        yield [stack.enter_context(Stranger(switch.port)) for _ in range(4)]


def arbitrates(switch: Switch) -> bool:
    """Returns whether a new client gets its answers. Its stream may have to make room for a
    stranger's that comes before its first message is read: then it connects again, as controllers
    do."""
    with Client(switch.port, election_id=1) as newcomer:
        newcomer.stub.Capabilities(p4r.CapabilitiesRequest(), timeout=waiting.LIMIT_S)
        try:
            arbitration = newcomer.arbitrate()
        except RefusedError as error:
            if error.code is not grpc.StatusCode.RESOURCE_EXHAUSTED:
                raise
            return False
        newcomer.leave()
        return arbitration.status.code == rpc_code.ALREADY_EXISTS


def serves(client: Client, switch: Switch):
    """The primary writes, reads and configures, and a new client gets its answers."""
    client.write()
    list(client.read(p4r.TableEntry()))
    assert client.get_pipeline() is not None
    waiting.wait_until(lambda: arbitrates(switch), "a new client's answers")
    client.write()


@pytest.mark.parametrize("method", P4RUNTIME + OTHERS)
def test_calls_whose_request_never_comes_hold_up_no_one(
    client: Client, switch: Switch, strangers: list[Stranger], method
):
    """More than the bound: the oldest ends for each, so that a worker is free."""
    for stranger in strangers:
        for _ in range(30):
            stranger.call(method)
    serves(client, switch)

    def bounded() -> bool:
        for stranger in strangers:
            stranger.listen()
        return sum(30 - len(stranger.ended) for stranger in strangers) <= limits.UNFINISHED

    waiting.wait_until(bounded, "calls to end")
    assert not any(stranger.closed for stranger in strangers), "the connections go on"


@pytest.mark.parametrize("method", [*P4RUNTIME, "/no.Such/Method"])
def test_bytes_of_messages_that_never_end_are_bounded(
    client: Client, switch: Switch, strangers: list[Stranger], method
):
    """60 calls send as long as they may."""
    before = resident()
    calls = [(stranger, stranger.call(method)) for stranger in strangers for _ in range(15)]
    for stranger, number in calls:
        stranger.give(number, LARGE)
    chunk = bytes(1 << 16)
    for _ in range(15):
        for stranger, number in calls:
            stranger.give(number, chunk)
    assert resident() - before < 2 * limits.BYTES, "what Python holds of a message comes on top"
    serves(client, switch)


def test_whole_large_requests_of_strangers_are_bounded(
    client: Client, switch: Switch, strangers: list[Stranger]
):
    """They count until they are answered. A primary's go on meanwhile."""
    before = resident()
    size = limits.SMALL_BYTES - 1000
    body = LARGE + b"\x22\xb4\xf8\x3f" + bytes(size - 4)
    for stranger in strangers:
        for _ in range(40):
            number, sent = stranger.call("Write"), 0
            while not stranger.closed and number not in stranger.ended and sent < len(body):
                sent += stranger.give(number, body[sent:])
        client.write()
    assert resident() - before < 4 * limits.BYTES


@pytest.mark.parametrize("method", ["Write", "SetForwardingPipelineConfig"])
def test_large_requests_of_strangers_are_refused_by_their_size(
    client: Client, switch: Switch, method
):
    """Whatever they hold: to parse them would keep the primary waiting."""
    options = [("grpc.use_local_subchannel_pool", 1)]
    with grpc.insecure_channel(f"127.0.0.1:{switch.port}", options) as channel:
        call = channel.unary_unary(f"/p4.v1.P4Runtime/{method}")
        with pytest.raises(grpc.RpcError) as failure:
            call(bytes(limits.SMALL_BYTES + 1), timeout=waiting.LIMIT_S)
    assert failure.value.code() is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert "no stream of a primary" in failure.value.details()
    client.write()


def test_primary_sends_a_large_configuration_beside_strangers(
    client: Client, switch: Switch, strangers: list[Stranger], program: Program
):
    """In one message of nearly 16 MB, while strangers hold all that they may."""
    for stranger in strangers:
        for _ in range(8):
            stranger.give(stranger.call("Write"), LARGE + bytes(60_000))
    padded = program.json + b" " * (15_500_000 - len(program.json))
    client.set_pipeline(program.info, padded)
    assert client.get_pipeline() is not None


def test_primary_has_many_large_writes_on_their_way(client: Client, switch: Switch):
    """More than a stranger's connection may: all are answered."""
    request = p4r.WriteRequest(**client._identity()).SerializeToString()
    padding = b"\xa2\x06\x80\x80\x20" + bytes(1 << 19)  # a field that the switch passes over
    call = client.channel.unary_unary("/p4.v1.P4Runtime/Write")
    n = 3 * limits.UNFINISHED_OF_CONNECTION
    for answer in [call.future(request + padding, timeout=waiting.LIMIT_S) for _ in range(n)]:
        answer.result()


def test_oldest_call_of_the_connection_that_holds_most_ends(
    switch: Switch, strangers: list[Stranger], monkeypatch
):
    greedy, modest = strangers[:2]
    few = modest.call("Write")
    modest.give(few, LARGE)
    numbers = [greedy.call("Write") for _ in range(limits.UNFINISHED_OF_CONNECTION + 1)]

    def ended() -> bool:
        greedy.listen()
        return bool(greedy.ended)

    waiting.wait_until(ended, "the oldest call to end")
    modest.listen()
    assert greedy.ended == {numbers[0]: "reset 11"}
    assert not modest.ended


def test_idle_connections_make_room(
    client: Client, switch: Switch, strangers: list[Stranger], monkeypatch
):
    """Whether they have sent nothing or begun HTTP/2: the primary and all new clients get in."""
    with ExitStack() as stack:
        silent = [
            stack.enter_context(Stranger(switch.port, begin=number % 2 == 0))
            for number in range(limits.CONNECTIONS + 40)
        ]
        serves(client, switch)

        def closed() -> bool:
            for connection in silent:
                connection.listen()
            return sum(connection.closed for connection in silent) >= 40

        waiting.wait_until(closed, "the longest silent to be closed")
        assert not silent[-1].closed


CAPABILITIES = b"\0\0\0\0\0"
NO_WINDOW = frame(SETTINGS, 0, 0, struct.pack("!HI", 4, 0))


def drips(switch: Switch) -> Stranger:
    """A stranger that takes its answers so slowly that none has waited for long."""
    stranger = Stranger(switch.port)
    stranger.send(NO_WINDOW)
    return stranger


def asks(stranger: Stranger):
    stranger.give(stranger.call("Capabilities"), CAPABILITIES)


def settle(stranger: Stranger):
    """Waits until the front has all that it has sent: a call of no method is answered at once."""
    number = stranger.call("None")
    waiting.wait_until(lambda: stranger.listen() or number in stranger.ended, "an answer")


def test_first_call_of_the_connection_with_most_makes_room(library: ctypes.CDLL, monkeypatch):
    monkeypatch.setattr(limits, "CALLS", 8)
    monkeypatch.setattr(limits, "ROOM_S", 1000.0)
    with running_switch(library) as switch, drips(switch) as most, drips(switch) as few:
        for stranger, count in ((few, 2), (most, 6)):
            for _ in range(count):
                asks(stranger)
            settle(stranger)
        with Client(switch.port, election_id=1) as newcomer:
            assert newcomer.arbitrate().status.code == rpc_code.OK
        few.listen()
        waiting.wait_until(lambda: most.listen() or most.ended.get(1) == "reset 11", "the first")
        assert not {1, 3} & few.ended.keys()


def test_connection_without_a_stream_makes_room(library: ctypes.CDLL, monkeypatch):
    """The first of those that have calls; a backup's stream goes on."""
    monkeypatch.setattr(server, "connections", lambda _: 4)
    monkeypatch.setattr(limits, "ROOM_S", 1000.0)
    with running_switch(library) as switch, ExitStack() as stack:
        backup = stack.enter_context(Stranger(switch.port))
        number = backup.call("StreamChannel")
        backup.give(number, stream_message(arbitration=p4r.MasterArbitrationUpdate(device_id=1)))
        settle(backup)
        strangers = [stack.enter_context(drips(switch)) for _ in range(3)]
        for stranger in strangers:
            asks(stranger)
            settle(stranger)
        with Client(switch.port, election_id=1) as newcomer:
            assert newcomer.arbitrate().status.code == rpc_code.OK
        waiting.wait_until(lambda: strangers[0].listen() or strangers[0].closed, "the end")
        for client in (backup, *strangers[1:]):
            client.listen()
            assert not client.closed


def test_silent_streams_make_room(client: Client, switch: Switch, strangers: list[Stranger]):
    for stranger in strangers:
        for _ in range(arbitration.MAX_OF_CONNECTION + 1):
            stranger.give(stranger.call("StreamChannel"), stream_message(packet=PACKET))
    serves(client, switch)


def test_stream_of_the_connection_with_most_silent_ones_makes_room(
    switch: Switch, strangers: list[Stranger], monkeypatch
):
    monkeypatch.setattr(service, "MAX_SILENT", 4)
    stranger = strangers[0]

    def ended() -> bool:
        stranger.listen()
        return bool(stranger.ended)

    with Client(switch.port, election_id=1) as newcomer:
        newcomer._stream = newcomer.stub.StreamChannel(iter(newcomer._requests.get, None))
        newcomer.send(packet=PACKET)
        newcomer.receive()
        for _ in range(4):
            stranger.give(stranger.call("StreamChannel"), stream_message(packet=PACKET))
        waiting.wait_until(ended, "one of the stranger's streams to make room")
        newcomer.arbitrate()


def test_streams_without_an_election_id_make_room(client: Client, switch: Switch):
    with ExitStack() as stack:
        others = [stack.enter_context(Client(switch.port)) for _ in range(arbitration.MAX_SESSIONS)]
        for stream in others[:-1]:
            stream.send(arbitration=p4r.MasterArbitrationUpdate(device_id=1))
            stream.receive()
        serves(client, switch)
        with pytest.raises(Exception, match="makes room") as failure:
            others[0].receive()
        assert failure.value.code is grpc.StatusCode.RESOURCE_EXHAUSTED


@pytest.mark.parametrize(
    "data", [b"GET / HTTP/1.1\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nXX", bytes(24)]
)
def test_what_is_no_http2_is_closed(switch: Switch, data):
    with Stranger(switch.port, begin=False) as stranger:
        stranger.send(data)
        assert stranger.socket.recv(1) == b""


def test_frames_that_are_too_long_end_their_connection(client: Client, switch: Switch):
    with Stranger(switch.port) as stranger:
        stranger.send(frame(DATA, 0, 1, bytes(16385)))
        waiting.wait_until(
            lambda: stranger.listen() or stranger.closed, "the connection to be closed"
        )
    serves(client, switch)


def test_frame_that_pads_more_than_it_has_ends_its_connection(client: Client, switch: Switch):
    """What is padded right goes on."""
    for padding, closed in (
        (b"\x09" + bytes(5 + 9), False),
        (b"\x09" + bytes(8), True),
        (b"", True),
    ):
        with Stranger(switch.port) as stranger:
            number = stranger.call("Capabilities")
            stranger.send(frame(DATA, PADDED, number, padding))
            waiting.wait_until(
                lambda: stranger.listen() or stranger.closed or stranger.ended, "an end"
            )
            assert stranger.closed is closed
    serves(client, switch)


def test_headers_in_pieces_are_a_call(client: Client, switch: Switch, names: Names):
    """A block that goes on in the next frame; its message is answered, and one whose block never
    ends bounds nothing but its connection."""
    block = headers("Capabilities")
    with Stranger(switch.port) as stranger:
        for number in (1, 3):
            pieces = frame(HEADERS, 0, number, block[:10]) + frame(
                CONTINUATION, 0, number, block[10:20]
            )
            stranger.send(pieces + frame(CONTINUATION, END_HEADERS, number, block[20:]))
            stranger.send(frame(DATA, END_STREAM, number, bytes(5)))
        waiting.wait_until(lambda: stranger.listen() or len(stranger.ended) == 2, "the answers")
        assert stranger.ended == {1: "answered", 3: "answered"}
        stranger.send(frame(HEADERS, 0, 5, block[:10]))
        serves(client, switch)


def test_messages_in_pieces_arrive(client: Client, switch: Switch):
    """One octet a frame."""
    request = p4r.CapabilitiesRequest().SerializeToString()
    message = b"\0" + struct.pack("!I", len(request)) + request
    with Stranger(switch.port) as stranger:
        number = stranger.call("Capabilities")
        for octet in message:
            assert stranger.give(number, bytes([octet])) == 1
        stranger.send(frame(DATA, END_STREAM, number))
        waiting.wait_until(lambda: stranger.listen() or stranger.ended, "the answer")
        assert stranger.ended == {number: "answered"}


def test_descriptors_are_left_for_the_work():
    """A switch that may have 300, and 300 silent connections: it has room for 16, and who speaks
    gets in."""
    process = Process("--no-p4", "--device-id", "1", prefix=("prlimit", "--nofile=300:300"))
    try:
        descriptors = Path(f"/proc/{process.process.pid}/fd")
        before = sum(1 for _ in descriptors.iterdir())
        with ExitStack() as stack:
            for number in range(300):
                stack.enter_context(Stranger(process.port, begin=number % 2 == 0))
            with Client(process.port) as client:
                assert client.arbitrate().status.code == rpc_code.OK
                client.stub.Capabilities(p4r.CapabilitiesRequest(), timeout=waiting.LIMIT_S)
            most = before + front.DESCRIPTORS * front.LEAST_CONNECTIONS + 20
            waiting.wait_until(
                lambda: sum(1 for _ in descriptors.iterdir()) <= most, "descriptors to be free"
            )
        assert process.end() == 0
    finally:
        process.end(signal.SIGKILL)


def test_child_leaves_its_parents_front_alone(library: ctypes.CDLL, tmp_path):
    """A fork that ends the server, as one does that unwinds its stack: nothing of the parent's is
    closed, freed or waited for, and its socket keeps its place."""
    path = tmp_path / "s"
    with NativeSwitch(library) as native:
        native.start()
        pipeline = Pipeline(native, library)
        service = Service(native, pipeline, 1, 0)
        with Server(service, f"unix:{path}") as served, grpc.insecure_channel(f"unix:{path}") as c:
            stub = p4r_grpc.P4RuntimeStub(c)
            stub.Capabilities(p4r.CapabilitiesRequest(), timeout=waiting.LIMIT_S)
            child = CONTEXT.Process(target=_end, args=(served._front, served._listeners))
            child.start()
            child.join(waiting.LIMIT_S)
            assert child.exitcode == 0
            assert path.is_socket()
            stub.Capabilities(p4r.CapabilitiesRequest(), timeout=waiting.LIMIT_S)
        assert not path.exists()
        pipeline.close()


def _end(front: Front, listeners: Listeners):
    assert not front.next(FrontEvent())
    front.refuse()
    front.drain(waiting.LIMIT_S)
    front.close()
    front.free()
    listeners.close()


def test_connections_end_while_a_child_has_their_descriptors(client: Client, switch: Switch):
    """Their clients see the end, and epoll has no events of memory that is freed."""
    ending = CONTEXT.Event()
    with ExitStack() as stack:
        strangers = [stack.enter_context(Stranger(switch.port)) for _ in range(4)]
        for stranger in strangers:
            waiting.wait_until(lambda s=stranger: s.listen() or s._room > 65535, "a window")
        child = CONTEXT.Process(target=ending.wait, args=(waiting.LIMIT_S,))
        child.start()
        try:
            for stranger in strangers:
                stranger.send(frame(PING, 0, 1, bytes(8)))  # a stream has none
            for stranger in strangers:
                waiting.wait_until(lambda s=stranger: s.listen() or s.closed, "the end")
        finally:
            ending.set()
            child.join(waiting.LIMIT_S)
        serves(client, switch)


def test_parts_go_with_a_call_whose_time_is_over(library: ctypes.CDLL):
    """Its client takes nothing of an answer; what a worker keeps of it is let go."""
    gone = threading.Event()

    def parts(request, call) -> Iterator[Any]:
        try:
            while True:
                yield p4r.WriteRequest(role="x" * (1 << 16))
        finally:
            gone.set()

    method = Method("/x/Parts", Kind.PARTS, parts, p4r.ReadRequest.FromString, begun=16)
    with NativeSwitch(library) as native:
        native.start()
        pipeline = Pipeline(native, library)
        with (
            Server(Service(native, pipeline, 1, 0), "127.0.0.1:0", others=[method]) as parted,
            Stranger(parted.port) as stranger,
        ):
            stranger.send(NO_WINDOW)
            block = headers("/x/Parts") + b"\x00\x0cgrpc-timeout\x04500m"
            stranger.send(frame(HEADERS, END_HEADERS, 1, block))
            stranger.send(frame(DATA, END_STREAM, 1, bytes(5)))
            assert gone.wait(waiting.LIMIT_S)
        pipeline.close()


FRAMES = st.builds(
    lambda kind, flags, number, payload, more: (
        (len(payload) + more).to_bytes(3, "big")
        + bytes((kind, flags))
        + struct.pack("!I", number)
        + payload
    ),
    st.integers(0, 12),
    st.integers(0, 255),
    st.integers(0, 9) | st.integers(0, 2**32 - 1),
    st.binary(max_size=60),
    st.sampled_from((0, 0, 0, 0, 1, 60, 20_000)),
)
"""Frames of HTTP/2, of any kind and stream; some announce more than they have."""


@given(
    preface=st.sampled_from(
        (PREFACE, PREFACE, b"", b"PRI * HTTP/2.0\r\n\r\nSM", b"GET / HTTP/1.1\r\n\r\n")
    ),
    data=st.data(),
)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_of_a_stranger_leave_the_switch_serving(
    client: Client, switch: Switch, preface, data
):
    sent = preface + b"".join(data.draw(st.lists(FRAMES, max_size=20)))
    with socket.create_connection(("127.0.0.1", switch.port), timeout=waiting.LIMIT_S) as stranger:
        at = 0
        while at < len(sent):
            step = data.draw(st.integers(1, 100))
            try:
                stranger.sendall(sent[at : at + step])
            except ConnectionError:
                break
            at += step
        if data.draw(st.booleans()):
            # ends by a reset
            stranger.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    client.write()
