"""k by the network: what follows from a machine and a topology, and the machine's measurement."""

import json
import os
import subprocess
import sys
import time
from contextlib import closing
from functools import cache

import forks
import pytest
from hypothesis import given, strategies as st

from pcn import cli
from pcn.base.errors import LabError
from pcn.lab import calibrate, journal, preflight, supervisor
from pcn.lab.calibrate import Choice, agents_cost, mean_hops, rounds_per_s, stretch
from pcn.softswitch.pace import Board
from pcn.topologies.catalog import TOPOLOGIES
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import Topology
from pcn.topologies.serialise import to_dict

ROUNDS = [80_000.0, 60_000.0]


@cache
def clos() -> Topology:
    return find_topology("clos").build()


def load(topology: Topology, k: float, target: str) -> float:
    """Rounds a second that a network takes at k: its packets, by switches and agents, and its
    agents as such."""
    more = max(1.0, len(topology.hosts + topology.switches) / calibrate.MANY_NODES)
    hop = calibrate.HOP_COST[target] * more ** calibrate.MANY_COST["switches"]
    rates = [
        topology.link_at(host.name, 0).rate_bps / 8 / topology.number("mtu_bytes") / k
        for host in topology.hosts
    ]
    switches = mean_hops(topology) * hop
    packets = sum(
        rate * (more ** calibrate.MANY_COST["agents"] * agents_cost(rate) + switches)
        for rate in rates
    )
    return packets + len(topology.hosts) * calibrate.NODE_COST


@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.parametrize("target", ["softswitch", "bmv2"])
def test_packets_of_all_hosts_take_the_usable_share(name, target):
    topology = find_topology(name).build()
    choice = stretch(topology, target, ROUNDS)
    usable = calibrate.USABLE * sum(ROUNDS)
    assert load(topology, choice.k, target) <= usable * 1.001
    arrivals = calibrate.at_once_bps(topology) / 8 / topology.number("mtu_bytes")
    at_once = arrivals * calibrate.ARRIVAL_COST[target] / min(ROUNDS)
    assert choice.k <= 1.2 * max(at_once, 100) or load(topology, choice.k / 1.2, target) > usable


@given(st.lists(st.floats(1e3, 1e7), min_size=1, max_size=8), st.floats(1, 100))
def test_faster_machine_needs_no_larger_k(rounds, faster):
    topology = dumbbell()
    assert (
        calibrate.LEAST_K
        <= stretch(topology, "softswitch", [round_ * faster for round_ in rounds]).k
        <= stretch(topology, "softswitch", rounds).k
    )


@given(st.floats(1, 1e7), st.floats(1, 100), st.booleans())
def test_packets_close_together_cost_no_more(rate, faster, in_memory):
    costs = calibrate.AGENTS_MEMORY_COST if in_memory else calibrate.AGENTS_COST
    least, most = costs[-1][1], costs[0][1] * (1 + 1e-12)
    assert least <= agents_cost(rate * faster, in_memory) * (1 + 1e-12)
    assert (
        agents_cost(rate * faster, in_memory) <= agents_cost(rate, in_memory) * (1 + 1e-12) <= most
    )


@pytest.mark.parametrize("name", [name for name in TOPOLOGIES if name != "clos"])
def test_mean_hops_are_those_of_all_pairs(name):
    topology = find_topology(name).build()
    names = [host.name for host in topology.hosts]
    hops = [topology.distance(name, peer) - 1 for name in names for peer in names if name != peer]
    assert mean_hops(topology) == pytest.approx(sum(hops) / len(hops))


@given(st.floats(1e3, 1e7))
def test_machine_of_any_speed_has_a_k_for_many_agents(rounds):
    """The agents of 512 hosts take all that a slow machine may use; a fast one hardly notices
    them."""
    k = stretch(clos(), "softswitch", [rounds], "together").k
    assert (
        calibrate.LEAST_K
        <= stretch(clos(), "softswitch", [2 * rounds], "together").k
        <= k
        < float("inf")
    )


def test_many_nodes_need_a_larger_k_than_their_packets_alone(monkeypatch):
    """Beyond the fat-tree's number, caches hold less of what a packet needs."""
    few, many = find_topology("fat-tree").build(), find_topology("clos").build()
    before = [stretch(topology, "softswitch", ROUNDS, "together").k for topology in (few, many)]
    monkeypatch.setattr(calibrate, "MANY_NODES", 10_000)
    after = [stretch(topology, "softswitch", ROUNDS, "together").k for topology in (few, many)]
    assert before[0] == after[0]
    assert before[1] > 1.5 * after[1]


def test_links_in_memory_need_a_smaller_k():
    topology = find_topology("fat-tree").build()
    kernel, processes, together = (
        stretch(topology, "softswitch", ROUNDS, links).k
        for links in ("kernel", "processes", "together")
    )
    assert together < processes < 0.7 * kernel


def test_choice_gives_its_reason_and_warns_of_a_large_k():
    choice = stretch(dumbbell(), "softswitch", ROUNDS)
    assert choice.why.startswith("its 6 hosts at line rate then send ")
    assert "this machine's 2 cores" in choice.why
    assert Choice(10_000, "").warning is None
    assert "a millisecond of the network takes 12 s" in (Choice(12_000, "").warning or "")


def test_every_core_is_measured():
    rounds = rounds_per_s(1058)
    assert len(rounds) == len(os.sched_getaffinity(0))
    assert all(round_ > 0 for round_ in rounds)


def test_networks_that_are_up_leave_less(monkeypatch, tmp_path):
    """What their nodes report on their boards is missing; a network without a board takes
    nothing."""
    monkeypatch.setattr(journal, "RUN_DIR", tmp_path)
    assert calibrate.used_by_networks() == 0
    board = Board.make(nodes=2, most_percent=40)
    with journal.owned("one"), journal.owned("two"), closing(board):
        for name, place in (("one", str(board.path)), ("two", "")):
            topology = to_dict(dumbbell(pairs=1))
            owner = journal.Process.of(os.getpid())
            journal.Record(
                name, owner, topology, "softswitch", 400.0, "pcn", "", str(tmp_path), board=place
            ).save()
        assert calibrate.used_by_networks() == 0
        now_ns = time.monotonic_ns()
        for slot in range(2):
            used_ns = 10_000_000 * (os.cpu_count() or 1)
            board.write(slot, updated_ns=now_ns, window_ns=100_000_000, cpu_ns=used_ns)
        assert calibrate.used_by_networks() == pytest.approx(0.2)
    assert calibrate.used_by_networks() == 0


def test_choice_for_mininet_is_printed():
    command = [sys.executable, "-m", "pcn.lab.calibrate", "softswitch"]
    done = subprocess.run(
        command, input=json.dumps(to_dict(dumbbell())), capture_output=True, text=True, timeout=120
    )
    choice = json.loads(done.stdout)
    assert choice["k"] >= calibrate.LEAST_K
    assert "6 hosts" in choice["why"]


@pytest.mark.root
def test_network_without_k_takes_the_machine_s(tmp_path_factory):
    name = f"a{os.getpid()}-chosen"
    logs = tmp_path_factory.mktemp("logs")
    try:
        done = forks.run(
            "pcn", "up", "dumbbell", "--set", "pairs=1", "-n", name, "--logs", str(logs), "--json"
        )
        assert done.returncode == 0, done.stderr
        network = json.loads(done.stdout)
        assert network["dilation"] >= calibrate.LEAST_K
        assert network["features"]["k"] in done.stderr
        assert "its 2 hosts at line rate" in network["features"]["k"]
    finally:
        forks.run("pcn", "down", name)


def test_smaller_k_of_a_user_has_a_line_with_the_one_that_does():
    choice = Choice(3000, "measured")
    assert choice.shortfall(3000) is None
    assert choice.shortfall(4000) is None
    line = choice.shortfall(60) or ""
    assert line.startswith("-k 60: where all hosts send, this machine keeps pace from k = 3000 on")


@pytest.mark.parametrize(("k", "warned"), [(60, True), (3000, False)])
def test_up_warns_of_a_k_that_is_too_small(k, warned, monkeypatch, capsys, tmp_path):
    """Before the network starts, which here doesn't."""

    def none(_: supervisor.Spec):
        raise LabError("not started")

    monkeypatch.setattr(calibrate, "choose", lambda *_: Choice(3000, "measured"))
    monkeypatch.setattr(preflight, "require_startable", lambda *_: None)
    monkeypatch.setattr(supervisor, "up", none)
    assert cli.run(["up", "dumbbell", "-k", str(k), "--logs", str(tmp_path / "logs")]) == 1
    error = capsys.readouterr().err
    assert "not started" in error
    assert ("k = 3000" in error) == warned
