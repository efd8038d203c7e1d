"""A real Chromium without a window, driven over its DevTools pipe: no driver program, no network.
All tests of a process have one."""

from __future__ import annotations

import atexit
import base64
import contextlib
import itertools
import json
import os
import select
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import needs
from waiting import LIMIT_S

PROGRAMS = ("chromium", "chromium-browser", "google-chrome")


def find() -> str | None:
    return next((path for name in PROGRAMS if (path := shutil.which(name))), None)


class Browser:
    """A context manager with a page. `complaints` are the page's errors, `addresses` those it
    loads."""

    def __init__(self, program: str, profile: Path):
        self.complaints: list[str] = []
        self.addresses: list[str] = []
        self._ids = itertools.count(1)
        self._received = b""
        self._answers: dict[int, dict[str, Any]] = {}
        self._loaded = False
        ours_read, theirs_write = os.pipe()
        theirs_read, ours_write = os.pipe()
        command = [
            *(
                program, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--disable-quic",
            ),
            *(
                "--no-first-run",
                "--disable-background-networking",
                "--disable-component-update",
                "--disable-sync",
            ),
            *(f"--user-data-dir={profile}", "--remote-debugging-pipe", "about:blank"),
        ]  # fmt: skip
        # DevTools speaks over the descriptors 3 and 4; bash, since dash knows no descriptors above
        # 9
        redirect = f'exec "$@" 3<&{theirs_read} 4>&{theirs_write}'
        self._process = subprocess.Popen(
            ["bash", "-c", redirect, "bash", *command],
            pass_fds=(theirs_read, theirs_write),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "TMPDIR": str(profile)},  # what it leaves goes with the profile
        )
        os.close(theirs_read)
        os.close(theirs_write)
        self._read_fd, self._write_fd = ours_read, ours_write
        self._session: str | None = None

    def __enter__(self) -> Browser:
        return self

    def __exit__(self, *_):
        self._close()

    @contextlib.contextmanager
    def tab(self, offline: bool) -> Iterator[Browser]:
        """Opens the page, in a new tab, which is closed afterwards."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self.call("Target.attachToTarget", targetId=target, flatten=True)[
            "sessionId"
        ]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        limits = {"latency": 0, "downloadThroughput": -1, "uploadThroughput": -1}
        self.call("Network.emulateNetworkConditions", offline=offline, **limits)
        try:
            yield self
        finally:
            self._session = None
            self.call("Target.closeTarget", targetId=target)

    def _close(self):
        self._process.terminate()
        try:
            self._process.wait(LIMIT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read_fd)
        os.close(self._write_fd)

    def open(self, page: Path | str, width: int, height: int = 900, dark: bool = False):
        """Loads a file, or an address, in a window of this size; what was noted of the page before
        is forgotten."""
        self.complaints.clear()
        self.addresses.clear()
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        self.call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1,
            mobile=False,
        )  # fmt: skip
        self._loaded = False
        self.call("Page.navigate", url=page if isinstance(page, str) else page.as_uri())
        end = time.monotonic() + LIMIT_S
        while not self._loaded:
            self._take(end)

    def ask(self, expression: str):
        """The value of a JavaScript expression in the page. As in its console, $ is the first
        element of a selector and $$ all of them; what runs later has neither."""
        options = {"returnByValue": True, "includeCommandLineAPI": True}
        answer = self.call("Runtime.evaluate", expression=expression, **options)
        assert "exceptionDetails" not in answer, answer["exceptionDetails"]
        return answer["result"].get("value")

    def key(self, name: str):
        # Enter presses a button by its character alone
        text = {"text": "\r"} if name == "Enter" else {}
        for kind in ("keyDown" if text else "rawKeyDown", "keyUp"):
            self.call(
                "Input.dispatchKeyEvent", **text, type=kind, key=name, code=name,
                windowsVirtualKeyCode=_KEYS[name],
            )  # fmt: skip

    def move_to(self, x: float, y: float):
        self.call("Input.dispatchMouseEvent", type="mouseMoved", x=x, y=y)

    def click(self, x: float, y: float):
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def wheel(self, x: float, y: float, delta: float):
        """Turns the wheel there; a `delta` above 0 goes down the page."""
        self.call("Input.dispatchMouseEvent", type="mouseWheel", x=x, y=y, deltaX=0, deltaY=delta)

    def picture(self, path: Path):
        """Writes what the window shows, all of the page, as PNG."""
        size = self.call("Page.getLayoutMetrics")["cssContentSize"]
        clip = {"x": 0, "y": 0, "width": size["width"], "height": size["height"], "scale": 1}
        shot = self.call(
            "Page.captureScreenshot", format="png", clip=clip, captureBeyondViewport=True
        )
        path.write_bytes(base64.b64decode(shot["data"]))

    def call(self, method: str, **parameters) -> dict[str, Any]:
        number = next(self._ids)
        message = {"id": number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._write_fd, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + LIMIT_S
        while number not in self._answers:
            self._take(end)
        answer = self._answers.pop(number)
        assert "error" not in answer, (method, answer["error"])
        return answer["result"]

    def _take(self, end: float):
        while b"\0" not in self._received:
            ready = select.select([self._read_fd], [], [], max(0.0, end - time.monotonic()))[0]
            assert ready, "the browser doesn't answer"
            data = os.read(self._read_fd, 1 << 20)
            assert data, "the browser ended"
            self._received += data
        text, _, self._received = self._received.partition(b"\0")
        message = json.loads(text)
        if "id" in message:
            self._answers[message["id"]] = message
        else:
            self._note(message["method"], message.get("params", {}))

    def _note(self, event: str, about: Mapping[str, Any]):
        if event == "Page.loadEventFired":
            self._loaded = True
        elif event == "Runtime.exceptionThrown":
            details = about["exceptionDetails"]
            self.complaints.append(details.get("exception", {}).get("description", details["text"]))
        elif event == "Runtime.consoleAPICalled" and about["type"] in (
            "error",
            "warning",
            "assert",
        ):
            self.complaints.append(str(about["args"]))
        elif event == "Log.entryAdded" and about["entry"]["level"] in ("error", "warning"):
            self.complaints.append(
                f"{about['entry']['text']} {about['entry'].get('url', '')}".strip()
            )
        elif event == "Network.requestWillBeSent":
            self.addresses.append(about["request"]["url"])


_stack = contextlib.ExitStack()  # not atexit's alone: tests/forks.py
atexit.register(_stack.close)


@cache
def _running() -> Browser:
    program = find() or needs.missing(needs.CHROMIUM)
    profile = _stack.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True))
    return _stack.enter_context(Browser(program, Path(profile)))


def page(offline: bool = True) -> contextlib.AbstractContextManager[Browser]:
    return _running().tab(offline)


_KEYS = {
    **{"Tab": 9, "Enter": 13, "Escape": 27, "End": 35, "Home": 36, "+": 187, "-": 189, "0": 48},
    **{"ArrowLeft": 37, "ArrowUp": 38, "ArrowRight": 39, "ArrowDown": 40},
}
