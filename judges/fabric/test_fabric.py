"""The short form of fabric.py: its network, and the frames that it expects. With a clone of ONOS,
all of it."""

import os
import sys
from pathlib import Path

import needs
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from fabric import CHECKS, MACS, labelled, network, routed

from pcn.p4net.packets import udp

COMPILED = "ONOS_FABRIC"
"""In the environment: the folder of a compiled profile."""
ONOS = needs.Need(
    f"no profile of ONOS' fabric.p4 in ${COMPILED}; with one",
    f"make unit ARGS=judges/fabric {COMPILED}=FOLDER (fabric.py has its name)",
    optional=True,
)


def test_network_has_two_leaves_and_two_spines(tmp_path):
    value = network(tmp_path)
    assert [value.topology.peer("leaf1", port).node for port in (4, 5)] == ["spine1", "spine2"]
    frame = udp(value, "h1", "h4", b"x")
    assert frame[:6] == bytes.fromhex(MACS["leaf1"].replace(":", ""))  # its gateway's
    assert udp(value, "h1", "h2", b"x")[:6] == bytes.fromhex("000000000002")


def test_expected_frames_have_a_lower_ttl_or_a_label(tmp_path):
    value = network(tmp_path)
    frame = udp(value, "h1", "h4", b"x", ttl=64)
    assert (
        routed(frame, MACS["leaf1"], MACS["leaf2"], hops=2)[14:]
        == udp(value, "h1", "h4", b"x", ttl=62)[14:]
    )
    assert labelled(frame, MACS["leaf1"], MACS["spine1"], 102)[12:18].hex() == "884700066140"


@pytest.mark.parametrize("name", CHECKS)
def test_fabric_gives_the_packets_of_its_ptf(name, tmp_path):
    folder = os.environ.get(COMPILED)
    if folder is None:
        needs.missing(ONOS)
    assert CHECKS[name](network(Path(folder)), tmp_path)
