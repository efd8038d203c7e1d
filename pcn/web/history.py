"""What the live page shows, from one thread that looks to all browsers that read: frames in order,
the latest of them kept."""

from __future__ import annotations

import json
import threading
from collections import deque
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Frame = dict[str, Any]
MOST_BYTES = 64 << 20
"""Of kept frames: the oldest go."""
_BATCH = 64
USE = (
    *("queue_bytes", "queue_packets", "rate_bps", "paused", "pausing", "lost", "pn"),
    *("pauses_sent_per_s", "pauses_received_per_s"),
)
AS_USUAL = ("up", "kept_pace")
"""A port is in use where one of the first fields is something, or one of these is false."""


class Item(NamedTuple):
    """An event of the page: its number from 1 on, its kind (`network`, `frame`,
    `packed` or `over`), JSON."""

    number: int
    kind: str
    text: str


class History:
    """Frames of one network after another. All methods may be called from any thread."""

    def __init__(self, most_bytes: int = MOST_BYTES) -> None:
        self._most_bytes = most_bytes
        self._lock = threading.Lock()
        self._items: deque[Item] = deque()
        self._bytes = 0
        self._last = 0
        self._network: Item | None = None
        self._listeners: set[Callable[[], None]] = set()
        self.closed = False

    def begin(self, network: dict[str, Any]) -> None:
        """What is shown from now on is of this network."""
        self._network = self._add("network", network)

    def add(self, frame: Frame) -> None:
        """Ports that do nothing are left out: the page has their names from the network."""
        ports = [port for port in frame["ports"] if port_in_use(port)]
        hosts = [host for host in frame.get("hosts", ()) if host["rate_bps"]]
        self._add("frame", {**frame, "ports": ports, "hosts": hosts})

    def add_packed(self, frames: str) -> None:
        """All frames of a recording at once, as `pcn.web.packed` has them."""
        self._add("packed", {"frames": frames})

    def over(self, text: str) -> None:
        """No frame follows; the text is why."""
        self._add("over", {"text": text})

    def close(self) -> None:
        """Ends all reading."""
        self.closed = True
        self._call()

    def after(self, number: int) -> list[Item]:
        """Returns the first items after this one, with their network where the item that named it
        isn't kept."""
        with self._lock:
            if not self._items or number >= self._last:
                return []
            first = self._items[0].number
            start = max(number + 1 - first, 0)
            items = [
                self._items[place] for place in range(start, min(start + _BATCH, len(self._items)))
            ]
            if (
                number < first
                and self._network is not None
                and self._network.number < items[0].number
            ):
                items.insert(0, self._network._replace(number=items[0].number - 1))
            return items

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Calls `listener` after each new item. Returns the function that ends that."""
        with self._lock:
            self._listeners.add(listener)

        def end() -> None:
            with self._lock:
                self._listeners.discard(listener)

        return end

    def _add(self, kind: str, content: dict[str, Any]) -> Item:
        text = json.dumps(content, separators=(",", ":"), allow_nan=False)
        with self._lock:
            self._last += 1
            item = Item(self._last, kind, text)
            self._items.append(item)
            self._bytes += len(text)
            while self._bytes > self._most_bytes and len(self._items) > 1:
                self._bytes -= len(self._items.popleft().text)
        self._call()
        return item

    def _call(self) -> None:
        with self._lock:
            listeners = list(self._listeners)
        for listener in listeners:
            listener()


def port_in_use(port: Mapping[str, Any]) -> bool:
    return any(port[field] for field in USE) or not all(port[field] for field in AS_USUAL)
