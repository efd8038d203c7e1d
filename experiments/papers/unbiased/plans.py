"""RZ 3880's network (Table I): hosts around one switch, whose inputs send PAUSE at 110 KB and
RESUME at 44 KB.

The paper counts 20 B more of each frame, preamble and gap, of flows and lines alike; data frames
are all equal, so shares of a line, and with them rates, are the same on its scale.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import HEADER_BYTES, Plan, known_fields, numbers, plan_of
from pcn.topologies.model import FIFO, ROUND_ROBIN, Endpoint, FlowSpec, OutputBuffer
from pcn.topologies.star import star

FRAME_BYTES = 1522
XOFF_BYTES, XON_BYTES = 110e3, 44e3
DELAY_S = 10e-9
"""2 m of cable: the paper has no delay."""
BUFFERED, RELIABLE = "output buffers", "reliable delivery"
SWITCHES = (ROUND_ROBIN, FIFO, BUFFERED, RELIABLE)
"""The switch: virtual output queues, from which packets leave round robin over inputs; one queue an
output for all, as live switches have; and the paper's whole, virtual output queues and behind a
fabric output buffers of 150 KB, without or with a copy at the input until the output has sent a
packet."""
PLAIN = (ROUND_ROBIN, FIFO)
"""Without output buffers: those decide in Fig. 6 and 7c, d."""
_OUTPUT = OutputBuffer(size_bytes=150e3, speed_up=1.6, latency_s=1e-6)
_TABLE_I = {"q_eq_bytes": 60e3, "w": 2.0, "sample_bytes": 150e3}
_OF_RATE = {
    10e9: {"timer_s": 10e-3, "r_ai_bps": 5e6, "r_hai_bps": 50e6},
    100e9: {"timer_s": 2e-3, "r_ai_bps": 15e6, "r_hai_bps": 250e6},
}
"""The rate limiters', by the rate of lines."""
_CHOSEN = {"adaptive": 0.0, "keep_target": 1.0, "keep_alive": 0.0}
"""What the paper leaves open (docs/choices.md); it adds keep-alive after these figures, in Fig.
6."""


def star_plan(
    name: str,
    scheme: str,
    seed: int,
    flows: Sequence[FlowSpec],
    duration_s: float,
    values: Mapping[str, Value],
    rate_bps: float = 10e9,
    every_s: float = 0.5e-3,
) -> Plan:
    """Returns these flows, of which those to r0 compete. `values`: switch (which of SWITCHES, by
    number), and fields of the scheme's parameters; those that it hasn't change nothing."""
    settings = numbers(values)
    switch = SWITCHES[round(settings.pop("switch", 0))]
    senders = len({flow.src for flow in flows})
    receivers = len({flow.dst for flow in flows})
    topology = star(
        senders, receivers, rate_bps, DELAY_S,
        arbitration=FIFO if switch == FIFO else ROUND_ROBIN,
        xoff_bytes=XOFF_BYTES, xon_bytes=XON_BYTES, mtu_bytes=FRAME_BYTES,
    )  # fmt: skip
    if switch not in PLAIN:
        buffered = replace(
            topology.switches[0], output=replace(_OUTPUT, reliable=switch == RELIABLE)
        )
        topology = replace(topology, switches=(buffered,))
    return plan_of(
        name,
        scheme,
        seed,
        replace(topology, flows=tuple(flows)),
        duration_s,
        known_fields(scheme, _TABLE_I | _OF_RATE[rate_bps] | _CHOSEN | settings),
        [Endpoint("s0", senders + 1)],
        every_s,
        payload_bytes=FRAME_BYTES - HEADER_BYTES,
    )
