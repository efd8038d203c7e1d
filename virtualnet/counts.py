"""What a run has counted: of a link, of all, and the deadlock that it is in.

LinkStats (`pcn.base.link_counters`), BufferStats, WatchdogStats, Totals and PartStats declare the
engine's structs: `structure` gives their layout, and `virtualnet/native.py` writes it to C. Fields
have their names there, except times: `now_s` is the engine's `now_ps`."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from functools import cache
from typing import Any, Final, TypeVar, get_args, get_origin, get_type_hints

import numpy.typing as npt

from pcn.base.link_counters import LinkRecord as LinkRecord, LinkStats as LinkStats

CLASSES: Final = 8
_Counts = TypeVar("_Counts")
_PS = 1e12


def structure(counts: type) -> list[tuple[str, Any]]:
    """Returns the fields of the C struct that a dataclass of counts stands for: 64 bits each, times
    in ps, eight of a tuple."""
    u64 = ctypes.c_uint64
    return [(place, u64 * CLASSES if kind is tuple else u64) for _, place, kind in _layout(counts)]


def counted(counts: type[_Counts], raw: ctypes.Structure) -> _Counts:
    """Returns what a struct of `structure` holds; times in s."""
    fields: Any = _layout(counts)  # type: ignore[arg-type]  # classes are hashable
    return counts(**{name: _number(getattr(raw, place), kind) for name, place, kind in fields})


def counted_rows(counts: type[_Counts], rows: npt.NDArray[Any]) -> Iterable[_Counts]:
    """Returns what each row of an array of such structs holds, which may have further fields."""
    fields: Any = _layout(counts)  # type: ignore[arg-type]  # likewise
    names = [name for name, *_ in fields]
    columns = [_column(rows[place], kind) for _, place, kind in fields]
    return (counts(**dict(zip(names, row, strict=True))) for row in zip(*columns, strict=True))


@cache  # a large network has thousands of links
def _layout(counts: Callable[..., Any]) -> list[tuple[str, str, type]]:
    """Returns the fields of a dataclass of counts, each with its name in C and its kind."""
    return [
        (name, f"{name.removesuffix('_s')}_ps" if kind is float else name, kind)
        for name, hint in get_type_hints(counts).items()
        for kind in [_kind(hint)]
    ]


def _kind(hint: Any) -> type:
    """Returns float, tuple or int, of which an annotation may be the type or an optional one."""
    types = {hint, get_origin(hint), *get_args(hint)}
    return next(kind for kind in (float, tuple, int) if kind in types)


def _number(value: Any, kind: type) -> Any:
    return value / _PS if kind is float else kind(value)


def _column(values: npt.NDArray[Any], kind: type) -> Iterable[Any]:
    if kind is float:
        return (values / _PS).tolist()  # type: ignore[no-any-return]  # of NumPy
    return map(kind, values.tolist())


@dataclass(frozen=True)
class BufferStats:
    """A switch's shared buffer, bytes. `shared_bytes`: its pool, without all reserves and
    headrooms. `used_bytes`, the most of them `used_max_bytes`: of the pool now. `summed_bytes`: the
    sum of all shares' accounts of it. `held_bytes`: all that is inside, of classes that have
    shares. `headroom_bytes`: what of it is in headrooms, and the most that was in a single one.
    `paused`: shares whose PAUSE no RESUME has followed."""

    size_bytes: int
    shared_bytes: int
    used_bytes: int
    used_max_bytes: int
    summed_bytes: int
    held_bytes: int
    headroom_bytes: int
    headroom_max_bytes: int
    paused: int


@dataclass(frozen=True)
class WatchdogStats:
    """A port's PFC watchdog: storms of its classes, those that are over, and packets that it has
    dropped."""

    storms: int
    restored: int
    dropped: int


@dataclass(frozen=True)
class Deadlock:
    """Classes of links that wait for each other and never send again: names of directions
    (Topology.link_name), and the class. `circle`: those that others of them wait for. `behind`:
    those that wait for these. `since_s`: when the last
        one of the circle was paused. `held_bytes`: of all of them, inside the switches where they
        end."""

    circle: tuple[tuple[str, int], ...]
    behind: tuple[tuple[str, int], ...]
    since_s: float
    held_bytes: int

    def __str__(self) -> str:
        links = ", ".join(f"{name} (class {number})" for name, number in self.circle)
        behind = f"; {len(self.behind)} more wait behind them" if self.behind else ""
        return f"Deadlock since {self.since_s * 1e3:.4g} ms: {links} wait for each other{behind}."


@dataclass(frozen=True)
class Totals:
    """The run so far. A traversal is a packet that comes into a switch; `data_traversals` counts
    data alone. `dropped`: by programs, which drop each PFC frame and each generated one that they
    are given, or for a port without a link (`unlinked`) or a multicast group that doesn't exist
    (`ungrouped`). Tail drops are a link's (`LinkStats.refused`).

    `packets` are those in the network now; credits' flow control packets, of which there are always
    some, don't count. `packets_most` is how many frames were in memory at once. Nodes don't go
    strictly in step, so it is a fact of the engine rather than of the model. At hosts `bad_frames`
    have a wrong checksum, `stray_frames` are for another host, and `unusable_cnps` came to RPs that
    need a RecRate, without one, and were dropped. `unfinished`: flows of known size that haven't
    arrived whole, those that haven't started among them.
    """

    now_s: float
    events: int
    digest: int
    traversals: int
    data_traversals: int
    packets: int
    packets_most: int = field(compare=False)
    dropped: int
    unlinked: int
    ungrouped: int
    bad_frames: int
    stray_frames: int
    unusable_cnps: int
    unfinished: int


@dataclass(frozen=True)
class PartStats:
    """What one part of a network has done and sent; no result. `events`: of its nodes.
    `longest_events`: of each exchange the events of the part that had the most, summed, which no
    number of processes makes less. `frames_out`, `frames_in`, `bytes_out`: over its cuts, bytes
    with clocks and sums. `waited_s`: of the wall's clock in exchanges. `lookahead_s`: the shortest
    delay of a link that may be cut, simulated seconds."""

    rounds: int
    exchanges: int
    events: int
    longest_events: int
    frames_out: int
    frames_in: int
    bytes_out: int
    waited_s: float
    lookahead_s: float

    def __str__(self) -> str:
        return (
            f"Several processes: {self.exchanges:,} exchanges in {self.rounds:,} rounds, of which "
            f"the parts with most to do had {self.longest_events:,} events; this one had "
            f"{self.events:,}, sent {self.frames_out:,} frames over its cuts, {self.bytes_out:,} "
            f"bytes with clocks and sums, and waited {self.waited_s:.3g} s."
        )
