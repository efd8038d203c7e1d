"""Packet-in, packet-out and digests, through the real pipeline."""

import time

import pytest
from p4rt_client import Client, Names, RefusedError, update
from p4rt_switch import Program, Switch, running_switch

from pcn.base.p4rt import p4r, rpc_code
from pcn.softswitch.clock import ManualClock

TO_CPU, FRAME_TAIL = bytes.fromhex("0000000000aa"), bytes.fromhex("0000000000010800") + bytes(46)
FRAME = TO_CPU + FRAME_TAIL


def metadata(*values: int) -> list[p4r.PacketMetadata]:
    return [
        p4r.PacketMetadata(metadata_id=i, value=value.to_bytes(2, "big"))
        for i, value in enumerate(values, 1)
    ]


@pytest.fixture
def to_cpu(client: Client, names: Names):
    client.insert(names.entry("l2", {"dst_addr": 0xAA}, names.action("send_to_cpu", reason=100)))


@pytest.mark.usefixtures("to_cpu")
def test_packet_in_carries_its_metadata(client: Client, switch: Switch):
    switch.native.packet_out(300, FRAME)
    packet = client.receive().packet
    assert packet.payload == FRAME
    assert [(m.metadata_id, m.value) for m in packet.metadata] == [(1, b"\x01\x2c"), (2, b"\x64")]


@pytest.mark.usefixtures("to_cpu")
def test_packet_in_goes_to_primaries_alone(client: Client, switch: Switch):
    with (
        Client(switch.port, election_id=1) as backup,
        Client(switch.port, role="other") as role_primary,
    ):
        backup.arbitrate()
        role_primary.arbitrate()
        switch.native.packet_out(3, FRAME)
        assert client.receive().HasField("packet")
        assert role_primary.receive().HasField("packet")
        assert backup.arbitrate(1).device_id == 1, "no packet came before this answer"


def test_packet_out_through_the_pipeline(client: Client, switch: Switch):
    """Egress port 255 is the CPU port: the packet comes back, and its first two bytes pass for the
    packet_in header."""
    payload = bytes.fromhex("0504") + FRAME[2:]
    client.send(packet=p4r.PacketOut(payload=payload, metadata=metadata(255, 5)))
    packet = client.receive().packet
    assert packet.payload == payload[2:]
    assert [m.value for m in packet.metadata] == [b"\x0a", b"\x04"]


@pytest.mark.parametrize(
    "bad",
    [
        metadata(255),
        metadata(512, 1),
        metadata(1, 8),
        [*metadata(1, 1), p4r.PacketMetadata(metadata_id=9, value=b"\1")],
        [*metadata(1, 1), *metadata(1)],
        [p4r.PacketMetadata(metadata_id=1, value=b""), *metadata(1, 1)[1:]],
    ],
)
def test_packet_out_with_wrong_metadata_is_reported(client: Client, bad):
    sent = p4r.PacketOut(payload=FRAME, metadata=bad)
    client.send(packet=sent)
    error = client.receive().error
    assert error.canonical_code == rpc_code.INVALID_ARGUMENT
    assert error.packet_out.packet_out == sent


def test_packet_out_of_others_is_reported(client: Client, switch: Switch):
    with Client(switch.port, election_id=1) as backup:
        backup.arbitrate()
        backup.send(packet=p4r.PacketOut(payload=FRAME, metadata=metadata(1, 1)))
        assert backup.receive().error.canonical_code == rpc_code.PERMISSION_DENIED


def test_packet_out_that_is_too_long(client: Client):
    client.send(packet=p4r.PacketOut(payload=bytes(20_000), metadata=metadata(1, 1)))
    assert client.receive().error.canonical_code == rpc_code.INVALID_ARGUMENT


def test_without_a_cpu_port(library, program: Program):
    with running_switch(library, cpu_port=0) as switch, Client(switch.port) as client:
        client.arbitrate()
        client.set_pipeline(program.info, program.json)
        client.send(packet=p4r.PacketOut(payload=FRAME, metadata=metadata(1, 1)))
        error = client.receive().error
        assert error.canonical_code == rpc_code.FAILED_PRECONDITION
        assert "--cpu-port" in error.message


def test_unknown_stream_messages_are_reported(client: Client):
    client.send(other={"type_url": "type.googleapis.com/x"})
    assert client.receive().error.canonical_code == rpc_code.UNIMPLEMENTED
    client.send(digest_ack=p4r.DigestListAck(digest_id=5))
    assert client.receive().error.canonical_code == rpc_code.INVALID_ARGUMENT


# ---- digests ----


def digest(names: Names, **config: int) -> p4r.DigestEntry:
    return p4r.DigestEntry(digest_id=names.info.digests[0].preamble.id, config=config)


def learn(switch: Switch, source: int, port: int = 300):
    switch.native.packet_out(port, TO_CPU + source.to_bytes(6, "big") + FRAME_TAIL[6:])


def sources(message: p4r.StreamMessageResponse) -> list[int]:
    return [int.from_bytes(data.struct.members[0].bitstring, "big") for data in message.digest.data]


@pytest.mark.usefixtures("to_cpu")
def test_a_digest_at_once(client: Client, names: Names, switch: Switch):
    learn(switch, 1, port=3)  # not enabled yet
    assert client.receive().HasField("packet"), "the packet itself, after what its digest was"
    client.insert(digest(names))
    learn(switch, 2**40)
    message = client.receive().digest
    assert message.digest_id == names.info.digests[0].preamble.id
    (data,) = message.data
    assert [member.bitstring for member in data.struct.members] == [b"\1\0\0\0\0\0", b"\x01\x2c"]
    assert abs(message.timestamp - time.time_ns()) < 60e9
    client.delete(digest(names))
    assert client.read(p4r.DigestEntry()) == []


def test_lists_acknowledgements_and_timeouts(client: Client, names: Names, switch: Switch):
    long_time = 3600 * 10**9
    config = digest(names, max_timeout_ns=long_time, max_list_size=3, ack_timeout_ns=long_time)
    client.insert(config)
    assert client.read(p4r.DigestEntry()) == [config]
    for source in (1, 1, 2, 3):
        learn(switch, source)
    first = client.receive()
    assert sources(first) == [1, 2, 3], "a full list, without repeats"
    for source in (1, 4, 5, 6):
        learn(switch, source)
    second = client.receive()
    assert sources(second) == [4, 5, 6], "what was sent is not repeated"
    client.send(
        digest_ack=p4r.DigestListAck(digest_id=first.digest.digest_id, list_id=first.digest.list_id)
    )
    # its answer shows that the one before was heard
    client.send(digest_ack=p4r.DigestListAck(digest_id=7))
    assert client.receive().HasField("error")
    for source in (1, 5, 2, 3):
        learn(switch, source)
    assert sources(client.receive()) == [1, 2, 3], (
        "what was acknowledged may come again, the rest not"
    )


def test_what_a_digest_is_refused_for(client: Client, names: Names):
    def code_of(kind: str, entry: p4r.DigestEntry) -> int:
        with pytest.raises(RefusedError) as failure:
            client.write(update(kind, entry))
        return failure.value.codes[0]

    plain, negative = digest(names), digest(names, max_list_size=-1)
    assert code_of("MODIFY", plain) == code_of("DELETE", plain) == rpc_code.NOT_FOUND
    assert code_of("INSERT", negative) == rpc_code.INVALID_ARGUMENT
    client.insert(plain)
    assert code_of("INSERT", plain) == rpc_code.ALREADY_EXISTS
    assert code_of("INSERT", p4r.DigestEntry(digest_id=7)) == rpc_code.NOT_FOUND
    client.delete(negative)  # DELETE considers the id alone


def test_a_list_is_sent_when_its_time_has_come(client: Client, names: Names, switch: Switch):
    """On the live clock."""
    client.insert(digest(names, max_timeout_ns=50_000_000, max_list_size=100))
    learn(switch, 1)
    assert sources(client.receive()) == [1]


def test_when_a_list_is_sent(manual_switch: Switch, clock: ManualClock, program: Program):
    """Its time is counted from its first digest, and that of its acknowledgement from when it was
    sent."""
    names = program.names
    with Client(manual_switch.port) as client:
        client.arbitrate()
        client.set_pipeline(program.info, program.json)
        config = digest(
            names, max_timeout_ns=50_000_000, max_list_size=100, ack_timeout_ns=200_000_000
        )
        client.insert(config)

        def learn_at_port_1(source: int):
            clock.send(1, TO_CPU + source.to_bytes(6, "big") + FRAME_TAIL[6:])

        clock.advance(1)
        learn_at_port_1(1)
        clock.advance(0.03)
        learn_at_port_1(2)
        clock.advance(0.02 - 1e-9)
        assert client.arbitrate().device_id == 1, "nothing came before this answer"
        clock.advance(1e-9)
        message = client.receive()
        assert (sources(message), message.digest.timestamp) == ([1, 2], 1_050_000_000)
        clock.advance(0.2 - 1e-9)
        learn_at_port_1(1)  # not acknowledged: not to be repeated yet
        clock.advance(1e-9)
        learn_at_port_1(2)
        clock.advance(10)
        message = client.receive()
        assert (sources(message), message.digest.timestamp) == ([2], 1_300_000_000)
