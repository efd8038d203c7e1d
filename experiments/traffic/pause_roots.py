"""Where the PAUSEs of an explained run start, and whom they held."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from pcn.experiments.data.pauses import Pauses, Root
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.define.tables import Table
from pcn.hosts.explain_log import WINDOW_PARTS
from pcn.topologies.model import Endpoint, Topology

_AT_SENDER = "paused"
_PAUSE = (_AT_SENDER, "pause_backlog", "pause_idle")
_SHOWN, _MOST_FLOWS = 5, 5000
_KINDS = {"circle": "a circle of PAUSEs at {}", "unknown": "credits, or no PAUSE, at {}"}


@dataclass(frozen=True)
class PauseRoots:
    """`stopped_ps`: by root, for how long PAUSEs that start there stopped ports, all ports
    together. `flows`: of each flow that lost time to PAUSE (of more than 5,000, those that lost
    most), by its place, the root of most of the PAUSE that stopped ports of its way while it was
    under way. `victims`: those that don't cross theirs."""

    stopped_ps: Mapping[Root, float]
    flows: Mapping[int, Root] = field(default_factory=dict)
    victims: frozenset[int] = frozenset()
    every: bool = True
    names: tuple[str, ...] = ()

    def name(self, root: Root) -> str:
        """Returns a root for people, `s1:2 to r1`."""
        return _KINDS.get(root.kind, "{}").format(self.names[root.port])


def of(plan: Plan, recording: Recording) -> PauseRoots | None:
    """Returns the roots; None where the run wasn't explained, or nothing was PAUSEd."""
    return recording.once("pause roots", lambda: _of(plan, recording))


def _of(plan: Plan, recording: Recording) -> PauseRoots | None:
    parts, logs = recording.recorded.parts, recording.recorded.logs
    if parts is None or logs is None or not logs.causes.size:
        return None
    end_ps = round((recording.duration_s - plan.start_s) * 1e12)
    pauses = Pauses(logs, end_ps)
    stopped: dict[Root, float] = defaultdict(float)
    for key in pauses.stopped:
        for root, ps in pauses.blame(key, [(0, end_ps)])[0].roots.items():
            if ps:  # a port that waited for a PAUSE all the time is on the way alone
                stopped[root] += ps
    lost = lost_to_pause_ps(recording)
    held = [place for place in np.argsort(-lost, kind="stable").tolist() if lost[place]]
    numbers = {port: number for number, port in enumerate(logs.ports)}
    flows, victims = {}, set()
    for place in held[:_MOST_FLOWS]:
        spec, start = plan.topology.flows[place], int(parts.start_ps[place])
        way = [
            numbers[port]
            for port in _way(plan.topology, spec.src, recording.recorded.ways[spec.id])
        ]
        span = start, start + int(parts.fct_ps[place])
        at_sender = float(parts.parts_ps[place, parts.names.index(_AT_SENDER)])
        by_root: dict[Root, float] = defaultdict(float)
        for ports, ps in ((way[:1], at_sender), (way[1:], float(lost[place]) - at_sender)):
            blamed: dict[Root, float] = defaultdict(float)
            for number in ports:
                followed, _ = pauses.blame((number, spec.traffic_class), [span])
                for root, part_ps in followed.roots.items():
                    blamed[root] += part_ps
            for root, part_ps in blamed.items():
                by_root[root] += ps * part_ps / sum(blamed.values())
        if by_root:
            flows[place] = max(by_root, key=lambda root: (by_root[root], -root.port))
            if flows[place].port not in way:
                victims.add(place)
    peers = tuple(
        f"{port} to {plan.topology.peer(port.node, port.port).node}" for port in logs.ports
    )
    return PauseRoots(stopped, flows, frozenset(victims), len(held) <= _MOST_FLOWS, peers)


def _way(topology: Topology, host: str, logged: tuple[Endpoint, ...]) -> list[Endpoint]:
    """Returns the ports that a flow's data leaves by, the host's among them."""
    ports = topology.ports(host)
    return [*([Endpoint(host, next(iter(ports)))] if len(ports) == 1 else []), *logged]


def lost_to_pause_ps(recording: Recording) -> Array:
    """Returns the time that each flow lost to PAUSE and to queues that it built, also while its
    window was full; 0 of flows that hadn't arrived."""
    parts = recording.recorded.parts
    assert parts is not None
    paused_ps = sum(parts.parts_ps[:, parts.names.index(name)] for name in _PAUSE)
    lost: Array = (paused_ps + _window_ps(parts.window_ps)).astype(float)
    return lost


def _window_ps(window_ps: NDArray[np.int64]) -> NDArray[np.int64]:
    chosen = [WINDOW_PARTS.index(name) for name in _PAUSE if name in WINDOW_PARTS]
    total: NDArray[np.int64] = window_ps[:, chosen].sum(axis=1)
    return total


def table(plan: Plan, recording: Recording) -> Table | None:
    """Returns a row a root, of those that stopped ports for longest; None: there is none."""
    roots = of(plan, recording)
    if roots is None or not roots.stopped_ps:
        return None
    total = sum(roots.stopped_ps.values())
    held = Counter(roots.flows.values())
    victims = Counter(roots.flows[place] for place in roots.victims)
    ordered = sorted(roots.stopped_ps.items(), key=lambda item: (-item[1], item[0].port))
    rows = [
        [
            roots.name(root),
            f"{ps / 1e9:.4g}",
            f"{100 * ps / total:.1f}",
            f"{held[root]:,}",
            f"{victims[root]:,}",
        ]
        for root, ps in ordered[:_SHOWN]
    ]
    left = f" {len(ordered) - _SHOWN:,} more roots." if len(ordered) > _SHOWN else ""
    among = "" if roots.every else f" Of the {_MOST_FLOWS:,} flows that lost most."
    return Table(
        "where PAUSE starts",
        ["root", "stopped ports for, ms", "% of all PAUSE", "flows held", "of these, victims"],
        rows,
        [
            "A root is congested while it isn't PAUSEd itself; its PAUSEs, and those that they "
            "caused, stopped ports for that time, all together. Flows held: lost time to PAUSE, "
            f"most of it from there; victims don't cross it.{among}{left}"
        ],
    )
