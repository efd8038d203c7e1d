"""`pcn.hosts.algorithms.check`: our schemes keep the rules, and each broken rule is reported with
the scheme and the event."""

import gc
import random
import time
from collections.abc import Callable
from dataclasses import dataclass, replace

import pytest

from pcn.hosts.algorithms import (
    Ack,
    Cnm,
    Cnp,
    Mark,
    NotificationPoint,
    ReactionPoint,
    Scheme,
    Window,
    find_scheme,
    schemes,
)
from pcn.hosts.algorithms.check import Finding, check
from pcn.hosts.algorithms.parameters import Parameters, parameter


@pytest.fixture(autouse=True)
def _few_events(request, monkeypatch):
    """A rule that is broken on purpose is broken soon. `pcn scheme check` brings ours three times
    as many."""
    few = 1000 if request.function is test_ours_keep_the_rules else 200
    monkeypatch.setattr("pcn.hosts.algorithms.check_events.EVENTS", few)


@pytest.mark.parametrize("name", list(schemes))
def test_ours_keep_the_rules(name):
    assert [finding for finding in check(find_scheme(name)) if not finding.kept] == []


class Plain(ReactionPoint):
    """Keeps its rate: a base for those that break one rule."""

    def __init__(self, line_rate_bps: float, parameters):
        self.rate_bps = line_rate_bps


class Periodic(NotificationPoint):
    period_s = 50e-6

    def __init__(self, parameters):
        pass

    def on_window(self, window: Window) -> Cnp | None:
        return Cnp(Mark.CE)


PLAIN = Scheme("plain", "", "pcn", Parameters, Plain, Periodic)


def _assertion(scheme: Scheme) -> str:
    """What an RP that bears all but one value is found by."""
    (finding,) = [
        finding
        for finding in check(scheme)
        if not finding.kept and finding.seen.startswith("AssertionError")
    ]
    return finding.seen


def broken(scheme: Scheme) -> Finding:
    (finding,) = [finding for finding in check(scheme) if not finding.kept]
    return finding


def test_a_plain_one_keeps_the_rules():
    assert [finding for finding in check(PLAIN) if not finding.kept] == []


def rp(on_cnp: Callable[[Plain, Cnp, float], None]) -> Scheme:
    return replace(PLAIN, reaction_point=type("Broken", (Plain,), {"on_cnp": on_cnp}))


def _set(name: str, value) -> Callable[[Plain, Cnp, float], None]:
    return lambda self, _cnp, _now_s: setattr(self, name, value)


@pytest.mark.parametrize(
    ("on_cnp", "seen"),
    [
        (_set("rate_bps", 0.0), "rate_bps is 0.0 after event "),
        (_set("rate_bps", float("nan")), "rate_bps is nan after event "),
        (
            _set("rate_bps", 1e12),
            "on_cnp(Cnp(mark=NONE, rec_rate_bps=4294967295000000.0)), on a line of 1 Gbit/s",
        ),
        (_set("timer_s", 0.0), "timer_s is 0.0 after event "),
        (_set("due_bytes", 0), "due_bytes is 0 after event "),
        (_set("segment_bytes", 1000), "segment_bytes changed from None to 1000"),
        (_set("window_bytes", 0.0), "window_bytes is 0.0 after event "),
        (_set("window_bytes", float("nan")), "window_bytes is nan after event "),
        (
            _set("window_bytes", 5e3),
            "and no packet requests an acknowledgement: set segment_bytes, or a window from",
        ),
        (
            lambda self, cnp, now_s: cnp.nosuch,
            "AttributeError: 'Cnp' object has no attribute 'nosuch'",
        ),
    ],
)
def test_rates_timers_and_segments(on_cnp, seen):
    findings = {finding.rule: finding for finding in check(rp(on_cnp)) if not finding.kept}
    assert seen in findings["rates are finite, above 0 and at most the line rate"].seen


@pytest.mark.parametrize("name", ["pcn", "pcn-time"])
def test_check_finds_rp_that_takes_its_rate_from_cnps_without_one(name):
    ours = find_scheme(name)
    bare = type("Bare", (ours.reaction_point,), {"needs_rec_rate": False})
    finding = broken(replace(ours, reaction_point=bare))
    assert "rate_bps is 0.0 after event" in finding.seen
    assert "rec_rate_bps=0.0" in finding.seen
    assert "with needs_rec_rate = True hosts drop them" in finding.seen


def test_check_finds_np_that_sends_no_rate_where_the_rp_needs_one():
    needy = replace(PLAIN, reaction_point=type("Needy", (Plain,), {"needs_rec_rate": True}))
    assert "hosts drop them" in broken(needy).seen


@pytest.mark.parametrize("mark", list(Mark))
@pytest.mark.parametrize("rate_bps", [0.0, 1e6, (2**32 - 1) * 1e6])
def test_check_brings_every_mark_and_the_least_and_largest_rates(mark, rate_bps):
    def on_cnp(self: Plain, cnp: Cnp, now_s: float):
        assert cnp != Cnp(mark, rate_bps)

    assert _assertion(rp(on_cnp))


@pytest.mark.parametrize("feedback", [0, 63])
def test_check_brings_the_least_and_largest_feedback(feedback):
    def on_cnm(self: Plain, cnm: Cnm, now_s: float):
        assert cnm.feedback != feedback

    assert _assertion(replace(PLAIN, reaction_point=type("Broken", (Plain,), {"on_cnm": on_cnm})))


@pytest.mark.parametrize("rtt_s", [0.0, 1e4])
def test_check_brings_the_least_and_largest_round_trips(rtt_s):
    def on_ack(self: Plain, ack: Ack, now_s: float):
        assert ack.rtt_s != rtt_s

    fields = {"on_ack": on_ack, "segment_bytes": 1000}
    assert _assertion(replace(PLAIN, reaction_point=type("Broken", (Plain,), fields)))


def test_check_finds_rate_of_packets_that_came_at_once():
    class Hasty(Periodic):
        last_s = -1.0

        def on_window(self, window: Window) -> Cnp | None:
            elapsed_s, self.last_s = window.last_s - self.last_s, window.last_s
            return Cnp(Mark.CE, window.bytes * 8 / elapsed_s) if elapsed_s > 0 else None

    finding = next(
        finding for finding in check(replace(PLAIN, notification_point=Hasty)) if not finding.kept
    )
    assert "rec_rate_bps is" in finding.seen


@pytest.mark.parametrize(
    ("answer", "seen"),
    [
        (True, "is answered by True: a Cnp or None"),
        (Cnp(True), "mark is True: a Mark"),
        (Cnp(Mark.CE, -1.0), "rec_rate_bps is -1.0: bit/s"),
    ],
)
def test_notifications(answer, seen):
    np = type("Broken", (Periodic,), {"on_window": lambda self, window: answer})
    findings = {
        finding.rule: finding
        for finding in check(replace(PLAIN, notification_point=np))
        if not finding.kept
    }
    assert seen in findings["an NP returns a CNP or None"].seen


def test_check_names_an_event_that_no_host_calls():
    finding = broken(
        replace(
            PLAIN, reaction_point=type("Deaf", (Plain,), {"on_cnq": lambda self, cnp, now_s: None})
        )
    )
    assert finding.seen.startswith("Deaf.on_cnq: no host calls it; did you mean 'on_cnp'")


def test_check_finds_flows_that_share_state():
    shared = [0]

    def on_cnp(self: Plain, cnp: Cnp, now_s: float):
        shared[0] += 1
        self.rate_bps = 1e9 / (1 + shared[0] % 7)

    assert broken(rp(on_cnp)).rule == "results depend on the flow's own events alone"


def test_check_finds_a_clock():
    finding = broken(rp(lambda self, cnp, now_s: time.monotonic() and None))
    assert finding.seen == "it calls time.monotonic: times and events are brought to it"


def test_check_finds_random_numbers():
    def on_cnp(self: Plain, cnp: Cnp, now_s: float):
        self.rate_bps = 1e9 * (1 - random.random() / 2)

    rules = [finding.rule for finding in check(rp(on_cnp)) if not finding.kept]
    assert "no call of a clock, random numbers, files or sockets" in rules


def test_check_blames_no_scheme_for_what_collects_garbage():
    def registered(_phase: str, _info: dict[str, int]):
        time.perf_counter()

    threshold = gc.get_threshold()
    gc.callbacks.append(registered)
    gc.set_threshold(1)
    try:
        assert [finding for finding in check(PLAIN) if not finding.kept] == []
    finally:
        gc.set_threshold(*threshold)
        gc.callbacks.remove(registered)


def test_a_bare_field():
    @dataclass(frozen=True)
    class Bare(Parameters):
        step: float = 1.0

    assert broken(replace(PLAIN, parameters=Bare)).seen.startswith("step is a bare field")


def test_check_finds_an_unknown_unit():
    @dataclass(frozen=True)
    class Wrong(Parameters):
        period_s: float = parameter(1e-3, "seconds", "from CNP to CNP")

    assert broken(replace(PLAIN, parameters=Wrong)).seen.startswith(
        "period_s is a 'seconds': it has to be one of rate,"
    )
