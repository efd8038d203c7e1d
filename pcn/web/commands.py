"""Commands from the live page: those of `pcn` that change a network that is up, run as a user would
type them, so that the page has their checks and messages."""

from __future__ import annotations

import asyncio
import contextlib
import signal
from collections.abc import Sequence
from typing import Any

from pcn.base.python_process import python_command

ALLOWED = ("set", "pause", "resume", "flow start", "flow stop", "link")
_MOST_WORDS, _MOST_LETTERS = 32, 200
_LONGEST_S, _MOST_RUNNING = 60.0, 4


class BusyError(Exception):
    """As many commands run as may."""


def refusal(words: Any) -> str:
    """Returns why the page may not run these words; empty for a command that it may run."""
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return "a command is a list of words"
    if not 0 < len(words) <= _MOST_WORDS or any(
        len(word) > _MOST_LETTERS or not word.isprintable() for word in words
    ):
        return (
            f"a command has 1 to {_MOST_WORDS} words of at most {_MOST_LETTERS} printable letters"
        )
    if words[0] not in ALLOWED and " ".join(words[:2]) not in ALLOWED:
        return f"{words[0]}: this page runs {', '.join(ALLOWED)}"
    if any(word.startswith(("-n", "--n")) for word in words):
        return "this page changes the network that it shows alone: leave --network out"
    if words[0] == "pause" and not any(word.startswith("--for") for word in words):
        return "pause: give its duration, as --for 1ms"
    return ""


class Commands:
    """Runs commands on one network. Raises BusyError where too many run."""

    def __init__(self, network: str) -> None:
        self._network = network
        self._running: set[asyncio.subprocess.Process] = set()

    async def run(self, words: Sequence[str]) -> tuple[int, str]:
        """Returns exit code and output of `pcn WORDS`; a command that lasts a minute is
        interrupted."""
        if len(self._running) >= _MOST_RUNNING:
            raise BusyError("other commands still run: wait for them")
        command = 2 if words[0] == "flow" else 1
        process = await asyncio.create_subprocess_exec(
            *python_command("pcn", *words[:command], "--network", self._network, *words[command:]),
            stdin=asyncio.subprocess.DEVNULL,
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.STDOUT,
            start_new_session=True,
        )
        self._running.add(process)
        timer = asyncio.get_running_loop().call_later(_LONGEST_S, _interrupt, process)
        try:
            output, _ = await process.communicate()
        finally:
            timer.cancel()
            self._running.discard(process)
        return process.returncode or 0, output.decode(errors="replace")

    def interrupt(self) -> None:
        """Ends all commands that run, as Ctrl-C does. From any thread."""
        for process in list(self._running):
            _interrupt(process)


def _interrupt(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        process.send_signal(signal.SIGINT)
