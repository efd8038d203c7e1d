"""An explanation of a slow flow, as values: its parts, hops, the port that it shared, roots."""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

from pcn.experiments.explain.over_time import OverTime
from pcn.experiments.explain.received_rate import ReceivedRate

VICTIM, CONTRIBUTOR, CULPRIT = "victim", "contributor", "culprit"
REASONS = ("rate", "window", "pause", "queue", "nic", "recover")


@dataclass(frozen=True)
class Hop:
    """Of the last packet, at a port of a switch. Times in ps; `backlog_ps`: of the wait, behind
    what earlier PAUSEs of the port had left there; `by_flow`: frames on the line meanwhile, the
    flow's own among them; -1: frames that are no flow's data. `mark`: why it left
    with a mark or without, of `MARK_REASONS`; empty where it isn't known: another marking point
    than NP-ECN has other reasons for none."""

    port: str
    wait_ps: int
    queue_bytes: int
    pause_idle_ps: int
    backlog_ps: int
    idle_ps: int
    by_flow: dict[int, int]
    mark: str


@dataclass(frozen=True)
class Bottleneck:
    """The port of the flow's path that idled least in the flow's life; shares of that time.
    `above`: other flows with more than their fair share, by number: what they got, and what was
    fair."""

    port: str
    idle: float
    paused: float
    got: float
    fair: float
    by_flow: dict[int, float]
    above: dict[int, tuple[float, float]]


@dataclass(frozen=True)
class Origin:
    """A root of PAUSEs: `share` of the flow's time by PAUSE and by queues that PAUSE had built.
    `queue_share`: the flow's share of its queue at those PAUSEs; `fair_share`: one of as many as
    flows filled it. `filled`: who did, as shares of bytes by flow."""

    port: str
    kind: str
    share: float
    crossed: bool
    queue_share: float
    fair_share: float
    filled: dict[int, float]
    role: str


@dataclass(frozen=True)
class Explanation:
    """Of a flow, or of what of it left its sender within a span. `parts_ps` sum to `time_ps`.
    `least_ps`: the completion time in the empty network, by which its slowdown counts; 0 for a
    span, or a flow without an end. `reason`: of REASONS, the largest for what it took beyond that,
    and `reason_port` where it has one. `limit_ps`: what of the part `rate` the flow's own limiter
    takes in any network, which isn't lost.
    `window_ps`: what its window waited for, the ways of ACKs and their packets, by `WINDOW_PARTS`;
    they sum to the part `window`. `pause_ps`: what PAUSE took and queues that it had built;
    `blame_ps`: by root, which sums to it; `through`: by port, the share of it that waited there,
    for this port or for PAUSEs behind it. `path`: ports of its last packet. `decisions`: of
    `marks.decisions`. `rate_set_by`: of the time in which its rate held it, the shares of the ports
    whose marks had set that. `received_rate`: what PAUSE did to those that a PCN sender took."""

    id: int
    src: str
    dst: str
    group: str
    traffic_class: int
    size_bytes: int | None
    complete: bool
    from_ps: int
    time_ps: int
    least_ps: int
    sent_bytes: int
    parts_ps: dict[str, int]
    limit_ps: int
    window_ps: dict[str, int]
    hops: list[Hop]
    bottleneck: Bottleneck | None
    marked: dict[str, int]
    decisions: dict[str, int]
    packets: int
    rate_set_by: dict[str, float]
    received_rate: ReceivedRate | None
    pause_ps: int
    blame_ps: dict[str, float]
    through: dict[str, float]
    origins: list[Origin]
    tree: list[dict[str, Any]]
    path: list[str]
    over_time: OverTime | None
    reason: str = ""
    reason_port: str = ""
    why: str = ""
    role: str = ""
    ends: dict[str, str] = field(default_factory=dict)
    """By port of `bottleneck` and `origins`, the node to which it leads."""
    names: dict[int, str] = field(default_factory=dict)
    groups: dict[int, str] = field(default_factory=dict)
    """Of the flows that are named: `h0 > r0`, and their groups."""

    def as_json(self) -> dict[str, Any]:
        """Returns all of it but `over_time`, which is a page's."""
        result = asdict(replace(self, over_time=None))
        del result["over_time"]
        return result
