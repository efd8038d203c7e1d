"""Packet trimming: what a switch's queue does with a packet that it refuses (csrc/trim.h)."""

from __future__ import annotations

from dataclasses import dataclass

_LIMITS = {
    "size": (64, 1024),
    "dscp_value": (0, 63),
    "queue_index": (0, 7),
    "weight": (1, 2**32 - 1),
}


@dataclass(frozen=True)
class Trimming:
    """By SONiC's names (SWITCH_TRIMMING): `size` of a trimmed frame, 64 to 1024 bytes; its
    `dscp_value`; the `queue_index`, the class, that it waits in at this port. Switches behind it go
    by the DSCP: 48 is class 6.

    Trimmed packets are few bytes each, but many: in a higher class they starve the data that the
    same senders repeat. So at most `weight` of them leave in a row while others wait, which leaves
    data of L bytes a share of at least L / (L + weight * size).

    Raises ValueError.
    """

    size: int = 64
    dscp_value: int = 48
    queue_index: int = 6
    weight: int = 32

    def __post_init__(self) -> None:
        for name, (least, most) in _LIMITS.items():
            value = getattr(self, name)
            if not least <= value <= most:
                raise ValueError(f"{name} is {value}: {least} to {most}")


DEFAULT = Trimming()
