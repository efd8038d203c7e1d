"""Packets and digests between a program and its controller: both kinds of a control plane send and
take the same."""

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from hypothesis import given, strategies as st
from planes import BENCH, KINDS, Plane, opened
from waiting import wait_until

from pcn.base.p4rt import p4r
from pcn.controller.control_plane import (
    DigestEntry,
    DigestList,
    TableAction,
    TableEntry,
    TableMatch,
)
from pcn.controller.errors import SwitchError, UnknownNameError, WriteError
from pcn.controller.inbox import MOST_BYTES, OVERHEAD_BYTES, Inbox
from pcn.softswitch.native import Departed

TO_CPU, TO_PORT_2, LEARNT, LEARNT_TOO = 0xC0, 0xC2, 0xA1, 0xA2
LIMIT_S = 60.0
"""Only a hang takes this long until a message."""


def frame(dst: int, src: int) -> bytes:
    return dst.to_bytes(6, "big") + src.to_bytes(6, "big") + b"\x99\x99" + bytes(46)


@pytest.fixture(params=KINDS)
def plane(request) -> Iterator[Plane]:
    with ExitStack() as stack:
        switch = opened(stack, request.param, BENCH)
        switch.control.insert(
            [
                TableEntry(
                    "l2",
                    match=TableMatch(dst_addr=TO_CPU),
                    action=TableAction("send_to_cpu", reason=5),
                ),
                TableEntry(
                    "l2",
                    match=TableMatch(dst_addr=TO_PORT_2),
                    action=TableAction("forward", port=2),
                ),
            ]
        )
        yield switch


def test_program_sends_packet_with_header_to_its_controller(plane: Plane):
    plane.native.inject(1, frame(TO_CPU, LEARNT))
    (packet,) = plane.control.packets_in(LIMIT_S)
    assert (packet.payload, packet.metadata) == (
        frame(TO_CPU, LEARNT),
        {"ingress_port": 1, "reason": 5},
    )
    assert plane.control.packets_in() == []


def test_controller_sends_packet_by_its_header_to_a_port(plane: Plane):
    plane.control.packet_out(frame(TO_CPU, LEARNT), egress_port=2, queue=0)  # padding isn't given
    left: list[Departed] = []

    def has_left() -> bool:
        left.extend(plane.native.departed())
        return bool(left)

    wait_until(has_left, "the packet")
    assert [(packet.port, packet.data) for packet in left] == [(2, frame(TO_CPU, LEARNT))]


def test_packet_out_without_a_field_is_refused_before_it_is_sent(plane: Plane):
    for fields, why in (
        ({"queue": 0}, "egress_port"),
        ({"egress_port": 1, "queue": 0, "colour": 3}, "colour"),
    ):
        with pytest.raises(SwitchError, match=f"^s0: packet-out: .*{why}"):
            plane.control.packet_out(b"", **fields)


def test_digests_wait_for_an_entry_and_come_once_until_acknowledged(plane: Plane):
    control, inject = plane.control, plane.native.inject
    inject(1, frame(TO_PORT_2, LEARNT))  # nobody wants digests yet
    control.insert(
        [DigestEntry("learned_t", max_list_size=2, max_timeout_ns=10**12, ack_timeout_ns=10**12)]
    )
    for source in (LEARNT, LEARNT, LEARNT_TOO):
        inject(1, frame(TO_PORT_2, source))
    (learned,) = control.digests(LIMIT_S)
    assert (learned.digest_id, learned.list_id) == ("learned_t", 1)
    assert [*learned] == [{"src_addr": source, "port": 1} for source in (LEARNT, LEARNT_TOO)]
    for source in (LEARNT, LEARNT_TOO, LEARNT):
        inject(1, frame(TO_PORT_2, source))
    inject(1, frame(TO_CPU, LEARNT))  # what comes after the digests that aren't sent again
    assert control.packets_in(LIMIT_S)
    assert control.digests() == []
    control.acknowledge([learned])

    def learns_again() -> list[DigestList]:
        inject(1, frame(TO_PORT_2, LEARNT))
        inject(1, frame(TO_PORT_2, LEARNT_TOO))
        return control.digests()

    wait_until(learns_again, "the acknowledgement, which over P4Runtime comes after it is sent")


def test_unknown_digest_is_refused_and_an_enabled_one_not_enabled_again(plane: Plane):
    with pytest.raises(UnknownNameError, match="no digest 'learnt_t'; did you mean 'learned_t'"):
        plane.control.insert([DigestEntry("learnt_t")])
    plane.control.insert([DigestEntry("learned_t")])
    with pytest.raises(
        WriteError, match=r"^s0: insert of 1 entries failed; digest learned_t: ALREADY_EXISTS"
    ):
        plane.control.insert([DigestEntry("learned_t")])


def test_digest_list_is_due_at_its_time_of_the_switchs_clock():
    """In this process, where the test moves the clock: the list has the time at which it was
    due."""
    with ExitStack() as stack:
        plane = opened(stack, "in process", BENCH)
        plane.control.insert([DigestEntry("learned_t", max_list_size=9, max_timeout_ns=5_000)])
        plane.native.advance(1_000)
        plane.native.inject(1, frame(TO_PORT_2, LEARNT))
        plane.native.advance(5_999)
        assert plane.control.digests() == []
        plane.native.advance(20_000)
        assert [digest.timestamp for digest in plane.control.digests()] == [6_000]


def test_switch_without_cpu_port_refuses_packets():
    with ExitStack() as stack:
        plane = opened(stack, "in process", BENCH, cpu_port=0)
        with pytest.raises(
            SwitchError,
            match=r"^s0: packet-out failed: FAILED_PRECONDITION: the switch has no CPU port",
        ):
            plane.control.packet_out(b"", egress_port=1, queue=0)


@given(sizes=st.lists(st.integers(0, 4_000_000), max_size=12))
def test_inbox_keeps_the_latest_that_have_room(sizes):
    inbox = Inbox("s0")
    for number, size in enumerate(sizes):
        inbox.put(
            p4r.StreamMessageResponse(packet=p4r.PacketIn(payload=bytes([number]) + bytes(size)))
        )
    taken = [message.packet.payload for message in inbox.take("packet")]
    assert [message[0] for message in taken] == [*range(len(sizes))][len(sizes) - len(taken) :]
    assert sum(map(len, taken)) <= MOST_BYTES
    if len(taken) < len(sizes):
        assert (
            sum(size + OVERHEAD_BYTES + 100 for size in sizes[len(sizes) - len(taken) - 1 :])
            > MOST_BYTES
        )
    assert inbox.take("packet") == []


def test_inbox_reports_refusals_and_the_end_after_what_came():
    inbox = Inbox("s0")
    inbox.put(p4r.StreamMessageResponse(packet=p4r.PacketIn(payload=b"x")))
    for number in (3, 8):
        packet = p4r.PacketOutError(packet_out=p4r.PacketOut(payload=bytes(MOST_BYTES // 3)))
        refusal = p4r.StreamError(canonical_code=number, message="too long", packet_out=packet)
        inbox.put(p4r.StreamMessageResponse(error=refusal))
    inbox.end("UNAVAILABLE: it has gone")
    assert len(inbox.take("packet", LIMIT_S)) == 1
    for why in (
        "packet-out failed: INVALID_ARGUMENT: too long",
        "RESOURCE_EXHAUSTED",
        "ended: UNAVAILABLE: it has gone",
    ):
        with pytest.raises(SwitchError, match=f"^s0: .*{why}"):
            inbox.take("digest", LIMIT_S)
    for _ in range(3):  # refusals that were taken have no room any more
        inbox.put(p4r.StreamMessageResponse(error=refusal))
