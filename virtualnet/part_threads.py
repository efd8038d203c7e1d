"""The parts of a network as threads of one process: they exchange the letters of processes, and
need neither MPI nor cores. To count what cores would bring (bench/parts.py), and for tests.

Threads take turns by Python's lock, which one has while its part runs."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from pcn.virtualnet.parts import OtherProcessError

_T = TypeVar("_T")
_Boxes = list[list["queue.Queue[bytes | OtherProcessError]"]]
_LIMIT_S = 600.0
"""For a letter: what takes longer hangs."""


class ThreadTransport:
    """See Transport. `boxes[i][j]` has what i has sent to j."""

    def __init__(self, number: int, n: int, boxes: _Boxes) -> None:
        self.number, self.n = number, n
        self._boxes = boxes

    def exchange(self, letters: Sequence[memoryview]) -> list[bytes]:
        for i, letter in enumerate(letters):
            if i != self.number:
                self._boxes[self.number][i].put(bytes(letter))
        return [
            b"" if i == self.number else self._take(self._boxes[i][self.number])
            for i in range(self.n)
        ]

    def give_up(self, why: str) -> None:
        for i in range(self.n):
            if i != self.number:
                self._boxes[self.number][i].put(OtherProcessError(why))

    @staticmethod
    def _take(box: queue.Queue[bytes | OtherProcessError]) -> bytes:
        letter = box.get(timeout=_LIMIT_S)
        if isinstance(letter, OtherProcessError):
            raise letter
        return letter


def in_threads(n: int, run: Callable[[ThreadTransport], _T]) -> list[_T]:
    """Calls `run` in `n` threads, each with its transport. Returns what each has returned; raises
    the error of the first that has raised by itself."""
    boxes: _Boxes = [[queue.Queue() for _ in range(n)] for _ in range(n)]
    results: dict[int, _T] = {}
    errors: dict[int, BaseException] = {}

    def part(number: int) -> None:
        transport = ThreadTransport(number, n, boxes)
        try:
            results[number] = run(transport)
        except BaseException as error:
            errors[number] = error
            transport.give_up(f"process {number}: {error}")

    threads = [threading.Thread(target=part, args=(number,), daemon=True) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise min(errors.values(), key=lambda error: isinstance(error, OtherProcessError))
    return [results[number] for number in range(n)]
