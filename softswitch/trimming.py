"""Packet trimming: what a switch's queue does with a packet that it refuses (csrc/trim.h)."""

from __future__ import annotations

from typing import NamedTuple

_LIMITS = {
    "size": (64, 1024),
    "dscp_value": (0, 63),
    "queue_index": (0, 7),
    "weight": (1, 2**32 - 1),
    "tail_percent": (0, 100),
}
LAST_HOP_DSCP = 49
"""For the `dscp_value` of a port to a host: a receiver that finds it in a trimmed packet reports to
the sender that the last hop has trimmed it (Ultra Ethernet's; hosts/csrc/wire.h has it, too)."""


class _Settings(NamedTuple):
    size: int
    dscp_value: int
    queue_index: int
    weight: int
    tail_percent: int


class Trimming(_Settings):
    """By SONiC's names (SWITCH_TRIMMING): `size` of a trimmed frame, 64 to 1024 bytes; its
    `dscp_value`; the `queue_index`, the class, that it waits in at this port. Switches behind it go
    by the DSCP: 48 is class 6.

    Trimmed packets are few bytes each, but many: in a higher class they starve the data that the
    same senders repeat. So at most `weight` of them leave in a row while others wait, which leaves
    data of L bytes a share of at least L / (L + weight * size).

    In `tail_percent` of 100 cases, drawn, a full queue trims the packet that waits last, and takes
    the one that comes; 50 is NDP's coin, 0 a switch that trims what it refuses.

    Raises ValueError.
    """

    __slots__ = ()

    def __new__(
        cls,
        size: int = 64,
        dscp_value: int = 48,
        queue_index: int = 6,
        weight: int = 32,
        tail_percent: int = 0,
    ) -> Trimming:
        trimming = super().__new__(cls, size, dscp_value, queue_index, weight, tail_percent)
        for name, (least, most) in _LIMITS.items():
            value = getattr(trimming, name)
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}: {least} to {most}")
        return trimming


DEFAULT = Trimming()
