"""A short run of the swarm, and that each of its invariants can be violated."""

import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import cycles
import play
import swarm
from faults import Faults
from scenario import Fault, Scenario, draw

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.algorithms.pcn import PcnReactionPoint
from pcn.topologies.model import FlowSpec
from pcn.topologies.star import star
from pcn.topologies.two_pods import two_pods

pytestmark = pytest.mark.long
# Of 100 to 310 the quickest that have, between them, each of these twice: scheme, program, payload,
# kind of fault, flow control, output buffers, number of threads, variant, deadlock, overrun, loss.
SEEDS = (
    108, 109, 112, 115, 116, 117, 124, 128, 129, 134, 139, 140, 141, 146, 152, 155, 158, 162, 163,
    166, 167,
    168, 169, 171, 182, 183, 184, 186, 187, 188, 190, 195, 196, 205, 206, 207, 209, 212, 219, 225,
    234, 235,
    237, 239, 248, 251, 263, 266, 273, 278, 279, 282, 284, 295, 298, 301, 305, 307,
)  # fmt: skip
DEADLOCKED = 5277


def test_scenarios_have_no_violation():
    assert not [(seed, wrong) for seed in SEEDS if (wrong := swarm.judged(draw(seed))[0])]


def test_a_scenario_is_its_seed_s():
    assert str(draw(7)) == str(draw(7))
    assert len({str(draw(seed)) for seed in range(50)}) == 50


def test_block_names_the_wrong_seed(monkeypatch):
    def judge(scenario: Scenario) -> tuple[tuple[str, ...], dict[str, Any]]:
        return (("it was wrong",) if scenario.seed == 3 else ()), {
            "events": 5,
            "lost": scenario.seed,
        }

    monkeypatch.setattr(swarm, "violations", judge)
    outcome = swarm.block(1, 4, "")
    assert [(seed, text) for seed, _, text in outcome["violations"]] == [(3, "it was wrong")]
    assert outcome["facts"] == {"events": 4, "lost": 4, "events in all": 20}


def simple(*faults: Fault) -> Scenario:
    """Two senders, one receiver, PCN."""
    base = replace(draw(0), variant={}, program=None, payload_bytes=1000, response_s=0.0)
    flows = tuple(FlowSpec(i, f"h{i}", "r0", size_bytes=200_000) for i in range(2))
    return replace(
        base, topology=star(2, xoff_bytes=50e3), scheme=find_scheme("pcn").configure(),
        flows=flows, faults=faults, faults_end_s=300e-6, stop_s=600e-6,
    )  # fmt: skip


def only(scenario: Scenario) -> str:
    """Its violations, as one text."""
    return "\n".join(swarm.judged(scenario)[0])


def test_the_simple_one_is_right():
    assert only(simple()) == ""


def test_entries_that_stay_away_are_noticed(monkeypatch):
    monkeypatch.setattr(Faults, "restore", lambda self, name: None)
    assert "h0 to h1, afterwards: 3 packets sent, 0 came" in only(
        simple(Fault(250e-6, "forget_routes", ("s0",)))
    )


def test_a_link_that_stays_down_is_noticed(monkeypatch):
    monkeypatch.setattr(Faults, "end", lambda self: None)
    assert "packets are inside" in only(simple(Fault(50e-6, "link_down", ("r0", 0))))


def test_losses_that_no_fault_explains_are_noticed(monkeypatch):
    def forget(self: Faults, name: str, forgotten: list[Any]):
        self._switches[name].delete(reversed(forgotten))
        self._gone[name] = forgotten

    monkeypatch.setattr(Faults, "_forget", forget)
    assert "data packets are lost, 0 by faults" in only(
        simple(Fault(50e-6, "forget_routes", ("s0",)))
    )


def test_a_second_run_that_differs_is_noticed():
    assert "again as {'pfc': False}: totals was" in only(replace(simple(), variant={"pfc": False}))


def test_a_rate_above_the_line_s_is_noticed(monkeypatch):
    def rise(self: PcnReactionPoint, cnp, now_s: float):
        self.rate_bps = 1e12

    monkeypatch.setattr(PcnReactionPoint, "in_c", "")
    monkeypatch.setattr(PcnReactionPoint, "on_cnp", rise)
    assert "its RP's rate is 1e+12 bit/s" in only(simple())


def test_what_raises_is_a_violation(monkeypatch):
    monkeypatch.setattr(PcnReactionPoint, "in_c", "")
    monkeypatch.setattr(PcnReactionPoint, "on_cnp", lambda self, cnp, now_s: 1 / 0)
    assert "ZeroDivisionError" in only(simple())


def test_an_overrun_without_a_late_pause_is_noticed(monkeypatch):
    def disturb(self: Faults, *arguments):
        self._network.disturb(*arguments[:3], lose=1)

    monkeypatch.setattr(Faults, "disturb", disturb)
    slow = replace(simple(), topology=star(2, xoff_bytes=5e3))
    faults = tuple(Fault(0.0, "disturb", ("s0", port, "flow control")) for port in (1, 2))
    assert "overran its far end, though no PAUSE was lost or late" in only(
        replace(slow, faults=faults)
    )


def test_a_deadlock_where_none_can_be_is_noticed(monkeypatch):
    wrong, facts = swarm.judged(draw(DEADLOCKED))
    assert (wrong, facts["deadlock"]) == ((), True)
    monkeypatch.setattr(play, "buffers_can_wait_in_a_circle", lambda topology: False)
    assert "But no buffers can wait for each other" in only(draw(DEADLOCKED))


def test_a_deadlock_that_is_not_found_is_noticed(monkeypatch):
    monkeypatch.setattr(play.VirtualNetwork, "deadlock", lambda self: None)
    assert "and no deadlock is" in only(draw(DEADLOCKED))


def test_where_buffers_can_wait_in_a_circle():
    """Where packets go up and down again, none; in a ring of seven."""
    assert not cycles.buffers_can_wait_in_a_circle(two_pods())
    assert cycles.buffers_can_wait_in_a_circle(draw(DEADLOCKED).topology)
