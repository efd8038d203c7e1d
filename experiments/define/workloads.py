"""Traffic of many flows: when they start, from where to where. Equal seeds give
equal flows.

Sizes are payload bytes, times s, rates bit/s. Load is a link's: frames, headers included, over its
rate.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data.series_math import Array
from pcn.experiments.define.arrivals import Arrivals, arrivals_at
from pcn.experiments.define.flow_sizes import FlowSizes, sample
from pcn.topologies.model import FlowSpec


def arrivals_per_s(
    load: float, rate_bps: float, sizes: FlowSizes, payload_bytes: int, frame_bytes: int
) -> float:
    """Returns how many flows a second load a link of this rate to `load`."""
    return load * rate_bps / (8 * sizes.mean_bytes * frame_bytes / payload_bytes)


def poisson_times(random: np.random.Generator, per_s: float, end_s: float) -> list[float]:
    """Returns the arrivals of a Poisson process from 0 to `end_s`: exponentially distributed
    gaps."""
    expected = per_s * end_s
    gaps = random.exponential(1 / per_s, round(expected + 10 * math.sqrt(expected) + 20))
    times = np.cumsum(gaps)
    return [float(time) for time in times[times < end_s]]


def poisson_flows(
    random: np.random.Generator,
    sizes: FlowSizes,
    per_s: float,
    end_s: float,
    senders: Sequence[str],
    receiver: str,
    group: str = "",
    first_id: int = 0,
) -> list[FlowSpec]:
    """Returns the flows that arrive from 0 to `end_s`, `per_s` a second at each sender.

    Several senders are synchronous: at each arrival all of them start a flow of the same size.
    [7.2]
    """
    times = poisson_times(random, per_s, end_s)
    drawn = sample(sizes, random, len(times))
    specs: list[FlowSpec] = []
    for time, size in zip(times, drawn, strict=True):
        for sender in senders:
            specs.append(FlowSpec(first_id + len(specs), sender, receiver, time, size, group=group))
    return specs


def bursts(
    senders: Sequence[str],
    receiver: str,
    size_bytes: int,
    interval_s: float,
    end_s: float,
    first_id: int = 0,
) -> list[FlowSpec]:
    """Returns flows of `size_bytes` that every sender starts at 0 and after each interval, until
    `end_s`. [B.2]"""
    starts = [k * interval_s for k in range(math.ceil(end_s / interval_s - 1e-9))]
    places = [(start, sender) for start in starts for sender in senders]
    return [
        FlowSpec(number, sender, receiver, start, size_bytes, group="bursts")
        for number, (start, sender) in enumerate(places, start=first_id)
    ]


Group = Callable[[int], str]
"""Of a flow, by its size in bytes."""


def no_group(size_bytes: int) -> str:
    return ""


def uniform_flows(
    random: np.random.Generator,
    sizes: FlowSizes,
    per_s: float,
    count: int,
    hosts: Sequence[str],
    group: Group = no_group,
    arrivals: Arrivals | None = None,
) -> list[FlowSpec]:
    """Returns `count` flows, `per_s` a second from each host on average, each from one host to
    another, all chosen evenly. Without `arrivals` they are a Poisson process."""
    if arrivals is None:
        starts = np.cumsum(random.exponential(1 / (per_s * len(hosts)), count))
        drawn = sample(sizes, random, count)
        sources = random.integers(0, len(hosts), count)
    else:
        starts, sources = arrivals_at(random, arrivals, per_s, len(hosts), count)
        drawn = sample(sizes, random, count)
    steps = random.integers(1, len(hosts), count)
    return [
        FlowSpec(
            number,
            hosts[src],
            hosts[(src + step) % len(hosts)],
            float(start),
            size,
            group=group(size),
        )
        for number, (start, size, src, step) in enumerate(
            zip(starts, drawn, sources, steps, strict=True)
        )
    ]


def permutation_flows(
    random: np.random.Generator,
    sizes: FlowSizes,
    per_s: float,
    count: int,
    hosts: Sequence[str],
    group: Group = no_group,
    arrivals: Arrivals | None = None,
) -> list[FlowSpec]:
    """Returns flows drawn as by `uniform_flows`, except for receivers: each host sends to one other
    host and receives from one, in a cycle of all hosts."""
    order = [hosts[int(index)] for index in random.permutation(len(hosts))]
    after = dict(zip(order, [*order[1:], order[0]], strict=True))
    drawn = uniform_flows(random, sizes, per_s, count, hosts, group, arrivals)
    return [replace(flow, dst=after[flow.src]) for flow in drawn]


def incast_flows(
    random: np.random.Generator,
    sizes: FlowSizes,
    per_s: float,
    count: float,
    hosts: Sequence[str],
    most: int = 15,
    end_s: float = math.inf,
    group: Group = no_group,
) -> list[FlowSpec]:
    """Returns at least `count` flows among `hosts`, `per_s` a second towards each host on average;
    where `end_s` comes before, the flows that start until then.

    An arrival is an in-cast: a receiver, and 1 to `most` different senders that start a flow of one
    size each to it; all chosen at random, evenly. [7.4]
    """
    events_per_s = per_s * len(hosts) / ((1 + most) / 2)
    ends: list[tuple[float, list[int]]] = []
    drawn: list[Array] = []
    total, time = 0, 0.0
    while total < count:
        time += float(random.exponential(1 / events_per_s))
        if time >= end_s:
            break
        chosen = random.choice(
            len(hosts), size=1 + int(random.integers(1, most + 1)), replace=False
        ).tolist()
        ends.append((time, chosen))
        drawn.append(random.random((sizes.draws, len(chosen) - 1)))
        total += len(chosen) - 1
    if not ends:
        return []
    flows = (
        (time, hosts[sender], hosts[chosen[0]]) for time, chosen in ends for sender in chosen[1:]
    )
    return [
        FlowSpec(number, src, dst, time, size, group=group(size))
        for number, ((time, src, dst), size) in enumerate(
            zip(flows, sizes.sizes(np.hstack(drawn)), strict=True)
        )
    ]


def fan_in_flows(
    random: np.random.Generator,
    starts: Iterable[float],
    senders: int,
    size_bytes: int,
    hosts: Sequence[str],
    group: str = "",
    first_id: int = 0,
) -> list[FlowSpec]:
    """Returns in-casts of one kind: at each start, hosts chosen evenly send this size to another
    one."""
    specs: list[FlowSpec] = []
    for start in starts:
        receiver, *chosen = random.choice(len(hosts), size=1 + senders, replace=False)
        for sender in chosen:
            number = first_id + len(specs)
            specs.append(
                FlowSpec(
                    number, hosts[sender], hosts[receiver], float(start), size_bytes, group=group
                )
            )
    return specs
