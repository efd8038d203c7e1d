"""Routes of a running network that change some time after a link has failed."""

import os
import uuid
from collections.abc import Iterator

import needs
import pytest
from waiting import wait_until

from pcn.controller.reroute import read_routes
from pcn.lab import flows
from pcn.lab.lab import Lab
from pcn.lab.links import LinkError, reroute, set_link
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts

pytestmark = [pytest.mark.root, pytest.mark.long]


def triangle() -> Topology:
    """Two hosts at s0 and s1, and s2 beside the link between them."""
    ends = [
        ("h0", 0, "s0", 1),
        ("h1", 0, "s1", 1),
        ("s0", 2, "s1", 2),
        ("s0", 3, "s2", 1),
        ("s1", 3, "s2", 2),
    ]
    links = tuple(Link(Endpoint(a, i), Endpoint(b, k), 10e9, 5e-6) for a, i, b, k in ends)
    return Topology(
        "triangle", make_hosts(["h0", "h1"]), tuple(Switch(f"s{n}", n + 1) for n in range(3)), links
    )


@pytest.fixture(scope="module", params=needs.TARGETS)
def lab(request, tmp_path_factory) -> Iterator[Lab]:
    folder = tmp_path_factory.mktemp("reroute")
    name = f"t{os.getpid()}-{uuid.uuid4().hex[:8]}"
    target = needs.target(request.param)
    with Lab(
        triangle(), log_dir=folder, name=name, target=target, dilation=1000, scheme="pfc"
    ) as lab:
        yield lab


def passed(lab: Lab, switch: str) -> int:
    """Packets by a switch's port to s1."""
    return lab.switches[switch].read_counter("transmitted", 2 * 8 + 3).packets


def test_flows_go_by_what_is_up(lab: Lab):
    (number,) = flows.start(lab.topology, lab.agents, "h0", "h1", rate_bps=1e9)
    before = {name: read_routes(lab.switches[name]) for name in lab.switches}
    wait_until(lambda: passed(lab, "s0") > 100)
    assert passed(lab, "s2") == 0
    set_link(lab, "s0", "s1", up=False)
    assert reroute(lab, after_s=1e-3) == ["s0", "s1"]
    wait_until(lambda: passed(lab, "s2") > 100)
    set_link(lab, "s0", "s1", up=True)
    assert reroute(lab) == ["s0", "s1"]
    assert {name: read_routes(lab.switches[name]) for name in lab.switches} == before
    direct = passed(lab, "s0")
    wait_until(lambda: passed(lab, "s0") > direct + 100)
    flows.stop(lab.agents, [number])
    assert reroute(lab) == []


def test_host_that_nothing_leads_to_has_no_route(lab: Lab):
    for end in ("s0", "s2"):
        set_link(lab, end, "s1", up=False)
    reroute(lab)
    address = lab.topology.host("h1").ip
    assert address not in {route.address for route in read_routes(lab.switches["s0"]).routes}
    for end in ("s0", "s2"):
        set_link(lab, end, "s1", up=True)
    assert reroute(lab) == ["s0", "s1", "s2"]


def test_reroute_refuses_a_time_before_the_failure(lab: Lab):
    with pytest.raises(LinkError, match="after -1 s"):
        reroute(lab, after_s=-1)
