"""The packet generator: which frames come in, at which nanosecond; on the live clock that they
come."""

import ctypes
import errno
from collections.abc import Sequence

import pytest
from runtime import PACKET_IN, Departure, Switch, SwitchError

MS = 1_000_000
AT, OUT, CPU = 200, 2, 255


def generate(switch: Switch, period_ns: int, *packet_ids: int, port: int = AT):
    ids = (ctypes.c_uint16 * len(packet_ids))(*packet_ids)
    switch.call(
        "sw_generate",
        ctypes.c_uint16(port),
        ctypes.c_uint64(period_ns),
        ids,
        ctypes.c_uint32(len(packet_ids)),
    )


def generating(period_ns: int, *packet_ids: int) -> Switch:
    """On the manual clock; what it makes leaves by OUT."""
    switch = Switch(manual=True)
    switch.port_add(OUT)
    switch.forward(AT, OUT)
    generate(switch, period_ns, *packet_ids)
    return switch


def seen(departures: Sequence[Departure]) -> list[tuple[int, int]]:
    """Time and packet id of each, of which the header is checked: pipe, application and batch are
    0."""
    assert all(
        len(departure.frame) == 60 and departure.frame[:4] == bytes(4) for departure in departures
    )
    return [
        (departure.at_ns, int.from_bytes(departure.frame[4:6], "big")) for departure in departures
    ]


def test_a_batch_each_period_to_the_nanosecond():
    with generating(3 * MS + 1, 11, 65535, 0) as switch:
        switch.advance(0.003)
        assert switch.departed() == []
        switch.advance(0.007)
        assert seen(switch.departed()) == [
            (n * (3 * MS + 1), packet_id) for n in (1, 2, 3) for packet_id in (11, 65535, 0)
        ]


def test_they_wait_for_a_port_like_all_others():
    with generating(3 * MS, 1, 2) as switch:
        switch.shape(OUT, 480_000)  # 1 ms each
        switch.advance(0.010)
        assert seen(switch.departed()) == [
            (4 * MS, 1), (5 * MS, 2), (7 * MS, 1), (8 * MS, 2), (10 * MS, 1),
        ]  # fmt: skip


def test_it_is_set_anew_and_turned_off():
    with generating(4 * MS, 1) as switch:
        switch.advance(0.005)
        generate(switch, 10 * MS, 2)
        switch.advance(0.010)
        generate(switch, 10 * MS)
        switch.advance(1)
        assert seen(switch.departed()) == [(4 * MS, 1), (15 * MS, 2)]


def test_without_a_program_nothing_is_made():
    with Switch(None, manual=True) as switch:
        generate(switch, MS, 1)
        switch.advance(0.0035)
        switch.port_add(OUT)
        switch.load("probe")
        switch.forward(AT, OUT)
        switch.advance(0.001)
        assert seen(switch.departed()) == [(4 * MS, 1)]


def test_no_port_counts_them_as_received():
    with generating(MS, 1) as switch:
        switch.advance(0.01)
        assert switch.stats(OUT).tx_packets == 10
        assert switch.stats(AT).rx_packets == switch.stats(AT).rx_dropped == 0


def test_what_is_refused():
    with Switch(manual=True) as switch:
        for port, period_ns in ((512, MS), (AT, 999)):
            with pytest.raises(
                SwitchError, match="a port below 512 and a period of at least 1000 ns"
            ) as failure:
                generate(switch, period_ns, 1, port=port)
            assert failure.value.code == -errno.EINVAL


@pytest.mark.usefixtures("both_ways")
def test_on_the_live_clock_they_come():
    with Switch(cpu_port=CPU) as switch:
        switch.forward(AT, CPU)
        generate(switch, MS, 5, 6)
        events = [switch.event() for _ in range(10)]
        assert all(event is not None and event[0] == PACKET_IN for event in events)
        assert [int.from_bytes(event[2][4:6], "big") for event in events if event] == [5, 6] * 5
