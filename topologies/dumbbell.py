"""The dumbbell: sender-receiver pairs on two switches that share one bottleneck.

h0 --1           1-- r0
h1 --2 s0 4-4 s1 2-- r1        every link of the same rate; four long flows: h0->r0 twice,
h2 --3           3-- r2        h1->r1, h2->r2
"""

from __future__ import annotations

from pcn.topologies import lossless
from pcn.topologies.lossless import Pfc, Unpack
from pcn.topologies.model import (
    Endpoint,
    FlowSpec,
    Host,
    Link,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)


def dumbbell(
    pairs: int = 3,
    flows: int | None = None,
    rate_bps: float = 10e9,
    rtt_s: float = 500e-6,
    **pfc: Unpack[Pfc],
) -> Topology:
    """Returns the dumbbell with `pairs` pairs; the first has twice as many of the `flows` as each
    other one: a multiple of pairs + 1, which is the default. `rtt_s` is a sender's to its receiver
    and back."""
    if pairs < 1:
        raise TopologyError(f"dumbbell: {pairs} pairs; at least 1 is needed")
    flows_per_pair, rest = divmod(pairs + 1 if flows is None else flows, pairs + 1)
    if rest or not flows_per_pair:
        raise TopologyError(
            f"dumbbell: {flows} flows; with {pairs} pairs it must be a multiple of {pairs + 1}"
        )
    senders = [f"h{i}" for i in range(pairs)]
    receivers = [f"r{i}" for i in range(pairs)]
    hosts: tuple[Host, ...] = make_hosts([*senders, *receivers])
    delay_s = rtt_s / 6
    access = [
        Link(Endpoint(host, 0), Endpoint(switch, port), rate_bps, delay_s)
        for switch, names in (("s0", senders), ("s1", receivers))
        for port, host in enumerate(names, start=1)
    ]
    bottleneck = Link(Endpoint("s0", pairs + 1), Endpoint("s1", pairs + 1), rate_bps, delay_s)
    ends = [(f"h{i}", f"r{i}") for i in (0, *range(pairs)) for _ in range(flows_per_pair)]
    specs = tuple(FlowSpec(number, src, dst) for number, (src, dst) in enumerate(ends, start=1))
    return Topology(
        name="dumbbell",
        hosts=hosts,
        switches=(Switch("s0", 1), Switch("s1", 2)),
        links=(*access, bottleneck),
        flows=specs,
        parameters={
            "pairs": pairs,
            "rate_bps": rate_bps,
            "rtt_s": rtt_s,
            "bottleneck": f"s0:{pairs + 1}",
            **lossless.parameters(**pfc),
        },
    )
