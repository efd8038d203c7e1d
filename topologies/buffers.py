"""A switch's buffers: one at each output, or one that the classes of all ports share.

Python's standard library only: Mininet's own command loads topologies with the system's Python.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from pcn.base.errors import TopologyError
from pcn.topologies.lossless import CLASSES

MOST_BYTES = 2**32 - 1
MOST_BUFFER = 2**48
"""More bytes than any buffer of a switch has."""
MOST_ALPHA = 2**15


@dataclass(frozen=True)
class OutputBuffer:
    """A buffer at each output, behind the switch's fabric. `size_bytes`: of a port and class. The
    fabric carries `speed_up` times the rate to it that the port has at the start. `latency_s`:
    through the fabric. `reliable`: the input keeps a packet's bytes until the output has begun to
    send it."""

    size_bytes: float = 150e3
    speed_up: float = 1.6
    latency_s: float = 1e-6
    reliable: bool = False


@dataclass(frozen=True)
class Share:
    """What a class of a port has of a shared buffer: `reserve_bytes` for itself; beyond them, of
    the pool, up to the threshold `fixed_bytes` + `alpha` x the pool's free bytes; then, while its
    PAUSE takes effect, `headroom_bytes` (None: as much as can come in). PAUSE falls due at the
    threshold, RESUME `resume_bytes` below it.

    It applies to ports of this rate, to this class, and to this port, where these are given.
    """

    alpha: float = 1 / 8
    fixed_bytes: float = 0.0
    reserve_bytes: float = 4096.0
    headroom_bytes: float | None = None
    resume_bytes: float = 3072.0
    rate_bps: float | None = None
    traffic_class: int | None = None
    port: int | None = None

    def __post_init__(self) -> None:
        if not 0 <= self.alpha <= MOST_ALPHA:
            raise TopologyError(
                f"a share with alpha {self.alpha:g}: 0 to {MOST_ALPHA} are possible"
            )
        for name in ("fixed_bytes", "reserve_bytes", "resume_bytes", "headroom_bytes"):
            value = getattr(self, name)
            if value is not None and not 0 <= value <= MOST_BYTES:
                raise TopologyError(
                    f"a share with {name} {value:g}: 0 to {MOST_BYTES} are possible"
                )
        if self.headroom_bytes == 0:
            raise TopologyError(
                "a share without headroom: leave headroom_bytes out, and it is what can still come "
                "in"
            )
        if self.traffic_class is not None and not 0 <= self.traffic_class < CLASSES:
            raise TopologyError(
                f"a share of class {self.traffic_class}: 0 to {CLASSES - 1} are possible"
            )

    def applies(self, port: int, rate_bps: float, traffic_class: int) -> bool:
        return (
            self.port in (None, port)
            and self.rate_bps in (None, rate_bps)
            and self.traffic_class in (None, traffic_class)
        )


@dataclass(frozen=True)
class SharedBuffer:
    """A buffer that all ports of a switch share, by dynamic thresholds (Choudhury and Hahne, ToN
    1998). Of `shares` the first one that applies to a class of a port is its own; the last one
    applies to all.

    The classes that PFC protects have shares, and lossy ones but class 7, which has CNPs and ACKs.
    A lossy class is refused what is above its threshold; it has neither headroom nor, unless a
    share names it, a reserve.
    """

    size_bytes: float
    shares: tuple[Share, ...] = (Share(),)

    def __post_init__(self) -> None:
        if not 0 < self.size_bytes < MOST_BUFFER:
            raise TopologyError(
                f"a shared buffer of {self.size_bytes:g} bytes: more than 0, and less than 2^48"
            )
        last = self.shares[-1] if self.shares else Share(port=0)
        if (last.port, last.rate_bps, last.traffic_class) != (None, None, None):
            raise TopologyError(
                "a shared buffer's last share has to apply to all ports and classes"
            )

    def share(self, port: int, rate_bps: float, traffic_class: int, lossless: bool) -> Share:
        """Returns a class's share at a port."""
        share = next(share for share in self.shares if share.applies(port, rate_bps, traffic_class))
        if lossless:
            return share
        reserve = 0.0 if share.traffic_class is None else share.reserve_bytes
        return replace(share, reserve_bytes=reserve, headroom_bytes=None)


def hpcc_buffer(
    size_bytes: float, ports: dict[int, tuple[float, float]], nic_bps: float
) -> SharedBuffer:
    """Returns the shared buffer that switches of HPCC's simulator have (SIGCOMM'19, its
    switch-mmu): alpha is 1/8 at the NICs' rate and doubles with the rate, up to 1; 4 KiB are a
    port's own, and three times rate x delay are its headroom. `ports`: rate and delay by number."""
    shares = []
    for port, (rate_bps, delay_s) in sorted(ports.items()):
        shift, above = 3, rate_bps
        while above > nic_bps and shift > 0:
            shift, above = shift - 1, above / 2
        shares.append(Share(0.5**shift, headroom_bytes=int(rate_bps * delay_s / 8) * 3, port=port))
    return SharedBuffer(size_bytes, (*shares, Share()))
