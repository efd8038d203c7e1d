"""What a runner hands over, live or virtual: the same for both, so that one report and one set of
checks serve both.

All times and rates are nominal, in SI units; nodes, ports (`s0:4`) and links (`s1->s0`) are named
as in the topology.

docs/results-format.md has all series by entity and metric, with their units; a test compares it
with runs. Flows of a group (`FlowSpec.group`) have series together, under the group's name, and no
rate, unless the plan records them by themselves (`Records.flows`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, TypeVar

from pcn.base.link_counters import LinkRecord as LinkRecord
from pcn.experiments.data.records import Recorded
from pcn.experiments.data.series import Series

if TYPE_CHECKING:
    from pcn.virtualnet import Deadlock

_T = TypeVar("_T")


# there are hundreds of thousands, and a dataclass takes four times as long
class FlowRecord(NamedTuple):
    """One flow. Bytes are payload; `received` counts each packet once. `marked_packets` are marked
    CE, `marked_ue_packets` UE."""

    id: int
    src: str
    dst: str
    start_s: float
    sent_packets: int
    sent_bytes: int
    received_packets: int
    received_bytes: int
    marked_packets: int
    group: str = ""
    duration_s: float | None = None
    """Of a flow that a time limits; None: to the end of the run, or of its bytes."""
    fct_s: float | None = None
    """Time from the start to the arrival of the last byte; None for a flow that only the end of the
    run stopped."""
    marked_ue_packets: int = 0
    src_port: int = 0
    """Of the sender, by which its data left at the run's end."""
    repeated_packets: int = 0
    """Of those sent: what was lost, or seemed so."""
    timeouts: int = 0
    """How often the retransmission timer ran out."""

    @property
    def entity(self) -> str:
        """Under which its series are."""
        return flow_entity(self.id, self.group)


@dataclass(frozen=True)
class PortRecord:
    """What a port counted; `rate_bps` nominal.

    Fields with a meaning are entries of summary.json. Those with a default are counters of a
    marking point: both runners sample a program's counters of these names."""

    transmitted: Annotated[int, "packets of the lossless class transmitted"]
    rate_bps: float
    marked: Annotated[int, "packets that it marked CE, or sent a message for"] = 0
    marked_ue: Annotated[int, "packets that it marked UE"] = 0
    notified: Annotated[int, "messages that it sent for packets inside, as an input"] = 0

    @classmethod
    def marks(cls) -> tuple[str, ...]:
        """Returns the names of the counters that a program may have, by port and class, beside
        `transmitted`."""
        return tuple(counter.name for counter in fields(cls) if counter.default == 0)


@dataclass(frozen=True)
class Recording:
    """A finished run. `left_inside`: registers that count what is inside a switch and weren't 0
    after the drain."""

    series: Series
    flows: tuple[FlowRecord, ...]
    links: Mapping[str, LinkRecord]
    ports: Mapping[str, PortRecord]
    left_inside: Mapping[str, int]
    k: float
    duration_s: float
    wall_s: float
    start_s: float = 0.0
    versions: Mapping[str, str] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    """Remarks on this run for readers of the report."""
    lost_control: int | None = None
    """PAUSE, RESUME and CNP frames that were sent and didn't come; `notes` name them. None: the
    ends aren't counted."""
    settings: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """Read back at the run's end, by port and by the names of `pcn set`: of switches with ECN
    thresholds, in virtual time."""
    memo: dict[str, Any] = field(default_factory=dict, compare=False, repr=False)
    """What is computed of it once, by name: see `once`."""
    deadlock: Deadlock | None = None
    """At the run's end; `notes` name it. In virtual time alone, and without output buffers."""
    digest: str | None = None
    """Of all events, the drain's too, 16 hexadecimal digits: equal runs have equal ones. In virtual
    time alone."""
    recorded: Recorded = field(default_factory=Recorded)
    """In virtual time alone."""

    def once(self, name: str, make: Callable[[], _T]) -> _T:
        """Returns what `make` makes of the recording, which it is called for once."""
        if name not in self.memo:
            self.memo[name] = make()
        cached: _T = self.memo[name]
        return cached


def flow_entity(flow: int, group: str = "") -> str:
    """Returns the name of a flow in series: `flow 1`, or its group's."""
    return group or f"flow {flow}"
