"""Reports a run's progress: a moving display on a terminal, plain lines elsewhere (a log, CI)."""

from __future__ import annotations

import logging
from types import TracebackType
from typing import Protocol

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.series import Series

log = logging.getLogger("pcn.experiments")


class RunProgress(Protocol):
    """What a runner calls."""

    def stage(self, text: str) -> None:
        """A new step begins, of unknown length."""

    def advance(self, share: float, text: str) -> None:
        """Within the step, this share (0 to 1) is done; `text` is the latest of what is seen."""

    def note(self, text: str) -> None:
        """A line that stays: a remark for readers of the result."""


class Watcher(Protocol):
    """What a run in virtual time shows while it goes on. It only reads: no result depends on it."""

    def begin(self, plan: Plan) -> None:
        """A run of this plan begins; several may, one after another."""

    def seen(self, series: Series, now_s: float) -> None:
        """`series` has all that was recorded until now (nominal s), with the queues of all ports;
        called at most twice a second."""


class Silent:
    """Prints nothing."""

    def stage(self, text: str) -> None:
        pass

    def advance(self, share: float, text: str) -> None:
        pass

    def note(self, text: str) -> None:
        pass


class Logged(Silent):
    """Passes steps and remarks to the logger `pcn.experiments`, as INFO."""

    def stage(self, text: str) -> None:
        log.info("%s", text)

    def note(self, text: str) -> None:
        log.info("note: %s", text)


class Notes(Silent):
    """Prints lines that stay, and nothing else. A context manager, as ConsoleProgress is."""

    def __init__(self, console: Console) -> None:
        self._console = console

    def __enter__(self) -> Notes:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def note(self, text: str) -> None:
        _note(self._console, text)


class Later(Notes):
    """Prints those lines when the block has ended: another display has the terminal."""

    def __init__(self, console: Console) -> None:
        super().__init__(console)
        self._kept: list[str] = []

    def note(self, text: str) -> None:
        self._kept.append(text)

    def __exit__(self, *_: object) -> None:
        for text in self._kept:
            super().note(text)


class ConsoleProgress:
    """A context manager. On a terminal one moving line a step; elsewhere a line a step, and one
    each `_EVERY` of it."""

    _EVERY = 0.2

    def __init__(self, console: Console) -> None:
        self._console = console
        self._moving = console.is_terminal and not console.is_dumb_terminal
        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(bar_width=28),
            TextColumn("{task.fields[share]}"),
            TextColumn("{task.fields[seen]}"),
            TimeElapsedColumn(),
            console=console,
            disable=not self._moving,
        )
        self._task: TaskID | None = None
        self._told = 0.0

    def __enter__(self) -> ConsoleProgress:
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._task is not None and kind is None:
            self._finish()
        self._progress.stop()

    def stage(self, text: str) -> None:
        self._told = 0.0
        if not self._moving:
            self._console.print(text, highlight=False)
            return
        if self._task is not None:
            self._finish()
        self._task = self._progress.add_task(text, total=None, share="", seen="")

    def advance(self, share: float, text: str) -> None:
        if self._moving and self._task is not None:
            done = min(share, 1.0)
            self._progress.update(
                self._task, total=1.0, completed=done, share=f"{done:4.0%}", seen=text
            )
        elif not self._moving and share >= self._told + self._EVERY:
            self._told = share
            self._console.print(f"  {min(share, 1):.0%}  {text}", highlight=False)

    def note(self, text: str) -> None:
        _note(self._console, text)

    def _finish(self) -> None:
        assert self._task is not None
        share = "100%" if self._progress.tasks[-1].total is not None else ""
        self._progress.update(self._task, total=1.0, completed=1.0, share=share)
        self._progress.stop_task(self._task)


def _note(console: Console, text: str) -> None:
    console.print(f"note: {text}", highlight=False, markup=False, soft_wrap=True)
