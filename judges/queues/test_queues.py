"""The short form of queues.py: each packet's times by Lindley's recursion, and means within their
errors."""

import sys
from pathlib import Path

import numpy as np
import pytest

sys.path.insert(0, str(Path(__file__).resolve().parent))

from queues import (
    FAST_BPS,
    KINDS,
    LOADS,
    PORT_BPS,
    SERVICES,
    arrivals,
    closed_form,
    lengths,
    measure,
    open_network,
    standard_error,
)

from pcn.p4net.packets import udp

PACKETS = 200_000


def departures(times_ps: list[int], lengths_bytes: list[int], rate_bps: float) -> list[int]:
    """When each has left a link completely, ps: a packet starts when it has come and the one before
    it has left."""
    last, departed = 0, []
    for time, length in zip(times_ps, lengths_bytes, strict=True):
        last = max(last, time) + round(length * 8e12 / rate_bps)
        departed.append(last)
    return departed


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("load", LOADS)
def test_every_packet_leaves_at_the_time_of_lindleys_recursion(kind, load):
    draw = np.random.default_rng(7)
    times, sizes = arrivals(load, 20_000, draw), lengths(kind, 20_000, draw)
    with open_network() as network:
        network.send_all("h0", times, [udp(network.value, "h0", "h1")], lengths=sizes)
        network.run(until_s=1.0)
        arrived_ps = [round(arrival.time_s * 1e12) for arrival in network.arrived("h1")]
    came = departures([int(time_ps) for time_ps in np.rint(times * 1e12)], sizes.tolist(), FAST_BPS)
    assert arrived_ps == departures(came, sizes.tolist(), PORT_BPS)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("load", LOADS)
def test_means_are_the_closed_form_s_within_their_errors(kind, load):
    """Five standard errors of M/M/1, of the packets and of the samples."""
    theory, measured = closed_form(kind, load), measure(kind, load, PACKETS)
    error = 5 * standard_error(load, PACKETS)
    assert measured.wait == pytest.approx(theory.wait, abs=error)
    samples = PACKETS / load / SERVICES
    assert measured.queue == pytest.approx(
        theory.queue, abs=load * error + 5 * np.sqrt(load / samples)
    )
    assert error < theory.wait  # else the bound holds nothing
