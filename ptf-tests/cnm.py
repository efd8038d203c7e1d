"""What QCN's tests share: the feedback that a sample has, and the message that a source
receives."""

from __future__ import annotations

from collections.abc import Iterable

from frames import host_ip, host_mac, patched, port_mac
from wires import Arrival

from pcn.controller.tofino.qcn import STEP_BYTES, W, feedback_steps, sampling
from pcn.hosts import wire

MAX = wire.MAX_FEEDBACK


def feedback(queue: int, old: int, q_eq: int, w: int) -> int:
    """F_b of a queue and the one before it, in 6 bits, as IEEE 802.1Qau has it; 0 where it isn't
    positive."""
    above = (queue - q_eq) + w * (queue - old)
    return min(MAX, 63 * above // ((2 * w + 1) * q_eq)) if above > 0 else 0


def chip_feedback(queue: int, old: int, q_eq: int) -> int:
    """Likewise of Tofino's programs, which round F_b down before."""
    steps = ((queue - q_eq) + W * (queue - old)) // STEP_BYTES
    return next((value for first, last, value in feedback_steps(q_eq) if first <= steps <= last), 0)


def interval(sample: int, chip: bool) -> tuple[float, float]:
    """Returns the fewest and most bytes from one sample to the next, where the interval is
    fixed."""
    if not chip:
        return 0.85 * sample, 1.15 * sample
    apart = sampling(sample)
    return apart["sample_min_bytes"], apart["sample_min_bytes"] + apart["sample_mask_bytes"]


def message(source: int, destination: int, psn: int, value: int, queue: int, qp: int = 1) -> bytes:
    """What the host at `source` receives for the flow `qp` that it sends to the host at
    `destination`."""
    packet = wire.CnmPacket(
        port_mac(source),
        host_mac(source),
        host_ip(destination),
        host_ip(source),
        qp,
        psn,
        value,
        queue,
    )
    return patched(wire.encode_cnm(packet), 22, bytes((63,)))


def messages(arrivals: Iterable[Arrival]) -> list[wire.CnmPacket]:
    """Those among frames."""
    packets = [wire.decode(arrival.frame) for arrival in arrivals]
    return [packet for packet in packets if isinstance(packet, wire.CnmPacket)]
