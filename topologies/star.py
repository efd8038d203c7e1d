"""A star: senders and receivers around one switch.

h0 --1       n+1-- r0
h1 --2  s0   n+2-- r1        every link of the same rate and delay; each sender has a flow to r0
hk --n
"""

from __future__ import annotations

from pcn.topologies import lossless
from pcn.topologies.lossless import Pfc, Unpack
from pcn.topologies.model import (
    FIFO,
    Endpoint,
    FlowSpec,
    Link,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)


def star(
    senders: int = 4,
    receivers: int = 1,
    rate_bps: float = 10e9,
    delay_s: float = 1e-6,
    arbitration: str = FIFO,
    **pfc: Unpack[Pfc],
) -> Topology:
    """Returns `senders` and `receivers` around s0. `delay_s` is each link's, one way; `arbitration`
    is the switch's."""
    if senders < 1 or receivers < 1:
        raise TopologyError(
            f"star: {senders} senders and {receivers} receivers; at least 1 of each is needed"
        )
    names = [*(f"h{i}" for i in range(senders)), *(f"r{i}" for i in range(receivers))]
    links = [
        Link(Endpoint(name, 0), Endpoint("s0", i), rate_bps, delay_s)
        for i, name in enumerate(names, start=1)
    ]
    return Topology(
        name="star",
        hosts=make_hosts(names),
        switches=(Switch("s0", 1, arbitration),),
        links=tuple(links),
        flows=tuple(FlowSpec(i + 1, f"h{i}", "r0") for i in range(senders)),
        parameters={
            "senders": senders,
            "receivers": receivers,
            "rate_bps": rate_bps,
            "delay_s": delay_s,
            "bottleneck": f"s0:{senders + 1}",
            **lossless.parameters(**pfc),
        },
    )
