"""What a port of port_model.py gets: classes, frames, and draws of arrivals and pauses."""

from collections.abc import Sequence

from hypothesis import strategies as st
from port_model import Packet, Pause, Trace, run

Arrivals = Sequence[tuple[int, int, int]]
"""Each with the time after the one before, its class and its length."""
Stops = Sequence[tuple[int, int]]
"""Of a class, each with the time after the last RESUME and its length."""
DATA, SECOND_DATA, CNP, LOWER = 3, 5, 7, 0
BEFORE = frozenset({4, 6, CNP})
FRAME, SMALL, JUMBO = 850, 60, 7400  # ns at 10 Gbit/s

pauses = st.lists(
    st.tuples(st.integers(0, 15_000), st.one_of(st.integers(1, 3000), st.integers(1, 40_000))),
    max_size=6,
)


def packets(most: int) -> st.SearchStrategy[list[tuple[int, int, int]]]:
    """Draws up to `most` arrivals."""
    return st.lists(
        st.tuples(
            st.one_of(st.integers(0, 300), st.integers(0, 3000), st.just(40_000)),
            st.sampled_from([DATA] * 5 + [SECOND_DATA, CNP, LOWER]),
            st.sampled_from([FRAME] * 5 + [SMALL, JUMBO]),
        ),
        min_size=1,
        max_size=most,
    )


def port(start: int, arrivals: Arrivals, stops: dict[int, Stops]) -> Trace:
    """Runs a port from the time `start`, with pauses by class."""
    arrived, at = [], start
    for after, number, length in arrivals:
        at += after
        arrived.append(Packet(at, number, length))
    held = []
    for number, times in stops.items():
        at = start
        for after, length in times:
            held.append(Pause(number, at + after, at + after + length))
            at += after + length
    return run(arrived, held)
