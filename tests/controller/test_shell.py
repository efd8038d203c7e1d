"""What `make shell` starts."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from controller import shell
from topologies.dumbbell import dumbbell
from topologies.errors import LabError
from topologies.serialise import to_dict


@pytest.fixture
def _network(monkeypatch: pytest.MonkeyPatch) -> None:
    topology = dumbbell(pairs=1)
    nodes = {switch.name: SimpleNamespace(control=f"unix:/run/{switch.name}") for switch in topology.switches}
    monkeypatch.setattr(shell, "find", lambda name: SimpleNamespace(topology=to_dict(topology), nodes=nodes))


@pytest.mark.usefixtures("_network")
def test_command() -> None:
    words = shell.command("python", "s1", "lab")
    assert words[:5] == ["python", "-m", "p4runtime_sh", "--grpc-addr", "unix:/run/s1"]
    assert words[words.index("--election-id") + 1] == "0,2", "above our own controller's"


@pytest.mark.usefixtures("_network")
def test_unknown_switch() -> None:
    with pytest.raises(LabError, match="no switch 's9'"):
        shell.command("python", "s9")
