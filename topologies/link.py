"""Links between nodes' ports."""

from __future__ import annotations

from dataclasses import dataclass

from pcn.base.errors import TopologyError
from pcn.topologies import naming
from pcn.topologies.numbers import number_needed


@dataclass(frozen=True)
class Endpoint:
    """One end of a link. Ports are 0 to 507; most hosts have 0 alone, and our switches' start at
    1."""

    node: str
    port: int

    @property
    def interface(self) -> str:
        return naming.interface(self.node, self.port)

    def __str__(self) -> str:
        return f"{self.node}:{self.port}"


@dataclass(frozen=True)
class Link:
    """A full-duplex link: rate in bit/s each way, one-way propagation delay in seconds."""

    a: Endpoint
    b: Endpoint
    rate_bps: float
    delay_s: float

    def __post_init__(self) -> None:
        try:
            sum((self.rate_bps, self.delay_s))
        except TypeError:
            raise number_needed(f"link {self.a} - {self.b}", self, "rate_bps", "delay_s") from None

    def far_end(self, node: str) -> Endpoint:
        if node == self.a.node:
            return self.b
        if node == self.b.node:
            return self.a
        raise TopologyError(f"{node} is not on the link {self.a} - {self.b}")
