"""Processes that `mpirun` has started, as a transport between the parts of one network.

Open MPI's own waiting spins: here a process looks for what came (Iprobe), and sleeps longer the
longer nothing does, so that several share a core, and signals reach Python."""

from __future__ import annotations

import time
from collections.abc import Sequence

from pcn.base import mpirun
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.parts import OtherProcessError

_LETTER, _END = 1, 2
_SPINS = 200
"""Looks without a pause: an exchange within a machine takes some microseconds."""
_SHORTEST_S, _LONGEST_S = 20e-6, 2e-3


class World:
    """All processes that were started together. Raises VirtualError where mpi4py has no MPI, or
    another one than the launcher's."""

    def __init__(self) -> None:
        import mpi4py

        mpi4py.rc.thread_level = "funneled"  # a part may have threads, and this one calls MPI
        # a process that fails doesn't wait for the others: the launcher ends them
        mpi4py.rc.finalize = False
        try:
            from mpi4py import MPI
        except (ImportError, RuntimeError) as error:
            raise VirtualError(
                f"mpi4py finds no MPI library ({error}): install mpirun's (Debian: libopenmpi3)"
            ) from None
        self._mpi = MPI
        self._world = MPI.COMM_WORLD
        self.number: int = self._world.Get_rank()
        self.n: int = self._world.Get_size()
        self._status = MPI.Status()
        if self.n != mpirun.processes():
            raise VirtualError(
                f"mpi4py sees {self.n} of the {mpirun.processes()} processes that mpirun has "
                f"started: it has another MPI ({MPI.Get_library_version().partition(',')[0]}); "
                "install mpi4py for mpirun's"
            )

    def exchange(self, letters: Sequence[memoryview]) -> list[bytes]:
        """Exchanges letters: see Transport."""
        others = [i for i in range(self.n) if i != self.number]
        sends = [self._world.Isend([letters[i], self._mpi.BYTE], i, _LETTER) for i in others]
        answers = [b""] * self.n
        missing = set(others)
        looks = 0
        while missing or sends:
            before = len(missing)
            for i in sorted(missing):
                if self._world.Iprobe(i, _LETTER, self._status):
                    answers[i] = self._take(i, _LETTER)
                    missing.remove(i)
            sends = [send for send in sends if not send.Test()]
            if len(missing) < before:
                looks = 0
            else:
                self._look_for_an_end()
                looks = self._wait(looks)
        return answers

    def receive(self) -> bytes:
        """Returns the next letter of process 0 alone, sent by `send_all`. Raises
        OtherProcessError."""
        looks = 0
        while not self._world.Iprobe(0, _LETTER, self._status):
            self._look_for_an_end()
            looks = self._wait(looks)
        return self._take(0, _LETTER)

    def send_all(self, letter: bytes) -> None:
        """Sends one letter to all others, which `receive` it."""
        sends = [
            self._world.Isend([letter, self._mpi.BYTE], i, _LETTER)
            for i in range(self.n)
            if i != self.number
        ]
        looks = 0
        while sends := [send for send in sends if not send.Test()]:
            self._look_for_an_end()
            looks = self._wait(looks)

    def give_up(self, why: str) -> None:
        """See Transport. It returns at once: who has ended needs no letter any more."""
        letter = why.encode()
        self._given_up = [
            self._world.Isend([letter, self._mpi.BYTE], i, _END)
            for i in range(self.n)
            if i != self.number
        ]

    def close(self) -> None:
        """Ends MPI, when all is over. A process that ends without it has failed."""
        self._mpi.Finalize()

    def _take(self, source: int, tag: int) -> bytes:
        # of the message that Iprobe has found: its status has the length
        letter = bytearray(self._status.Get_count(self._mpi.BYTE))
        self._world.Recv([letter, self._mpi.BYTE], source, tag)
        return bytes(letter)

    def _look_for_an_end(self) -> None:
        if self._world.Iprobe(self._mpi.ANY_SOURCE, _END, self._status):
            source = self._status.Get_source()
            raise OtherProcessError(self._take(source, _END).decode())

    @staticmethod
    def _wait(looks: int) -> int:
        """Waits for longer, the more looks there were. Returns one look more."""
        if looks >= _SPINS:
            time.sleep(min(_SHORTEST_S * 2 ** min((looks - _SPINS) // 20, 10), _LONGEST_S))
        return looks + 1
