"""A live host with several links: the kernel sends by the first, and takes what comes by any."""

import json
import subprocess
from collections.abc import Iterator

import needs
import pytest
from exercise import IPS, MACS, two_links
from waiting import LIMIT_S

from pcn.lab import journal as records, links, nodes
from pcn.lab.p4 import P4Live

pytestmark = pytest.mark.root
NAME = "p4-links-test"


STRICT = "; echo 1 > /proc/sys/net/ipv4/conf/all/rp_filter"


@pytest.fixture(scope="module")
def live(tmp_path_factory) -> Iterator[P4Live]:
    """On a machine whose namespaces begin with the strict filter of source addresses."""
    folder = tmp_path_factory.mktemp("live")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(nodes, "_NO_IPV6", nodes._NO_IPV6 + STRICT)
        with P4Live(two_links(folder / "two"), log_dir=folder / "logs", name=NAME) as network:
            yield network


def inside(live: P4Live, *command: str) -> str:
    words = ["nsenter", "-t", str(live.node_pid("h1")), "-n", *command]
    done = subprocess.run(words, capture_output=True, text=True, timeout=LIMIT_S, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def counts(live: P4Live, interface: str) -> tuple[int, int]:
    """Packets received and sent."""
    (shown,) = json.loads(inside(live, "ip", "-s", "-j", "link", "show", interface))
    return shown["stats64"]["rx"]["packets"], shown["stats64"]["tx"]["packets"]


def test_each_link_has_an_interface_and_the_first_the_address(live: P4Live):
    record = records.load(NAME)
    assert record.nodes["h1"].interfaces == ["eth0", "eth1"]
    shown = {
        interface["ifname"]: interface
        for interface in json.loads(inside(live, "ip", "-j", "address"))
        if interface["ifname"] != "lo"
    }
    assert [interface["address"] for interface in shown.values()] == [MACS["h1"]] * 2
    assert {
        name: [address["local"] for address in interface["addr_info"]]
        for name, interface in shown.items()
    } == {"eth0": [IPS["h1"]], "eth1": []}
    assert shown["eth1"]["altnames"] == ["h1-eth1"]
    assert not live.notes


def test_answers_that_come_by_the_second_link_are_taken(live: P4Live):
    """Requests go over s1, answers end at eth1."""
    needs.program("ping", needs.PING)
    before = [counts(live, name) for name in ("eth0", "eth1")]
    assert "3 received" in inside(live, "ping", "-c", "3", "-i", "0.05", IPS["h2"])
    after = [counts(live, name) for name in ("eth0", "eth1")]
    assert [new[0] - old[0] for old, new in zip(before, after, strict=True)] == [0, 3]
    assert [new[1] - old[1] for old, new in zip(before, after, strict=True)] == [3, 0]


def test_second_link_goes_down_and_up(live: P4Live):
    needs.program("ping", needs.PING)
    for up in (False, True):
        assert [state.up for state in links.set_link(live, "h1", "s2", up=up)] == [up]
    assert "1 received" in inside(live, "ping", "-c", "1", IPS["h2"])
