"""The switch on real interfaces, with a program written by hand: simple_switch's rules around the
two pipelines."""

from collections.abc import Callable

import pytest
from links import Link
from runtime import (
    CLONE,
    CLONE_BARE,
    CLONE_EGRESS,
    DIGEST,
    DIGESTED,
    DROP,
    FORWARD,
    LOG,
    LOGGED,
    MULTICAST,
    PACKET_IN,
    RECIRCULATE,
    RESUBMIT,
    TRUNCATE,
    Switch,
)

pytestmark = [pytest.mark.root, pytest.mark.usefixtures("both_ways")]

NORMAL, INGRESS_CLONE, EGRESS_CLONE, REPLICATION = 0, 1, 2, 5
Links = Callable[..., list[Link]]


def frame(
    opcode: int = FORWARD, argument: int = 0, priority: int = 0, payload: bytes = b"payload"
) -> bytes:
    return (
        bytes(range(12))
        + b"\x88\xb5"
        + bytes([opcode, argument, priority])
        + bytes(6)
        + payload.ljust(41, b".")
    )


def seen(received: bytes) -> dict[str, int]:
    names = ("type", "rid", "enq_qdepth", "deq_qdepth", "port", "metadata")
    return dict(zip(names, received[17:23], strict=True))


def test_forwards_both_ways_and_counts(make_links: Links):
    a, b = make_links(2)
    with Switch() as switch:
        switch.join(a, b)
        switch.forward(2, 1)
        a.send(*[frame(payload=bytes([i])) for i in range(200)])
        got = b.receive(200)
        assert [f[23] for f in got] == list(range(200))
        assert seen(got[0])["port"] == 2
        b.send(frame())
        assert a.receive(1)[0][:14] == frame()[:14]
        assert switch.counter(0, 1).packets == 200
        assert switch.counter(0, 1).bytes == 200 * 64
        stats = switch.stats(1)
        assert (stats.rx_packets, stats.rx_bytes, stats.tx_packets, stats.up) == (200, 12800, 1, 1)
        assert switch.stats(2).tx_bytes == 12800


def test_clone_resubmit_recirculate(make_links: Links):
    a, b, c = make_links(3)
    with Switch() as switch:
        for port, link in ((1, a), (2, b), (3, c)):
            switch.port_add(port, link.near)
        switch.forward(1, 2)
        switch.group("clone_session", 7, [(3, 4)])
        a.send(frame(CLONE, 7))
        (original,), (clone,) = b.receive(1), c.receive(1)
        assert original[0] == 0xEE
        assert clone[0] == 0, "an ingress clone is the frame as it came in"
        assert seen(clone) | {"type": INGRESS_CLONE, "rid": 4, "metadata": 77, "port": 3} == seen(
            clone
        )
        a.send(frame(CLONE_BARE, 7))
        b.receive(1)
        assert seen(c.receive(1)[0])["metadata"] == 0, "no list, no metadata"
        a.send(frame(CLONE, 99))
        assert len(b.receive(1)) == 1, "an unknown session makes no clone"
        a.send(frame(CLONE_EGRESS, 7))
        (original,), (clone,) = b.receive(1), c.receive(1)
        assert clone[0] == 0xCC, "an egress clone has the headers as egress left them"
        assert seen(clone) | {"type": EGRESS_CLONE, "metadata": 9} == seen(clone)
        switch.group("clone_session", 7, [(3, 0)], truncate=40)
        a.send(frame(CLONE, 7))
        assert (len(b.receive(1)[0]), len(c.receive(1)[0])) == (64, 40)
        assert c.silent()


def test_resubmit_keeps_the_frame_and_the_list(make_links: Links):
    a, b = make_links(2)
    with Switch() as switch:
        switch.join(a, b)
        switch.forward(0, 2)  # metadata is reset, the ingress port too, as in BMv2
        a.send(frame(RESUBMIT))
        (got,) = b.receive(1)
        assert got[0] == 0
        assert seen(got) | {"type": NORMAL, "metadata": 5} == seen(got)


def test_recirculation_counts_and_ends(make_links: Links):
    a, b = make_links(2)
    with Switch() as switch:
        switch.join(a, b)
        a.send(frame(RECIRCULATE, 50))
        (got,) = b.receive(1)
        assert seen(got)["metadata"] == 50
        assert len(got) == 64
        assert switch.counter(0, 0).packets == 50


def test_drop_truncate_multicast_digest_log(make_links: Links):
    a, b, c = make_links(3)
    with Switch() as switch:
        for port, link in ((1, a), (2, b), (3, c)):
            switch.port_add(port, link.near)
        switch.forward(1, 2)
        a.send(frame(DROP))
        a.send(frame(TRUNCATE, 30))
        assert [len(f) for f in b.receive(1)] == [30]
        switch.group("multicast_group", 9, [(2, 11), (3, 12), (3, 13)])
        a.send(frame(MULTICAST, 9))
        (got,) = b.receive(1)
        assert seen(got) | {"type": REPLICATION, "rid": 11} == seen(got)
        assert [seen(f)["rid"] for f in c.receive(2)] == [12, 13]
        a.send(frame(MULTICAST, 8))
        assert b.silent()
        a.send(frame(DIGESTED))
        assert switch.event() == (DIGEST, 3, frame()[:6])
        a.send(frame(LOGGED))
        assert switch.event() == (LOG, 0, b"hello from P4")


def test_cpu_port_and_packet_out(make_links: Links):
    (a,) = make_links(1)
    with Switch(cpu_port=255) as switch:
        switch.port_add(1, a.near)
        switch.forward(1, 255)
        switch.forward(255, 1)
        a.send(frame())
        kind, _, data = switch.event() or (0, 0, b"")
        assert kind == PACKET_IN
        assert data[:14] == frame()[:14]
        assert switch.packet_out(255, frame()) == 0
        assert len(a.receive(1)) == 1
        assert switch.event(0.05) is None
