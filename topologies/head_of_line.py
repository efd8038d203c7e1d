r"""TCD's network (SIGCOMM'21, Fig. 2): a port's congestion reaches back to flows that never pass
it.

s0 --1                     2-- r0      flow 0: s0 -> r0, the victim; flow 1: s1 -> r1;
      t0 3--1 l0 2--1 t1   3-- r1      flow 2: s2 -> r0; a0, a1, ... send to r1
s1 --2       3         \   4-- a0      P1 is t0:3, P2 l0:2, P3 t1:3
s2 ----1 t2 2           `- 5-- a1 ...  s0's and s1's links have a separate rate
"""

from __future__ import annotations

from typing import Any

from pcn.topologies import lossless
from pcn.topologies.model import (
    Endpoint,
    FlowSpec,
    Link,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)

P1, P2, P3 = Endpoint("t0", 3), Endpoint("l0", 2), Endpoint("t1", 3)
XOFF_BYTES, XON_BYTES = 320e3, 318e3


def head_of_line(
    bursting: int = 15,
    rate_bps: float = 40e9,
    sender_bps: float = 20e9,
    delay_s: float = 4e-6,
    xoff_bytes: float = XOFF_BYTES,
    **pfc: Any,
) -> Topology:
    """Returns the network, with `bursting` hosts beside r1. `sender_bps` is the rate of s0's and
    s1's links; `delay_s` is each link's, one way. The flows are unlimited; the caller starts those
    of a0 and so on.

    XOFF and XON are the paper's (5.2.1); XON keeps its distance from another XOFF.
    """
    if bursting < 1:
        raise TopologyError(f"head-of-line: {bursting} bursting hosts; at least 1 is needed")
    names = ["s0", "s1", "s2", "r0", "r1", *(f"a{i}" for i in range(bursting))]
    ends = {
        "s0": (Endpoint("t0", 1), sender_bps),
        "s1": (Endpoint("t0", 2), sender_bps),
        "s2": (Endpoint("t2", 1), rate_bps),
        "r0": (Endpoint("t1", 2), rate_bps),
        "r1": (P3, rate_bps),
        **{f"a{i}": (Endpoint("t1", 4 + i), rate_bps) for i in range(bursting)},
    }
    access = [Link(Endpoint(name, 0), *ends[name], delay_s) for name in names]
    core = [
        (P1, Endpoint("l0", 1)),
        (P2, Endpoint("t1", 1)),
        (Endpoint("t2", 2), Endpoint("l0", 3)),
    ]
    return Topology(
        name="head-of-line",
        hosts=make_hosts(names),
        switches=(Switch("t0", 1), Switch("l0", 2), Switch("t1", 3), Switch("t2", 4)),
        links=(*access, *(Link(a, b, rate_bps, delay_s) for a, b in core)),
        flows=(FlowSpec(0, "s0", "r0"), FlowSpec(1, "s1", "r1"), FlowSpec(2, "s2", "r0")),
        parameters={
            "bursting": bursting,
            "rate_bps": rate_bps,
            "sender_bps": sender_bps,
            "delay_s": delay_s,
            "bottleneck": str(P3),
            "hysteresis_bytes": min(XOFF_BYTES - XON_BYTES, xoff_bytes),
            **lossless.parameters(xoff_bytes, **pfc),
        },
    )
