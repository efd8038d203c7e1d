"""Whether the clock by which switches stamp telemetry suits a network's round trip."""

from __future__ import annotations

from pcn.topologies.model import Topology

from .algorithms import Configured

LEAST_TICKS = 40
"""A round trip of fewer makes long flows' rates unequal: HPCC with 3 to 8 flows of 100 and 400
Gbit/s has a Jain index of 0.93 and more with 30 ticks and more, and of 0.2 to 0.8 with 12 and
fewer."""
# ticks: a longer time between two records can't be distinguished from a shorter one before
_HALF_RANGE = 2**23
_COUNTED_BYTES = 128 * 2**20
"""Range of a port's count of bytes: 20 bits of 128 B, as in HPCC's header (SIGCOMM'19, Fig. 7)."""


def unfit(topology: Topology, scheme: Configured, tick_s: float) -> str:
    """Returns a remark where a scheme goes by telemetry whose tick, in nominal time, is too long or
    too short; empty: it suits, or the scheme has none. Raises SchemeError."""
    if not scheme.wants_telemetry:
        return ""
    rtt_s = topology.max_rtt_s()
    name, ticks = scheme.scheme.name, f"the switches' clock ticks every {tick_s * 1e9:.3g} ns"
    if 0 < rtt_s < LEAST_TICKS * tick_s:
        return (
            f"{ticks}, and the largest round trip takes {rtt_s * 1e6:.3g} us, less than "
            f"{LEAST_TICKS} ticks: with {name} few long flows have unequal rates"
        )
    if rtt_s > _HALF_RANGE * tick_s:
        return (
            f"{ticks}, and telemetry has 24 bits of it: {name} can't measure by round trips of "
            f"{rtt_s * 1e3:.3g} ms, which are longer than {_HALF_RANGE * tick_s * 1e3:.3g} ms"
        )
    rate_bps = max((link.rate_bps for link in topology.links), default=0.0)
    if rtt_s * rate_bps / 8 > _COUNTED_BYTES:
        return (
            f"telemetry counts a port's bytes up to {_COUNTED_BYTES / 1e6:.0f} MB: {name} can't "
            f"measure a link of {rate_bps / 1e9:g} Gbit/s by round trips of {rtt_s * 1e3:.3g} ms, "
            f"in which {rtt_s * rate_bps / 8e6:.0f} MB pass"
        )
    return ""
