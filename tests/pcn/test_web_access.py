"""The live page for all readers: keyboard, screen reader, colour-blind eyes, a connection that
breaks."""

import itertools
import re
import socket
import threading
from collections.abc import Iterator
from contextlib import closing, contextmanager, suppress
from typing import Any

import numpy as np
import pytest
from browser import Browser
from pages import COUNT, drawn, load
from waiting import wait_until

from pcn.topologies.dumbbell import dumbbell
from pcn.web.history import History
from pcn.web.recorded import described
from pcn.web.server import STATIC, serving

TOPOLOGY = dumbbell(pairs=1)
AT = "Number($('#slider').value)"
STATE = "$('#state').textContent"
# Machado, Oliveira, Fernandes: A Physiologically-based Model for Simulation of Color Vision
# Deficiency, 2009: complete
EYES = {
    "protanopia": (
        (0.152286, 1.052583, -0.204868),
        (0.114503, 0.786281, 0.099216),
        (-0.003882, -0.048116, 1.051998),
    ),
    "deuteranopia": (
        (0.367322, 0.860646, -0.227968),
        (0.280085, 0.672501, 0.047413),
        (-0.011820, 0.042940, 0.968881),
    ),
    "tritanopia": (
        (1.255528, -0.076749, -0.178779),
        (-0.078411, 0.930809, 0.147602),
        (0.004733, 0.691367, 0.303900),
    ),
    "all cones": ((1, 0, 0), (0, 1, 0), (0, 0, 1)),
}
XYZ = ((0.4124, 0.3576, 0.1805), (0.2126, 0.7152, 0.0722), (0.0193, 0.1192, 0.9505))
WHITE = (0.9505, 1.0, 1.089)
DIFFERENT = 20  # CIE76: ten times what is just noticeable, for thin lines


def history(frames: int) -> History:
    history = History()
    history.begin(described(TOPOLOGY, title="dumbbell: any", network=None, live=True, control=True))
    for number in range(frames):
        add(history, number)
    return history


def add(history: History, number: int):
    history.add(
        {
            "time_s": number * 1e-3, "over_s": 1e-3, "ports": [port(number)], "flows": [],
            "overload": None,
        }
    )  # fmt: skip


def port(number: int) -> dict[str, Any]:
    idle = dict.fromkeys(("pn", "marked_share", "marked_ue_share", "held_bytes", "lost"))
    counted = {
        "queue_bytes": 1000 * number + 1,
        "queue_packets": number + 1,
        "rate_bps": 1e9,
        "utilisation": 0.1,
    }
    flags = {"paused": bool(number % 2), "pausing": False, "up": True, "kept_pace": True}
    pauses = {"pauses_sent_per_s": 0.0, "pauses_received_per_s": 0.0}
    return {"port": "s0:1", "link": "s0->h0", **idle, **counted, **flags, **pauses}


class Wire:
    """A connection between browser and server that breaks: a relay, whose address the server takes
    for its own."""

    def __init__(self, to: int):
        self._to = to
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._pairs: list[tuple[socket.socket, socket.socket]] = []
        self._lock = threading.Lock()
        self._broken = False
        threading.Thread(target=self._accept, daemon=True).start()

    def close(self):
        self._listener.close()
        self.break_()

    def break_(self):
        with self._lock:
            self._broken = True
            for connection in itertools.chain.from_iterable(self._pairs):
                with suppress(OSError):
                    connection.shutdown(socket.SHUT_RDWR)
            self._pairs.clear()

    def mend(self):
        self._broken = False

    def _accept(self):
        with suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                with self._lock:
                    if self._broken:
                        near.close()
                        continue
                    far = socket.create_connection(("127.0.0.1", self._to))
                    self._pairs.append((near, far))
                here, there = f"127.0.0.1:{self.port}".encode(), f"127.0.0.1:{self._to}".encode()
                threading.Thread(
                    target=self._relay, args=(near, far, here, there), daemon=True
                ).start()
                threading.Thread(
                    target=self._relay, args=(far, near, b"", b""), daemon=True
                ).start()

    @staticmethod
    def _relay(source: socket.socket, target: socket.socket, here: bytes, there: bytes):
        with suppress(OSError), source:
            while data := source.recv(65536):
                target.sendall(data.replace(here, there) if here else data)
        with suppress(OSError):
            target.shutdown(socket.SHUT_RDWR)


@contextmanager
def wired(history: History) -> Iterator[tuple[str, Wire]]:
    with serving(history) as served:
        server = int(served.url.split(":")[2].partition("/")[0])
        with closing(Wire(server)) as wire:
            yield served.url.replace(f":{server}/", f":{wire.port}/"), wire


def test_page_gets_each_frame_once_over_a_connection_that_breaks(chromium: Browser):
    page_history = history(5)
    with wired(page_history) as (url, wire):
        load(chromium, url, 5)
        for number in range(5, 25, 10):
            wire.break_()
            wait_until(lambda: "disconnected" in chromium.ask(STATE), "the page's notice")
            for frame in range(number, number + 10):
                add(page_history, frame)
            wire.mend()
            wait_until(lambda: chromium.ask(STATE) == "live", "the new connection")
            wait_until(lambda number=number: chromium.ask(COUNT) == str(number + 9), "all frames")
        log = "$$('#log li').map(line => line.textContent)"
        lines = chromium.ask(log)
    # s0:1 is paused in each second frame: a line for each frame but the first.
    assert [line.split()[0] for line in lines] == [f"{number}.000" for number in range(1, 25)]


def test_page_is_used_by_keyboard(chromium: Browser):
    page_history = history(20)
    page_history.over("the end")
    with serving(page_history) as served:
        load(chromium, served.url, 20)
        for key, at in (("Home", 0), ("ArrowRight", 1), ("End", 19), ("ArrowLeft", 18)):
            chromium.key(key)
            drawn(chromium)
            assert chromium.ask(AT) == at
        chromium.ask("$('#ports tbody button').focus()")
        outline = "getComputedStyle(document.activeElement).outlineStyle"
        chromium.key("Tab")
        assert chromium.ask("document.activeElement !== document.body")
        assert chromium.ask(outline) == "solid"
        reached = set()
        chromium.ask("document.activeElement.blur()")
        for _ in range(80):  # 20 of them are lines of the log
            chromium.key("Tab")
            reached.add(
                chromium.ask("document.activeElement.id || document.activeElement.textContent")
            )
        print(reached)
    assert {
        "back", "play", "forward", "latest", "speed", "slider", "network", "s0:1", "log", "words",
    } <= reached  # fmt: skip


def test_screen_reader_gets_a_name_of_all_that_is_used(chromium: Browser):
    """In Chromium's accessibility tree; tables have headings of columns."""
    with serving(history(3)) as served:
        load(chromium, served.url, 3)
        chromium.ask("$('#ports tbody button').click()")
        drawn(chromium)
        nodes = chromium.call("Accessibility.getFullAXTree")["nodes"]
    used = ("button", "textbox", "slider", "combobox", "group", "region", "heading", "columnheader")
    names_by_role = {role: [] for role in used}
    for node in nodes:
        role = node.get("role", {}).get("value")
        if role in used and not node["ignored"]:
            names_by_role[role].append(node.get("name", {}).get("value", ""))
    assert all(names_by_role.values()), names_by_role
    used_alone = {
        role: names
        for role, names in names_by_role.items()
        if role not in ("columnheader", "group")
    }
    assert not [role for role, names in used_alone.items() if not all(names)], names_by_role
    named = {name.partition(":")[0] for name in names_by_role["group"]}
    assert {"drawing of the network", "table of ports", "table of flows"} <= named
    assert "frame" in names_by_role["slider"]
    assert {"step back", "step forward", "newest", "s0:1", "PAUSE for 1 ms"} <= set(
        names_by_role["button"]
    )


def colours(dark: bool) -> dict[str, str]:
    text = (STATIC / "page.css").read_text()
    parts = re.findall(r":root \{(.*?)\}", text, re.DOTALL)
    return dict(re.findall(r"--(\w+): (#\w+)", parts[0] + (parts[1] if dark else "")))


def linear(colour: str) -> np.ndarray[Any, Any]:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    values = np.array([int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)])
    return np.where(values <= 0.04045, values / 12.92, ((values + 0.055) / 1.055) ** 2.4)


def seen(colour: str, eyes: str) -> np.ndarray[Any, Any]:
    """Returns CIE L*a*b* of what such eyes see."""
    ratio = np.array(XYZ) @ np.clip(np.array(EYES[eyes]) @ linear(colour), 0, 1) / np.array(WHITE)
    x, y, z = np.where(ratio > 216 / 24389, np.cbrt(ratio), (24389 / 27 * ratio + 16) / 116)
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


def contrast(foreground: str, background: str) -> float:
    """Returns WCAG's contrast of two colours."""
    bright, dark = sorted(
        (float(np.array(XYZ[1]) @ linear(colour)) for colour in (foreground, background)),
        reverse=True,
    )
    return (bright + 0.05) / (dark + 0.05)


@pytest.mark.parametrize("dark", [False, True])
@pytest.mark.parametrize("eyes", EYES)
def test_lines_of_a_plot_differ_for_any_eyes(eyes, dark):
    """And PAUSE from queues, whose shapes differ as well."""
    palette = colours(dark)
    for role, rival in (
        *itertools.combinations(("first", "second", "third"), 2),
        ("pause", "queue"),
    ):
        differ = float(np.linalg.norm(seen(palette[role], eyes) - seen(palette[rival], eyes)))
        assert differ > DIFFERENT, (role, rival, differ)


@pytest.mark.parametrize("dark", [False, True])
def test_texts_and_lines_stand_out(dark):
    """As WCAG 2.2 AA requires: texts 4.5, lines 3."""
    palette = colours(dark)
    for back in ("back", "card"):
        assert (
            min(
                contrast(palette[name], palette[back])
                for name in ("ink", "muted", "accent", "pause")
            )
            >= 4.5
        )
        assert (
            min(
                contrast(palette[name], palette[back])
                for name in ("first", "second", "third", "queue")
            )
            >= 3
        )
