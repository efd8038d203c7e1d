"""A run in virtual time on the terminal while it goes on, `--top`: what the live page gets, as `pcn
watch` has it.

The run has the main thread, keys and drawing a second one."""

from __future__ import annotations

import contextlib
import json
import sys
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import click

from pcn.lab.observe import FlowState, HostState, PortState, Snapshot
from pcn.terminal import View, show
from pcn.web.history import History

_EVERY_S = 0.1
"""Real time between two drawings."""


@dataclass
class Run:
    """What the title has of a run."""

    name: str
    description: str
    has_scheme: bool


class Screen:
    """What the terminal shows of a history: its last network, with the frames that came by now."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._number = 0
        self._idle: dict[str, PortState] = {}
        self._run = Run("pcn", "", True)
        self.view = View(self._run)

    def take(self) -> None:
        """Takes what is new."""
        while items := self._history.after(self._number):
            for item in items:
                self._number = item.number
                content = json.loads(item.text)
                if item.kind == "network":
                    self._begin(content)
                elif item.kind == "frame":
                    self.view.add(self._snapshot(content))
                else:
                    self._run.description += f", {content['text']}"

    def _begin(self, network: dict[str, Any]) -> None:
        name, _, description = network["title"].partition(": ")
        self._run = Run(name, description, network["scheme"])
        self.view = View(self._run)
        self._idle = {port["port"]: _idle(port["port"], port["link"]) for port in network["ports"]}

    def _snapshot(self, frame: dict[str, Any]) -> Snapshot:
        """Returns a frame with the ports that a history leaves out, as they do nothing."""
        ports = {**self._idle, **{port["port"]: PortState(**port) for port in frame["ports"]}}
        flows = tuple(FlowState(**flow) for flow in frame["flows"])
        hosts = tuple(HostState(**host) for host in frame["hosts"])
        return Snapshot(frame["time_s"], frame["over_s"], tuple(ports.values()), flows, hosts=hosts)


def _idle(port: str, link: str) -> PortState:
    """Returns a port that does nothing, of which nothing more is known."""
    return PortState(
        port=port,
        link=link,
        queue_packets=0,
        queue_bytes=0,
        held_bytes=None,
        pn=None,
        paused=False,
        pausing=False,
        rate_bps=0.0,
        utilisation=0.0,
        marked_share=None,
        marked_ue_share=None,
        pauses_sent_per_s=0.0,
        pauses_received_per_s=0.0,
    )


@contextlib.contextmanager
def on_terminal() -> Iterator[History]:
    """Yields a history that the terminal shows while the block runs, and then until `q` or
    Ctrl-C."""
    history, ends = History(), threading.Event()
    thread = threading.Thread(target=_show, args=(Screen(history), ends.is_set), name="top")
    thread.start()
    try:
        yield history
        history.over("the run is over: q ends this view")
        with contextlib.suppress(KeyboardInterrupt):
            thread.join()
    finally:
        ends.set()
        thread.join()


def _show(screen: Screen, ends: Callable[[], bool]) -> None:
    def step() -> float:
        screen.take()
        return _EVERY_S

    show(lambda: screen.view, step, 0.0, ends)


def require_terminal() -> None:
    """Raises UsageError where there is none."""
    if not (sys.stdin.isatty() and sys.stdout.isatty()):
        raise click.UsageError(
            "--top draws on a terminal, with its keys: --web shows the run in a browser"
        )
