"""The NIC in C against the model of it in Python: the same events bring the same frames, at the same times."""

from __future__ import annotations

import random

from hypothesis import given
from hypothesis import strategies as st
from nic_model import ModelFlow, ModelNic

from hosts.nic import Nic, NicFlow

LINE = 10e9
FRAME_S = 8464 / LINE
LATE = (0.0, 0.0, 0.1 * FRAME_S, 3 * FRAME_S, 40 * FRAME_S)


class Twins:
    """A NIC and its model, to which the same happens. Every difference of what they do fails."""

    def __init__(self, rng: random.Random) -> None:
        self.rng = rng
        self.now = 0.0
        self.ended: tuple[list[tuple[int, float]], ...] = ([], [])
        self.expired: tuple[list[tuple[int, float]], ...] = ([], [])
        options = {"delay_s": rng.choice([0.0, 5e-6]), "catch_up_s": rng.choice([0.0, 3 * FRAME_S])}
        self.real = Nic(
            LINE,
            on_end=lambda flow, at_s: self.ended[0].append((self.flows.index(flow), at_s)),
            on_expiry=lambda priority, at_s: self.expired[0].append((priority, at_s)),
            **options,
        )
        self.model = ModelNic(
            LINE,
            on_end=lambda flow, at_s: self.ended[1].append((self.models.index(flow), at_s)),
            on_expiry=lambda priority, at_s: self.expired[1].append((priority, at_s)),
            **options,
        )
        self.flows: list[NicFlow] = []
        self.models: list[ModelFlow] = []
        self.left = 0

    def running(self) -> list[int]:
        return [number for number, flow in enumerate(self.flows) if flow in self.real.flows]

    def add(self) -> None:
        rng = self.rng
        priority, bits = rng.choice([0, 3, 3, 3]), rng.choice([8464, 8464, 528, 72464])
        rate, start = rng.choice([LINE, rng.uniform(1e6, LINE)]), self.now + rng.choice([0.0, rng.uniform(0, 1e-5)])
        packets = rng.choice([None, None, rng.randint(1, 30)])
        end_s = start + rng.uniform(1e-7, 1e-4) if rng.random() < 0.2 else float("inf")
        last_bits = rng.choice([None, bits // 2])
        self.flows.append(NicFlow(priority, bits, rate, start, packets=packets, last_bits=last_bits, end_s=end_s))
        self.models.append(ModelFlow(priority, bits, rate, start, packets=packets, last_bits=last_bits, end_s=end_s))
        self.real.add(self.flows[-1], self.now)
        self.model.add(self.models[-1], self.now)

    def act(self) -> None:
        """Something happens now."""
        rng, action = self.rng, self.rng.randrange(6)
        self.advance()
        running = self.running()
        if action == 0 and len(running) < 6:
            self.add()
        elif action in (1, 2) and running:
            number, rate = rng.choice(running), rng.choice([LINE, rng.uniform(1e5, LINE)])
            self.real.set_rate(self.flows[number], rate, self.now)
            self.model.set_rate(self.models[number], rate, self.now)
        elif action == 3:
            quanta = {rng.choice([0, 3, 3]): rng.choice([0, 0, 20, 200, 0xFFFF]) for _ in range(2)}
            self.real.pfc(quanta, self.now)
            self.model.pfc(quanta, self.now)
        elif action == 4:
            frame = bytes(rng.choice([60, 74, 1400]))
            self.real.send_control(frame, self.now)
            self.model.send_control(frame, self.now)
        elif action == 5 and running and rng.random() < 0.3:
            number = rng.choice(running)
            self.real.remove(self.flows[number], self.now)
            self.model.remove(self.models[number], self.now)
        elif action == 5 and rng.random() < 0.1:
            self.real.reset_counters(self.now)
            self.model.reset_counters(self.now)

    def advance(self) -> None:
        self.real.advance(self.now)
        self.model.advance(self.now)

    def send(self, most: int = 1 << 30) -> None:
        """What is due leaves, `most` frames of it: the kernel refuses the rest."""
        self.advance()
        for _ in range(most):
            left, expected = self.real.due(self.now), self.model.due(self.now)
            if left is None or expected is None:
                assert left is expected is None
                return
            due_s, flow, what = expected
            assert left.due_s == due_s
            if flow is None:
                assert (left.flow, left.frame) == (None, what)
            else:
                assert left.flow is self.flows[self.models.index(flow)]
                assert left.number == what
            self.left += 1

    def pass_time(self) -> None:
        """Until later, waking as the NIC wants, now and then late."""
        until = self.now + self.rng.choice([FRAME_S, 1e-5, 5e-5]) * self.rng.random()
        for _ in range(500):
            assert self.real.wake() == self.model.wake()
            wake = max(self.now, self.real.wake()) + self.rng.choice(LATE) * self.rng.random()
            if wake > until:
                break
            self.now = wake
            self.send(self.rng.choice([1, 2, 1 << 30, 1 << 30]))
        self.now = max(self.now, until)

    def compare(self) -> None:
        for nic in (self.real, self.model):
            nic.account(self.now)
        assert self.real.allowed_bits == self.model.allowed_bits
        assert self.real.sent_bits == self.model.sent_bits
        assert self.ended[0] == self.ended[1]
        assert self.expired[0] == self.expired[1]
        for priority, (real, model) in enumerate(zip(self.real.pauses, self.model.pauses, strict=True)):
            assert (real.pause, real.resume, real.expired) == (model.pause, model.resume, model.expired)
            assert self.real.paused_s(priority, self.now) == self.model.paused_s(priority, self.now)
        for flow, model_flow in zip(self.flows, self.models, strict=True):
            assert (flow.sent, flow.next_s, flow.rate_bps) == (model_flow.sent, model_flow.next_s, model_flow.rate_bps)


@given(st.randoms(use_true_random=False))
def test_the_nic_does_what_the_model_does(rng: random.Random) -> None:
    twins = Twins(rng)
    for _ in range(40):
        twins.act()
        if rng.random() < 0.7:
            twins.pass_time()
        twins.compare()


def test_long_runs_do_too() -> None:
    """And what is compared happens: frames leave, flows end, pauses run out."""
    left = ended = expired = 0
    for seed in range(20):
        twins = Twins(random.Random(seed))
        for _ in range(400):
            twins.act()
            twins.pass_time()
        twins.compare()
        left += twins.left
        ended += len(twins.ended[0])
        expired += len(twins.expired[0])
    assert left > 20_000
    assert ended > 300
    assert expired > 100
