"""The front's HTTP/2 as clients meet it: windows, headers, floods, and frames that are wrong."""

import ctypes
import itertools
import struct
from collections.abc import Iterator
from contextlib import ExitStack

import grpc
import pytest
import waiting
from p4rt_client import Client
from p4rt_stranger import (
    CONTINUATION,
    DATA,
    END_HEADERS,
    END_STREAM,
    HEADERS,
    PING,
    PREFACE,
    RST_STREAM,
    SETTINGS,
    WINDOW_UPDATE,
    Stranger,
    frame,
    headers,
)
from p4rt_switch import Switch, running_switch

from pcn.base.p4rt import p4r, rpc_code
from pcn.softswitch.p4runtime import limits

PUSH_PROMISE, GOAWAY = 5, 7
INITIAL_WINDOW_SIZE = 4
NO_WINDOW = frame(SETTINGS, 0, 0, struct.pack("!HI", INITIAL_WINDOW_SIZE, 0))


def message(request) -> bytes:
    data: bytes = request.SerializeToString()
    return b"\0" + struct.pack("!I", len(data)) + data


def closes(stranger: Stranger):
    waiting.wait_until(lambda: stranger.listen() or stranger.closed, "the connection to be closed")


def answers(stranger: Stranger, number: int):
    waiting.wait_until(lambda: stranger.listen() or number in stranger.ended, "an answer")


@pytest.fixture
def stranger(switch: Switch) -> Iterator[Stranger]:
    with Stranger(switch.port) as connection:
        yield connection


# ---- holes that there were ----


def test_streams_whose_client_gives_no_window_hold_no_worker(client: Client, switch: Switch):
    """120 streams on each of four connections, whose packet-outs are answered with errors that the
    client never takes."""
    packet = message(p4r.StreamMessageRequest(packet=p4r.PacketOut(payload=b"x")))
    with ExitStack() as stack:
        for _ in range(4):
            stranger = stack.enter_context(Stranger(switch.port))
            stranger.send(NO_WINDOW)
            for _ in range(120):
                stranger.give(stranger.call("StreamChannel"), packet)
        for _ in range(20):
            client.write()
        assert client.get_pipeline() is not None


def reference_flood() -> bytes:
    """A block that adds an entry of nearly 4 KB, and one that names it 16,000 times."""
    name, value = b"x", bytes(4000)
    entry = b"\x40\x01" + name + b"\x7f" + bytes([(4000 - 127) % 128 | 128, (4000 - 127) // 128])
    first = frame(HEADERS, END_HEADERS, 1, headers("Write") + entry + value)
    return first + frame(HEADERS, END_HEADERS, 3, headers("Write") + b"\xbe" * 16_000)


def test_references_to_large_headers_end_their_connection(client: Client, switch: Switch):
    """Each octet of a block would stand for 4 KB. It ends at its first 16 KB, before any copy."""
    for _ in range(16):
        with Stranger(switch.port) as stranger:
            stranger.send(reference_flood())
            closes(stranger)
    client.write()


# ---- windows ----


def test_answer_waits_for_its_window(stranger: Stranger):
    stranger.send(NO_WINDOW)
    number = stranger.call("Capabilities")
    stranger.give(number, bytes(5))
    stranger.send(frame(DATA, END_STREAM, number))
    assert stranger.call("Capabilities") == number + 2
    stranger.send(frame(WINDOW_UPDATE, 0, number, struct.pack("!I", 100)))
    answers(stranger, number)
    assert stranger.ended == {number: "answered"}


def test_window_of_settings_is_every_calls(stranger: Stranger):
    stranger.send(NO_WINDOW)
    numbers = [stranger.call("Capabilities") for _ in range(3)]
    for number in numbers:
        stranger.send(frame(DATA, END_STREAM, number, bytes(5)))
    stranger.send(frame(SETTINGS, 0, 0, struct.pack("!HI", INITIAL_WINDOW_SIZE, 100)))
    waiting.wait_until(lambda: stranger.listen() or len(stranger.ended) == 3, "three answers")
    assert set(stranger.ended.values()) == {"answered"}


def test_untaken_answer_is_cut_off(library: ctypes.CDLL, monkeypatch):
    monkeypatch.setattr(limits, "PEER_S", 0.05)
    with running_switch(library) as switch, Stranger(switch.port) as stranger:
        stranger.send(NO_WINDOW)
        number = stranger.call("Capabilities")
        stranger.send(frame(DATA, END_STREAM, number, bytes(5)))
        answers(stranger, number)
        assert stranger.ended == {number: "reset 8"}


# ---- frames that are wrong ----

WRONG = {
    "window that is too large": lambda: frame(WINDOW_UPDATE, 0, 0, struct.pack("!I", 2**31 - 1)),
    "window of nothing": lambda: frame(WINDOW_UPDATE, 0, 0, bytes(4)),
    "window of a stream that isn't": lambda: frame(WINDOW_UPDATE, 0, 9, struct.pack("!I", 1)),
    "window of three octets": lambda: frame(WINDOW_UPDATE, 0, 0, bytes(3)),
    "settings' window": lambda: frame(
        SETTINGS, 0, 0, struct.pack("!HI", INITIAL_WINDOW_SIZE, 2**31)
    ),
    "settings of a stream": lambda: frame(SETTINGS, 0, 1),
    "settings of five octets": lambda: frame(SETTINGS, 0, 0, bytes(5)),
    "settings that push": lambda: frame(SETTINGS, 0, 0, struct.pack("!HI", 2, 2)),
    "settings' frames": lambda: frame(SETTINGS, 0, 0, struct.pack("!HI", 5, 100)),
    "answer with settings": lambda: frame(SETTINGS, 1, 0, bytes(6)),
    "ping of four octets": lambda: frame(PING, 0, 0, bytes(4)),
    "ping of a stream": lambda: frame(PING, 0, 1, bytes(8)),
    "push": lambda: frame(PUSH_PROMISE, END_HEADERS, 1, bytes(4)),
    "data of a stream that isn't": lambda: frame(DATA, 0, 1, bytes(5)),
    "data of no stream": lambda: frame(DATA, 0, 0, bytes(5)),
    "reset of a stream that isn't": lambda: frame(RST_STREAM, 0, 1, bytes(4)),
    "headers of a stream that is even": lambda: frame(HEADERS, END_HEADERS, 2, headers("Read")),
    "headers that go on elsewhere": lambda: (
        frame(HEADERS, 0, 1, b"\x83") + frame(CONTINUATION, END_HEADERS, 3, b"\x86")
    ),
    "headers with a ping within": lambda: (
        frame(HEADERS, 0, 1, b"\x83") + frame(PING, 0, 0, bytes(8))
    ),
    "headers that begin nowhere": lambda: frame(CONTINUATION, END_HEADERS, 1, b"\x83"),
    "headers by an entry that isn't": lambda: frame(HEADERS, END_HEADERS, 1, b"\xfe"),
    "headers that are cut off": lambda: frame(HEADERS, END_HEADERS, 1, b"\x00\x05ab"),
    "headers of 20 KB": lambda: (
        frame(HEADERS, 0, 1, b"\x00\x01x\x00" * 4000)
        + frame(CONTINUATION, END_HEADERS, 1, b"\x00\x01x\x00" * 1000)
    ),
    "data after the end": lambda: (
        frame(HEADERS, END_HEADERS, 1, headers("StreamChannel"))
        + frame(DATA, END_STREAM, 1)
        + frame(DATA, 0, 1, bytes(5))
    ),
    "headers amid a call": lambda: frame(HEADERS, END_HEADERS, 1, headers("StreamChannel")) * 2,
}


@pytest.mark.parametrize("kind", WRONG)
def test_wrong_frames_end_their_connection(client: Client, stranger: Stranger, kind):
    stranger.send(WRONG[kind]())
    closes(stranger)
    client.write()


def test_first_frame_is_settings(switch: Switch):
    with Stranger(switch.port, begin=False) as stranger:
        stranger.send(PREFACE + frame(PING, 0, 0, bytes(8)))
        closes(stranger)


def test_wrong_windows_of_a_call_end_it_alone(stranger: Stranger):
    numbers = [stranger.call("StreamChannel") for _ in range(3)]
    stranger.send(frame(WINDOW_UPDATE, 0, numbers[0], bytes(4)))
    stranger.send(frame(WINDOW_UPDATE, 0, numbers[1], struct.pack("!I", 2**31 - 1)))
    waiting.wait_until(lambda: stranger.listen() or len(stranger.ended) == 2, "two ends")
    assert stranger.ended == {numbers[0]: "reset 1", numbers[1]: "reset 3"}
    assert not stranger.closed


# ---- floods ----

FLOODS = {
    "pings": lambda: frame(PING, 0, 0, bytes(8)),
    "settings": lambda: frame(SETTINGS, 0, 0),
    "empty data": lambda: frame(DATA, 0, 1),
    "priorities": lambda: frame(2, 0, 1, bytes(5)),
    "frames of no kind": lambda: frame(77, 0, 0, bytes(3)),
    "windows of streams that have ended": lambda: frame(WINDOW_UPDATE, 0, 1, struct.pack("!I", 1)),
}


@pytest.mark.parametrize("kind", FLOODS)
def test_flood_ends_its_connection(client: Client, stranger: Stranger, kind):
    stranger.send(frame(HEADERS, END_HEADERS, 1, headers("StreamChannel")))
    if "ended" in kind:
        stranger.send(frame(RST_STREAM, 0, 1, bytes(4)))

    def closed() -> bool:
        stranger.send(FLOODS[kind]() * 1000)
        stranger.listen()
        return stranger.closed

    waiting.wait_until(closed, "the connection to be closed")
    client.write()


def test_empty_continuations_end_their_connection(client: Client, stranger: Stranger):
    stranger.send(frame(HEADERS, 0, 1, b"\x83") + frame(CONTINUATION, 0, 1) * 5000)
    closes(stranger)
    client.write()


def test_calls_that_are_ended_at_once_hold_up_no_one(client: Client, switch: Switch):
    """CVE-2023-44487: their connection isn't read for a second."""
    with ExitStack() as stack:
        for _ in range(4):
            stranger = stack.enter_context(Stranger(switch.port))
            stranger.socket.settimeout(0.1)
            for number in itertools.count(1, 2):
                stranger.send(
                    frame(HEADERS, END_HEADERS, number, headers("StreamChannel"))
                    + frame(RST_STREAM, 0, number, struct.pack("!I", 8))
                )
                if stranger.closed or number > 20_000:
                    break
        client.write()
        assert client.get_pipeline() is not None


# ---- gRPC ----


def test_call_of_another_content_is_refused(stranger: Stranger):
    block = headers("Capabilities").replace(b"application/grpc", b"application/json")
    stranger.send(frame(HEADERS, END_HEADERS, 1, block))
    answers(stranger, 1)
    assert stranger.ended == {1: "answered"}


def test_method_that_is_not_there_is_unimplemented(switch: Switch, client: Client):
    call = client.channel.unary_unary("/p4.v1.P4Runtime/None")
    with pytest.raises(grpc.RpcError) as failure:
        call(b"", timeout=waiting.LIMIT_S)
    assert failure.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_compressed_requests_are_unimplemented(client: Client):
    for size in (0, 10_000):  # gRPC leaves small messages as they are
        request = p4r.ReadRequest(role="x" * size)
        with pytest.raises(grpc.RpcError) as failure:
            list(
                client.stub.Read(
                    request, timeout=waiting.LIMIT_S, compression=grpc.Compression.Gzip
                )
            )
        assert failure.value.code() is grpc.StatusCode.UNIMPLEMENTED


def test_request_that_ends_within_a_message_is_invalid(stranger: Stranger):
    for number, data in ((1, b""), (3, b"\0\0"), (5, b"\0\0\0\0\x09abc")):
        stranger.send(frame(HEADERS, END_HEADERS, number, headers("Write")))
        stranger.send(frame(DATA, END_STREAM, number, data))
        answers(stranger, number)
    assert set(stranger.ended.values()) == {"answered"}


def test_time_of_a_call_ends_it(library: ctypes.CDLL):
    """A stream with a timeout that its client doesn't watch itself."""
    with running_switch(library) as switch, Stranger(switch.port) as stranger:
        block = headers("StreamChannel") + b"\x00\x0cgrpc-timeout\x0350m"
        stranger.send(frame(HEADERS, END_HEADERS, 1, block))
        answers(stranger, 1)
        assert stranger.ended == {1: "answered"}


def test_text_of_a_status_arrives_as_it_is(client: Client):
    """Percent signs, umlauts: gRPC encodes them on the wire."""
    client.role = "100 % ä\n"
    with pytest.raises(Exception, match="100 % ä") as failure:
        client.write()
    assert failure.value.code is grpc.StatusCode.NOT_FOUND


def test_next_claim_finds_the_place_of_a_stream_that_was_reset(switch: Switch):
    claim = p4r.StreamMessageRequest(arbitration=p4r.MasterArbitrationUpdate(device_id=1))
    claim.arbitration.election_id.low = 1
    with Stranger(switch.port) as stranger:
        number = stranger.call("StreamChannel")
        stranger.give(number, message(claim))
        stranger.send(frame(RST_STREAM, 0, number, struct.pack("!I", 8)))
        with Client(switch.port) as client:
            assert client.arbitrate(2).status.code == rpc_code.OK
