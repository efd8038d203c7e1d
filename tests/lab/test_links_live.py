"""Links of a running network that are set down and up: lost frames are counted, and all commands
report them."""

import json
import subprocess
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor

import forks
import pytest
from waiting import LIMIT_S, wait_until

from pcn.controller import interface_counters
from pcn.controller.constants import index
from pcn.controller.errors import UnknownNameError
from pcn.hosts.stats import ReceivedFlow
from pcn.lab.lab import Lab
from pcn.lab.links import LinkState, links, set_link
from pcn.lab.observe import Observer
from pcn.lab.pause import PauseError, pause, resume
from pcn.topologies.model import TopologyError

pytestmark = [pytest.mark.root, pytest.mark.long]
StartFlow = Callable[[float], int]
SENT_AT_ONCE = 32  # by an agent (hosts/csrc/loop.c)
BOTTLENECK = "s0:2 - s1:2"


@pytest.fixture(autouse=True)
def all_up(dcqcn_lab: Lab) -> Iterator[None]:
    yield
    for link in links(dcqcn_lab.record, dcqcn_lab.topology):
        set_link(dcqcn_lab, link.a, link.b, up=True)


def down(lab: Lab) -> list[str]:
    return [str(link) for link in links(lab.record, lab.topology) if not link.up]


def pcn(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    return forks.run("pcn", *words, *(() if words[0] == "status" else ("-n", lab.network.name)))


def test_a_link_goes_down_and_up_again(dcqcn_lab: Lab, start_flow: StartFlow):
    assert down(dcqcn_lab) == []
    assert set_link(dcqcn_lab, "s0", "s1", up=False) == [LinkState("s0:2", "s1:2", False)]
    assert down(dcqcn_lab) == [BOTTLENECK]
    assert set_link(dcqcn_lab, "s0", "s1", up=False) == [LinkState("s0:2", "s1:2", False)]
    assert set_link(dcqcn_lab, "s1:2", "s0", up=True) == [LinkState("s0:2", "s1:2", True)]
    assert down(dcqcn_lab) == []
    number = start_flow(1e9)
    wait_until(lambda: received(dcqcn_lab, number))


@pytest.mark.parametrize("dcqcn_lab", ["bmv2"], indirect=True)
@pytest.mark.parametrize("up", [False, True])
def test_a_change_that_was_interrupted_is_finished_by_the_next(
    dcqcn_lab: Lab, start_flow: StartFlow, monkeypatch, up: bool
):
    """Between BMv2's port and its interface: the port is out, the interface up."""

    def interrupted(*_arguments):
        raise KeyboardInterrupt

    if up:
        set_link(dcqcn_lab, "s0", "s1", up=False)
    with monkeypatch.context() as patch:
        patch.setattr(
            "pcn.lab.target.Bmv2Target.after_up" if up else "pcn.lab.links.in_namespace",
            interrupted,
        )
        with pytest.raises(KeyboardInterrupt):
            set_link(dcqcn_lab, "s0", "s1", up=up)
    set_link(dcqcn_lab, "s0", "s1", up=True)
    number = start_flow(1e9)
    wait_until(lambda: received(dcqcn_lab, number))


@pytest.mark.parametrize(
    "dcqcn_lab", ["softswitch"], indirect=True
)  # BMv2 has no gNMI, and says nothing of its links
def test_what_a_switch_loses_on_a_link_that_is_down_is_counted(
    dcqcn_lab: Lab, start_flow: StartFlow
):
    number = start_flow(1e9)
    before = read(dcqcn_lab)
    # what is lost of it then is missing between others
    wait_until(lambda: received(dcqcn_lab, number))
    set_link(dcqcn_lab, "s0", "s1", up=False)
    wait_until(lambda: read(dcqcn_lab).out_discards > before.out_discards + 100)
    observer = Observer(dcqcn_lab)
    seen = observer.look().port("s0:2")
    assert (seen.up, seen.rate_bps, seen.utilisation) == (False, 0, 0)
    assert (seen.lost or 0) > 100
    assert observer.look().port("s0:1").up
    sent_until = read(dcqcn_lab).out_packets
    assert "s0:2 - s1:2 is DOWN" in pcn(dcqcn_lab, "status").stdout
    rows = json.loads(pcn(dcqcn_lab, "counters", "s0", "out_discards", "--json").stdout)
    assert [row["port"] for row in rows if row["packets"] > 100] == [2]
    assert read(dcqcn_lab).out_packets == sent_until  # none leaves
    set_link(dcqcn_lab, "s0", "s1", up=True)
    after = read(dcqcn_lab)
    wait_until(lambda: read(dcqcn_lab).out_packets > after.out_packets)
    lost = read(dcqcn_lab).out_discards - before.out_discards
    wait_until(lambda: sum(flow.gaps for flow in received(dcqcn_lab, number)) >= lost)
    log = (dcqcn_lab.network.log_dir / "s0.log").read_text().splitlines()
    lines = [line for line in log if "s0-eth2" in line and "listening" not in line]
    assert "is down; what is to leave by it is lost" in lines[-2]
    assert "is up again" in lines[-1]
    assert sum("is down" in line for line in lines) == sum("is up again" in line for line in lines)


def read(lab: Lab) -> interface_counters.PortCounts:
    """Of s0's port to s1."""
    counts = interface_counters.read(lab.switches["s0"])
    return counts[2]


@pytest.mark.parametrize(("node", "port"), [("s1", 2), ("s0", 1), ("h0", 0)])
def test_a_port_whose_link_is_down_can_t_be_paused(dcqcn_lab: Lab, node, port):
    peer = dcqcn_lab.topology.peer(node, port)
    set_link(dcqcn_lab, f"{node}:{port}", peer.node, up=False)
    for send in (pause, resume):
        with pytest.raises(PauseError, match=f"^{node}:{port}: its link is down"):
            send(dcqcn_lab, node, port)
    done = pcn(dcqcn_lab, "pause", node, str(port), "--for", "1ms")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(f"pcn: {node}:{port}: its link is down")


def test_a_pause_ends_when_its_link_goes_down(dcqcn_lab: Lab):
    received = dcqcn_lab.switches["s1"].read_counter("pause_received", index(2)).packets
    with ThreadPoolExecutor(1) as threads:
        paused = threads.submit(pause, dcqcn_lab, "s1", 2)
        wait_until(
            lambda: (
                dcqcn_lab.switches["s1"].read_counter("pause_received", index(2)).packets > received
            ),
            "a PAUSE",
        )
        set_link(dcqcn_lab, "s0", "s1", up=False)
        with pytest.raises(PauseError, match=r"^s1:2: its link is down"):
            paused.result(LIMIT_S)


def test_a_host_s_flows_wait_while_its_link_is_down(dcqcn_lab: Lab, start_flow: StartFlow):
    number = start_flow(1e9)
    wait_until(lambda: received(dcqcn_lab, number))
    set_link(dcqcn_lab, "h0", "s0", up=False)
    assert down(dcqcn_lab) == ["h0:0 - s0:1"]
    refused = dcqcn_lab.agents["h0"].stats().send_retries
    wait_until(lambda: dcqcn_lab.agents["h0"].stats().send_retries > refused + 100)
    before = sent(dcqcn_lab, number)
    set_link(dcqcn_lab, "h0", "s0", up=True)
    wait_until(lambda: sum(flow.packets for flow in received(dcqcn_lab, number)) > before)
    (got,) = received(dcqcn_lab, number)
    # which takes its port again some time after the interface is up
    if dcqcn_lab.record.target != "bmv2":
        assert got.gaps <= SENT_AT_ONCE  # what was on its way when the link went down


def sent(lab: Lab, number: int) -> int:
    return next(flow.packets for flow in lab.agents["h0"].flows() if flow.flow == number)


def received(lab: Lab, number: int) -> list[ReceivedFlow]:
    """The flow, once something of it has come."""
    return [flow for flow in lab.agents["r0"].stats().received if flow.flow == number]


def test_links_that_cannot_be(dcqcn_lab: Lab):
    with pytest.raises(UnknownNameError, match="no node 's9'"):
        set_link(dcqcn_lab, "s9", "s0", up=False)
    with pytest.raises(TopologyError, match="no link between h0 and r0; h0 is connected to s0"):
        set_link(dcqcn_lab, "h0", "r0", up=False)
    with pytest.raises(TopologyError, match="s0 has no port 7"):
        set_link(dcqcn_lab, "s0:7", "s1", up=False)
    assert "write a node, as s0" in pcn(dcqcn_lab, "link", "s0:x", "s1").stderr
    assert "name two nodes" in pcn(dcqcn_lab, "link", "s0").stderr
    assert "'sideways'" in pcn(dcqcn_lab, "link", "s0", "s1", "sideways").stderr


def test_the_command(dcqcn_lab: Lab):
    assert pcn(dcqcn_lab, "link", "s0", "s1", "down").stdout == f"{BOTTLENECK} is DOWN\n"
    shown = pcn(dcqcn_lab, "link").stdout
    assert "DOWN" in next(line for line in shown.splitlines() if BOTTLENECK in line)
    links = json.loads(pcn(dcqcn_lab, "link", "s0", "s1", "--json").stdout)
    assert links == [{"a": "s0:2", "b": "s1:2", "up": False}]
    assert pcn(dcqcn_lab, "link", "s0", "s1", "up").stdout == f"{BOTTLENECK} is up\n"
