"""The engine's callbacks of algorithms: their arguments, their errors, and that no objects stay
behind."""

import dataclasses
import math
import os
import pickle
import signal
import sys
import threading
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from networks import chain, flow_stats, star

from pcn.hosts.algorithms import (
    Cnp,
    Configured,
    Mark,
    NotificationPoint,
    ReactionPoint,
    Window,
    find_scheme,
)
from pcn.hosts.virtual import VirtualFlow, VirtualNetwork
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.model import FlowSpec
from pcn.virtualnet import CallbackError, VirtualError

PERIOD_S = 50e-6


class Np(NotificationPoint):
    """Sends what `answer` is, a window."""

    def __init__(self, answer=None):
        self.period_s = PERIOD_S
        self.answer = answer
        self.windows: list[Window] = []

    def on_window(self, window: Window) -> Cnp | None:
        self.windows.append(window)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


class Rp(ReactionPoint):
    """Requests the events of `wants` after its first CNP."""

    def __init__(self, wants: dict[str, Any] | None = None):
        self.rate_bps = 1e9
        self.wants = wants or {}
        self.events: list[tuple[object, ...]] = []

    def on_cnp(self, cnp: Cnp, now_s: float):
        self.events.append((cnp, now_s, self.sent_bytes))
        for name, value in self.wants.items():
            if isinstance(value, Exception):
                raise value
            setattr(self, name, value)

    def on_timer(self, now_s: float):
        self.events.append(("timer", now_s))
        self.timer_s = None

    def on_bytes_sent(self, now_s: float):
        self.events.append(("bytes", now_s, self.sent_bytes))
        self.due_bytes = None


def scheme_of(rp: Callable[[], ReactionPoint], np: Callable[[], NotificationPoint]) -> Configured:
    scheme = find_scheme("pcn")
    return dataclasses.replace(
        scheme, reaction_point=lambda line_rate_bps, _: rp(), notification_point=lambda _: np()
    ).configure()


def network_of(rp: ReactionPoint, np: NotificationPoint) -> VirtualNetwork:
    network = VirtualNetwork(chain(1), scheme_of(lambda: rp, lambda: np))
    network.add_flow(FlowSpec(7, "h0", "r0"))
    return network


def test_algorithms_get_values_of_their_types():
    np, rp = Np(Cnp(Mark.CE, 2.5e9)), Rp({"timer_s": 200e-6, "due_bytes": 40_000})
    with network_of(rp, np) as network:
        network.run(until_s=500e-6)
        sent = network.flows[7].stats().sent_bytes
    for window in np.windows:
        assert type(window) is Window
        assert [type(value) for value in window] == [int, int, int, int, float, float]
        assert window.bytes == 1058 * window.packets > 0
        assert window.first_s <= window.last_s
    cnps = [event for event in rp.events if isinstance(event[0], Cnp)]
    for cnp, now_s, sent_bytes in cnps:
        assert type(cnp) is Cnp
        assert cnp == Cnp(Mark.CE, 2.5e9)
        assert cnp.mark is Mark.CE
        assert type(now_s) is float
        assert type(sent_bytes) is int
        assert sent_bytes % 1058 == 0
        assert 0 < sent_bytes <= sent
    assert len(cnps) > 5
    assert ("timer", 200e-6) in rp.events
    byte_events = [event for event in rp.events if event[0] == "bytes"]
    assert byte_events
    assert 40_000 <= byte_events[0][2] < 40_000 + 1058


class Overdue(Rp):
    """Begins with a timer at 10 us, whenever its flow starts."""

    def on_start(self, now_s: float):
        self.timer_s = 10e-6


def test_rp_that_begins_with_a_time_that_is_over_has_its_timer_at_once():
    rp = Overdue()
    with VirtualNetwork(chain(1), scheme_of(lambda: rp, lambda: Np())) as network:
        network.run(until_s=1e-3)
        network.add_flow(FlowSpec(7, "h0", "r0", start_s=1e-3))
        network.run(until_s=2e-3)
        assert network.now_s == 2e-3
        assert rp.events[0] == ("timer", 10e-6)  # its own time


@pytest.mark.parametrize("rate_bps", [0.0, 1.0])
@pytest.mark.parametrize("needs", [False, True])
def test_rp_that_needs_a_rate_gets_no_cnp_without(needs, rate_bps):
    rp = Rp()
    rp.needs_rec_rate = needs
    with network_of(rp, Np(Cnp(Mark.CE, rate_bps))) as network:
        network.run(until_s=500e-6)
        dropped, came = network.totals().unusable_cnps, network.flows[7].stats().cnps_received
    assert came > 5
    assert dropped == (came if needs and rate_bps == 0 else 0)
    assert len(rp.events) == came - dropped


@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_the_window_of_the_last_packet_is_the_last(queues):
    np = Np()
    with VirtualNetwork(chain(1), scheme_of(lambda: Rp(), lambda: np), queues=queues) as network:
        flow = network.add_flow(FlowSpec(7, "h0", "r0", size_bytes=100_000))
        network.run(until_s=1e-3)
        assert sum(window.packets for window in np.windows) == flow.stats().received_packets == 100
        complete_s = flow.stats().complete_s
        assert complete_s is not None
        network.run(until_s=complete_s + 10 * PERIOD_S)
        events = network.totals().events
    with VirtualNetwork(chain(1), scheme_of(lambda: Rp(), lambda: Np()), queues=queues) as network:
        network.add_flow(FlowSpec(7, "h0", "r0", size_bytes=100_000))
        network.run(until_s=complete_s + PERIOD_S)
        assert network.totals().events == events


@pytest.mark.parametrize(
    ("rp", "np", "algorithm", "error"),
    [
        (Rp(), Np(ZeroDivisionError("own")), "NP of flow 7", ZeroDivisionError),
        (Rp({"rate_bps": LookupError("own")}), Np(Cnp(Mark.NONE)), "RP of flow 7", LookupError),
        (Rp(), Np(5), "NP of flow 7", TypeError),
        (Rp(), Np((True, 1e9)), "NP of flow 7", TypeError),
        (Rp(), Np(Cnp(Mark.CE, "fast")), "NP of flow 7", TypeError),
        (Rp({"rate_bps": None}), Np(Cnp(Mark.NONE)), "RP of flow 7", TypeError),
        (Rp({"timer_s": "soon"}), Np(Cnp(Mark.NONE)), "RP of flow 7", TypeError),
        (Rp({"timer_s": math.inf}), Np(Cnp(Mark.NONE)), "RP of flow 7", OverflowError),
        (Rp({"timer_s": -1.0}), Np(Cnp(Mark.NONE)), "RP of flow 7", OverflowError),
        (Rp({"due_bytes": -1}), Np(Cnp(Mark.NONE)), "RP of flow 7", OverflowError),
        (Rp({"due_bytes": 1.5}), Np(Cnp(Mark.NONE)), "RP of flow 7", TypeError),
    ],
)
def test_an_algorithm_that_fails_ends_the_run(rp, np, algorithm, error):
    with network_of(rp, np) as network:
        with pytest.raises(
            CallbackError, match=rf"^{algorithm}, at \d+\.\d{{6}} us of simulated time: "
        ) as caught:
            network.run(until_s=1e-3)
        assert type(caught.value.__cause__) is error
        assert 0 < caught.value.now_s < 1e-3
        with pytest.raises(VirtualError, match="nor after an error"):
            network.stop_flow(7)


class Late(Rp):
    """Raises at its third CNP, if it is to."""

    def __init__(self, error: BaseException | None):
        super().__init__()
        self.error = error

    def on_cnp(self, cnp: Cnp, now_s: float):
        super().on_cnp(cnp, now_s)
        self.rate_bps = max(0.9 * self.rate_bps, 0.5e9)
        if self.error is not None and len(self.events) == 3:
            raise self.error


@pytest.mark.parametrize("ends", ["RP", "NP"])
def test_network_that_survives_ends_what_raised_alone(ends):
    """Of three flows at one port: the RP's is stopped; the NP's goes on and gets no CNPs."""
    seen = []
    for options in ({}, {"queues": "one"}, {"threads": 2}):
        rps = iter([Late(None), Late(KeyError("own") if ends == "RP" else None), Late(None)])
        second = KeyError("own") if ends == "NP" else Cnp(Mark.CE)
        nps = iter([Np(Cnp(Mark.CE)), Np(second), Np(Cnp(Mark.CE))])
        scheme = scheme_of(lambda rps=rps: next(rps), lambda nps=nps: next(nps))
        with VirtualNetwork(star(3), scheme, **options) as network:
            network.survive()
            for number in range(3):
                network.add_flow(FlowSpec(number, f"h{number}", "r0", size_bytes=200_000))
            network.run(until_s=5e-3)
            stats = flow_stats(network)
            seen.append((network.totals().digest, stats))
            text = network.failures.pop((1, ends))
            assert text.startswith("KeyError: 'own' (test_virtual_callbacks.py, line ")
            assert not network.failures
        assert [flow.received_payload == 200_000 for flow in stats] == [True, ends == "NP", True]
        assert stats[0].cnps_received > 10
        assert len(network.flows[1].rp.events) == (3 if ends == "RP" else 0)
        assert stats[1].ended_s is not None
        assert stats[1].received_packets == stats[1].sent_packets
    assert seen[0] == seen[1] == seen[2]


def test_rp_that_can_t_decide_so_ends_where_a_network_survives():
    rp = Rp({"rate_bps": -1.0})
    with network_of(rp, Np(Cnp(Mark.NONE))) as network:
        network.survive()
        network.run(until_s=1e-3)
        assert "rate_bps is -1" in network.failures[7, "RP"]
        assert len(rp.events) == 1
        network.stop_flow(7)  # which an ended run refuses


@pytest.mark.parametrize("error", [KeyboardInterrupt(), SystemExit()])
def test_signal_in_an_algorithm_ends_a_run_that_survives(error):
    scheme = scheme_of(lambda: Late(error), lambda: Np(Cnp(Mark.NONE)))
    with VirtualNetwork(chain(1), scheme) as network:
        network.survive()
        network.add_flow(FlowSpec(7, "h0", "r0"))
        with pytest.raises(type(error)):
            network.run(until_s=1e-3)
        assert not network.failures


def test_an_algorithms_error_carries_its_traceback():
    with (
        network_of(Rp(), Np(ZeroDivisionError("own"))) as network,
        pytest.raises(CallbackError) as caught,
    ):
        network.run(until_s=1e-3)
    names = []
    trace = caught.value.__cause__.__traceback__
    while trace is not None:
        names.append(trace.tb_frame.f_code.co_name)
        trace = trace.tb_next
    assert names == ["run", "on_window"]


@pytest.mark.parametrize("callback", ["on_rate", "on_window"])
def test_errors_of_notified_functions_end_the_run(callback):
    def fails(*_):
        raise ZeroDivisionError

    with network_of(Rp(), Np(Cnp(Mark.NONE))) as network:
        setattr(network, callback, fails)
        with pytest.raises(CallbackError, match=r"flow 7, at .* ZeroDivisionError"):
            network.run(until_s=1e-3)


def test_a_rate_is_at_most_what_limits_the_flow():
    with VirtualNetwork(
        chain(1), scheme_of(lambda: Rp({"rate_bps": 5e9}), lambda: Np(Cnp(Mark.NONE)))
    ) as network:
        network.add_flow(FlowSpec(7, "h0", "r0", rate_bps=2e9))
        network.run(until_s=300e-6)
        assert network.flows[7].rp.rate_bps == 5e9
        assert network.flows[7].stats().rate_bps == 2e9


@pytest.mark.parametrize(
    ("scheme", "settings"),
    [("pcn", {}), ("dcqcn", {}), ("qcn", {"timer_s": 1e-3}), ("timely", {"min_rtt_s": 1e-3})],
)
def test_questions_leave_no_object_behind(scheme, settings):
    calls = 0

    def count(flow: VirtualFlow, now_s: float, *_):
        nonlocal calls
        calls += 1

    topology = dumbbell()
    with VirtualNetwork(topology, find_scheme(scheme).configure(settings)) as network:
        for flow in topology.flows:
            network.add_flow(flow)
        network.on_rate = network.on_window = count
        network.run(until_s=1e-3)
        tracemalloc.start()
        try:
            network.run(until_s=2e-3)
            calls, before = (
                0,
                (tracemalloc.get_traced_memory()[0], sys.getrefcount(Window), sys.getrefcount(Cnp)),
            )
            network.run(until_s=50e-3)
            after = (
                tracemalloc.get_traced_memory()[0],
                sys.getrefcount(Window),
                sys.getrefcount(Cnp),
            )
        finally:
            tracemalloc.stop()
    assert calls > 150
    # an object is 24 bytes or more, and each question makes several
    assert after[0] - before[0] < 3000
    assert after[1:] == before[1:]


@pytest.mark.parametrize("rate_bps", [math.nan, math.inf, -1.0, 2.0**32 * 1e6])
def test_a_rate_that_no_cnp_carries_ends_the_run(rate_bps):
    with network_of(Rp(), Np(Cnp(Mark.CE, rate_bps))) as network:
        with pytest.raises(
            CallbackError,
            match=r"NP of flow 7, at .*: rec_rate_bps is .*: bit/s, from 0 \(none\) to",
        ):
            network.run(until_s=1e-3)
        with pytest.raises(VirtualError, match="the run can't go on"):
            network.run(until_s=1e-3)


def test_no_rate_stays_none_and_others_are_whole_megabits():
    for sent, received in ((0.0, 0.0), (1.0, 1e6), (1.6e6, 2e6)):
        rp = Rp()
        with network_of(rp, Np(Cnp(Mark.CE, sent))) as network:
            network.run(until_s=3 * PERIOD_S)
        assert {event[0].rec_rate_bps for event in rp.events} == {received}


def test_an_error_comes_from_another_process_as_its_text():
    error = CallbackError("RP of flow 7", 1e-3, KeyError("mine"))
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


@pytest.mark.parametrize("wrong", ["reaction_point", "notification_point", "period", "rate"])
def test_ends_that_cannot_be_are_refused_when_a_flow_is_added(wrong):
    class Rateless(ReactionPoint):
        def __init__(self):
            pass

    def broken():
        return {}["mine"]

    def silent() -> Np:
        np = Np()
        np.period_s = 0.0
        return np

    rp = {"reaction_point": broken, "rate": Rateless}.get(wrong, Rp)
    np = {"notification_point": broken, "period": silent}.get(wrong, Np)
    text = {
        "reaction_point": (
            r"its RP can't be made: KeyError: 'mine' \(test_virtual_callbacks.py, line \d+\)"
        ),
        "notification_point": (
            r"its NP can't be made: KeyError: 'mine' \(test_virtual_callbacks.py, line \d+\)"
        ),
        "period": "its NP's period_s is 0: seconds, above 0; None: no windows",
        "rate": "its RP begins wrongly: AttributeError",
    }
    with (
        VirtualNetwork(chain(1), scheme_of(rp, np)) as network,
        pytest.raises(VirtualError, match=f"flow 7: .*{text[wrong]}"),
    ):
        network.add_flow(FlowSpec(7, "h0", "r0"))


def test_a_second_signal_ends_an_algorithm_that_hangs():
    hangs = threading.Event()

    class Hanging(Rp):
        def on_cnp(self, cnp: Cnp, now_s: float):
            hangs.set()
            while True:
                time.sleep(1e-3)

    def interrupt():
        hangs.wait()
        for number in (signal.SIGINT, signal.SIGTERM):
            os.kill(os.getpid(), number)

    asking = threading.Thread(target=interrupt)
    asking.start()
    with (
        network_of(Hanging(), Np(Cnp(Mark.CE, 2.5e9))) as network,
        pytest.raises(KeyboardInterrupt),
    ):
        network.run(until_s=1e-3)
    asking.join()
