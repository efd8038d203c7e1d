"""When frames arrive, to the picosecond; links that change; samples."""

import random
import signal
from dataclasses import replace
from functools import partial

import numpy as np
import pytest
from networks import MTU, PFC_ONLY, chain, dumbbell_network, parameters, star, with_flows

from pcn.hosts.algorithms import Cnp, Window, find_scheme
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualFlow, VirtualNetwork
from pcn.topologies.lossless import CREDITS, credit_parameters
from pcn.topologies.model import (
    MOST_RATE_BPS,
    Endpoint,
    FlowSpec,
    Link,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)
from pcn.virtualnet import CallbackError, Totals, VirtualError

FRAME_S = MTU * 8 / 10e9


@pytest.mark.parametrize("switches", [1, 2, 5])
def test_store_and_forward_latency_is_exact(switches):
    with VirtualNetwork(chain(switches), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=3000))
        assert network.run(finish=True)
        stats = flow.stats()
    first_ps = round((switches + 1) * (FRAME_S + 1e-6) * 1e12)
    assert round((stats.first_s or 0) * 1e12) == first_ps
    assert round((stats.complete_s or 0) * 1e12) == first_ps + 2 * round(FRAME_S * 1e12)


def unequal(delays_s: list[float]) -> Topology:
    """A host for each delay of its link, and r0, around s0."""
    ends = [f"h{i}" for i in range(len(delays_s))]
    links = [
        Link(Endpoint(name, 0), Endpoint("s0", i + 1), 10e9, delays_s[i])
        for i, name in enumerate(ends)
    ]
    links.append(Link(Endpoint("r0", 0), Endpoint("s0", len(ends) + 1), 10e9, 1e-6))
    hosts = make_hosts([*ends, "r0"])
    return Topology("unequal", hosts, (Switch("s0", 1),), tuple(links), parameters=parameters())


def test_flows_of_one_network_have_separate_round_trips():
    """Exact for each; headroom is each link's own, and no frame is lost where near and far hosts
    share a port."""
    delays_s = [1e-6, 10e-6, 100e-6]
    topology = unequal(delays_s)
    assert [topology.rtt_s(f"h{i}", "r0") for i in range(3)] == pytest.approx(
        [2 * (d + 1e-6) for d in delays_s]
    )
    for i, delay_s in enumerate(delays_s):
        with VirtualNetwork(topology, PFC_ONLY) as network:
            flow = network.add_flow(FlowSpec(1, f"h{i}", "r0", size_bytes=1000))
            network.run(finish=True)
            assert round((flow.stats().first_s or 0) * 1e12) == round(
                (2 * FRAME_S + delay_s + 1e-6) * 1e12
            )
    scheme = find_scheme("pcn").configure({"period_s": topology.max_rtt_s(), "w_min": 0.1 / 3})
    with with_flows(
        VirtualNetwork(topology, scheme), [FlowSpec(i, f"h{i}", "r0") for i in range(3)]
    ) as network:
        network.run(until_s=20e-3)
        before = {i: flow.stats().received_payload for i, flow in network.flows.items()}
        network.run(until_s=40e-3)
        rates = [
            (flow.stats().received_payload - before[i]) * 8 / 20e-3
            for i, flow in network.flows.items()
        ]
        limits = [network.link_stats(f"h{i}", 0).held_limit for i in range(3)]
        assert network.totals().dropped == network.link_stats("s0", 4).pause == 0
    assert limits == sorted(limits)
    assert limits[2] - limits[0] == pytest.approx(
        2 * (delays_s[2] - delays_s[0]) * 10e9 / 8, rel=0.01
    )
    assert sum(rates) > 0.9 * 10e9 * 1000 / MTU
    assert sum(rates) ** 2 / (3 * sum(rate * rate for rate in rates)) > 0.95


def test_a_rate_that_picoseconds_don_t_divide():
    """3 Gbit/s: 2821.333... ns a frame, rounded for each frame."""
    with VirtualNetwork(chain(1, rate_bps=3e9), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1000))
        network.run(finish=True)
        assert round((flow.stats().complete_s or 0) * 1e12) == 2 * (2821333 + 10**6)


@pytest.mark.parametrize("queues", ["nodes", "one"])
@pytest.mark.parametrize(
    ("tick_ns", "frame_ns", "gap_ns", "ack_ns"),
    [(1, 84, 169, 4), (5, 80, 165, 5), (0, 84.64, 169.28, 4.96)],
)
def test_times_are_whole_ticks_cut_off(queues, tick_ns, frame_ns, gap_ns, ack_ns):
    """A frame takes 84.64 ns at 100 Gbit/s, its ACK 4.96, and one of a flow of 50 Gbit/s starts
    each 169.28. A time below a tick is one."""
    reliability = {3: Reliability(Repeats.GO_BACK_N, timeout_s=1)}
    with VirtualNetwork(
        chain(1, rate_bps=100e9),
        PFC_ONLY,
        queues=queues,
        tick_s=tick_ns * 1e-9,
        reliability=reliability,
    ) as network:
        fast = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=3000))
        slow = network.add_flow(
            FlowSpec(2, "h0", "r0", start_s=1e-5, size_bytes=3000, rate_bps=50e9)
        )
        network.run(until_s=1e-4)
        times = [(flow.stats().complete_s or 0, flow.stats().ended_s or 0) for flow in (fast, slow)]
        with pytest.raises(VirtualError, match="runs already: its ticks can't change"):
            network._check(network._library.vn_set_tick(network._changing(), 1000))
    arrives_s = [2e-6 + 4e-9 * frame_ns, 1.2e-5 + 2e-9 * (frame_ns + gap_ns)]
    expected = [(arrival_s, arrival_s + 2e-6 + 2e-9 * ack_ns) for arrival_s in arrives_s]
    assert times == [pytest.approx(pair, abs=1e-13) for pair in expected]


@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_frame_on_the_fastest_link_takes_its_picoseconds(queues):
    """59 bytes at 100 Tbit/s, at which the smallest part of a frame has no time left."""
    topology = replace(chain(1, rate_bps=MOST_RATE_BPS), flow_control=CREDITS)
    topology = replace(topology, parameters={**topology.parameters, **credit_parameters()})
    with VirtualNetwork(topology, PFC_ONLY, payload_bytes=1, queues=queues) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=100))
        assert network.run(until_s=1e-3, finish=True)
        complete_s = flow.stats().complete_s or 0
    assert complete_s == pytest.approx(2e-6 + 101 * 5e-12, abs=1e-10)


def test_pause_of_a_slow_link_lasts():
    """36,029 quanta at 1 bit/s are 2^64 ps and 104 s more."""
    with VirtualNetwork(star(1), PFC_ONLY) as network:
        network.set_link("s0", 2, rate_bps=1)
        network.pfc_arrives("s0", 2, 3, 36_029, bytes(6))
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1000))
        network.run(until_s=1e5)
        assert flow.stats().received_bytes == 0


def test_ticks_are_there_with_queues_of_a_depth():
    topology = chain(1)
    topology = replace(topology, parameters={**topology.parameters, "queue_packets": 9})
    with VirtualNetwork(topology, PFC_ONLY, tick_s=1e-9) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=3000))
        assert network.run(until_s=1e-3, finish=True)


@pytest.mark.parametrize("tick_s", [-1e-9, 1e-3, float("nan")])
def test_tick_that_is_no_time_is_refused(tick_s):
    with pytest.raises(
        VirtualError, match=r"a tick of .* s: more than 0 and less than 1 ms is possible"
    ):
        VirtualNetwork(chain(1), PFC_ONLY, tick_s=tick_s)


def test_the_last_frame_is_as_long_as_its_payload():
    with VirtualNetwork(chain(1), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1001))
        network.run(finish=True)
        stats = flow.stats()
    assert (stats.sent_packets, stats.sent_payload, stats.received_payload) == (2, 1001, 1001)
    assert stats.sent_bytes == stats.received_bytes == MTU + 58 + 4  # one byte, padded to four


def test_pacing_follows_the_application_s_limit():
    with VirtualNetwork(chain(1), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", rate_bps=2.5e9))
        network.run(until_s=10e-3)
        assert flow.stats().sent_bytes * 8 / 10e-3 == pytest.approx(2.5e9, rel=1e-3)


@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_a_host_s_flows_start_when_they_should(queues):
    """A frame each, in any order of numbers, two at once now and then; some are added before others
    have started."""
    draw = random.Random(7)
    slots = [draw.randrange(1, 200) for _ in range(120)]
    starts = {i: 2 * slot * FRAME_S for i, slot in enumerate(slots) if slots[:i].count(slot) < 2}
    later = {i: start for i, start in starts.items() if i % 3 == 0 and start > 150 * FRAME_S}
    with VirtualNetwork(chain(1), PFC_ONLY, queues=queues) as network:
        flows = {
            i: FlowSpec(i, "h0", "r0", start_s=start, size_bytes=1000)
            for i, start in starts.items()
        }
        with_flows(network, [spec for i, spec in flows.items() if i not in later])
        for i, start in later.items():
            network.at(draw.uniform(0, start), partial(network.add_flow, flows[i]))
        network.run(until_s=1e-3)
        arrivals = {
            i: round((flow.stats().first_s or 0) * 1e12) for i, flow in network.flows.items()
        }
    for start in set(starts.values()):
        together = sorted(arrivals[i] for i in starts if starts[i] == start)
        frames = [(2 + before) * FRAME_S for before in range(len(together))]
        assert together == [round((start + sent + 2e-6) * 1e12) for sent in frames]
    assert len(starts) > 90
    assert len(later) > 20


def test_a_flow_ends_after_its_time():
    with VirtualNetwork(chain(1), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0", start_s=1e-5, duration_s=20.5 * FRAME_S))
        network.run(until_s=1e-3)
        stats = flow.stats()
    assert stats.sent_packets == stats.received_packets == 21
    assert stats.ended_s == pytest.approx(1e-5 + 20.5 * FRAME_S, abs=1e-12)


@pytest.mark.parametrize(("node", "port"), [("s0", 2), ("h0", 0)])
def test_a_slower_link_and_one_that_is_down(node, port):
    """Rates in four intervals: 10 Gbit/s, 1 Gbit/s, down, 10 Gbit/s. Nothing is lost."""
    with VirtualNetwork(chain(2), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0"))
        network.at(1e-3, lambda: network.set_link(node, port, rate_bps=1e9))
        network.at(2e-3, lambda: network.set_link(node, port, rate_bps=10e9, up=False))
        network.at(3e-3, lambda: network.set_link(node, port, up=True))
        network.at(4e-3, lambda: network.stop_flow(1))
        seen = network.sample(1e-3, [network.link_bytes(node, port), network.flow_received(1)])
        network.run(until_s=8e-3)
        stats = flow.stats()
        assert network.totals().packets == 0
    sent = np.diff(seen.values[:5, 0])
    assert sent * 8 / 1e-3 / 1e9 == pytest.approx([10, 1, 0, 10], abs=0.03)
    assert sent[2] == MTU  # the one frame that starts as the link is up again
    assert stats.sent_packets == stats.received_packets
    assert stats.out_of_order == 0


def test_classes_are_strict_and_notifications_come_first():
    """CNPs against a full reverse path still come back within an RTT: they overtake the data of the
    other direction."""
    from pcn.hosts.algorithms import find_scheme

    scheme = find_scheme("pcn").configure({"period_s": 50e-6})
    with VirtualNetwork(chain(1, delay_s=1e-6), scheme) as network:
        forward = network.add_flow(FlowSpec(1, "h0", "r0"))
        network.add_flow(FlowSpec(2, "r0", "h0"))
        network.run(until_s=1e-3)
        assert forward.stats().cnps_received >= forward.stats().cnps_sent - 1 > 15


@pytest.mark.parametrize("sources", [1, 2])
def test_columns_of_samples_are_copies(sources):
    with VirtualNetwork(chain(1), PFC_ONLY) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=30_000))
        seen = network.sample(
            1e-6, [network.link_bytes("s0", 2), network.flow_received(1)][:sources]
        )
        network.run(until_s=20e-6)
        columns = seen.columns
        before = columns.copy()
        columns += 1
        assert (seen.columns == before).all()
        assert (before == seen.values.T).all()
        assert before.shape == (sources, seen.times_s.size)
    after = seen.columns
    after += 1
    assert (seen.columns == before).all()


def test_thinned_samples_are_bounded_and_counters_stay_exact():
    with VirtualNetwork(star(2), PFC_ONLY) as network:
        with_flows(network, [FlowSpec(1, "h0", "r0"), FlowSpec(2, "h1", "r0")])
        values = [network.queue_bytes("s0", 3), network.link_bytes("s0", 3)]
        whole = network.sample(10e-6, values, from_s=5e-6)
        every_second = network.sample(10e-6, values, from_s=5e-6, most=8)
        largest = network.sample(10e-6, values, from_s=5e-6, most=8, largest=True)
        for until_s in (75e-6, 85e-6, 300e-6):  # whole has 8, 9, 30
            network.run(until_s=until_s)
            step = {8: 1, 9: 2, 30: 4}[whole.times_s.size]
            for samples in (every_second, largest):
                assert samples.times_s.tolist() == whole.times_s[::step].tolist()
                assert samples.times_s.size <= 8
            assert (every_second.values == whole.values[::step]).all()
        rows: list[list[float]] = []
        for place, row in enumerate(whole.values.tolist()):
            if place % (1 if place < 8 else 2 if place < 16 else 4):
                continue
            if len(rows) == 8:
                rows = [list(map(max, rows[at], rows[at + 1])) for at in range(0, 8, 2)]
            rows.append(row)
        assert largest.values.tolist() == rows
        assert rows != every_second.values.tolist()
        for most in (0, 7):
            with pytest.raises(VirtualError, match=f"{most} samples at most: an even number"):
                network.sample(10e-6, values, most=most)


def test_samples_are_taken_at_equal_intervals_and_outlive_the_network():
    with VirtualNetwork(star(2), PFC_ONLY) as network:
        with_flows(network, [FlowSpec(1, "h0", "r0"), FlowSpec(2, "h1", "r0")])
        cell = 3 * 8 + 3
        seen = network.sample(
            10e-6,
            [
                network.queue_bytes("s0", 3),
                network.register("s0", "waiting_bytes", cell),
                network.queue_packets("s0", 3),
                network.register("s0", "waiting_packets", cell),
                network.counter_bytes("s0", "transmitted", cell),
            ],
            from_s=5e-6,
        )
        network.run(until_s=300e-6)
    assert seen.times_s == pytest.approx(5e-6 + 10e-6 * np.arange(30))
    assert seen.values.shape == (30, 5)
    assert (seen.values[:, 0] == seen.values[:, 1]).all()
    assert (seen.values[:, 2] == seen.values[:, 3]).all()
    assert seen.values[-1, 0] > 100e3
    # Two NICs at line rate into one port: what is inside grows at line rate, what leaves too
    assert np.diff(seen.values[10:, 0]).mean() * 8 / 10e-6 == pytest.approx(10e9, rel=0.02)
    assert np.diff(seen.values[10:, 4]).mean() * 8 / 10e-6 == pytest.approx(10e9, rel=0.02)


def test_what_can_t_be_is_refused():
    with VirtualNetwork(chain(1), PFC_ONLY) as network:
        with pytest.raises(TopologyError, match="no host 'h7'"):
            network.add_flow(FlowSpec(1, "h7", "r0"))
        network.add_flow(FlowSpec(1, "h0", "r0"))
        with pytest.raises(VirtualError, match="flow 1 is there already"):
            network.add_flow(FlowSpec(1, "h0", "r0"))
        network.run(until_s=1e-3)
        with pytest.raises(VirtualError, match="which is over"):
            network.add_flow(FlowSpec(2, "h0", "r0", start_s=0.5e-3))
        with pytest.raises(VirtualError, match="needs a time to end at"):
            network.run()
    with pytest.raises(VirtualError, match="closed"):
        network.run(until_s=2e-3)


def test_an_error_in_a_callback_carries_its_traceback_and_the_time():
    def fails():
        raise KeyError("what")

    with VirtualNetwork(chain(1), PFC_ONLY) as network:
        network.at(123.456e-6, fails)
        with pytest.raises(
            CallbackError, match=r"fails, at 123\.456000 us of simulated time: KeyError"
        ) as caught:
            network.run(until_s=1)
        assert caught.value.now_s == pytest.approx(123.456e-6)
        cause = caught.value.__cause__
        assert isinstance(cause, KeyError)
        assert cause.__traceback__ is not None
        network.run(until_s=1e-3)  # goes on after it
        assert network.now_s == pytest.approx(1e-3)


@pytest.mark.parametrize("queues", ["nodes", "one"])
def test_run_reports_progress_with_an_estimate(queues, monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr("pcn.virtualnet.progress.time.monotonic", lambda: float(next(clock)))
    reports: list[tuple[float, float]] = []
    with VirtualNetwork(star(3), PFC_ONLY, queues=queues) as network:
        with_flows(network, [FlowSpec(i + 1, f"h{i}", "r0") for i in range(3)])
        network.run(until_s=100e-3, progress=lambda now, left: reports.append((now, left)))
    assert len(reports) >= 2
    assert [now for now, _ in reports] == sorted(now for now, _ in reports)
    now, left = reports[-1]
    # a look is a second of this clock
    assert left == pytest.approx(len(reports) * (0.1 - now) / now, rel=0.01)


@pytest.mark.parametrize("window", [1, 40, 90])
def test_ctrl_c_leaves_a_run_that_goes_on_as_if_it_had_not_come(window):
    """It comes during an NP's callback: neither the result nor anything that follows from it is
    lost."""

    def totals(interrupt: bool) -> tuple[Totals, int]:
        interrupts = windows = 0

        def on_window(flow: VirtualFlow, now_s: float, seen: Window, cnp: Cnp | None):
            nonlocal windows
            windows += 1
            if interrupt and windows == window:
                signal.raise_signal(signal.SIGINT)

        with dumbbell_network() as network:
            network.on_window = on_window
            while network.now_s < 40e-3:
                try:
                    network.run(until_s=40e-3)
                except KeyboardInterrupt:
                    interrupts += 1
                    assert 0 < network.now_s < 40e-3
            return network.totals(), interrupts

    expected, none = totals(interrupt=False)
    assert none == 0
    assert totals(interrupt=True) == (expected, 1)


def test_ctrl_c_closes_a_network_cleanly():
    network = dumbbell_network()
    samples = network.sample(1e-6, [network.queue_bytes("s0", 4)])
    network.at(1e-3, lambda: signal.raise_signal(signal.SIGINT))
    with pytest.raises(KeyboardInterrupt), network:
        network.run(until_s=1.0)
    assert 1e-3 < samples.times_s[-1] < 0.2
    with pytest.raises(VirtualError, match="closed"):
        network.run(until_s=2.0)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_run_reports_progress_during_callbacks(monkeypatch):
    clock = iter(range(10**6))
    monkeypatch.setattr("pcn.virtualnet.progress.time.monotonic", lambda: float(next(clock)))
    reports: list[float] = []
    with dumbbell_network() as network:
        network.run(until_s=60e-3, progress=lambda now, _: reports.append(now))
        assert len(reports) == network.totals().events // 200_000 > 0


@pytest.mark.parametrize("queues", ["nodes", "one"])
@pytest.mark.parametrize(
    "change",
    [
        lambda network: network.at(network.now_s + 1e-3, print),
        lambda network: network.set_link("s0", 4, up=False),
        lambda network: network.add_flow(FlowSpec(9, "h0", "r0"), network.now_s + 1e-3),
        lambda network: network.stop_flow(1),
        lambda network: network.sample(1e-3, [network.queue_bytes("s0", 4)]),
    ],
    ids=["at", "set_link", "add_flow", "stop_flow", "sample"],
)
def test_callback_of_one_host_can_t_change_the_past(change, queues):
    """Others are ahead by then: its effects at a later time would come too late for them."""
    for callback in ("on_rate", "on_window"):
        with dumbbell_network(queues=queues) as network:
            setattr(network, callback, lambda *_, network=network: change(network))
            with pytest.raises(VirtualError, match="at different times"):
                network.run(until_s=10e-3)
    with dumbbell_network(queues=queues) as network:
        network.at(1e-3, lambda: change(network) and None)
        network.run(until_s=3e-3)
