"""The NIC in C against the model of it in Python: the same events bring the same frames, at the
same times.

The C side's times are whole picoseconds. So all that happens here is at whole picoseconds, rates
have gaps of whole picoseconds, and the model reckons in fractions of a second, exactly.
"""

import math
import random
from fractions import Fraction

import pytest
from hypothesis import given, settings, strategies as st
from nic_model import ModelFlow, ModelNic

from pcn.hosts.nic import Nic, NicFlow

LINE = 10_000_000_000
S = 10**12  # picoseconds
US = 10**6
FRAME = 8464 * S // LINE
PSNS = 1 << 24
LATE = (0, 0, FRAME // 10, 3 * FRAME, 40 * FRAME)


def equal(real: float, model: Fraction | float) -> bool:
    """Times in seconds, of the C side and of the model."""
    return real == model if math.isinf(model) else round(real * S) == model * S


class Twins:
    """A NIC and its model, to which the same happens. Every difference of what they do fails."""

    def __init__(self, rng: random.Random):
        self.rng = rng
        self.now = 0  # ps
        self.ended = ([], [])
        self.expired = ([], [])
        delay, catch_up = rng.choice([0, 5 * US]), rng.choice([0, 3 * FRAME])
        self.real = Nic(
            LINE,
            delay_s=delay / S,
            catch_up_s=catch_up / S,
            on_end=lambda flow, at_s: self.ended[0].append((self.flows.index(flow), at_s)),
            on_expiry=lambda priority, at_s: self.expired[0].append((priority, at_s)),
        )
        self.model = ModelNic(
            Fraction(LINE),
            delay_s=Fraction(delay, S),
            catch_up_s=Fraction(catch_up, S),
            on_end=lambda flow, at_s: self.ended[1].append((self.models.index(flow), at_s)),
            on_expiry=lambda priority, at_s: self.expired[1].append((priority, at_s)),
        )
        self.flows: list[NicFlow] = []
        self.models: list[ModelFlow] = []
        self.left = self.acked = 0

    @property
    def now_s(self) -> float:
        """For the C side."""
        return self.now / S

    @property
    def model_s(self) -> Fraction:
        """For the model."""
        return Fraction(self.now, S)

    def rate(self, bits: int, least: float) -> Fraction:
        """From `least` to line rate."""
        highest = self.rng.random() < 0.5
        return Fraction(
            bits * S, round(bits * S / (LINE if highest else self.rng.uniform(least, LINE)))
        )

    def window(self, bits: int) -> float:
        """Bits: no limit, or from less than a frame on."""
        return self.rng.choice([math.inf, math.inf, bits * self.rng.randint(1, 8), bits // 2])

    def running(self) -> list[int]:
        return [number for number, flow in enumerate(self.flows) if flow in self.real.flows]

    def add(self):
        rng = self.rng
        priority, bits = rng.choice([0, 3, 3, 3]), rng.choice([8464, 8464, 528, 72464])
        rate, start = self.rate(bits, 1e6), self.now + rng.choice([0, rng.randint(0, 10 * US)])
        end = start + rng.randint(US // 10, 100 * US) if rng.random() < 0.2 else math.inf
        length = {
            "packets": rng.choice([None, None, rng.randint(1, 30)]),
            "last_bits": rng.choice([None, bits // 2]),
        }
        every, window = rng.choice([0, 0, 1, 4]), self.window(bits)
        psn = rng.choice([0, PSNS - 3])
        real = NicFlow(
            *(priority, bits, float(rate), start / S),
            **{
                "end_s": end / S, "every": every, "window_bytes": window / 8, "first_psn": psn,
                **length,
            },
        )  # fmt: skip
        self.flows.append(real)
        model_end = end if math.isinf(end) else Fraction(end, S)
        model = ModelFlow(
            *(priority, bits, rate, Fraction(start, S)),
            **{"end_s": model_end, "every": every, "window_bits": window, **length},
        )
        self.models.append(model)
        self.real.add(self.flows[-1], self.now_s)
        self.model.add(self.models[-1], self.model_s)

    def act(self):
        """Something happens now."""
        rng, action = self.rng, self.rng.randrange(8)
        self.advance()
        running = self.running()
        if action == 0 and len(running) < 6:
            self.add()
        elif action in (1, 2) and running:
            number = rng.choice(running)
            rate = self.rate(self.flows[number].frame_bits, 1e5)
            self.real.set_rate(self.flows[number], float(rate), self.now_s)
            self.model.set_rate(self.models[number], rate, self.model_s)
        elif action == 3:
            quanta = {rng.choice([0, 3, 3]): rng.choice([0, 0, 20, 200, 0xFFFF]) for _ in range(2)}
            self.real.pfc(quanta, self.now_s)
            self.model.pfc(quanta, self.model_s)
        elif action == 4:
            frame = bytes(rng.choice([60, 74, 1400]))
            self.real.send_control(frame, self.now_s)
            self.model.send_control(frame, self.model_s)
        elif action == 6 and running:
            self.acknowledge(rng.choice(running))
        elif action == 7 and running:
            number = rng.choice(running)
            window = self.window(self.flows[number].frame_bits)
            self.real.set_window(self.flows[number], window / 8, self.now_s)
            self.model.set_window(self.models[number], window, self.model_s)
        elif action == 5 and running and rng.random() < 0.3:
            number = rng.choice(running)
            self.real.remove(self.flows[number], self.now_s)
            self.model.remove(self.models[number], self.model_s)
        elif action == 5 and rng.random() < 0.1:
            self.real.reset_counters(self.now_s)
            self.model.reset_counters(self.model_s)

    def acknowledge(self, number: int):
        """Of a packet that requested it, the first in flight or a later one; or of one that never
        was sent."""
        real, model = self.flows[number], self.models[number]
        waiting = [packet for packet in model.requests if packet >= model.acked]
        first_psn = real.transport.first_psn
        if not waiting:
            assert self.real.acknowledge(real, (first_psn + model.started) % PSNS, self.now_s) == -1
            return
        packet = self.rng.choice(waiting)
        got = self.real.acknowledge(real, (first_psn + packet) % PSNS, self.now_s)
        assert got * 8 == self.model.acknowledge(model, packet, self.model_s)
        self.acked += 1

    def advance(self):
        self.real.advance(self.now_s)
        self.model.advance(self.model_s)

    def send(self, most: int = 1 << 30):
        """What is due leaves, `most` frames of it: the kernel refuses the rest."""
        self.advance()
        for _ in range(most):
            left, expected = self.real.due(self.now_s), self.model.due(self.model_s)
            if left is None or expected is None:
                assert left is expected is None
                return
            due_s, flow, frame_or_number = expected
            assert equal(left.due_s, due_s)
            if flow is None:
                assert (left.flow, left.frame) == (None, frame_or_number)
            else:
                assert left.flow is self.flows[self.models.index(flow)]
                assert left.number == frame_or_number
            self.left += 1

    def pass_time(self):
        """Until later, waking as the NIC wants, now and then late."""
        until = self.now + self.rng.randint(0, self.rng.choice([FRAME, 10 * US, 50 * US]))
        for _ in range(500):
            wake_s = self.real.wake()
            assert equal(wake_s, self.model.wake())
            wake = max(self.now, wake_s * S) + self.rng.randint(0, self.rng.choice(LATE))
            if wake > until:
                break
            self.now = round(wake)
            self.send(self.rng.choice([1, 2, 1 << 30, 1 << 30]))
        self.now = max(self.now, until)

    def compare(self):
        self.real.account(self.now_s)
        self.model.account(self.model_s)
        assert self.real.allowed_bits == pytest.approx(self.model.allowed_bits, rel=1e-9)
        assert self.real.started_bits == self.model.started_bits
        for real, model in ((self.ended[0], self.ended[1]), (self.expired[0], self.expired[1])):
            for (subject, at_s), (model_subject, model_s) in zip(real, model, strict=True):
                assert subject == model_subject
                assert equal(at_s, model_s)
        for priority, (pause, expected) in enumerate(
            zip(self.real.pauses, self.model.pauses, strict=True)
        ):
            assert (pause.pause, pause.resume, pause.expired) == (
                expected.pause,
                expected.resume,
                expected.expired,
            )
            assert equal(
                self.real.paused_s(priority, self.now_s),
                self.model.paused_s(priority, self.model_s),
            )
        for flow, model_flow in zip(self.flows, self.models, strict=True):
            assert (flow.started, flow.rate_bps) == (model_flow.started, float(model_flow.rate_bps))
            assert not flow.started or flow.base_ps == model_flow.base_s * S
            assert (flow.transport.sent, flow.transport.acked) == (
                model_flow.started,
                model_flow.acked,
            )


@settings(settings.get_profile("few"))
@given(st.randoms(use_true_random=False))
def test_the_nic_does_what_the_model_does(rng):
    twins = Twins(rng)
    for _ in range(40):
        twins.act()
        if rng.random() < 0.7:
            twins.pass_time()
        twins.compare()


def test_long_runs_do_too():
    """And what is compared happens: frames leave, flows end, pauses run out."""
    left = ended = expired = acked = waited = 0
    for seed in range(6):
        twins = Twins(random.Random(seed))
        for _ in range(400):
            twins.act()
            twins.pass_time()
        twins.compare()
        left += twins.left
        ended += len(twins.ended[0])
        expired += len(twins.expired[0])
        acked += twins.acked
        waited += sum(model.closed for model in twins.models)
    assert left > 6_000
    assert ended > 90
    assert expired > 30
    assert acked > 90
    assert waited > 6
