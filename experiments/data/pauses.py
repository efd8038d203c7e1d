"""PAUSEs of a run, and the ports that they come from.

A PAUSE falls due at an input, whose bytes wait for outputs. Its time goes to these by their shares
of the bytes. At an output, the part of the time in which the line was PAUSEd itself goes to that
port's PAUSEs then. Of the rest, as much as would wait there without any PAUSE of the port, by its
share of what did wait, is the port's: it is a root. The rest was built by the port's earlier
PAUSEs since its queue was empty, and goes to these. So weights sum to 1."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np

from pcn.experiments.data.parts import Logs
from pcn.hosts.explain_log import CLOSES, OPENS, WAITS, XOFF, XON

Key = tuple[int, int]
"""A port, by its number, and a class."""
_DEEPEST = 60
"""PAUSEs behind each other: more than any network is wide."""


@dataclass(frozen=True)
class Root:
    """Where a PAUSE comes from: a port; `circle`: PAUSEs that cause each other; `unknown`: a gate
    that credits closed, or whose PAUSE no switch sent."""

    port: int
    kind: str = ""


@dataclass(frozen=True)
class Waiting:
    """At a PAUSE: bytes of its input that wait for an output, and the work there, ps: all of it,
    and what would wait without PAUSE."""

    port: int
    bytes: int
    work_ps: int
    without_ps: int
    busy_ps: int


@dataclass(frozen=True)
class Followed:
    """Where a PAUSE comes from. `roots`: with weights that sum to 1. `through`: by port, how much
    of it waited there, for this port or for those behind it; what comes to a port leaves it, or is
    rooted there."""

    roots: dict[Root, float]
    through: dict[int, float]


@dataclass(eq=False)
class Pause:
    """From XOFF until XON of an input; `port`, which it stops, sends to it."""

    number: int
    port: int
    traffic_class: int
    from_ps: int
    to_ps: int
    held_bytes: int
    used_bytes: int
    threshold_bytes: int
    waiting: list[Waiting] = field(default_factory=list)


class Pauses:
    """Of a run that logged causes; until `end_ps`."""

    def __init__(self, logs: Logs, end_ps: int) -> None:
        self.all: list[Pause] = []
        self._by_key: dict[Key, list[Pause]] = defaultdict(list)
        closed: dict[Key, list[tuple[int, int]]] = defaultdict(list)
        since: dict[Key, int] = {}
        names = (
            "time_ps",
            "link",
            "class",
            "kind",
            "out",
            "bytes",
            "used",
            "threshold",
            "work_ps",
            "without_ps",
            "busy_ps",
        )
        for time, link, number, event, out, size, used, threshold, work, without, busy in zip(
            *(logs.causes[name].tolist() for name in names), strict=True
        ):
            key = link, number
            if event == CLOSES:
                since[key] = time
            elif event == OPENS and key in since:
                closed[key].append((since.pop(key), time))
            elif event == XOFF:
                pause = Pause(len(self.all), link, number, time, end_ps, size, used, threshold)
                self.all.append(pause)
                self._by_key[key].append(pause)
            elif event == WAITS:
                self._by_key[key][-1].waiting.append(Waiting(out, size, work, without, busy))
            elif event == XON and self._by_key[key]:
                self._by_key[key][-1].to_ps = time
        for key, start in since.items():
            closed[key].append((start, end_ps))
        self._closed = {
            key: np.array(spans, np.int64).reshape(-1, 2) for key, spans in closed.items()
        }
        self._starts = {
            key: np.array([item.from_ps for item in result], np.int64)
            for key, result in self._by_key.items()
        }
        self._followed: dict[int, Followed] = {}

    @property
    def stopped(self) -> list[Key]:
        """Ports, with classes, whose gates were ever closed."""
        return list(self._closed)

    def closed(self, key: Key, begin: int, end: int) -> list[tuple[int, int]]:
        """Returns the spans within [begin, end] in which the port's gate was closed: start of the
        whole span, and how much of it lies within, ps."""
        spans = self._closed.get(key)
        if spans is None or end <= begin:
            return []
        first, last = (
            np.searchsorted(spans[:, 1], begin, "right"),
            np.searchsorted(spans[:, 0], end, "left"),
        )
        return [
            (start, min(stop, end) - max(start, begin))
            for start, stop in spans[first:last].tolist()
            if stop > begin
        ]

    def gone_ps(self, key: Key, at: int, work_ps: int) -> int:
        """Returns when the work that waits at a port has left: its time, and that for which the
        gate is closed until then, later."""
        end = at + work_ps
        while (later := at + work_ps + sum(ps for _, ps in self.closed(key, at, end))) > end:
            end = later
        return end

    def behind(self, key: Key, closed_ps: int) -> Pause | None:
        """Returns the PAUSE by which the port's gate closed then; None: no switch sent one."""
        starts = self._starts.get(key)
        place = -1 if starts is None else int(np.searchsorted(starts, closed_ps, "right")) - 1
        return self._by_key[key][place] if place >= 0 else None

    def roots(self, pause: Pause, depth: int = 0) -> dict[Root, float]:
        """Returns the ports that a PAUSE comes from, with weights that sum to 1."""
        return self.follow(pause, depth).roots

    def follow(self, pause: Pause, depth: int = 0) -> Followed:
        """Returns the ports that a PAUSE comes from, and through which."""
        if pause.number in self._followed:
            return self._followed[pause.number]
        # of a walk that returns to this PAUSE
        self._followed[pause.number] = Followed({Root(pause.port, "circle"): 1.0}, {})
        result: dict[Root, float] = defaultdict(float)
        through: dict[int, float] = defaultdict(float)
        for waiting, share in self.outputs(pause):
            key = waiting.port, pause.traffic_class
            length = max(pause.to_ps - pause.from_ps, 1)
            stopped = min(
                sum(ps for _, ps in self.closed(key, pause.from_ps, pause.to_ps)) / length, 1.0
            )
            unpaused = min(waiting.without_ps / waiting.work_ps, 1.0) if waiting.work_ps else 1.0
            through[waiting.port] += share
            result[Root(waiting.port)] += share * (1 - stopped) * unpaused
            for part, begin, end in (
                (share * stopped, pause.from_ps, pause.to_ps),
                (share * (1 - stopped) * (1 - unpaused), waiting.busy_ps, pause.from_ps),
            ):
                spans = self.closed(key, begin, end) if part > 0 else []
                total = sum(ps for _, ps in spans)
                if part > 0 and (not total or depth > _DEEPEST):
                    result[Root(waiting.port)] += part
                    continue
                for start, ps in spans:
                    behind = self._behind(key, start, depth)
                    for root, weight in behind.roots.items():
                        result[root] += part * ps / total * weight
                    for port, weight in behind.through.items():
                        through[port] += part * ps / total * weight
        if not result:
            result[Root(pause.port, "unknown")] = 1.0
        self._followed[pause.number] = Followed(dict(result), dict(through))
        return self._followed[pause.number]

    def _behind(self, key: Key, closed_ps: int, depth: int) -> Followed:
        pause = self.behind(key, closed_ps)
        if pause is None:
            return Followed({Root(key[0], "unknown"): 1.0}, {})
        return self.follow(pause, depth + 1)

    def outputs(self, pause: Pause) -> list[tuple[Waiting, float]]:
        """Returns what waited at a PAUSE with its share of the bytes, the largest first."""
        total = sum(item.bytes for item in pause.waiting)
        return [
            (item, item.bytes / total)
            for item in sorted(pause.waiting, key=lambda item: (-item.bytes, item.port))
        ]

    def blame(
        self, key: Key, spans: Iterable[tuple[int, int]]
    ) -> tuple[Followed, dict[int, float]]:
        """Returns how much of the time in which the port was stopped within these spans comes from
        which root and through which ports, and from which PAUSE of it, by number; ps."""
        by_root: dict[Root, float] = defaultdict(float)
        through: dict[int, float] = defaultdict(float)
        by_pause: dict[int, float] = defaultdict(float)
        for begin, end in spans:
            for start, ps in self.closed(key, begin, end):
                pause = self.behind(key, start)
                if pause is not None:
                    by_pause[pause.number] += ps
                behind = self._behind(key, start, 0)
                for root, weight in behind.roots.items():
                    by_root[root] += ps * weight
                for port, weight in behind.through.items():
                    through[port] += ps * weight
        return Followed(dict(by_root), dict(through)), dict(by_pause)

    def tree(self, weights: dict[int, float]) -> list[tuple[int, int, int, dict[int, float]]]:
        """Returns the PAUSEs behind these (by number, with weights) as a tree: depth, port, how
        often it was PAUSEd, and the shares of the ports that its bytes waited for, from the nearest
        on; each port once."""
        rows: list[tuple[int, int, int, dict[int, float]]] = []
        seen: set[int] = set()
        level = [self.all[number] for number in weights]
        pending: list[tuple[int, list[Pause]]] = [(0, level)]
        while pending:
            depth, pauses = pending.pop(0)
            by_port: dict[int, list[Pause]] = defaultdict(list)
            for pause in pauses:
                by_port[pause.port].append(pause)
            for port, result in by_port.items():
                if port in seen:
                    continue
                seen.add(port)
                shares: dict[int, float] = defaultdict(float)
                deeper: dict[int, Pause] = {}
                for pause in result:
                    for waiting, share in self.outputs(pause):
                        shares[waiting.port] += share / len(result)
                        key = waiting.port, pause.traffic_class
                        for start, _ in self.closed(key, waiting.busy_ps, pause.to_ps):
                            behind = self.behind(key, start)
                            if behind is not None:
                                deeper[behind.number] = behind
                rows.append(
                    (
                        depth,
                        port,
                        len(result),
                        dict(sorted(shares.items(), key=lambda item: -item[1])),
                    )
                )
                if deeper:
                    pending.append((depth + 1, list(deeper.values())))
        return rows
