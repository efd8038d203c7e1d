"""The steps of one switch, as they come, to its writers."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from typing import Final

from pcn.softswitch.native import NativeError, NativeSwitch
from pcn.softswitch.program.load import load_program
from pcn.softswitch.trace.decoder import Decoder, Step

MOST_BYTES: Final = 64 << 20  # of steps that wait for the writers
WAIT_MS: Final = 200


class Tracer:
    """Reads the steps of a switch whose programs are traced. `write` gets each; `lost` how many
    were lost. `inside`: the thread that moves packets reads as well, when there is no room and in
    `read`; no step is lost then."""

    def __init__(
        self,
        native: NativeSwitch,
        write: Sequence[Callable[[Step], None]],
        lost: Callable[[int], None] = lambda _count: None,
        *,
        inside: bool = False,
    ) -> None:
        self._native = native
        self._write = write
        self._lost = lost
        self._decoder = Decoder()
        self._thread = threading.Thread(target=self._run, name="trace", daemon=True)
        self._error: BaseException | None = None
        native.trace(MOST_BYTES, self._no_room if inside else None)

    def loading(self, json_text: str) -> None:
        """A program is about to be loaded."""
        self._decoder.loading(load_program(json_text))

    def not_loaded(self) -> None:
        """It was refused."""
        self._decoder.not_loaded()

    def start(self) -> None:
        """Reads in a thread, until the switch stops."""
        self._thread.start()

    def end(self) -> None:
        """Waits, once the switch has stopped, until all steps are written."""
        self._thread.join()

    def read(self) -> None:
        """Writes all steps so far. Raises what a writer raised."""
        self._raise_error()
        while self._take(0):
            pass

    def heed_interrupt(self) -> None:
        """Raises a Ctrl-C, or a signal, that came while C waited for room."""
        if self._error is not None and not isinstance(self._error, Exception):
            self._raise_error()

    def _raise_error(self) -> None:
        error, self._error = self._error, None
        if error is not None:
            raise error

    def _no_room(self) -> None:
        """C calls this, and takes no exception: it is raised when the run looks. Until then steps
        are let go, as they are written no more."""
        if self._error is not None:
            while self._native.take_trace(0)[0]:
                pass
            return
        try:
            self.read()
        except BaseException as error:
            self._error = error

    def _take(self, timeout_ms: int) -> int:
        data, lost = self._native.take_trace(timeout_ms)
        if lost:
            self._lost(lost)
        for step in self._decoder.steps(data):
            for write in self._write:
                write(step)
        return len(data)

    def _run(self) -> None:
        try:
            while True:
                self._take(WAIT_MS)
        except NativeError:
            return  # the switch stopped
