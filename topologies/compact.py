"""The paper's "compact and typical network scenario" (section 3.1, Fig. 1): 16 senders, 2
receivers, two switches.

    h0 --1          1   2-- r1        F0 (flow 0): h0 -> r0, the victim: it shares s0 -> s1,
          s0 3 ----- s1               nothing behind it; F1 (flow 1): h1 -> r1
    h1 --2              3-- r0        h2 to h15: where the bursts to r1 come from
                      4 ... 17
                     h2 ... h15       every link 40 Gbit/s, 5 us each way

The paper names switch ports by number and switch. P0/S0, where F0 and F1 leave for S1, is s0:3
here; P1/S1, where they come in, is s1:1; P2/S1, the way to R1 and the real congestion, is s1:2;
P3/S1, the way to R0, is s1:3.
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

LONG_SENDERS = 2
P0_S0, P1_S1, P2_S1, P3_S1 = (
    Endpoint("s0", 3),
    Endpoint("s1", 1),
    Endpoint("s1", 2),
    Endpoint("s1", 3),
)


def compact(
    senders: int = 16,
    rate_bps: float = 40e9,
    delay_s: float = 5e-6,
    **pfc: Unpack[Pfc],
) -> Topology:
    """Returns Fig. 1 with `senders` senders, h0 and h1 among them. `delay_s` is each link's, one
    way."""
    if senders < LONG_SENDERS:
        raise TopologyError(f"compact: {senders} senders; at least {LONG_SENDERS} are needed")
    names = [f"h{i}" for i in range(senders)]
    at_s1 = ["r1", "r0", *names[LONG_SENDERS:]]
    access = [
        Link(Endpoint(host, 0), Endpoint(switch, port), rate_bps, delay_s)
        for switch, hosts, first in (("s0", names[:LONG_SENDERS], 1), ("s1", at_s1, P2_S1.port))
        for port, host in enumerate(hosts, start=first)
    ]
    return Topology(
        name="compact",
        hosts=make_hosts([*names, "r0", "r1"]),
        switches=(Switch("s0", 1), Switch("s1", 2)),
        links=(*access, Link(P0_S0, P1_S1, rate_bps, delay_s)),
        flows=(FlowSpec(0, "h0", "r0"), FlowSpec(1, "h1", "r1")),
        parameters={
            "senders": senders,
            "rate_bps": rate_bps,
            "delay_s": delay_s,
            "bottleneck": str(P0_S0),
            **lossless.parameters(**pfc),
        },
    )
