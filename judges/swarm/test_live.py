"""Faults on Mininet: that each of their invariants can be violated. A scenario itself is played as
docs/trust.md's."""

import sys
from dataclasses import replace
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

import live
from scenario import Fault

from pcn.topologies.star import star


def test_a_scenario_is_its_seed_s():
    assert str(live.draw(7)) == str(live.draw(7))
    assert len({str(live.draw(seed)) for seed in range(50)}) == 50


def test_every_kind_of_fault_is_drawn():
    drawn = {fault.method for seed in range(1, 25) for fault in live.draw(seed).faults}
    assert all(callable(getattr(live.LiveFaults, name)) for name in drawn)
    assert len(drawn) == 10


@pytest.mark.parametrize(
    ("aftermath", "text"),
    [
        (
            live.Aftermath(missing=66, missing_control=1, counted=2, links_went_down=1),
            (
                "66 data packets and 1 PAUSEs, RESUMEs and CNPs are lost, 2 are counted, 1 links "
                "went down"
            ),
        ),
        (
            live.Aftermath(inside={"s0: waiting_bytes": {3: 9}}),
            "s0: waiting_bytes counts packets that have left: {3: 9}",
        ),
        (live.Aftermath(silent=["h0 to h1"]), "h0 to h1, afterwards: 3 packets don't arrive"),
        (live.Aftermath(bad_frames=2), "2 bad frames"),
        (live.Aftermath(left=["process 7"]), "once the network is down, there is process 7"),
    ],
)
def test_each_is_a_violation(aftermath, text):
    assert list(live.violations(aftermath)) == [text]


def test_what_is_explained_is_none():
    assert not list(
        live.violations(live.Aftermath(missing=65, missing_control=1, counted=2, links_went_down=1))
    )


@pytest.mark.root
def test_entries_that_stay_away_are_noticed(monkeypatch):
    """On a network: all is well but the probes, for which the switch has no routes, which it
    counts."""
    monkeypatch.setattr(live.LiveFaults, "restore_all", lambda self: None)
    monkeypatch.setattr(live, "FAULTS_S", 0.2)
    monkeypatch.setattr(live, "STOP_S", 0.3)
    monkeypatch.setattr(live, "PROBE_S", 0.5)
    scenario = replace(
        live.draw(1),
        topology=star(2),
        scheme="pcn",
        flows=(live.Flow(0.0, "h0", "r0", None, None),),
        faults=(Fault(0.1, "forget_routes", ("s0",)),),
    )
    texts, aftermath = live.judged(scenario)
    assert texts == tuple(
        f"{pair}, afterwards: 3 packets don't arrive"
        for pair in ("h0 to h1", "h1 to r0", "r0 to h0")
    )
    assert 0 < aftermath.missing <= aftermath.counted
