"""Events as hosts bring them to RPs and NPs, drawn from a seed: many thousands of each kind."""

from __future__ import annotations

import dataclasses
import math
import random
from collections.abc import Iterable, Iterator
from typing import Any

from .base import (
    Ack,
    Cnm,
    Cnp,
    Demand,
    Grant,
    Hop,
    Loss,
    Mark,
    NotificationPoint,
    ReactionPoint,
    Telemetry,
    Turn,
    Window,
)

EVENTS = 3000
"""How many there are for each RP or NP."""
_MOST_RATE_BPS = (2**32 - 1) * 1e6
"""RecRate's largest value on the wire."""

Event = tuple[str, Any, float]
"""The method's name, its first argument (None: it has none), and the time, seconds."""


def rp_events(rp: ReactionPoint, np: NotificationPoint, seed: int) -> Iterator[Event]:
    """Yields what a host brings to an RP, which decides by its state what can come. CNPs are its
    own NP's, or any that the wire can carry. Events may be far apart, or at the same time."""
    rng = random.Random(seed)
    cnps = [
        cnp
        for cnp in (bring(np, arrival) for arrival in np_events(np, seed))
        if isinstance(cnp, Cnp)
    ]
    now_s, granted_bytes = rng.uniform(0, 1e-3), 0
    yield "on_start", None, now_s
    for _ in range(EVENTS - 1):
        step_s = rng.choice((0.0, 1e-3)) if rng.random() < 0.02 else rng.expovariate(1 / 20e-6)
        if rp.timer_s is not None and rp.timer_s <= now_s + step_s:
            now_s = rp.timer_s
            yield "on_timer", None, now_s
            continue
        now_s += step_s
        rp.sent_bytes += round(rp.rate_bps * step_s / 8)
        if rp.due_bytes is not None and rp.sent_bytes >= rp.due_bytes:
            yield "on_bytes_sent", None, now_s
            continue
        if np.grants:
            rp.left_bytes = rng.choice((None, 0, rng.randint(0, 10**4), rng.randint(0, 10**9)))
        kinds = (
            ["own cnp"] * 2 * bool(cnps) + ["ack"] * 2 * rp.wants_acks + ["grant"] * 2 * np.grants
        )
        kind = rng.choice([*kinds, "cnp", "cnm", "loss"])
        if kind == "own cnp":
            yield "on_cnp", _on_the_wire(rng.choice(cnps)), now_s
        elif kind == "cnp":
            yield "on_cnp", _any_cnp(rp, rng), now_s
        elif kind == "grant":
            granted_bytes += 256 * rng.choice((0, 16, rng.randrange(1 << 16)))
            yield "on_grant", Grant(granted_bytes), now_s
        elif kind == "loss":
            lost_bytes = rng.choice((62, 1058, rng.randint(62, 10**9)))
            rtt_s = rng.choice((0.0, 1e-12, rng.uniform(5e-6, 2e-3)))
            yield "on_loss", Loss(lost_bytes, rng.random() < 0.3, rtt_s), now_s
        elif kind == "cnm":
            yield "on_cnm", Cnm(rng.choice((0, 63, rng.randint(0, 63)))), now_s
        else:
            rtt_s = rng.choice((0.0, 1e-12, 5e-6, rng.uniform(5e-6, 2e-3), 0.1, 1e4))
            acked = rng.choice((0, 62, 1058, rng.randint(62, 10**9)))
            telemetry = _telemetry(rng, now_s) if rp.wants_telemetry else None
            yield (
                "on_ack",
                Ack(
                    rtt_s, rng.choice(list(Mark)), acked, rng.randrange(1 << 24), 0xC001, telemetry
                ),
                now_s,
            )


def _telemetry(rng: random.Random, now_s: float) -> Telemetry | None:
    """Returns telemetry, or None: mostly of one path whose clocks and counters go on, else any that
    the wire can carry."""
    if rng.random() < 0.1:
        return None
    if rng.random() < 0.8:
        tick = int(now_s * 1e6)
        hops = [
            (rate, tick % 2**24, tick * rng.randrange(100, 2000) // 128 * 128 % 2**27)
            for rate in (10e9, 100e9)
        ]
        return Telemetry(
            7, 1e-6, tuple(Hop(*hop, rng.choice((0, 64 * rng.randrange(2**10)))) for hop in hops)
        )
    rates = (0.0, 1e8, 1e9, 100e9, 1600e9)
    any_hops = (
        Hop(
            rng.choice(rates),
            rng.randrange(2**24),
            rng.randrange(2**20) * 128,
            rng.randrange(2**16) * 64,
        )
        for _ in range(rng.randrange(6))
    )
    return Telemetry(
        rng.choice((7, rng.randrange(2**16))), rng.choice((1e-6, 1e-9)), tuple(any_hops)
    )


def _any_cnp(rp: ReactionPoint, rng: random.Random) -> Cnp:
    """Returns a CNP with any mark, and any rate except those that hosts drop."""
    rate_bps = rng.choice((0.0, 1e6, 1e6 * rng.randrange(1, 2**32), _MOST_RATE_BPS))
    return Cnp(rng.choice(list(Mark)), rate_bps or (1e6 if rp.needs_rec_rate else 0.0))


def _on_the_wire(cnp: Cnp) -> Cnp:
    """Returns the CNP as the RP gets it: its rate in whole Mbit/s, at least 1."""
    if not 0 < cnp.rec_rate_bps < math.inf:
        return cnp
    return dataclasses.replace(cnp, rec_rate_bps=max(1, round(cnp.rec_rate_bps / 1e6)) * 1e6)


def np_events(np: NotificationPoint, seed: int) -> Iterator[Event]:
    """Yields what a host brings to an NP: windows, empty and full, of packets of all sizes, and
    marked packets. A window's last packet may come with the next one's first, or a picosecond
    before."""
    rng = random.Random(seed)
    if np.grants:
        yield from _demands(rng)
        return
    period_s = np.period_s or 50e-6
    for number in range(1, EVENTS + 1):
        end_s = number * period_s
        if np.period_s is None or rng.random() < 0.3:
            yield "on_marked", None, end_s
            continue
        packets = rng.choice((0, 1, 2, rng.randint(3, 400)))
        ce = rng.choice((0, packets, rng.randint(0, packets)))
        ue = rng.randint(0, packets - ce)
        edges = (end_s - period_s, end_s - period_s + 1e-12, end_s)
        times = sorted(
            rng.choice((*edges, end_s - period_s * rng.random()))
            for _ in range(2 if packets > 1 else 1)
        )
        first_s, last_s = (times[0], times[-1]) if packets else (0.0, 0.0)
        size = rng.choice((62, 1058, 9216))
        yield "on_window", Window(packets, ce, ue, packets * size, first_s, last_s), end_s


def _demands(rng: random.Random) -> Iterator[Event]:
    """Yields demands, some of them late, and turns by both lists."""
    now_s, demanded_bytes = rng.uniform(0, 1e-3), 0
    for _ in range(EVENTS):
        now_s += rng.choice((0.0, rng.expovariate(1 / 1e-6)))
        if rng.random() < 0.5:
            yield "on_turn", rng.choice((Turn.ACTIVE, Turn.ACTIVE, Turn.IDLE)), now_s
            continue
        demanded_bytes += 256 * rng.choice((0, 4, rng.randrange(1 << 10)))
        late_bytes = min(256 * rng.choice((0, 0, 4, 100)), demanded_bytes)
        yield "on_demand", Demand(demanded_bytes - late_bytes, rng.random() < 0.2), now_s


def bring(point: ReactionPoint | NotificationPoint, event: Event) -> Cnp | None:
    name, argument, now_s = event
    if name == "on_window":
        return getattr(point, name)(argument)  # type: ignore[no-any-return]
    arguments: Iterable[Any] = (now_s,) if argument is None else (argument, now_s)
    return getattr(point, name)(*arguments)  # type: ignore[no-any-return]


def event_text(event: Event) -> str:
    name, argument, now_s = event
    if argument is None or isinstance(argument, Turn):
        return f"{name}({'' if argument is None else f'{argument.name}, '}{now_s:.9f})"
    fields = (
        dataclasses.asdict(argument)  # type: ignore[arg-type]
        if dataclasses.is_dataclass(argument)
        else argument._asdict()
    )
    inside = ", ".join(f"{key}={getattr(value, 'name', value)}" for key, value in fields.items())
    return f"{name}({type(argument).__name__}({inside}))"
