"""Transports between the parts of a network, for tests: threads of a process, without MPI."""

from __future__ import annotations

import queue
import threading
from collections.abc import Callable, Sequence
from typing import TypeVar

from pcn.virtualnet.parts import OtherProcessError

_T = TypeVar("_T")


class ThreadTransport:
    """One of `n`; `boxes[i][j]` has what i sent to j."""

    def __init__(
        self, number: int, n: int, boxes: list[list[queue.Queue[bytes | OtherProcessError]]]
    ) -> None:
        self.number, self.n = number, n
        self._boxes = boxes
        self.letters: list[list[bytes]] = []
        """All that it has sent."""

    def exchange(self, letters: Sequence[memoryview]) -> list[bytes]:
        sent = [bytes(letter) for letter in letters]
        self.letters.append(sent)
        for i, letter in enumerate(sent):
            if i != self.number:
                self._boxes[self.number][i].put(letter)
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
        letter = box.get(timeout=60)
        if isinstance(letter, OtherProcessError):
            raise letter
        return letter


def in_threads(n: int, run: Callable[[ThreadTransport], _T]) -> list[_T]:
    """Runs it in `n` threads, each with its transport. Returns what each has returned; raises the
    error of the first that raised on its own."""
    boxes: list[list[queue.Queue[bytes | OtherProcessError]]] = [
        [queue.Queue() for _ in range(n)] for _ in range(n)
    ]
    results: dict[int, _T] = {}
    errors: dict[int, BaseException] = {}

    def part(number: int) -> None:
        transport = ThreadTransport(number, n, boxes)
        try:
            results[number] = run(transport)
        except BaseException as error:
            errors[number] = error
            transport.give_up(f"process {number}: {error}")

    threads = [threading.Thread(target=part, args=(number,)) for number in range(n)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    own = [error for error in errors.values() if not isinstance(error, OtherProcessError)]
    if errors:
        raise (own or list(errors.values()))[0]
    return [results[number] for number in range(n)]
