"""`pcn watch` on a terminal: tables whose rows arrows choose, the chosen one's series, the last
lines of logs.

`View` is what the screen shows, without a terminal; `watch` reads keys and draws it.
"""

from __future__ import annotations

import contextlib
import os
import select
import sys
import termios
import time
import tty
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.text import Text

from pcn.lab.observe import Snapshot
from pcn.rates import rate_unit, unit_bps
from pcn.view import Chosen, Titled, flow_row, flow_rows, pair_rows, picture, shown

if TYPE_CHECKING:
    from pcn.looks import Looks

_LOOKS, _LINES = 600, 200
"""Looks and lines of logs that are kept."""
_BARS = "▁▂▃▄▅▆▇█"
_LEAST_ROWS = 12
"""Of the tables; with fewer there is no room for series and log."""
_LOG_ROWS = 4
_DETAILS_ROWS = 40
"""Rows of a terminal from which series and log are shown without their key."""
_HELP = (
    ("up, down", "choose a port or a flow; its series stand below"),
    ("left, right", "first port, first flow"),
    ("home, end", "first row, last row"),
    ("d", "the chosen row's series and the log, or more rows in their place"),
    ("?", "this list"),
    ("q, Ctrl-C", "end"),
)
_COLUMNS = (
    ("queue", "bytes that wait at the port now"),
    ("pn", "packets there that a PAUSE delayed, which NP-ECN doesn't mark"),
    ("PAUSE out/ms", "PAUSE frames that the port sent, in a millisecond"),
    ("PAUSE in/ms", "PAUSE frames that came to it; PAUSED: it may not send now"),
    ("marked", "share of packets that left marked (port) or arrived so (flow)"),
    ("may send", "the rate that the flow's scheme and its own limit allow"),
    ("in flight", "bytes sent and not yet acknowledged"),
    ("pace", "late: the machine didn't keep up, and its numbers may be wrong"),
)
_RATE = "b/s"
"""Of the network's unit."""
_SERIES: dict[str, tuple[tuple[str, str, str, float], ...]] = {
    "port": (
        ("sends", "rate_bps", _RATE, 1),
        ("queue", "queue_bytes", "KB", 1e3),
        ("queue", "queue_packets", "pkts", 1),
    ),
    "flow": (
        ("sends", "sent_bps", _RATE, 1),
        ("goodput", "goodput_bps", _RATE, 1),
        ("window", "window_bytes", "KB", 1e3),
    ),
}
_SERIES_ROWS = max(map(len, _SERIES.values()))
_ESCAPES = {
    b"A": "up", b"B": "down", b"C": "right", b"D": "left", b"H": "home", b"F": "end", b"1~": "home",
    (
        b"4~"
    ): "end",
}  # fmt: skip


class Keys:
    """Bytes of a terminal as keys. What is neither a letter nor a key that `View` has is left
    out."""

    def __init__(self) -> None:
        self._rest = b""

    def feed(self, data: bytes) -> list[str]:
        """Returns the keys that are complete with these bytes."""
        self._rest += data
        keys: list[str] = []
        while self._rest:
            if self._rest[:1] != b"\x1b":
                letter, self._rest = self._rest[:1], self._rest[1:]
                if letter.isascii() and letter.decode("latin-1").isprintable():
                    keys.append(letter.decode())
                continue
            if self._rest[1:2] not in (b"[", b"O"):
                if len(self._rest) == 1:
                    break
                self._rest = self._rest[1:]
                continue
            end = next(
                (at for at, byte in enumerate(self._rest[2:], 2) if 0x40 <= byte <= 0x7E), None
            )
            if end is None:
                if len(self._rest) > 32:  # no key is so long
                    self._rest = b""
                break
            sequence, self._rest = self._rest[2 : end + 1], self._rest[end + 1 :]
            if sequence in _ESCAPES:
                keys.append(_ESCAPES[sequence])
        return keys


class View:
    """What the screen shows of a network."""

    def __init__(self, about: Titled) -> None:
        self._about = about
        self._looks: deque[Snapshot] = deque(maxlen=_LOOKS)
        self._lines: deque[str] = deque(maxlen=_LINES)
        self._place = 0
        self._help = False
        self._details: bool | None = None  # as the key left it
        self.chosen: Chosen | None = None

    def add(self, now: Snapshot, lines: Sequence[str] = ()) -> None:
        """Takes the newest look, and what was logged since the one before."""
        self._looks.append(now)
        self._lines.extend(lines)

    def press(self, key: str, width: int, height: int) -> bool:
        """Takes a key. Returns whether it ends the view."""
        if key == "q":
            return True
        if key == "?" or self._help:
            self._help = not self._help
            return False
        if not self._looks:
            return False
        if key == "d":
            self._details = not self._has_details(height)
            return False
        rows = self._rows(width, height)
        flows = [place for place, row in enumerate(rows) if row[0] == "flow"]
        last = len(rows) - 1
        if self.chosen is None:
            moves = {"up": last, "down": 0}
        else:
            moves = {"up": max(self._place - 1, 0), "down": min(self._place + 1, last)}
        moves |= {"home": 0, "end": last, "left": 0, "right": flows[0] if flows else last}
        if rows and key in moves:
            self._place = moves[key]
            self.chosen = rows[self._place]
        return False

    def draw(self, width: int, height: int) -> RenderableType:
        """Returns the screen."""
        if self._help:
            wide = max(len(name) for name, _ in (*_HELP, *_COLUMNS))
            return Group(
                Text("keys", "bold"),
                *(Text(f"{keys:{wide}}  {action}") for keys, action in _HELP),
                Text(""),
                Text("columns", "bold"),
                *(Text(f"{name:{wide}}  {meaning}") for name, meaning in _COLUMNS),
            )
        if not self._looks:
            return Text(f"{self._about.name}: looking ...")
        self._rows(width, height)
        below = self._below(width, height)
        return Group(
            picture(self._about, self._looks[-1], width, height - len(below), self.chosen), *below
        )

    def _rows(self, width: int, height: int) -> list[Chosen]:
        """Returns the current rows. A chosen one that isn't among them is followed by the one in
        its place."""
        rows = shown(self._looks[-1], width, height - len(self._below(width, height))).rows
        if self.chosen in rows:
            self._place = rows.index(self.chosen)
        elif self.chosen is not None:
            self._place = min(self._place, max(len(rows) - 1, 0))
            self.chosen = rows[self._place] if rows else None
        return rows

    def _below(self, width: int, height: int) -> list[Text]:
        """Returns the lines below the tables, as many as there is room for. Their number doesn't
        depend on what is chosen: rows don't come and go with it."""
        series = list(self._series(self.chosen, width)) if self.chosen is not None else []
        title = " ".join(self.chosen[1:]) if self.chosen is not None else ""
        lines = [
            Text(""),
            Text(title[:width], "bold"),
            *series,
            *[Text("")] * (_SERIES_ROWS - len(series)),
        ]
        newest = list(self._lines)[-_LOG_ROWS:]
        lines += [Text(line[:width], "dim", no_wrap=True, overflow="crop") for line in newest]
        if not self._has_details(height):
            lines = []
        keys = "arrows choose a row, d shows its series and the log, ? lists the keys, q ends"
        lines.append(Text(keys[:width], "dim"))
        room = height - _LEAST_ROWS
        return lines[:room] if 0 < room < len(lines) else lines if room > 0 else []

    def _has_details(self, height: int) -> bool:
        return height >= _DETAILS_ROWS if self._details is None else self._details

    def _series(self, chosen: Chosen, width: int) -> Iterator[Text]:
        """Yields a line of each series of a row: its name, its newest value, bars up to its
        greatest one."""
        scheme = self._about.has_scheme
        for name, field, unit, factor in _SERIES[chosen[0]]:
            if unit == _RATE:
                unit, factor = rate_unit(scheme), unit_bps(scheme)
            values = [
                value / factor
                for look in self._looks
                if (value := _value(look, chosen, field)) is not None
            ]
            if not values:
                continue
            greatest = max(values)
            digits = 0 if field == "queue_packets" else 3
            text = f"{name:8}{values[-1]:9,.{digits}f} {unit:7}"
            scale = f" most {greatest:,.{digits}f}"
            bars = sparkline(
                values[-max(width - len(text) - len(scale), 0) :]
                if width > len(text + scale)
                else []
            )
            yield Text(f"{text}{bars}{scale}"[:width], no_wrap=True, overflow="crop")


def _value(now: Snapshot, chosen: Chosen, field: str) -> float | None:
    """Returns a field of a row in a look; None where there is none."""
    if chosen[0] == "port":
        rows: Sequence[object] = [port for port in now.ports if port.port == chosen[1]]
    else:
        single = chosen[1].isdigit()
        rows = [
            row
            for row in (flow_rows if single else pair_rows)(now.flows)
            if _same(flow_row(row), chosen, single)
        ]
    number: float | None = getattr(rows[0], field) if rows else None
    return number


def _same(row: Chosen, chosen: Chosen, single: bool) -> bool:
    """Returns whether it is that flow, or those of that pair of hosts, however many they are."""
    return row == chosen if single else row[2:] == chosen[2:]


def sparkline(values: Sequence[float]) -> str:
    """Returns a bar for each value, of those from 0 to the greatest."""
    greatest = max(values, default=0.0)
    if greatest <= 0:
        return _BARS[0] * len(values)
    steps = len(_BARS) - 1
    return "".join(_BARS[round(max(value, 0.0) / greatest * steps)] for value in values)


def watch(record: Titled, looks: Looks, log: Callable[[], Sequence[str]]) -> None:
    """Shows looks until `q` is pressed. `log` returns the lines since it was called before."""
    view = View(record)

    def step() -> float:
        view.add(looks.look(), log())
        return looks.wait_s

    show(lambda: view, step, min(looks.wait_s, 0.3))  # the first look comes soon


def show(
    view: Callable[[], View],
    step: Callable[[], float],
    first_s: float,
    ends: Callable[[], bool] = lambda: False,
) -> None:
    """Draws the current view until `q` is pressed, or `ends` returns true. `step` brings what is
    new, first after `first_s`, and returns how long to wait for the next one (real s)."""
    console = Console(highlight=False)

    def size() -> tuple[int, int]:
        return console.width, console.height

    with (
        _keys() as pressed,
        Live(view().draw(*size()), console=console, screen=True, auto_refresh=False) as live,
    ):
        live.refresh()
        due = time.monotonic() + first_s
        while not ends():
            for key in pressed(due - time.monotonic()):
                if view().press(key, *size()):
                    return
            if time.monotonic() >= due:
                wait_s = step()
                due = time.monotonic() + wait_s
            live.update(view().draw(*size()), refresh=True)


def _no_keys(wait_s: float) -> list[str]:
    # without a keyboard: until the next look is due
    time.sleep(max(wait_s, 0))
    return []


@contextlib.contextmanager
def _keys() -> Iterator[Callable[[float], list[str]]]:
    """Yields what waits a time, at most until keys are pressed, and returns them. Ctrl-C still
    interrupts."""
    if not sys.stdin.isatty():
        yield _no_keys
        return
    keyboard, keys = sys.stdin.fileno(), Keys()
    before = termios.tcgetattr(keyboard)

    def pressed(wait_s: float) -> list[str]:
        if not select.select([keyboard], [], [], max(wait_s, 0))[0]:
            return []
        # the terminal has gone
        return keys.feed(data) if (data := os.read(keyboard, 1024)) else ["q"]

    tty.setcbreak(keyboard)
    try:
        yield pressed
    finally:
        termios.tcsetattr(keyboard, termios.TCSADRAIN, before)
