"""Whether a scheme's RP and NP keep the rules of `base`: what `pcn scheme check` runs.

Both are driven by events as hosts bring them (check_events.py): what breaks a rule is named with
the event that did it. They have to be functions of their events: no clock, no random numbers, no
state that flows share."""

from __future__ import annotations

import gc
import math
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

from pcn.base.errors import nearest
from pcn.base.units import KINDS

from .base import Cnp, Mark, NetworkFacts, NotificationPoint, ReactionPoint, Turn, Window, c_file
from .check_events import EVENTS, Event, bring, event_text, np_events, rp_events
from .discovery import find_scheme
from .parameters import describe
from .scheme import Configured, Scheme

LINE_RATES_BPS = (1e9, 10e9, 100e9)
_FLOWS = 4
_SLOW = 20.0
"""Calls that take longer than PCN's by this factor make virtual time slow."""
_OWN_CLOCKS = {
    "time",
    "random",
    "_random",
    "secrets",
    "posix",
    "_socket",
    "datetime",
    "numpy.random",
}


@dataclass(frozen=True)
class Finding:
    """One rule, and what was seen of it: kept, or not."""

    rule: str
    kept: bool
    seen: str


class _BrokenError(Exception):
    """A rule is broken; the text names the place."""


def check(scheme: Scheme, seed: int = 1) -> list[Finding]:
    """Returns every rule with its verdict, in order, except `cost`."""
    rules: list[tuple[str, Callable[[], str]]] = [
        ("parameters have a unit, bounds and a meaning", lambda: _parameters(scheme)),
        ("its event methods are those that hosts call", lambda: _methods(scheme)),
        ("rates are finite, above 0 and at most the line rate", lambda: _rates(scheme, seed)),
        ("an NP returns a CNP or None", lambda: _notifications(scheme, seed)),
        (
            "results depend on the flow's own events alone",
            lambda: _deterministic(scheme, seed),
        ),
        ("no call of a clock, random numbers, files or sockets", lambda: _closed(scheme, seed)),
    ]
    for end, make, same in (
        ("RP", lambda: scheme.configure().new_rp(1e9), _in_c),
        ("NP", lambda: scheme.configure().new_np(), _np_in_c),
    ):
        if c_file(type(make())) is not None:
            rules.append(
                (
                    f"the {end} in C decides what the {end} in Python does",
                    partial(same, scheme, seed),
                )
            )
    findings: list[Finding] = []
    for rule, test in rules:
        findings.append(_verdict(rule, test))
        if not findings[-1].kept and rule.startswith("rates"):
            break  # what comes after goes by its rates
    return findings


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
    for parameter in fields:
        if parameter.kind not in KINDS:
            raise _BrokenError(
                f"{parameter.field} is a {parameter.kind!r}: it has to be one of {', '.join(KINDS)}"
            )
        if not parameter.meaning:
            raise _BrokenError(
                f"{parameter.field} is a bare field: declare it with "
                "pcn.hosts.algorithms.parameters.parameter(...)"
            )
        parameter.check(parameter.default)
    recommended = scheme.recommended(NetworkFacts(4, 500e-6))
    scheme.configure(dict(recommended))
    return (
        f"{len(fields)}: {', '.join(field.name for field in fields)}" if fields else "it has none"
    )


def _methods(scheme: Scheme) -> str:
    configured = scheme.configure()
    ends = (
        (configured.new_rp(LINE_RATES_BPS[0]), ReactionPoint),
        (configured.new_np(), NotificationPoint),
    )
    overridden: list[str] = []
    for end, base in ends:
        for name in (name for name in dir(end) if name.startswith("on_")):
            if not hasattr(base, name):
                raise _BrokenError(
                    f"{type(end).__name__}.{name}: no host calls it; "
                    f"{nearest(name, _events_of(base))}"
                )
            if getattr(type(end), name, None) is not getattr(base, name):
                overridden.append(name)
    return ", ".join(overridden) or "it reacts to none"


def _events_of(base: type[object]) -> list[str]:
    return [name for name in dir(base) if name.startswith("on_")]


def _rates(scheme: Scheme, seed: int) -> str:
    ways: set[str] = set()
    for line_bps in LINE_RATES_BPS:
        configured = scheme.configure()
        rp = configured.new_rp(line_bps)
        segment, acks = rp.segment_bytes, False
        for number, event in enumerate(rp_events(rp, configured.new_np(), seed)):
            bring(rp, event)
            _check_rp(rp, event, number, line_bps)
            if rp.segment_bytes != segment:
                raise _BrokenError(
                    f"segment_bytes changed from {segment} to {rp.segment_bytes}: it must not"
                )
            acks = rp.wants_acks if event[0] == "on_start" else acks
            if rp.wants_acks and not acks:
                raise _BrokenError(
                    f"window_bytes is {rp.window_bytes} after event {number + 1}, and no packet "
                    "requests an acknowledgement: set segment_bytes, or a window from the start"
                )
            ways.add(event[0])
    return f"{len(LINE_RATES_BPS)} line rates, {EVENTS:,} events each: {', '.join(sorted(ways))}"


def _check_rp(rp: ReactionPoint, event: Event, number: int, line_bps: float) -> None:
    where = f"after event {number + 1}, {event_text(event)}, on a line of {line_bps / 1e9:g} Gbit/s"
    if not (math.isfinite(rp.rate_bps) and 0 < rp.rate_bps <= line_bps * (1 + 1e-9)):
        none = isinstance(event[1], Cnp) and not event[1].rec_rate_bps
        way = (
            ": others' CNPs have no rate; with needs_rec_rate = True hosts drop them"
            if none
            else ""
        )
        raise _BrokenError(f"rate_bps is {rp.rate_bps} {where}{way}")
    if not rp.window_bytes > 0:
        raise _BrokenError(
            f"window_bytes is {rp.window_bytes} {where}: above 0, and infinite without one"
        )
    if rp.timer_s is not None and not (math.isfinite(rp.timer_s) and rp.timer_s > event[2]):
        raise _BrokenError(
            f"timer_s is {rp.timer_s} {where}, at {event[2]} s: it must lie ahead, or be None"
        )
    if rp.due_bytes is not None and rp.due_bytes <= rp.sent_bytes:
        raise _BrokenError(
            f"due_bytes is {rp.due_bytes} {where}, {rp.sent_bytes} are sent: it must lie ahead, or "
            "be None"
        )
    for name, value in rp.state().items():
        if not math.isfinite(value):
            raise _BrokenError(f"state() has {name} = {value} {where}")


def _notifications(scheme: Scheme, seed: int) -> str:
    np = scheme.configure().new_np()
    if np.period_s is not None and not 1e-6 <= np.period_s <= 1:
        raise _BrokenError(
            f"period_s is {np.period_s}: windows last from 1 us to 1 s, or none lasts (None)"
        )
    if np.grants:
        return _turns(np, seed)
    if not 0 <= np.phase_spread <= 1:
        raise _BrokenError(
            f"phase_spread is {np.phase_spread}: it is a part of the period, from 0 to 1"
        )
    answers = [_answer(np, event, number) for number, event in enumerate(np_events(np, seed))]
    sent = [answer for answer in answers if answer is not None]
    if (
        any(not cnp.rec_rate_bps for cnp in sent)
        and scheme.configure().new_rp(LINE_RATES_BPS[0]).needs_rec_rate
    ):
        raise _BrokenError(
            "it sends CNPs without a rate, and its RP has needs_rec_rate: hosts drop them"
        )
    return f"{len(answers):,} events, {len(sent):,} CNPs"


def _turns(np: NotificationPoint, seed: int) -> str:
    """Checks an NP that grants, which sends nothing else."""
    events, most = 0, 0
    for number, event in enumerate(np_events(np, seed)):
        granted: object = bring(np, event)
        where = f"event {number + 1}, {event_text(event)}"
        if np.turn not in (Turn.NONE, Turn.ACTIVE) and (
            event[0] == "on_demand" or np.turn is not Turn.IDLE
        ):
            raise _BrokenError(f"{where}: turn is {np.turn!r}: a Turn, after a demand not IDLE")
        if event[0] == "on_turn":
            if not (isinstance(granted, int) and most <= granted < 2**40):
                raise _BrokenError(
                    f"{where} is answered by {granted!r}: bytes, at least {most} as before, below "
                    "2^40"
                )
            if not 1 <= np.pace_bytes < 2**40:
                raise _BrokenError(f"{where}: pace_bytes is {np.pace_bytes}: from 1 to below 2^40")
            most = granted
        events = number + 1
    return f"{events:,} events, {most:,} bytes granted"


def _answer(np: NotificationPoint, event: Event, number: int) -> Cnp | None:
    cnp: object = bring(np, event)
    where = f"event {number + 1}, {event_text(event)}"
    if cnp is None:
        return None
    if not isinstance(cnp, Cnp):
        raise _BrokenError(f"{where} is answered by {cnp!r}: a Cnp or None")
    if not isinstance(cnp.mark, Mark):
        raise _BrokenError(f"{where}: mark is {cnp.mark!r}: a Mark")
    if not (math.isfinite(cnp.rec_rate_bps) and 0 <= cnp.rec_rate_bps < 2**32 * 1e6):
        raise _BrokenError(f"{where}: rec_rate_bps is {cnp.rec_rate_bps}: bit/s, 0 for none")
    return cnp


def _deterministic(scheme: Scheme, seed: int) -> str:
    alone = [list(_trace(scheme, seed + flow)) for flow in range(_FLOWS)]
    together = [_trace(scheme, seed + flow) for flow in range(_FLOWS)]
    for number, rows in enumerate(zip(*together, strict=True)):
        for flow, row in enumerate(rows):
            if row != alone[flow][number]:
                raise _BrokenError(
                    f"flow {flow} alone comes to {alone[flow][number]} after event {number + 1}, "
                    f"beside others to {row}"
                )
    return f"{_FLOWS} flows, one after the other and in turns"


def _in_c(scheme: Scheme, seed: int) -> str:
    from pcn.hosts.compiled import Ends

    for line_bps in LINE_RATES_BPS:
        configured = scheme.configure()
        python, compiled = configured.new_rp(line_bps), Ends(configured).new_rp(line_bps)
        for number, event in enumerate(rp_events(python, configured.new_np(), seed)):
            compiled.sent_bytes, compiled.left_bytes = python.sent_bytes, python.left_bytes
            bring(python, event)
            bring(compiled, event)
            _same(
                decided(compiled),
                decided(python),
                f"{_after(number, event)} on a line of {line_bps / 1e9:g} Gbit/s",
            )
    return f"{len(LINE_RATES_BPS)} line rates, {EVENTS:,} events each"


def _np_in_c(scheme: Scheme, seed: int) -> str:
    from pcn.hosts.compiled import Ends

    configured = scheme.configure()
    python, compiled = configured.new_np(), Ends(configured).new_np()
    events = list(np_events(python, seed))
    for number, event in enumerate(events):
        in_c, expected = (
            (bring(np, event), np.marked_from_s, np.turn, np.pace_bytes)
            for np in (compiled, python)
        )
        _same(in_c, expected, _after(number, event))
    return f"{len(events):,} events"


def _after(number: int, event: Event) -> str:
    return f"after event {number + 1}, {event_text(event)},"


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
    for event in rp_events(rp, np, seed):
        bring(rp, event)
        yield tuple(decided(rp).items()), event


def _closed(scheme: Scheme, seed: int) -> str:
    called: dict[str, None] = {}

    def watch(_frame: object, event: str, function: Any) -> None:
        if event == "c_call":
            owner = getattr(function, "__self__", None)
            module = getattr(function, "__module__", None) or getattr(owner, "__module__", None)
            module = module or (
                owner.__name__ if isinstance(owner, type(sys)) else type(owner).__module__
            )
            if module in _OWN_CLOCKS or function is open:
                called[f"{module}.{getattr(function, '__name__', function)}"] = None

    configured = scheme.configure()
    # Drawn before, as drawing calls for random numbers.
    events = list(rp_events(configured.new_rp(LINE_RATES_BPS[1]), configured.new_np(), seed))
    arrivals = list(np_events(configured.new_np(), seed))
    collects = gc.isenabled()
    gc.disable()  # a collection calls what others have registered, which isn't the scheme's
    sys.setprofile(watch)
    try:
        rp, np = configured.new_rp(LINE_RATES_BPS[1]), configured.new_np()
        for event in events:
            bring(rp, event)
        for event in arrivals:
            bring(np, event)
    finally:
        sys.setprofile(None)
        if collects:
            gc.enable()
    if called:
        raise _BrokenError(f"it calls {', '.join(called)}: times and events are brought to it")
    return "none was called"


def cost(scheme: Scheme) -> Finding:
    """Judges the time of a call, by this machine's clock, so apart from `check`, whose results
    don't vary."""
    return _verdict("a call is short", lambda: _cost(scheme))


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
