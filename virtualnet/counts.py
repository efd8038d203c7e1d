"""What a run has counted: of a link, of all, and the deadlock that it is in.

The fields of LinkStats, BufferStats, WatchdogStats, Totals and PartStats are those of the engine's
struct, in its order and by its names, except times: `now_s` is the engine's `now_ps`. `structure`
makes the struct's layout of them, so a counter is a line here and a line in csrc/virtualnet.h.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass, field, fields
from functools import cache
from typing import Any, Final, TypeVar

CLASSES: Final = 8
_Counts = TypeVar("_Counts")
_PS = 1e12


def structure(counts: type) -> list[tuple[str, Any]]:
    """Returns the fields of the C struct that a dataclass of counts stands for: 64 bits each, times
    in ps, eight of a tuple."""
    types = {"int": ctypes.c_uint64, "float": ctypes.c_uint64}
    return [
        (_c_name(entry.name, entry.type), types.get(str(entry.type), ctypes.c_uint64 * CLASSES))
        for entry in fields(counts)
    ]


def counted(counts: type[_Counts], raw: ctypes.Structure) -> _Counts:
    """Returns what a struct of `structure` holds; times in s."""
    names: Any = _c_fields(counts)  # type: ignore[arg-type]  # classes are hashable
    return counts(*(_number(getattr(raw, name), kind) for name, kind in names))


@cache  # a large network has thousands of links
def _c_fields(counts: type) -> list[tuple[str, object]]:
    """Returns the names in the struct of a dataclass of counts, with its fields' types."""
    return [(_c_name(entry.name, entry.type), entry.type) for entry in fields(counts)]


def _c_name(name: str, annotation: object) -> str:
    return f"{name.removesuffix('_s')}_ps" if annotation == "float" else name


def _number(value: Any, annotation: object) -> Any:
    if annotation == "float":
        return value / _PS
    return value if annotation == "int" else tuple(value)


@dataclass(frozen=True)
class LinkStats:
    """One direction of a link, named by the port it leaves. `paused_s`: from XOFF to XON, for
    PAUSEs sent over it, summed over classes; `pause_by_class` counts the PAUSEs of each. `refused`:
    tail drops at its output queues; `refused_by_class`: at each one, of which `trimmed_by_class`
    were trimmed, and the others are lost. `expired`: PAUSEs of its classes that ran out.
    `output_bytes`: what is in its output buffer, or on its way there through the fabric; 0 without
    one. With credits, `fc_packets` are flow control packets, and `starved_s` is how long its
    classes had none for a frame, summed over them.

    `held_max` and `held_limit` concern what came in over it: bytes that one lossless class had
    inside, and what PFC guarantees (XOFF and what can be in flight then), or the buffer that
    credits share out, in whole blocks of 64 bytes. `held_bytes` is what all of them have inside
    now. `lost`, `repeated`: frames, by `VirtualNetwork.disturb`. `overrun`: frames of lossless
    classes for which there was no room left, after a PAUSE was lost or late, or where the run
    survives that.
    """

    packets: int
    bytes: int
    pause: int
    resume: int
    paused_s: float
    refused: int
    held_max: int
    held_limit: int
    expired: int
    output_bytes: int = 0
    held_bytes: int = 0
    fc_packets: int = 0
    starved_s: float = 0.0
    lost: int = 0
    repeated: int = 0
    overrun: int = 0
    pause_by_class: tuple[int, ...] = (0,) * CLASSES
    refused_by_class: tuple[int, ...] = (0,) * CLASSES
    trimmed_by_class: tuple[int, ...] = (0,) * CLASSES


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
    strictly in step, so it is a fact of the engine rather than of the model. `unusable_cnps` came
    to RPs that need a RecRate, without one, and were dropped. `unfinished`: flows of known size
    that haven't arrived whole, those that haven't started among them.
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
