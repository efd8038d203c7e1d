"""The transport core, csrc/transport.h, against a model: what it lets go, what requests ACKs, what
those mean."""

import ctypes
import math
from functools import lru_cache

from hypothesis import given, strategies as st

from pcn.hosts.native import CSRC, FLAGS
from pcn.hosts.structures import NativeTransport
from pcn.softswitch.cache.objects import build, digest

PSNS = 1 << 24
_FUNCTIONS = """
#include "transport.h"
bool is_open(const struct transport *flow) { return transport_open(flow); }
bool sent(struct transport *flow) { return transport_sent(flow); }
bool acknowledged(struct transport *flow, uint32_t psn, uint64_t *to) { return transport_acknowledged(flow, psn, to); }
uint64_t in_flight(const struct transport *flow) { return transport_in_flight(flow); }
"""  # noqa: E501


@lru_cache(maxsize=1)
def core() -> ctypes.CDLL:
    identity = digest([CSRC / "transport.h", CSRC / "wire.h"]) + _FUNCTIONS
    library = ctypes.CDLL(str(build("libtransport", [_FUNCTIONS], identity, FLAGS, CSRC)))
    library.is_open.restype = library.sent.restype = library.acknowledged.restype = ctypes.c_bool
    library.in_flight.restype = ctypes.c_uint64
    return library


class Flow:
    """The core's flow beside the model: a list of frames' bytes, and which of them requested an
    ACK."""

    def __init__(
        self,
        window_bytes: float,
        every: int,
        packets: int = 0,
        last_bytes: int = 62,
        first_psn: int = 0,
    ):
        self.raw = NativeTransport(
            window_bytes=window_bytes, packets=packets, every=every, frame_bytes=1058,
            last_frame_bytes=last_bytes,
            first_psn=first_psn,
        )  # fmt: skip
        self.sizes: list[int] = []
        self.requests: list[bool] = []
        self.acked = 0

    def size(self, number: int) -> int:
        return self.raw.last_frame_bytes if number + 1 == self.raw.packets else 1058

    @property
    def in_flight(self) -> int:
        return sum(self.sizes[self.acked :])

    @property
    def open(self) -> bool:
        fits = self.in_flight + self.size(len(self.sizes)) <= self.raw.window_bytes
        return fits or not any(self.requests[self.acked :])

    def send(self) -> bool:
        self.sizes.append(self.size(len(self.sizes)))
        number, last = len(self.sizes), len(self.sizes) == self.raw.packets
        due = self.raw.every != 0 and (last or number % self.raw.every == 0)
        fills = not last and self.in_flight + self.size(number) > self.raw.window_bytes
        self.requests.append(due or fills)
        assert core().sent(ctypes.byref(self.raw)) == self.requests[-1]
        return self.requests[-1]

    def acknowledge(self, number: int) -> int:
        """Of packet `number`; the bytes that it acknowledges."""
        got = ctypes.c_uint64()
        psn = (self.raw.first_psn + number) % PSNS
        assert core().acknowledged(ctypes.byref(self.raw), psn, ctypes.byref(got))
        expected = sum(self.sizes[self.acked : number + 1])
        self.acked = max(self.acked, number + 1)
        assert got.value == expected
        return expected

    def check(self):
        assert core().in_flight(ctypes.byref(self.raw)) == self.in_flight
        assert core().is_open(ctypes.byref(self.raw)) == self.open


@given(
    st.sampled_from([1.0, 1058.0, 2000.0, 5290.0, 20_000.0, math.inf]),
    st.integers(0, 9),
    st.sampled_from([0, 1, 7, 40]),
    st.sampled_from([0, 5, PSNS - 10, PSNS - 1]),
    st.lists(
        st.tuples(st.sampled_from(["send", "ack", "again", "window"]), st.integers(0, 50)),
        max_size=120,
    ),
)
def test_core_does_what_the_model_does(window_bytes, every, packets, first_psn, steps):
    """PSNs wrap, windows change, ACKs come twice, or only those of later packets."""
    flow = Flow(window_bytes, every, packets, first_psn=first_psn)
    for step, value in steps:
        outstanding = [
            number for number in range(flow.acked, len(flow.sizes)) if flow.requests[number]
        ]
        if step == "send" and flow.open and len(flow.sizes) != packets:
            flow.send()
        elif step == "ack" and outstanding:
            assert flow.acknowledge(outstanding[value % len(outstanding)]) > 0
        elif step == "again" and flow.acked:
            assert flow.acknowledge(value % flow.acked) == 0
        elif step == "window":
            flow.raw.window_bytes = 100.0 * value + 1
        flow.check()
        assert flow.open or any(flow.requests[flow.acked :])  # an acknowledgement will open it


@given(st.integers(1, 40), st.integers(0, 50))
def test_core_refuses_acknowledgement_of_packet_that_was_not_sent(sent, ahead):
    flow = Flow(math.inf, 1)
    for _ in range(sent):
        flow.send()
    before = bytes(flow.raw)
    assert not core().acknowledged(
        ctypes.byref(flow.raw), sent + ahead, ctypes.byref(ctypes.c_uint64())
    )
    assert bytes(flow.raw) == before


def test_core_takes_a_psn_for_that_of_the_latest_packet_that_has_it():
    """A flow of 2^24 + 3 packets without an acknowledgement: PSN 1 is that of the last but one."""
    flow = Flow(math.inf, 0)
    flow.raw.sent = PSNS + 3
    got = ctypes.c_uint64()
    assert core().acknowledged(ctypes.byref(flow.raw), 1, ctypes.byref(got))
    assert (flow.raw.acked, got.value) == (PSNS + 2, (PSNS + 2) * 1058)


def test_window_smaller_than_what_is_in_flight_opens_again():
    """No packet has requested an ACK when the window shrinks: one more goes, and does."""
    flow = Flow(10 * 1058, 0)
    for _ in range(5):
        assert not flow.send()
    flow.raw.window_bytes = 1058
    assert flow.open
    assert flow.send()
    assert not flow.open
    assert flow.acknowledge(5) == 6 * 1058
    assert flow.open
    flow.check()
