"""From a recording to the figures that the summary, the checks, the plots and the report share."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array
from pcn.topologies.model import Endpoint, Topology

SEVERAL_PACKETS = 5
"""The paper's "several packets" (7.1): at this many and fewer, the initial queue counts as
drained."""


@dataclass(frozen=True)
class Steady:
    """The steady state, over [`from_s`, `to_s`]: utilisation of the bottleneck (frames), Jain's
    index of the goodputs of the flows that belong to no group (None: all do), mean queue in bytes,
    number of PAUSE frames anywhere."""

    from_s: float
    to_s: float
    utilisation: float
    jain: float | None
    queue_bytes_mean: float
    pause: int
    goodput_bps: dict[int, float]


def steady_state(
    recording: Recording, bottleneck: Endpoint, capacity_bps: float, from_s: float
) -> Steady:
    """Returns the steady state from `from_s` to the end of the run."""
    to_s = recording.duration_s
    port = str(bottleneck)
    series = recording.series
    goodput = {
        flow.id: 8
        * series_math.counter_rate(*series.get(flow.entity, "received_bytes"), from_s, to_s)
        for flow in recording.flows
        if not flow.group
    }
    pauses = (
        series_math.counter_at(*series.get(link, "pause"), np.array([from_s, to_s]))
        for link in recording.links
    )
    return Steady(
        from_s=from_s,
        to_s=to_s,
        utilisation=series_math.utilisation(
            *series.get(port, "transmitted_bytes"), capacity_bps, from_s, to_s
        ),
        jain=series_math.jain(list(goodput.values())) if goodput else None,
        queue_bytes_mean=series_math.step_mean(*series.get(port, "waiting_bytes"), from_s, to_s),
        pause=round(sum(float(last - first) for first, last in pauses)),
        goodput_bps=goodput,
    )


def aggregate_rate(recording: Recording, topology: Topology) -> tuple[Array, Array]:
    """Returns the sum of the sending rates as a step series, in bit/s. A flow counts up to its
    limiter, a host's up to its NIC."""
    limits = {spec.id: spec.rate_bps for spec in topology.flows}
    hosts: dict[str, list[tuple[Array, Array]]] = {}
    for flow in recording.flows:
        rate, limit_bps = recording.series.get(flow.entity, "rate_bps"), limits.get(flow.id)
        hosts.setdefault(flow.src, []).append(
            rate if limit_bps is None else series_math.capped(rate, limit_bps)
        )
    return series_math.sum_steps(
        [
            series_math.capped(series_math.sum_steps(rates), topology.host_rate_bps(host))
            for host, rates in hosts.items()
        ]
    )


def capacity_reached(recording: Recording, topology: Topology, capacity_bps: float) -> float | None:
    """Returns when the sum of the sending rates first falls to the bottleneck's capacity; None if
    it never does."""
    return series_math.first_fall(*aggregate_rate(recording, topology), capacity_bps)


def drained(recording: Recording, bottleneck: Endpoint) -> float | None:
    """Returns when the queue of the start is down to SEVERAL_PACKETS; None if it never is, or never
    was longer."""
    times, packets = recording.series.get(str(bottleneck), "waiting_packets")
    if not (packets > SEVERAL_PACKETS).any():
        return None
    return series_math.first_fall(times, packets, SEVERAL_PACKETS)


def mean_between(recording: Recording, topology: Topology, start_s: float, end_s: float) -> float:
    """Returns the mean sum of the sending rates over an interval, in bit/s."""
    return series_math.step_mean(*aggregate_rate(recording, topology), start_s, end_s)


def initial_rate(topology: Topology) -> float:
    """Returns the sum of the sending rates at the start, in bit/s: every sending host's NICs at
    their line rate."""
    return sum(topology.host_rate_bps(host) for host in {flow.src for flow in topology.flows})


def draining_rate(
    recording: Recording, topology: Topology, bottleneck: Endpoint, capacity_bps: float
) -> float | None:
    """Returns the mean sum of the sending rates, in bit/s, from when it first falls to the capacity
    until the queue of the start is drained. None if there is no such time."""
    reached, empty = (
        capacity_reached(recording, topology, capacity_bps),
        drained(recording, bottleneck),
    )
    if not reached or not empty or empty <= reached:
        return None
    return mean_between(recording, topology, reached, empty)


def queue_swing(recording: Recording, bottleneck: Endpoint, steady: Steady) -> float:
    """Returns the middle 90% of the bottleneck's queue in the steady state, in bytes."""
    times, queue = recording.series.get(str(bottleneck), "waiting_bytes")
    grid = np.linspace(steady.from_s, steady.to_s, 500)
    return series_math.spread(series_math.step_at(times, queue, grid))


def rate_swing(recording: Recording, steady: Steady) -> float:
    """Returns the middle 90% of a flow's sending rate in the steady state, mean of the flows, in
    bit/s."""
    grid = np.linspace(steady.from_s, steady.to_s, 2000)
    series = (recording.series.get(flow.entity, "rate_bps") for flow in recording.flows)
    return float(
        np.mean([series_math.spread(series_math.step_at(*rates, grid)) for rates in series])
    )
