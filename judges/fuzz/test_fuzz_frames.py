"""Hostile frames at live agents, a cycle each; docs/trust.md has the command for an hour of
them."""

import fuzz_frames
import pytest

pytestmark = [pytest.mark.root, pytest.mark.long]


@pytest.mark.parametrize("scheme", ["pcn", "qcn", "timely", "ibcc"])
def test_agent_outlives_hostile_frames(scheme):
    assert fuzz_frames.attack(scheme, 0, 1, frames=200).startswith(
        f"{scheme}: 1 cycles, 1000 frames, "
    )


def test_attack_reports_memory_beyond_its_bound(monkeypatch):
    monkeypatch.setattr(fuzz_frames, "ROOM_KB", -1)
    with pytest.raises(
        pytest.fail.Exception,
        match=r"^pcn, notifications, seed 1-notifications: \d+ KB of memory, of",
    ):
        fuzz_frames.attack("pcn", 0, 1, frames=10)


def test_attack_reports_agent_that_ends(tmp_path):
    with fuzz_frames.Attack("pcn", tmp_path) as attack:
        attack.pair.processes[fuzz_frames.VICTIM].kill()
        with pytest.raises(
            pytest.fail.Exception, match=r"seed 1-notifications: the agent ended with -9: $"
        ):
            attack.cycle(1, frames=10)
