"""Captures in virtual time on a disk without room: the run ends as without them, and its end
reports the error."""

import os
from pathlib import Path

import pytest
from networks import PFC_ONLY

from pcn.base import owner_only
from pcn.cli import run
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.model import FlowSpec
from pcn.virtualnet.errors import VirtualError

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def disk_without_room(monkeypatch):
    monkeypatch.setattr(
        owner_only, "output", lambda _path: os.open("/dev/full", os.O_WRONLY | os.O_CLOEXEC)
    )


def digest(capture: Path | None) -> str:
    topology = dumbbell(1, rate_bps=10e9)
    with VirtualNetwork(topology, PFC_ONLY) as network:
        if capture is not None:
            network.capture("h0", 0, capture)
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=200_000))
        assert network.run(until_s=1.0, finish=True)
        result = str(network.flows[1].stats())
        if capture is not None:
            with pytest.raises(
                VirtualError, match=r"x\.pcap: No space left on device: the capture isn't whole"
            ):
                network.close()
    return result


@pytest.mark.usefixtures("disk_without_room")
def test_full_disk_ends_a_capture_alone(tmp_path):
    assert digest(tmp_path / "x.pcap") == digest(None)


@pytest.mark.usefixtures("disk_without_room")
def test_error_of_a_run_goes_before_a_captures(tmp_path):
    def fail():
        with VirtualNetwork(dumbbell(1), PFC_ONLY) as network:
            network.capture("h0", 0, tmp_path / "x.pcap")
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        fail()


@pytest.mark.usefixtures("disk_without_room")
def test_p4_run_with_a_cut_capture_fails(tmp_path, capsys):
    words = ["p4", "run", str(ROOT / "examples/router"), "--clock", "virtual", "--for", "10ms"]
    assert run([*words, "--pcap", str(tmp_path)]) == 1
    output = capsys.readouterr()
    assert "Hosts" in output.out
    assert ".pcap: No space left on device: the capture isn't whole" in output.err.splitlines()[-1]
