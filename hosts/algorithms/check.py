"""Whether a scheme's RP and NP keep the rules of `base`: what `pcn scheme check` runs.

Both are driven by events as hosts bring them, many thousands of each kind, drawn from a seed: what breaks a rule is
named with the event that did it. They have to be functions of their events: no clock, no random numbers, no state that
flows share."""

from __future__ import annotations

import dataclasses
import gc
import math
import random
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from softswitch.units import KINDS
from topologies.errors import nearest

from .base import (
    Ack,
    Cnm,
    Cnp,
    Demand,
    Grant,
    Hop,
    Loss,
    Mark,
    NetworkFacts,
    NotificationPoint,
    ReactionPoint,
    Telemetry,
    Turn,
    Window,
    c_file,
)
from .discovery import find_scheme
from .parameters import describe
from .scheme import Configured, Scheme

LINE_RATES_BPS = (1e9, 10e9, 100e9)
_EVENTS = 3000
_FLOWS = 4
_SLOW = 20.0
"""Calls that take longer than PCN's by this factor make virtual time slow."""
_OWN_CLOCKS = {"time", "random", "_random", "secrets", "posix", "_socket", "datetime", "numpy.random"}


@dataclass(frozen=True)
class Finding:
    """One rule, and what was seen of it: kept, or not."""

    rule: str
    kept: bool
    seen: str


class _BrokenError(Exception):
    """A rule is broken; the text names the place."""


MOST_RATE_BPS = (2**32 - 1) * 1e6
"""RecRate's largest value on the wire."""

Event = tuple[str, Any, float]
"""The method's name, its first argument (None: it has none), and the time, seconds."""


def check(scheme: Scheme, seed: int = 1) -> list[Finding]:
    """Returns every rule with its verdict, in order, except `cost`."""
    rules: list[tuple[str, Callable[[], str]]] = [
        ("parameters have a unit, bounds and a meaning", lambda: _parameters(scheme)),
        ("events are those that hosts bring", lambda: _methods(scheme)),
        ("rates are finite, above 0 and at most the line rate", lambda: _rates(scheme, seed)),
        ("windows are answered by a CNP or nothing", lambda: _notifications(scheme, seed)),
        ("the same events give the same, whatever other flows do", lambda: _deterministic(scheme, seed)),
        ("no clock, random number, file or socket", lambda: _closed(scheme, seed)),
    ]
    for end, make, same in (
        ("RP", lambda: scheme.configure().new_rp(1e9), _in_c),
        ("NP", lambda: scheme.configure().new_np(), _np_in_c),
    ):
        if c_file(type(make())) is not None:
            rules.append((f"the {end} in C decides what the {end} in Python does", partial(same, scheme, seed)))
    found: list[Finding] = []
    for rule, test in rules:
        found.append(_verdict(rule, test))
        if not found[-1].kept and rule.startswith("rates"):
            break  # what comes after goes by its rates
    return found


def _verdict(rule: str, test: Callable[[], str]) -> Finding:
    try:
        return Finding(rule, True, test())
    except _BrokenError as broken:
        return Finding(rule, False, str(broken))
    except Exception as error:
        frame = error.__traceback__
        while frame is not None and frame.tb_next is not None:
            frame = frame.tb_next
        place = f" ({frame.tb_frame.f_code.co_filename}:{frame.tb_lineno})" if frame else ""
        return Finding(rule, False, f"{type(error).__name__}: {error}{place}")


# ---- the rules ----


def _parameters(scheme: Scheme) -> str:
    fields = describe(scheme.parameters)
    for one in fields:
        if one.kind not in KINDS:
            raise _BrokenError(f"{one.field} is a {one.kind!r}: it has to be one of {', '.join(KINDS)}")
        if not one.what:
            raise _BrokenError(
                f"{one.field} is a bare field: declare it with hosts.algorithms.parameters.parameter(...)"
            )
        one.check(one.default)
    recommended = scheme.recommended(NetworkFacts(4, 500e-6))
    scheme.configure(dict(recommended))
    return f"{len(fields)}: {', '.join(one.name for one in fields)}" if fields else "it has none"


def _methods(scheme: Scheme) -> str:
    configured = scheme.configure()
    ends = (configured.new_rp(LINE_RATES_BPS[0]), ReactionPoint), (configured.new_np(), NotificationPoint)
    own: list[str] = []
    for end, base in ends:
        for name in (name for name in dir(end) if name.startswith("on_")):
            if not hasattr(base, name):
                raise _BrokenError(f"{type(end).__name__}.{name}: no host calls it; {nearest(name, _events_of(base))}")
            if getattr(type(end), name, None) is not getattr(base, name):
                own.append(name)
    return ", ".join(own) or "it reacts to none"


def _events_of(base: type[object]) -> list[str]:
    return [name for name in dir(base) if name.startswith("on_")]


def _rates(scheme: Scheme, seed: int) -> str:
    ways: set[str] = set()
    for line_bps in LINE_RATES_BPS:
        configured = scheme.configure()
        rp = configured.new_rp(line_bps)
        segment, acks = rp.segment_bytes, False
        for number, event in enumerate(_events(rp, configured.new_np(), seed)):
            _bring(rp, event)
            _check_rp(rp, event, number, line_bps)
            if rp.segment_bytes != segment:
                raise _BrokenError(f"segment_bytes changed from {segment} to {rp.segment_bytes}: it must not")
            acks = rp.wants_acks if event[0] == "on_start" else acks
            if rp.wants_acks and not acks:
                raise _BrokenError(
                    f"window_bytes is {rp.window_bytes} after event {number + 1}, and no packet requests an "
                    "acknowledgement: set segment_bytes, or a window from the start"
                )
            ways.add(event[0])
    return f"{len(LINE_RATES_BPS)} line rates, {_EVENTS:,} events each: {', '.join(sorted(ways))}"


def _check_rp(rp: ReactionPoint, event: Event, number: int, line_bps: float) -> None:
    where = f"after event {number + 1}, {_said(event)}, on a line of {line_bps / 1e9:g} Gbit/s"
    if not (math.isfinite(rp.rate_bps) and 0 < rp.rate_bps <= line_bps * (1 + 1e-9)):
        none = isinstance(event[1], Cnp) and not event[1].rec_rate_bps
        way = ": others' CNPs have no rate; with needs_rec_rate = True hosts drop them" if none else ""
        raise _BrokenError(f"rate_bps is {rp.rate_bps} {where}{way}")
    if not rp.window_bytes > 0:
        raise _BrokenError(f"window_bytes is {rp.window_bytes} {where}: above 0, and infinite where there is none")
    if rp.timer_s is not None and not (math.isfinite(rp.timer_s) and rp.timer_s > event[2]):
        raise _BrokenError(f"timer_s is {rp.timer_s} {where}, at {event[2]} s: it must lie ahead, or be None")
    if rp.due_bytes is not None and rp.due_bytes <= rp.sent_bytes:
        raise _BrokenError(
            f"due_bytes is {rp.due_bytes} {where}, {rp.sent_bytes} are sent: it must lie ahead, or be None"
        )
    for name, value in rp.state().items():
        if not math.isfinite(value):
            raise _BrokenError(f"state() has {name} = {value} {where}")


def _notifications(scheme: Scheme, seed: int) -> str:
    np = scheme.configure().new_np()
    if np.period_s is not None and not 1e-6 <= np.period_s <= 1:
        raise _BrokenError(f"period_s is {np.period_s}: windows last from 1 us to 1 s, or there are none (None)")
    if np.grants:
        return _turns(np, seed)
    if not 0 <= np.phase_spread <= 1:
        raise _BrokenError(f"phase_spread is {np.phase_spread}: it is a part of the period, from 0 to 1")
    answers = [_answer(np, event, number) for number, event in enumerate(_arrivals(np, seed))]
    sent = [one for one in answers if one is not None]
    if any(not one.rec_rate_bps for one in sent) and scheme.configure().new_rp(LINE_RATES_BPS[0]).needs_rec_rate:
        raise _BrokenError("it sends CNPs without a rate, and its RP has needs_rec_rate: hosts drop them")
    return f"{len(answers):,} events, {len(sent):,} CNPs"


def _turns(np: NotificationPoint, seed: int) -> str:
    """Checks an NP that grants, which sends nothing else."""
    events, most = 0, 0
    for number, event in enumerate(_arrivals(np, seed)):
        granted: object = _bring(np, event)
        where = f"event {number + 1}, {_said(event)}"
        if np.turn not in (Turn.NONE, Turn.ACTIVE) and (event[0] == "on_demand" or np.turn is not Turn.IDLE):
            raise _BrokenError(f"{where}: turn is {np.turn!r}: a Turn, after a demand not IDLE")
        if event[0] == "on_turn":
            if not (isinstance(granted, int) and most <= granted < 2**40):
                raise _BrokenError(f"{where} is answered by {granted!r}: bytes, at least {most} as before, below 2^40")
            if not 1 <= np.pace_bytes < 2**40:
                raise _BrokenError(f"{where}: pace_bytes is {np.pace_bytes}: from 1 to below 2^40")
            most = granted
        events = number + 1
    return f"{events:,} events, {most:,} bytes granted"


def _answer(np: NotificationPoint, event: Event, number: int) -> Cnp | None:
    made: object = _bring(np, event)
    where = f"event {number + 1}, {_said(event)}"
    if made is None:
        return None
    if not isinstance(made, Cnp):
        raise _BrokenError(f"{where} is answered by {made!r}: a Cnp or None")
    if not isinstance(made.mark, Mark):
        raise _BrokenError(f"{where}: mark is {made.mark!r}: a Mark")
    if not (math.isfinite(made.rec_rate_bps) and 0 <= made.rec_rate_bps < 2**32 * 1e6):
        raise _BrokenError(f"{where}: rec_rate_bps is {made.rec_rate_bps}: bit/s, 0 for none")
    return made


def _deterministic(scheme: Scheme, seed: int) -> str:
    alone = [list(_trace(scheme, seed + flow)) for flow in range(_FLOWS)]
    together = [_trace(scheme, seed + flow) for flow in range(_FLOWS)]
    for number, rows in enumerate(zip(*together, strict=True)):
        for flow, row in enumerate(rows):
            if row != alone[flow][number]:
                raise _BrokenError(
                    f"flow {flow} alone comes to {alone[flow][number]} after event {number + 1}, beside others to {row}"
                )
    return f"{_FLOWS} flows, one after the other and in turns"


def _in_c(scheme: Scheme, seed: int) -> str:
    from hosts.compiled import Ends

    for line_bps in LINE_RATES_BPS:
        configured = scheme.configure()
        python, compiled = configured.new_rp(line_bps), Ends(configured).new_rp(line_bps)
        for number, event in enumerate(_events(python, configured.new_np(), seed)):
            compiled.sent_bytes, compiled.left_bytes = python.sent_bytes, python.left_bytes
            _bring(python, event)
            _bring(compiled, event)
            _same(decided(compiled), decided(python), f"{_after(number, event)} on a line of {line_bps / 1e9:g} Gbit/s")
    return f"{len(LINE_RATES_BPS)} line rates, {_EVENTS:,} events each"


def _np_in_c(scheme: Scheme, seed: int) -> str:
    from hosts.compiled import Ends

    configured = scheme.configure()
    python, compiled = configured.new_np(), Ends(configured).new_np()
    events = list(_arrivals(python, seed))
    for number, event in enumerate(events):
        in_c, expected = ((_bring(np, event), np.marked_from_s, np.turn, np.pace_bytes) for np in (compiled, python))
        _same(in_c, expected, _after(number, event))
    return f"{len(events):,} events"


def _after(number: int, event: Event) -> str:
    return f"after event {number + 1}, {_said(event)},"


def _same(compiled: object, python: object, where: str) -> None:
    if compiled != python:
        raise _BrokenError(f"{where} it has {compiled}, and in Python {python}")


def decided(rp: ReactionPoint) -> dict[str, object]:
    """Returns all that an RP decides, by name."""
    names = ("rate_bps", "window_bytes", "timer_s", "due_bytes", "demand_bytes")
    return {**{name: getattr(rp, name) for name in names}, "state": rp.state()}


def _trace(scheme: Scheme, seed: int) -> Iterator[tuple[object, ...]]:
    """Yields the outputs of RP and NP after each event."""
    configured, line_bps = scheme.configure(), LINE_RATES_BPS[1]
    rp, np = configured.new_rp(line_bps), configured.new_np()
    for event in _events(rp, np, seed):
        _bring(rp, event)
        yield tuple(decided(rp).items()), event


def _closed(scheme: Scheme, seed: int) -> str:
    called: dict[str, None] = {}

    def watch(_frame: object, what: str, function: Any) -> None:
        if what == "c_call":
            owner = getattr(function, "__self__", None)
            module = getattr(function, "__module__", None) or getattr(owner, "__module__", None)
            module = module or (owner.__name__ if isinstance(owner, type(sys)) else type(owner).__module__)
            if module in _OWN_CLOCKS or function is open:
                called[f"{module}.{getattr(function, '__name__', function)}"] = None

    configured = scheme.configure()
    # Drawn before, as drawing calls for random numbers.
    events = list(_events(configured.new_rp(LINE_RATES_BPS[1]), configured.new_np(), seed))
    arrivals = list(_arrivals(configured.new_np(), seed))
    collects = gc.isenabled()
    gc.disable()  # a collection calls what others have registered, which isn't the scheme's
    sys.setprofile(watch)
    try:
        rp, np = configured.new_rp(LINE_RATES_BPS[1]), configured.new_np()
        for event in events:
            _bring(rp, event)
        for event in arrivals:
            _bring(np, event)
    finally:
        sys.setprofile(None)
        if collects:
            gc.enable()
    if called:
        raise _BrokenError(f"it calls {', '.join(called)}: times and events are brought to it")
    return "none was called"


def cost(scheme: Scheme) -> Finding:
    """Judges the time of a call, by this machine's clock, so apart from `check`, whose results don't vary."""
    return _verdict("a call takes little", lambda: _cost(scheme))


def _cost(scheme: Scheme) -> str:
    ours, usual = _per_call_s(scheme.configure()), _per_call_s(find_scheme("pcn").configure())
    seen = f"{ours * 1e9:.0f} ns a CNP and window, {ours / usual:.1f} times PCN's"
    if ours > _SLOW * usual:
        raise _BrokenError(f"{seen}: more than {_SLOW:g} times makes virtual time slow")
    return seen


def _per_call_s(configured: Configured) -> float:
    """Returns the least of several rounds: of what else a machine does there is more or less."""
    rp, np = configured.new_rp(10e9), configured.new_np()
    rp.on_start(0.0)
    cnps = [Cnp(mark, 1e9) for mark in (Mark.NONE, Mark.CE, Mark.NONE, Mark.NONE)] * 250
    windows = [Window(40, marked, 0, 42_320, 1e-3, 1.05e-3) for marked in (0, 40, 7, 0)] * 250
    best = math.inf
    for _ in range(7):
        started = time.perf_counter()
        for cnp, window in zip(cnps, windows, strict=True):
            rp.on_cnp(cnp, 1e-3)
            np.on_window(window)
        best = min(best, time.perf_counter() - started)
    return best / len(cnps)


# ---- events ----


def _events(rp: ReactionPoint, np: NotificationPoint, seed: int) -> Iterator[Event]:
    """Yields what a host brings to an RP, which decides by its state what can come. CNPs are its own NP's, or any that
    the wire can carry. Events may be far apart, or at the same time."""
    rng = random.Random(seed)
    cnps = [cnp for cnp in (_bring(np, arrival) for arrival in _arrivals(np, seed)) if isinstance(cnp, Cnp)]
    now_s, granted_bytes = rng.uniform(0, 1e-3), 0
    yield "on_start", None, now_s
    for _ in range(_EVENTS - 1):
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
        own = ["own cnp"] * 2 * bool(cnps) + ["ack"] * 2 * rp.wants_acks + ["grant"] * 2 * np.grants
        kind = rng.choice([*own, "cnp", "cnm", "loss"])
        if kind == "own cnp":
            yield "on_cnp", _on_the_wire(rng.choice(cnps)), now_s
        elif kind == "cnp":
            yield "on_cnp", _any_cnp(rp, rng), now_s
        elif kind == "grant":
            granted_bytes += 256 * rng.choice((0, 16, rng.randrange(1 << 16)))
            yield "on_grant", Grant(granted_bytes), now_s
        elif kind == "loss":
            yield "on_loss", Loss(rng.choice((62, 1058, rng.randint(62, 10**9))), rng.random() < 0.3), now_s
        elif kind == "cnm":
            yield "on_cnm", Cnm(rng.choice((0, 63, rng.randint(0, 63)))), now_s
        else:
            rtt_s = rng.choice((0.0, 1e-12, 5e-6, rng.uniform(5e-6, 2e-3), 0.1, 1e4))
            acked = rng.choice((0, 62, 1058, rng.randint(62, 10**9)))
            telemetry = _telemetry(rng, now_s) if rp.wants_telemetry else None
            yield "on_ack", Ack(rtt_s, rng.choice(list(Mark)), acked, rng.randrange(1 << 24), 0xC001, telemetry), now_s


def _telemetry(rng: random.Random, now_s: float) -> Telemetry | None:
    """Returns telemetry, or None: mostly of one path whose clocks and counters go on, else any that the wire can
    carry."""
    if rng.random() < 0.1:
        return None
    if rng.random() < 0.8:
        tick = int(now_s * 1e6)
        hops = [(rate, tick % 2**24, tick * rng.randrange(100, 2000) // 128 * 128 % 2**27) for rate in (10e9, 100e9)]
        return Telemetry(7, 1e-6, tuple(Hop(*hop, rng.choice((0, 64 * rng.randrange(2**10)))) for hop in hops))
    rates = (0.0, 1e8, 1e9, 100e9, 1600e9)
    any_hops = (
        Hop(rng.choice(rates), rng.randrange(2**24), rng.randrange(2**20) * 128, rng.randrange(2**16) * 64)
        for _ in range(rng.randrange(6))
    )
    return Telemetry(rng.choice((7, rng.randrange(2**16))), rng.choice((1e-6, 1e-9)), tuple(any_hops))


def _any_cnp(rp: ReactionPoint, rng: random.Random) -> Cnp:
    """Returns a CNP with any mark, and any rate except those that hosts drop."""
    rate_bps = rng.choice((0.0, 1e6, 1e6 * rng.randrange(1, 2**32), MOST_RATE_BPS))
    return Cnp(rng.choice(list(Mark)), rate_bps or (1e6 if rp.needs_rec_rate else 0.0))


def _on_the_wire(cnp: Cnp) -> Cnp:
    """Returns the CNP as the RP gets it: its rate in whole Mb/s, at least 1."""
    if not 0 < cnp.rec_rate_bps < math.inf:
        return cnp
    return dataclasses.replace(cnp, rec_rate_bps=max(1, round(cnp.rec_rate_bps / 1e6)) * 1e6)


def _arrivals(np: NotificationPoint, seed: int) -> Iterator[Event]:
    """Yields what a host brings to an NP: windows, empty and full, of packets of all sizes, and marked packets. A
    window's last packet may come with the next one's first, or a picosecond before."""
    rng = random.Random(seed)
    if np.grants:
        yield from _demands(rng)
        return
    period_s = np.period_s or 50e-6
    for number in range(1, _EVENTS + 1):
        end_s = number * period_s
        if np.period_s is None or rng.random() < 0.3:
            yield "on_marked", None, end_s
            continue
        packets = rng.choice((0, 1, 2, rng.randint(3, 400)))
        ce = rng.choice((0, packets, rng.randint(0, packets)))
        ue = rng.randint(0, packets - ce)
        edges = (end_s - period_s, end_s - period_s + 1e-12, end_s)
        times = sorted(rng.choice((*edges, end_s - period_s * rng.random())) for _ in range(2 if packets > 1 else 1))
        first_s, last_s = (times[0], times[-1]) if packets else (0.0, 0.0)
        size = rng.choice((62, 1058, 9216))
        yield "on_window", Window(packets, ce, ue, packets * size, first_s, last_s), end_s


def _demands(rng: random.Random) -> Iterator[Event]:
    """Yields demands, some of them late, and turns by both lists."""
    now_s, demanded_bytes = rng.uniform(0, 1e-3), 0
    for _ in range(_EVENTS):
        now_s += rng.choice((0.0, rng.expovariate(1 / 1e-6)))
        if rng.random() < 0.5:
            yield "on_turn", rng.choice((Turn.ACTIVE, Turn.ACTIVE, Turn.IDLE)), now_s
            continue
        demanded_bytes += 256 * rng.choice((0, 4, rng.randrange(1 << 10)))
        late_bytes = min(256 * rng.choice((0, 0, 4, 100)), demanded_bytes)
        yield "on_demand", Demand(demanded_bytes - late_bytes, rng.random() < 0.2), now_s


def _bring(point: ReactionPoint | NotificationPoint, event: Event) -> Cnp | None:
    name, what, now_s = event
    if name == "on_window":
        return getattr(point, name)(what)  # type: ignore[no-any-return]
    arguments: Iterable[Any] = (now_s,) if what is None else (what, now_s)
    return getattr(point, name)(*arguments)  # type: ignore[no-any-return]


def _said(event: Event) -> str:
    name, what, now_s = event
    if what is None or isinstance(what, Turn):
        return f"{name}({'' if what is None else f'{what.name}, '}{now_s:.9f})"
    fields = dataclasses.asdict(what) if dataclasses.is_dataclass(what) else what._asdict()  # type: ignore[arg-type]
    inside = ", ".join(f"{key}={getattr(value, 'name', value)}" for key, value in fields.items())
    return f"{name}({type(what).__name__}({inside}))"
