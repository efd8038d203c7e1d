"""The parking lot (appendix B.3, Fig. 19a): N bottlenecks in a row. F0 crosses all of them, every
other flow one.

h0        r1 h2     r2 h3     r3 r0        N = 3. F0 (flow 0): h0 -> r0; Fi (flow i): hi -> ri,
  \\        |/        |/        |/          over link i alone
   s0 ==== s1 ====== s2 ====== s3          link i is s(i-1) -> si
  /
h1
"""

from __future__ import annotations

from pcn.topologies import lossless
from pcn.topologies.lossless import Pfc, Unpack
from pcn.topologies.model import (
    Endpoint,
    FlowSpec,
    Link,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)

NEXT, PREVIOUS = 1, 2  # ports of a switch towards its neighbours; hosts follow


def parking_lot(
    bottlenecks: int = 2,
    rate_bps: float = 40e9,
    delay_s: float = 5e-6,
    **pfc: Unpack[Pfc],
) -> Topology:
    """Returns `bottlenecks` + 1 switches in a row, every link of the same rate and (one-way)
    delay."""
    if bottlenecks < 1:
        raise TopologyError(f"parking_lot: {bottlenecks} bottlenecks; at least 1 is needed")
    links = [
        Link(Endpoint(f"s{i}", NEXT), Endpoint(f"s{i + 1}", PREVIOUS), rate_bps, delay_s)
        for i in range(bottlenecks)
    ]
    # Where a host is attached: senders at the head of their first bottleneck, receivers at the foot
    # of their last.
    places = {"h0": 0, "r0": bottlenecks}
    for i in range(1, bottlenecks + 1):
        places |= {f"h{i}": i - 1, f"r{i}": i}
    next_port = [PREVIOUS + 1] * (bottlenecks + 1)
    for host, switch in places.items():
        links.append(
            Link(Endpoint(host, 0), Endpoint(f"s{switch}", next_port[switch]), rate_bps, delay_s)
        )
        next_port[switch] += 1
    return Topology(
        name="parking-lot",
        hosts=make_hosts(list(places)),
        switches=tuple(Switch(f"s{i}", i + 1) for i in range(bottlenecks + 1)),
        links=tuple(links),
        flows=tuple(FlowSpec(i, f"h{i}", f"r{i}") for i in range(bottlenecks + 1)),
        parameters={
            "bottlenecks": bottlenecks,
            "rate_bps": rate_bps,
            "delay_s": delay_s,
            "bottleneck": str(Endpoint("s0", NEXT)),
            **lossless.parameters(**pfc),
        },
    )
