"""Runs in real time divided by k: virtual time's digest, and no event before its real time.

Nothing here asserts that a run is on time: that is a matter of the machine."""

import os
import signal
import sys
import threading
import time
from dataclasses import replace

import pytest
from feature_networks import by_feature, of_switches_alone
from hypothesis import given, settings, strategies as st
from networks import PCN, PFC_ONLY, dumbbell_network, star, tree, with_flows

from pcn.experiments.run.execute import paced_k
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualFlow, VirtualNetwork
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import FlowSpec
from pcn.virtualnet import CallbackError, Lateness, VirtualError, timed
from pcn.virtualnet.native import PACE_BUCKETS


def tree_of_pauses() -> VirtualNetwork:
    network = VirtualNetwork(
        tree(3, out_bps=7e9, xoff_bytes=50e3), find_scheme("dcqcn").configure()
    )
    with_flows(network, [FlowSpec(i + 1, f"h{i}", "r0", size_bytes=500_000) for i in range(3)])
    return network


def short_links() -> VirtualNetwork:
    network = VirtualNetwork(star(4, delay_s=1e-9), PCN)
    with_flows(network, [FlowSpec(1, "h0", "r0", size_bytes=3_000_000)])
    return network


def fat_tree_of_flows() -> VirtualNetwork:
    network = VirtualNetwork(fat_tree(), PCN)
    hosts = [host.name for host in network.topology.hosts]
    ends = zip(hosts, hosts[5:], strict=False)
    with_flows(
        network,
        [FlowSpec(i, src, dst, size_bytes=3_000_000) for i, (src, dst) in enumerate(ends, start=1)],
    )
    return network


def ends_in_python() -> VirtualNetwork:
    network = VirtualNetwork(
        tree(3, out_bps=7e9, xoff_bytes=50e3), find_scheme("dcqcn").configure(), in_c=False
    )
    with_flows(network, [FlowSpec(i + 1, f"h{i}", "r0", size_bytes=500_000) for i in range(3)])
    return network


NETWORKS = (dumbbell_network, tree_of_pauses, short_links, fat_tree_of_flows, ends_in_python)


@pytest.mark.parametrize("make", NETWORKS, ids=lambda make: make.__name__)
@pytest.mark.parametrize("k", [1e-300, 0.01, 1.0, 20.0])
def test_paced_run_has_the_digest_of_virtual_time(make, k):
    """However late it is: at k = 0.01 all of it is due at the first look, at 1e-300 all
    that ever will be."""
    with make() as network:
        network.run(until_s=1e-3)
        network.run(until_s=2e-3)
        expected = network.totals()
    with make() as network:
        network.pace(k, 1e-4)
        network.run(until_s=1e-3)
        network.pace(None)
        network.run(until_s=1.5e-3)
        network.pace(k, 1e-5)
        network.run(until_s=2e-3)
        assert network.totals().digest == expected.digest
        assert network.totals().events == expected.events
        lateness = network.lateness()
        assert sum(lateness.counts) <= expected.events
        assert lateness.batches > 0


FEATURES = {**by_feature(), **of_switches_alone()}


@pytest.mark.parametrize("name", sorted(FEATURES))
def test_paced_run_has_what_virtual_time_has(name):
    """Whatever the network's switches and flows have; at k = 2 it takes 2 ms."""
    topology, flows, options = FEATURES[name]
    results = []
    for k in (None, 2.0, 1e-3):
        with VirtualNetwork(topology, PFC_ONLY, **options) as network:
            network.pace(k, 1e-5)
            with_flows(network, flows).run(until_s=1e-3)
            results.append(replace(network.totals(), packets_most=0))
    assert results[1:] == results[:1] * 2
    assert results[0].data_traversals > 100


def test_paced_run_ends_with_the_last_flow():
    ends = []
    for k in (None, 5.0):
        with short_links() as network:
            network.pace(k)
            assert network.run(until_s=1.0, finish=True)
            ends.append((network.now_s, network.totals().digest))
    assert ends[0] == ends[1]


def test_paced_run_takes_no_event_before_its_real_time():
    k, real_s = 40.0, []
    with dumbbell_network() as network:
        network.run(until_s=0.5e-3)  # which takes none of it
        began = time.monotonic()
        network.pace(k)
        for number in range(1, 4):
            network.at(0.5e-3 + number * 1e-3, lambda: real_s.append(time.monotonic() - began))
        network.run(until_s=4e-3)
        took_s = time.monotonic() - began
    assert all(real >= k * number * 1e-3 for number, real in enumerate(real_s, start=1))
    assert len(real_s) == 3
    assert took_s >= k * 3.5e-3


def test_paced_run_sleeps_without_python_s_lock():
    """The other thread gets the lock by the sleep alone: Python itself takes it from no thread."""
    go, seen, before = threading.Event(), [], sys.getswitchinterval()
    thread = threading.Thread(target=lambda: (go.wait(), seen.append("thread")))
    thread.start()
    with dumbbell_network() as network:
        network.at(1e-3, lambda: seen.append("run"))
        network.pace(50.0)
        try:
            sys.setswitchinterval(1000)
            go.set()
            network.run(until_s=1e-3)
        finally:
            sys.setswitchinterval(before)
        thread.join()
    assert seen == ["thread", "run"]


def test_events_happen_while_another_thread_has_python_s_lock():
    """It doesn't give the lock back before it has seen time pass, or has waited a while: a run
    whose ends are in C needs it for none."""
    seen, before, end = [], sys.getswitchinterval(), time.monotonic() + 60
    with dumbbell_network() as network:

        def time_passes() -> bool:
            at_s, until = network._exchange.now_s, time.monotonic() + 0.1
            while time.monotonic() < until:
                if network._exchange.now_s != at_s:
                    return True
            return False

        def look():
            while not seen and time.monotonic() < end:
                if time_passes():
                    seen.append(True)
                time.sleep(0)

        thread = threading.Thread(target=look)
        try:
            sys.setswitchinterval(1000)  # so that nothing takes Python's lock from the thread
            thread.start()
            while thread.is_alive():
                network.pace(1.0, 1e-4)
                network.run(until_s=network.now_s + 10e-3)
        finally:
            sys.setswitchinterval(before)
            thread.join()
    assert seen


def test_error_of_an_algorithm_ends_a_paced_run():
    with ends_in_python() as network:

        def fail(flow: VirtualFlow, now_s: float):
            if now_s > 1e-4:
                raise KeyError(flow.spec.id)

        network.on_rate = fail
        network.pace(1.0)
        with pytest.raises(CallbackError, match="KeyError") as raised:
            network.run(until_s=2e-3)
        assert 1e-4 < raised.value.now_s < 2e-3


def test_paced_run_that_is_late_leaves_its_locks_between_slices(monkeypatch):
    """All is due at the first look. The thread that waits for the engine is let in after a few
    thousand events, and the digest is virtual time's."""
    with fat_tree_of_flows() as network:
        network.at(1e-6, lambda: None)
        network.run(until_s=1e-3)
        expected = network.totals()
    assert expected.events > 100_000
    monkeypatch.setattr(timed, "_CHUNK", 10**9)
    begun, seen, before = threading.Event(), [], sys.getswitchinterval()
    with fat_tree_of_flows() as network:

        def look():
            begun.set()
            with network.lock:
                seen.append(network.now_s)

        thread = threading.Thread(target=look)
        network.at(1e-6, lambda: (thread.start(), begun.wait()))
        network.pace(1e-3)
        try:
            sys.setswitchinterval(1000)  # so that only the run's own leave gives it Python's lock
            network.run(until_s=1e-3)
        finally:
            sys.setswitchinterval(before)
        thread.join()
        assert network.totals().digest == expected.digest
    assert 1e-6 <= seen[0] < 1e-3


def test_ctrl_c_ends_a_paced_run_that_goes_on_afterwards():
    with dumbbell_network() as network:
        network.run(until_s=2e-3)
        expected = network.totals().digest
    with dumbbell_network() as network:
        network.pace(1e6)  # half an hour
        timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
        timer.start()
        with pytest.raises(KeyboardInterrupt):
            network.run(until_s=2e-3)
        timer.join()
        network.pace(None)
        network.run(until_s=2e-3)
        assert network.totals().digest == expected


@pytest.mark.parametrize(
    ("k", "slack_s"), [(0.0, 1e-3), (-1.0, 1e-3), (float("nan"), 1e-3), (1.0, 0.0), (1.0, 2.0)]
)
def test_impossible_pace_is_refused(k, slack_s):
    with dumbbell_network() as network:
        with pytest.raises(VirtualError, match="a pace of k="):
            network.pace(k, slack_s)
        with pytest.raises(VirtualError, match="has no pace"):
            network.lateness()


@given(
    st.lists(st.integers(0, 10**6), min_size=PACE_BUCKETS, max_size=PACE_BUCKETS),
    st.floats(0, 100),
    st.floats(0, 100),
)
@settings(deadline=None)
def test_bounds_of_lateness_ascend_to_the_worst(counts, low, high):
    lateness = Lateness(tuple(counts), 0.07, 3)
    low, high = sorted((low, high))
    least, most = lateness.bound_s(low), lateness.bound_s(high)
    if not any(counts):
        assert least is most is None
        return
    assert least is not None
    assert most is not None
    assert 0 < least <= most <= lateness.worst_s
    late = sum(count for bits, count in enumerate(counts) if 2.0**bits * 1e-9 > most)
    assert most == lateness.worst_s or late <= sum(counts) * (1 - high / 100) + 1e-6


def test_derived_k_is_a_microsecond_for_each_frame_of_full_links():
    """Four ports of one switch at 10 Gb/s: 4 x 10e9 / 8,000 frames a second, 1 us each."""
    assert paced_k(star(3), 1000) == 5.0
    assert paced_k(star(3, rate_bps=1e6), 1000) == 1.0
