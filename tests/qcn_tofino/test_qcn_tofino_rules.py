"""By what the rules of the two architectures differ. docs/tofino.md has these bounds."""

import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import accumulate

import pytest
from hypothesis import given, strategies as st
from qcn_rules import CELL_BYTES, InputRule, OutputRule, Point, feedback_of
from switch_model import Arrives, Departs, Event, Packet, run

from pcn.controller.marking.qcn_cp import QcnPort
from pcn.controller.marking.qcn_in_cp import Culprit
from pcn.controller.tofino.qcn import W

FRAME = 1058
GB10 = 1.25  # bytes a ns
TRANSIT_NS = 1000  # of a copy
INGRESS_NS = 500  # of a packet, before its queue


def feedback_in_v1model(queue: int, old: int, q_eq: int) -> int:
    """feedback_of of p4src/v1model/cnm.p4."""
    above = max((1 + W) * queue - (q_eq + W * old), 0)
    return min(above * QcnPort(1, q_eq, W, 1).scale_q32 >> 32, 63)


@given(
    q_eq=st.integers(1_000, 200_000), queue=st.integers(0, 4_000_000), old=st.integers(0, 4_000_000)
)
def test_feedback_is_one_less_at_most(q_eq, queue, old):
    exact = feedback_in_v1model(queue, old, q_eq)
    assert exact - 1 <= feedback_of(queue, old, q_eq) <= exact


@pytest.mark.parametrize(
    ("queue", "old", "feedback"),
    [
        (26_000, 26_000, 0),
        (
            28_064,
            28_064,
            1,
        ),  # 2,064 above: the first whole step that 5 Q_eq / 63 = 2,063.5 don't exceed
        (28_063, 28_063, 0),
        (52_000, 0, 63),  # 26,000 above and 52,000 grown, twice: 5 Q_eq
        (51_999, 0, 62),
        (0, 0, 0),
        (10_000_000, 0, 63),  # beyond all steps
        (-500, 0, 0),  # more left than was known to have come
    ],
)
def test_feedback(queue, old, feedback):
    assert feedback_of(queue, old, 26_000) == feedback


@dataclass(frozen=True)
class Sample:
    """What the input had inside when the packet arrived, what its copy showed, and what left
    between the two."""

    inside: int
    queue: int
    left: int


@dataclass(frozen=True)
class Cnm:
    flow: int
    feedback: int


def drive(rule: InputRule, events: Iterable[Event], seed: int) -> Iterator[Sample | Cnm]:
    chance = random.Random(seed)
    copies: dict[Packet, tuple[int, Arrives, int]] = {}
    left = 0
    for event in events:
        packet = event.packet
        if isinstance(event, Arrives):
            admitted = rule.arrives(packet.length, chance.getrandbits(32))
            if admitted is not None:
                copies[packet] = admitted, event, left
        elif isinstance(event, Departs):
            left += packet.length
            feedback, _ = rule.departs(
                packet.length, event.at - packet.at, INGRESS_NS, chance.getrandbits(32)
            )
            if feedback:
                yield Cnm(packet.flow, feedback)
        elif packet in copies:
            admitted, arrival, before = copies.pop(packet)
            feedback, queue = rule.copied(admitted)
            yield Sample(arrival.inside, queue - (queue >> 31 << 32), left - before)
            if feedback:
                yield Cnm(packet.flow, feedback)


packets = st.lists(
    st.builds(
        lambda after, flow, output, length: (after, flow, output, length),
        st.integers(0, 3000), st.integers(0, 3), st.integers(0, 2), st.integers(64, 9000),
    ),
    max_size=80,
)  # fmt: skip


@given(steps=packets, transit=st.integers(0, 3000), rate=st.sampled_from([0.125, GB10, 12.5]))
def test_a_sample_lacks_what_leaves_while_its_copy_is_on_its_way(steps, transit, rate):
    """By each output no more than its line carries meanwhile, and a frame that it begins to
    send."""
    now, arriving = 0, []
    for number, (after, flow, output, length) in enumerate(steps):
        now += after
        arriving.append(Packet(now, flow, output, length, number))
    rule = InputRule(Point(10_000, 1), admitted=(1 << 32) - 5000, departed=(1 << 32) - 5000)
    samples = [
        outcome
        for outcome in drive(rule, run(arriving, dict.fromkeys(range(3), rate), transit), 1)
        if isinstance(outcome, Sample)
    ]
    outputs = {output for _, _, output, _ in steps}
    longest = max((length for *_, length in steps), default=0)
    for sample in samples:
        assert sample.queue == sample.inside - sample.left
        assert 0 <= sample.left <= len(outputs) * (transit * rate + longest + 1)


def constant(
    inside: dict[int, int], rates: dict[int, float], until_ns: int, seed: int
) -> Iterator[Packet]:
    """A constant number of packets of each flow is inside: one comes when one leaves. Flow n leaves
    by output n."""
    chance = random.Random(seed)
    for flow, n in inside.items():
        leaves: list[float] = []
        while not leaves or leaves[-1] < until_ns:
            at = leaves[-n - 1] if len(leaves) > n else 0.0
            begins = leaves[-1] if leaves else 0.0
            length = chance.randint(64, 2 * FRAME - 64)
            yield Packet(round(at), flow, flow, length, len(leaves))
            leaves.append(max(begins, at) + length / rates[flow])


SLOW_AND_FAST = ({1: 30, 2: 10}, {1: GB10 / 4, 2: GB10})


def shares(
    point: Point, inside: dict[int, int], rates: dict[int, float], until_ns: int = 12_000_000
) -> tuple[float, int]:
    """Flow 1's share of all notifications, and their number."""
    events = run(constant(inside, rates, until_ns, 5), rates, TRANSIT_NS)
    notified = Counter(
        outcome.flow for outcome in drive(InputRule(point), events, 1) if isinstance(outcome, Cnm)
    )
    return notified[1] / notified.total(), notified.total()


@pytest.mark.parametrize(
    ("inside", "rates", "sides"),
    [
        ({1: 30, 2: 30}, {1: GB10, 2: GB10}, 2),
        ({1: 40, 2: 1}, {1: GB10 / 4, 2: GB10}, 2),
        (*SLOW_AND_FAST, 2),
        (*SLOW_AND_FAST, 8),
    ],
)
def test_sojourn_notifies_by_the_bytes_inside(inside, rates, sides):
    """P = q_n / q, within three binomial standard deviations, if the draw has enough values."""
    longest = max(n * FRAME / rates[flow] for flow, n in inside.items())
    share, notified = shares(
        Point(1000, 30_000, Culprit.SOJOURN, round(sides * longest)), inside, rates
    )
    expected = inside[1] / sum(inside.values())
    assert notified > 175
    assert abs(share - expected) < 3 * math.sqrt(expected * (1 - expected) / notified), (
        share,
        notified,
    )


def test_draw_with_too_few_values_notifies_by_departures():
    assert shares(Point(1000, 30_000, Culprit.SOJOURN, 1), *SLOW_AND_FAST)[0] < 0.3


def test_arrival_notifies_by_arrivals():
    share, notified = shares(Point(1000, 30_000), *SLOW_AND_FAST)
    assert abs(share - 0.2) < 3 * math.sqrt(0.2 * 0.8 / notified)


@given(
    steps=st.lists(st.tuples(st.integers(0, 3000), st.integers(64, 9000)), max_size=80),
    seed=st.integers(0, 99),
)
def test_an_output_samples_the_same_packets_as_at_their_arrival(steps, seed):
    """v1model decides then, by the bytes that wait with this packet. Here it is the cells that it
    found."""
    chance = random.Random(seed)
    point = Point(10_000, 20_000)
    draws = [chance.getrandbits(32) for _ in steps]
    times = accumulate(after for after, _ in steps)
    arriving = [
        Packet(at, 1, 0, length, number)
        for number, (at, (_, length)) in enumerate(zip(times, steps, strict=True))
    ]
    waiting: dict[int, int] = {}  # bytes, by number
    after = 0
    sampled: dict[int, list[int]] = {}  # what was found
    queued: dict[int, list[int]] = {}
    rule = OutputRule(point)
    for event in run(arriving, {0: GB10}, 0):
        packet, draw = event.packet, draws[event.packet.number]
        if isinstance(event, Arrives):
            queued[packet.number] = list(waiting.values())
            if packet.length >= after:
                sampled[packet.number] = queued[packet.number]
            after = point.next_sample(draw) if packet.length >= after else after - packet.length
            waiting[packet.number] = packet.length
        elif isinstance(event, Departs):
            del waiting[packet.number]
            cells = sum(-(-length // CELL_BYTES) for length in queued[packet.number])
            before = rule.old
            feedback, queue = rule.departs(packet.length, cells, draw)
            assert rule.sampled == (packet.number in sampled)
            if rule.sampled:
                there = sum(sampled[packet.number])
                assert there <= queue <= there + (CELL_BYTES - 1) * len(sampled[packet.number])
                assert feedback == feedback_of(queue, before, point.q_eq)
