"""What repeats lost packets, csrc/reliable.h: both ends of a flow over a channel that loses what
the test draws, beside a model of what is in flight."""

import ctypes
from collections import deque
from functools import lru_cache
from random import Random

import pytest
from hypothesis import given, strategies as st

from pcn.hosts.native import CSRC, FLAGS
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.structures import NativeTransport
from pcn.softswitch.cache.objects import build, digest

PSNS = 1 << 24
FRAME, LAST = 1058, 62
_FUNCTIONS = """
#include "reliable.h"
struct reliable *sender_new(const struct transport *flow, uint32_t kind, uint64_t reordering)
{
    struct reliable *made = calloc(1, sizeof *made);
    *made = (struct reliable){.flow = *flow, .kind = kind, .reordering = reordering, .end = flow->sent};
    made->starts.element = sizeof(struct reliable_start);
    return made;
}
void sender_free(struct reliable *sender) { reliable_free(sender); free(sender); }
bool is_open(const struct reliable *sender) { return reliable_open(sender); }
bool complete(const struct reliable *sender) { return reliable_complete(sender); }
uint64_t in_flight(const struct reliable *sender) { return transport_in_flight(&sender->flow); }
uint64_t start(struct reliable *sender, uint64_t left, bool *acks)
{
    if (!reliable_room(sender)) abort();
    return reliable_started(sender, left, acks);
}
bool acknowledged(struct reliable *sender, uint32_t psn, uint32_t in_order, uint64_t left, uint64_t *news)
{
    return reliable_acknowledged(sender, psn, in_order, left, (struct reliable_news *)news);
}
bool refused(struct reliable *sender, uint32_t psn, uint64_t left, uint64_t *news)
{
    return reliable_refused(sender, psn, left, (struct reliable_news *)news);
}
void timeout(struct reliable *sender, uint64_t *news) { reliable_timeout(sender, (struct reliable_news *)news); }
uint64_t repeated(const struct reliable *sender) { return sender->repeated; }

struct reliable_receiver *receiver_new(uint32_t kind, uint64_t next)
{
    struct reliable_receiver *made = calloc(1, sizeof *made);
    *made = (struct reliable_receiver){.kind = kind, .next = next};
    return made;
}
void receiver_free(struct reliable_receiver *receiver) { free(receiver->came); free(receiver); }
uint32_t take(struct reliable_receiver *receiver, uint32_t psn, bool acks, bool *fresh)
{
    return reliable_take(receiver, psn, acks, fresh);
}
uint32_t trimmed(struct reliable_receiver *receiver, uint32_t psn) { return reliable_trimmed(receiver, psn); }
uint64_t next_of(const struct reliable_receiver *receiver) { return receiver->next; }
"""  # noqa: E501
SILENT, ACK, NAK = range(3)


@lru_cache(maxsize=1)
def core() -> ctypes.CDLL:
    files = [CSRC / name for name in ("reliable.h", "transport.h", "wire.h", "rings.h")]
    library = ctypes.CDLL(
        str(build("libreliable", [_FUNCTIONS], digest(files) + _FUNCTIONS, FLAGS, CSRC))
    )
    pointer, u32, u64, flag = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64, ctypes.c_bool
    signatures = {
        "sender_new": (pointer, [pointer, u32, u64]), "sender_free": (None, [pointer]),
        "is_open": (flag, [pointer]), "complete": (flag, [pointer]),
        "in_flight": (u64, [pointer]), "start": (u64, [pointer, u64, pointer]),
        "acknowledged": (flag, [pointer, u32, u32, u64, pointer]),
        "refused": (flag, [pointer, u32, u64, pointer]),
        "timeout": (None, [pointer, pointer]), "repeated": (u64, [pointer]),
        "receiver_new": (pointer, [u32, u64]), "receiver_free": (None, [pointer]),
        "take": (u32, [pointer, u32, flag, pointer]), "trimmed": (u32, [pointer, u32]),
        "next_of": (u64, [pointer]),
    }  # fmt: skip
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Channel:
    """A flow's two ends, and what is between them: packets and answers in order, some of them lost.
    `first`: the number of the first packet, which is its PSN. Every step checks what the sender has
    in flight against the model."""

    def __init__(
        self, kind: Repeats, packets: int, window_bytes: float, every: int, first: int = 0
    ):
        self.kind, self.packets, self.window_bytes = kind, first + packets, window_bytes
        flow = NativeTransport(
            window_bytes=window_bytes, packets=self.packets, every=every, frame_bytes=FRAME,
            last_frame_bytes=LAST,
            sent=first, asked=first, acked=first,
        )  # fmt: skip
        self.sender = core().sender_new(ctypes.addressof(flow), kind, 0)
        self.receiver = core().receiver_new(kind, first)
        self.now = 0
        # number, when it left, AckReq, trimmed
        self.forward: deque[tuple[int, int, bool, bool]] = deque()
        # answer, PSN, packets in order, when its packet left
        self.back: deque[tuple[int, int, int, int]] = deque()
        self.first, self.in_flight, self.known = first, dict[int, int](), set[int]()
        self.taken: list[int] = []
        self.acked_bytes = self.lost_bytes = 0

    def close(self):
        core().sender_free(self.sender)
        core().receiver_free(self.receiver)

    def size(self, number: int) -> int:
        return LAST if number + 1 == self.packets else FRAME

    def check(self):
        assert core().in_flight(self.sender) == sum(map(self.size, self.in_flight))
        # neither an answer nor the timer would come
        if not self.in_flight and not core().complete(self.sender):
            assert core().is_open(self.sender)

    def send(self, lost: bool, trimmed: bool = False) -> bool:
        """False: the window is full, or nothing is left."""
        if not core().is_open(self.sender):
            return False
        self.now += 1
        asks, before = ctypes.c_bool(), sum(map(self.size, self.in_flight))
        number = core().start(self.sender, self.now, ctypes.addressof(asks))
        assert self.first <= number < self.packets
        assert number not in self.in_flight
        self.in_flight[number] = self.now
        # then no request was on its way, and this is one
        if before + self.size(number) > self.window_bytes:
            assert asks.value
        if not lost:
            self.forward.append((number, self.now, asks.value, trimmed))
        self.check()
        return True

    def arrive(self, lost: bool):
        """The first packet arrives; its answer may be lost."""
        number, left, asks, trimmed = self.forward.popleft()
        fresh = ctypes.c_bool()
        if trimmed:
            answer = core().trimmed(self.receiver, number % PSNS)
        else:
            answer = core().take(self.receiver, number % PSNS, asks, ctypes.addressof(fresh))
        if fresh.value:
            self.taken.append(number)
        in_order = core().next_of(self.receiver)
        psn = (in_order if answer == NAK and self.kind is Repeats.GO_BACK_N else number) % PSNS
        if answer != SILENT and not lost:
            self.back.append((answer, psn, in_order, left))

    def answer(self):
        """The first answer arrives."""
        answer, psn, in_order, left = self.back.popleft()
        news = (ctypes.c_uint64 * 2)()
        if answer == NAK:
            assert core().refused(self.sender, psn, left, ctypes.addressof(news))
        else:
            assert core().acknowledged(
                self.sender, psn, in_order % PSNS, left, ctypes.addressof(news)
            )
        come = set(range(self.first, in_order))
        number = in_order + (psn - in_order + PSNS // 2) % PSNS - PSNS // 2
        trimmed = answer == NAK and self.kind is Repeats.SELECTIVE
        if trimmed:
            come = set()
        elif self.kind is Repeats.SELECTIVE:
            come.add(number)
        new = come - self.known
        self.known |= come
        assert news[0] == sum(map(self.size, new))
        self.in_flight = {n: at for n, at in self.in_flight.items() if n not in self.known}
        lost: dict[int, int] = {}
        if trimmed:
            lost = {n: at for n, at in self.in_flight.items() if (n, at) == (number, left)}
        elif self.kind is Repeats.SELECTIVE:
            lost = {n: at for n, at in self.in_flight.items() if at < left}
        elif answer == NAK and in_order >= max(self.known, default=-1) + 1:
            lost = dict(self.in_flight)
        assert news[1] == sum(map(self.size, lost))
        self.in_flight = {n: at for n, at in self.in_flight.items() if n not in lost}
        self.acked_bytes += news[0]
        self.check()

    def timeout(self):
        news = (ctypes.c_uint64 * 2)()
        core().timeout(self.sender, ctypes.addressof(news))
        assert news[1] == sum(map(self.size, self.in_flight))
        self.in_flight = {}
        self.check()

    def finish(self):
        """From now on nothing is lost."""
        for _ in range(20 * (self.packets - self.first) + 20):
            if core().complete(self.sender):
                break
            for _ in range(self.packets - self.first):
                if not self.send(False):
                    break
            else:
                assert not core().is_open(self.sender)
            while self.forward:
                self.arrive(False)
            if not self.back:
                self.timeout()
            while self.back:
                self.answer()
        assert core().complete(self.sender)
        assert sorted(self.taken) == list(range(self.first, self.packets))
        assert self.acked_bytes == sum(map(self.size, range(self.first, self.packets)))
        assert not core().is_open(self.sender)


def disturb(channel: Channel, p_lose: float, rng: Random):
    """Something happens."""
    step = rng.randrange(100)
    if step < 40:
        channel.send(rng.random() < p_lose, rng.random() < p_lose)
    elif step < 70 and channel.forward:
        channel.arrive(rng.random() < p_lose)
    elif step < 98 and channel.back:
        channel.answer()
    elif step == 99:
        channel.timeout()


@given(
    st.sampled_from([Repeats.GO_BACK_N, Repeats.SELECTIVE]),
    st.integers(1, 60),
    st.sampled_from([1.0, 1058.0, 5290.0, 80_000.0, float("inf")]),
    st.integers(0, 5),
    st.sampled_from([0, PSNS - 30]),
    st.sampled_from([0.0, 0.1, 0.5]),
    st.randoms(use_true_random=False),
)
def test_flow_arrives_once_whatever_is_lost(kind, packets, window, every, first, p_lose, rng):
    channel = Channel(kind, packets, window, every, first)
    try:
        for _ in range(150):
            disturb(channel, p_lose, rng)
        channel.finish()
        if kind is Repeats.GO_BACK_N:
            assert channel.taken == sorted(channel.taken)
    finally:
        channel.close()


@pytest.mark.parametrize("kind", [Repeats.GO_BACK_N, Repeats.SELECTIVE])
@pytest.mark.parametrize("window", [1.0, 5290.0, 80_000.0])
def test_long_flow_arrives_once_whatever_is_lost(kind, window):
    for seed in range(10):
        channel, rng = Channel(kind, 400, window, seed % 6, PSNS - 100), Random(seed)
        for _ in range(1500):
            disturb(channel, 0.02 * (seed % 10), rng)
        channel.finish()
        channel.close()


@pytest.mark.parametrize("kind", [Repeats.GO_BACK_N, Repeats.SELECTIVE])
@pytest.mark.parametrize("losses", [{0}, {3}, {3, 4, 9}, {19}])
def test_loss_costs_one_packet_by_selective_repeat_and_what_followed_by_go_back_n(kind, losses):
    """20 packets at once, of a window that has room; the last one's loss needs the timer."""
    channel = Channel(kind, 20, 1e9, 1)
    for number in range(20):
        assert channel.send(number in losses)
    channel.finish()
    wanted = len(losses) if kind is Repeats.SELECTIVE else 20 - min(losses)
    assert core().repeated(channel.sender) == wanted
    channel.close()


def test_packet_that_is_lost_again_is_found_without_a_timer():
    """By an acknowledgement of what left after it was repeated."""
    channel = Channel(Repeats.SELECTIVE, 100, 10 * FRAME, 1)
    for number in range(10):
        channel.send(number == 0)
    while channel.forward:
        channel.arrive(False)
    channel.answer()
    assert channel.send(True)  # packet 0 again, lost again
    assert 0 in channel.in_flight
    while channel.back:
        channel.answer()
    assert channel.send(False)
    assert 0 in channel.in_flight
    channel.arrive(False)
    channel.answer()
    assert 0 not in channel.in_flight  # lost, and to be repeated
    channel.finish()
    assert core().repeated(channel.sender) == 2
    channel.close()


def test_packets_that_overtake_within_the_reordering_are_not_lost():
    flow = NativeTransport(
        window_bytes=1e9, packets=10, every=1, frame_bytes=FRAME, last_frame_bytes=LAST
    )
    sender, asks, news = (
        core().sender_new(ctypes.addressof(flow), 2, 3),
        ctypes.c_bool(),
        (ctypes.c_uint64 * 2)(),
    )
    for number in range(10):
        core().start(sender, number, ctypes.addressof(asks))
    lost = []
    for number in range(1, 10):
        assert core().acknowledged(sender, number, 0, number, ctypes.addressof(news))
        lost.append(news[1])
    # packet 0 left at 0: more than 3 before packet 4
    assert lost == [
        0, 0, 0, FRAME, 0, 0, 0, 0, 0,
    ]  # fmt: skip
    core().sender_free(sender)


def test_sender_refuses_answers_of_packets_that_were_not_sent():
    channel, news = Channel(Repeats.GO_BACK_N, 10, 1e9, 1), (ctypes.c_uint64 * 2)()
    for _ in range(4):
        channel.send(False)
    assert not core().acknowledged(channel.sender, 4, 0, 1, ctypes.addressof(news))
    assert not core().acknowledged(channel.sender, 3, 5, 1, ctypes.addressof(news))
    assert not core().refused(channel.sender, 4, 4, ctypes.addressof(news))
    channel.check()
    channel.close()


def test_nak_of_a_packet_that_was_acknowledged_since_changes_nothing():
    channel, news = Channel(Repeats.GO_BACK_N, 10, 1e9, 1), (ctypes.c_uint64 * 2)()
    for _ in range(4):
        channel.send(False)
    assert core().acknowledged(channel.sender, 1, 2, 1, ctypes.addressof(news))
    assert core().refused(channel.sender, 0, 1, ctypes.addressof(news))
    assert (news[0], news[1], core().in_flight(channel.sender)) == (0, 0, 2 * FRAME)
    channel.close()


def test_sender_that_goes_back_waits_for_no_request_of_before():
    """Packet 3 of 5 requested an answer, and is behind the missing one; then the window shrinks."""
    channel, news = Channel(Repeats.GO_BACK_N, 20, 1e9, 3), (ctypes.c_uint64 * 2)()
    for _ in range(5):
        channel.send(False)
    assert core().refused(channel.sender, 0, 1, ctypes.addressof(news))
    channel.in_flight = {}
    channel.send(False)
    NativeTransport.from_address(channel.sender).window_bytes = 1
    assert core().is_open(channel.sender)
    channel.close()


def test_trimmed_packet_is_repeated_once_for_each_time():
    """Selective repeat: its NAK brings back when it had left, so a second one of that start changes
    nothing."""
    channel, news = Channel(Repeats.SELECTIVE, 20, 1e9, 1), (ctypes.c_uint64 * 2)()
    for number in range(5):
        channel.send(False, number == 2)
    while channel.forward:
        channel.arrive(False)
    nak = next(answer for answer in channel.back if answer[0] == NAK)
    assert nak[1] == 2
    while channel.back:
        channel.answer()
    assert channel.send(False)  # packet 2 again
    assert 2 in channel.in_flight
    assert core().refused(channel.sender, 2, nak[3], ctypes.addressof(news))
    assert (news[0], news[1]) == (0, 0)
    channel.finish()
    assert core().repeated(channel.sender) == 1
    channel.close()


def test_receiver_answers_trimmed_packets_by_what_it_has():
    fresh = ctypes.c_bool()
    for kind, wanted in (
        (Repeats.SELECTIVE, [NAK, ACK, NAK, ACK, NAK]),
        (Repeats.GO_BACK_N, [NAK, SILENT, NAK, ACK, SILENT]),
        (Repeats.NOTHING, [SILENT] * 5),
    ):
        receiver = core().receiver_new(kind, 0)
        for psn in (0, 1, 3):
            core().take(receiver, psn, False, ctypes.addressof(fresh))
        # the NAK of 2 is on its way: 2 was sent again, and others come behind it
        if kind is Repeats.GO_BACK_N:
            assert core().trimmed(receiver, 4) == SILENT
        answers = [core().trimmed(receiver, psn) for psn in (2, 3, 2, 1, 4)]
        assert answers == wanted
        core().receiver_free(receiver)


def test_receiver_refuses_what_comes_behind_a_missing_packet_once():
    receiver, fresh = core().receiver_new(Repeats.GO_BACK_N, 0), ctypes.c_bool()
    answers = [
        core().take(receiver, psn, False, ctypes.addressof(fresh)) for psn in (0, 2, 3, 1, 3, 4, 1)
    ]
    assert answers == [SILENT, NAK, SILENT, SILENT, NAK, SILENT, ACK]
    assert core().next_of(receiver) == 2
    core().receiver_free(receiver)


@pytest.mark.parametrize(
    "wrong", [{"timeout_s": 0.0}, {"timeout_s": float("inf")}, {"reordering_s": -1.0}]
)
def test_reliability_refuses_times_that_cannot_be(wrong):
    with pytest.raises(ValueError, match=next(iter(wrong))):
        Reliability(Repeats.SELECTIVE, **wrong)
