"""The engine moves the packets of a switch on the manual clock as the switch's queues do: the same
frames leave at the same nanoseconds, at each port in the same order. (test_manual_clock.py runs on
both; judges/dataplane compares the data-plane tests.)"""

from collections.abc import Sequence
from ctypes import c_int32, c_uint64

from hypothesis import given, settings, strategies as st
from runtime import (
    CLONE,
    CLONE_EGRESS,
    DROP,
    FORWARD,
    HOLD,
    MULTICAST,
    RECIRCULATE,
    RESUBMIT,
    Departure,
    Switch,
    frame,
)

MS = 1_000_000
PORTS = (1, 2, 3)
EPOCH_NS = 2**53
"""After two of them, 208 days, the engine's clock begins anew (virtualnet/csrc/live/live.c)."""

Step = tuple[str, int, int, int, int, int]
STEPS = st.lists(
    st.one_of(
        st.tuples(
            st.just("frame"),
            st.sampled_from(PORTS),
            st.sampled_from(
                (
                    FORWARD, FORWARD, CLONE, CLONE_EGRESS, DROP, HOLD, MULTICAST, RECIRCULATE,
                    RESUBMIT,
                )
            ),
            st.integers(0, 7),
            st.sampled_from((500, 1000, 2000)),
            st.integers(1, 3),
        ),
        st.tuples(
            st.just("advance"), st.sampled_from((0, 1000, MS // 2, MS, 4 * MS)), *[st.just(0)] * 4
        ),
        st.tuples(st.just("hold"), st.integers(0, 1), *[st.just(0)] * 4),
        st.tuples(
            st.just("shape"),
            st.sampled_from(PORTS),
            st.sampled_from((0, 4_000_000, 8_000_000)),
            *[st.just(0)] * 3,
        ),
        st.tuples(
            st.just("queue"), st.sampled_from(PORTS), st.integers(0, 7),
            st.sampled_from((0, MS, 3 * MS)), *[st.just(0)] * 2,
        ),
    ),
    min_size=1,
    max_size=25,
)  # fmt: skip


def played(
    by_engine: bool,
    rates: Sequence[int],
    reentry_ns: int,
    steps: Sequence[Step],
    *,
    interval_ns: int = 0,
    from_ns: int = 0,
) -> tuple[list[Departure], list[tuple[int, ...]]]:
    """Returns what left, by time and port, and counters of each port."""
    with Switch(manual=True, depth=5, by_engine=by_engine) as switch:
        assert switch.lib.sw_reentry(switch.handle, c_uint64(reentry_ns)) == 0
        for port, rate in zip(PORTS, rates, strict=True):
            switch.port_add(port)
            switch.shape(port, rate)
            switch.forward(port, port % 3 + 1)
        _set_interval(switch, 2, 0, interval_ns)
        switch.forward(0, 2)
        switch.group("clone_session", 7, [(3, 4)])
        switch.group("multicast_group", 7, [(2, 11), (3, 12), (1, 13)])
        assert switch.step(from_ns) == 0
        for kind, a, b, c, d, n in steps:
            if kind == "frame":
                argument = 2 if b == RECIRCULATE else 7
                switch.inject(
                    a, *[frame(b, argument, priority=c, length=d, mark=i) for i in range(n)]
                )
            elif kind == "advance":
                switch.advance(a / 1e9)
            elif kind == "hold":
                switch.write_register(0, a)
            elif kind == "shape":
                switch.shape(a, b)
            else:
                _set_interval(switch, a, b, c)
        switch.write_register(0, 0)
        switch.advance(0.2)
        counts = []
        for port in PORTS:
            stats = switch.stats(port)
            counts.append(
                (stats.rx_packets, stats.tx_packets, stats.tx_bytes, stats.queue_dropped,
                 switch.counter(0, port).packets)
            )  # fmt: skip
        return sorted(switch.departed(), key=lambda left: (left.at_ns, left.port)), counts


def _set_interval(switch: Switch, port: int, queue: int, interval_ns: int):
    switch.call(
        "sw_queue_set", c_int32(port), c_int32(queue), c_uint64(2**64 - 1), c_uint64(interval_ns)
    )


@given(
    st.tuples(*[st.sampled_from((0, 4_000_000, 8_000_000))] * 3),
    st.sampled_from((0, 1000, 1003)),
    STEPS,
    st.sampled_from((0, 0, MS, 3 * MS)),
)
@settings(deadline=None, max_examples=400)
def test_frames_leave_the_engine_as_they_leave_queues(rates, reentry_ns, steps, interval_ns):
    """Re-entry after 1,000 ns ends at moments at which a line is free, too, and a rate may be taken
    away while packets wait."""
    departures, counts = played(True, rates, reentry_ns, steps, interval_ns=interval_ns)
    assert (departures, counts) == played(False, rates, reentry_ns, steps, interval_ns=interval_ns)


def test_engine_goes_on_after_208_days():
    steps = [
        ("frame", 1, FORWARD, 0, 1000, 3),
        ("advance", 4 * MS, 0, 0, 0, 0),
        ("frame", 2, FORWARD, 3, 500, 2),
        ("advance", 4 * MS, 0, 0, 0, 0),
        ("frame", 1, CLONE, 0, 500, 1),
    ]
    for from_ns in (2 * EPOCH_NS - 2 * MS, 2 * EPOCH_NS - 6 * MS, 2 * EPOCH_NS + MS):
        departures, _ = played(True, (8_000_000,) * 3, 0, steps, from_ns=from_ns)
        assert departures == played(False, (8_000_000,) * 3, 0, steps, from_ns=from_ns)[0]
        assert len(departures) == 7, from_ns
