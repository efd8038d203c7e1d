"""Requests that the engine in C refuses: Python makes none of them, with any name of a network."""

import ctypes
import math

import pytest
from networks import PFC_ONLY, star

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec
from pcn.virtualnet import VirtualError, native
from pcn.virtualnet.samples import Source

RATE, DELAY, NODES, LINKS = 10**10, 10**6, 3, 4  # of star(1): s0, h0, r0; each link is two
SWITCH, HOST, NOWHERE = 0, 1, NODES
FABRIC = native.FabricConfig(10**6, 10**6, 2.0, False)


@pytest.mark.parametrize(
    ("function", "arguments", "message"),
    [
        ("vn_add_link", (NOWHERE, 5, SWITCH, 6, RATE, DELAY), "no such node, or no rate"),
        ("vn_add_link", (SWITCH, 5, NOWHERE, 0, RATE, DELAY), "no such node, or no rate"),
        ("vn_add_link", (SWITCH, 5, SWITCH, 6, 0, DELAY), "no such node, or no rate"),
        ("vn_add_link", (SWITCH, 1, SWITCH, 6, RATE, DELAY), "no such port, or it has a link"),
        ("vn_add_link", (SWITCH, 512, SWITCH, 6, RATE, DELAY), "no such port, or it has a link"),
        ("vn_set_link", (LINKS, RATE, True), "no such link, or no rate"),
        ("vn_set_link", (0, 0, True), "no such link, or no rate"),
        ("vn_set_scheduler", (HOST, b"round_robin"), "no such switch"),
        ("vn_set_scheduler", (NOWHERE, b"round_robin"), "no such switch"),
        ("vn_set_scheduler", (SWITCH, b"fair"), "no scheduler "),
        ("vn_set_fabric", (HOST, ctypes.byref(FABRIC)), "no such switch"),
        ("vn_set_fabric", (NOWHERE, ctypes.byref(FABRIC)), "no such switch"),
        (
            "vn_set_fabric",
            (SWITCH, ctypes.byref(native.FabricConfig(0, 0, 1.0, False))),
            "no buffer, or no fabric",
        ),
        ("vn_set_credits", (LINKS, 10**6, DELAY, DELAY), "no such link, or it has credits"),
        ("vn_set_credits", (0, 10**6, 0, DELAY), "an interval and a period"),
        ("vn_set_credits", (0, 10**6, DELAY, 0), "an interval and a period"),
        ("vn_set_credits", (0, 64, DELAY, DELAY), "no such buffer"),
        ("vn_set_credits", (0, 2**39, DELAY, DELAY), "no such buffer"),
        ("vn_packet_out", (HOST, b"", 0), "no such switch, or it has no CPU port"),
        ("vn_packet_out", (NOWHERE, b"", 0), "no such switch, or it has no CPU port"),
        ("vn_packet_out", (SWITCH, b"", 0), "no such switch, or it has no CPU port"),
        (
            "vn_disturb",
            (LINKS, 0, ctypes.byref(native.Disturbance())),
            "no such link, or no such frames",
        ),
        (
            "vn_disturb",
            (0, len(native.FRAMES), ctypes.byref(native.Disturbance())),
            "no such link, or no such frames",
        ),
    ],
)
def test_each_wrong_argument_alone_is_refused(function, arguments, message):
    with VirtualNetwork(star(1), PFC_ONLY) as network:
        code = getattr(network._library, function)(network._handle, *arguments)
        assert code < 0
        assert message in network._library.vn_error(network._handle).decode()


@pytest.mark.parametrize("place", [0, 1])
def test_unknown_value_can_t_be_sampled(place):
    with VirtualNetwork(star(1), PFC_ONLY) as network:
        sources = [network.queue_bytes("s0", 1)] * 2
        sources[place] = Source("of no link", native.QUEUE_BYTES, LINKS)
        with pytest.raises(VirtualError, match="no such cell, port or class to sample"):
            network.sample(1e-6, sources)


def test_samples_have_time_between_and_none_is_over():
    with VirtualNetwork(star(1), PFC_ONLY) as network:
        for every_s, from_s, until_s in ((0.0, None, None), (1e-6, 0.0, None), (1e-6, 2e-6, 1e-6)):
            with pytest.raises(VirtualError, match="samples have some time between, and none"):
                network.sample(every_s, [network.queue_bytes("s0", 1)], from_s, until_s=until_s)
            network.run(until_s=1e-6)


@pytest.mark.parametrize("rate_bps", [-1.0, 0.0, 0.4, 2.0**64, 1e30, math.inf, math.nan])
def test_link_gets_no_rate_that_the_engine_lacks(rate_bps):
    """Of -1 its 64 bits would make 2^64 - 1: a link that takes no time."""
    with VirtualNetwork(star(1), PFC_ONLY) as network:
        with pytest.raises(VirtualError, match="bit/s: 1 to "):
            network.set_link("s0", 1, rate_bps=rate_bps)
        network.set_link("s0", 1, rate_bps=1.0)


def test_network_takes_no_scheme_without_its_parameters():
    with pytest.raises(VirtualError, match="a Scheme isn't configured: "):
        VirtualNetwork(star(1), find_scheme("pcn"))


def test_flow_of_a_closed_network_has_no_counts():
    with VirtualNetwork(star(1), PFC_ONLY) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0"))
        assert flow.stats().sent_packets == 0
    with pytest.raises(VirtualError, match="the network is closed"):
        flow.stats()
