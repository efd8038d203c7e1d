"""Depths and rates of single queues, as simple_switch has them, on the manual clock. Every time is
exact."""

from ctypes import c_int32, c_uint64

import pytest
from hypothesis import given, strategies as st
from runtime import Switch, SwitchError

AS_IT_IS = 2**64 - 1
MS = 1_000_000


def frame(priority: int, mark: int) -> bytes:
    return (bytes(12) + b"\x88\xb5" + bytes([0, 0, priority]) + bytes(6) + bytes([mark])).ljust(
        100, b"."
    )


def forwarding_switch() -> Switch:
    switch = Switch(manual=True)
    for port in (1, 2, 3):
        switch.port_add(port)
    switch.forward(1, 2)
    switch.forward(2, 3)
    return switch


def set_queue(
    switch: Switch, port: int, queue: int, depth: int = AS_IT_IS, interval_ns: int = AS_IT_IS
):
    switch.call(
        "sw_queue_set", c_int32(port), c_int32(queue), c_uint64(depth), c_uint64(interval_ns)
    )


def left(switch: Switch) -> list[tuple[int, int, int]]:
    return [(port, at_ns, data[16]) for port, at_ns, data in switch.departed()]


@given(
    st.integers(1, 5 * MS),
    st.lists(st.tuples(st.integers(0, 10 * MS), st.sampled_from([0, 5])), min_size=1, max_size=20),
)
def test_queue_rate_spaces_departures_of_its_queue_alone(interval_ns, arrivals):
    """Queue 5 has a rate: a packet leaves an interval behind the one before, or as it comes. Queue
    0 has none."""
    with forwarding_switch() as switch:
        set_queue(switch, 2, 5, interval_ns=interval_ns)
        expected, now_ns, free_ns = [], 0, 0
        for wait_ns, queue in arrivals:
            switch.advance(wait_ns / 1e9)
            now_ns = switch.now_ns
            switch.inject(1, frame(queue, 0))
            leaves = now_ns if queue == 0 else max(now_ns, free_ns)
            free_ns = free_ns if queue == 0 else leaves + interval_ns
            expected.append((2, leaves, queue))
        switch.advance(1.0)
        assert sorted(left(switch)) == sorted(expected)


def test_queue_rate_that_changes_counts_from_the_latest_departure():
    with forwarding_switch() as switch:
        set_queue(switch, -1, -1, interval_ns=10 * MS)
        switch.inject(1, *[frame(0, mark) for mark in range(4)])
        switch.advance(0.001)
        set_queue(switch, 2, 0, interval_ns=4 * MS)
        switch.advance(0.004)
        assert [at for _, at, _ in left(switch)] == [0, 4 * MS]
        set_queue(switch, 2, 0, interval_ns=0)
        assert [at for _, at, _ in left(switch)] == [5 * MS, 5 * MS]


@pytest.mark.parametrize(
    ("port", "queue", "depths"),
    [
        (-1, -1, {(2, 0): 2, (2, 5): 2, (3, 0): 2}),
        (2, -1, {(2, 0): 2, (2, 5): 2, (3, 0): 9}),
        (2, 5, {(2, 0): 9, (2, 5): 2, (3, 0): 9}),
        (-1, 0, {(2, 0): 2, (2, 5): 9, (3, 0): 2}),
    ],
)
def test_queue_depth_is_of_a_queue_a_port_or_all(port, queue, depths):
    """Of 10 packets that come to a queue at once, one leaves and its depth waits, here 2 instead of
    64."""
    with forwarding_switch() as switch:
        set_queue(switch, -1, -1, interval_ns=1000 * MS)
        set_queue(switch, port, queue, depth=2)
        for (to, priority), waiting in depths.items():
            switch.inject(to - 1, *[frame(priority, mark) for mark in range(10)])
            assert switch.stats(to).queue_packets[priority] == waiting


def test_queue_that_is_not_there_and_an_interval_that_overflows_are_refused():
    with forwarding_switch() as switch:
        with pytest.raises(SwitchError):
            set_queue(switch, 2, 0, interval_ns=2**55)  # ps have 64 bits
        for port, queue in ((2, 8), (512, 0)):
            with pytest.raises(SwitchError):
                set_queue(switch, port, queue, depth=2)
