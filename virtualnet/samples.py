"""What is sampled in a run, and what it gave."""

from __future__ import annotations

import ctypes
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import numpy.typing as npt

if TYPE_CHECKING:
    from pcn.virtualnet.parts import Part


class Source(NamedTuple):  # a large network samples more than a million
    """A value of the network: made by the methods of VirtualNetwork."""

    name: str
    source: int
    object: int
    number: int = 0
    index: int = 0  # type: ignore[assignment]  # tuples have a method of that name


def specs(sources: Sequence[Source]) -> npt.NDArray[np.uint32]:
    """Returns them as the engine has them: a struct vn_source_spec a row."""
    return np.array([source[1:] for source in sources], np.uint32).reshape(-1, 4)


class Samples:
    """Values at equal intervals; the arrays are copies of the values so far."""

    def __init__(
        self,
        library: ctypes.CDLL,
        handle: int,
        sampler: int,
        sources: Sequence[Source],
        here: Sequence[int],
    ) -> None:
        """`here`: the places of the sources that the engine of this process samples."""
        self.sources = tuple(sources)
        self._here = here
        self._library = library
        self._handle: int | None = handle
        self.number = sampler
        self._kept: tuple[npt.NDArray[np.float64], npt.NDArray[np.float64]] | None = None

    @property
    def times_s(self) -> npt.NDArray[np.float64]:
        """Simulated seconds, one each sample."""
        return self._read()[0] / 1e12 if self._kept is None else self._kept[0]

    @property
    def values(self) -> npt.NDArray[np.float64]:
        """One row a sample, one column a source."""
        return self._read()[1].copy() if self._kept is None else self._kept[1]

    @property
    def columns(self) -> npt.NDArray[np.float64]:
        """One row a source, each together in memory."""
        return np.array((self._read()[1] if self._kept is None else self._kept[1]).T, order="C")

    def keep(self) -> None:
        """Reads for the last time: the network is going."""
        self._kept = self.times_s, self.values
        self._handle = None

    def gather(self, part: Part, owner: Callable[[Source], int | None]) -> None:
        """Has the first process's samples be those of all: a sum where each has a part of it."""
        gathered = part.gather((self.times_s, self.values))
        if not gathered:
            return
        times = max((times for times, _ in gathered), key=len)  # without a source there is none
        values = np.zeros((len(times), len(self.sources)))
        owners = [owner(source) for source in self.sources]
        for number, (_, rows) in enumerate(gathered):
            if not rows.size:
                continue
            here = [i for i, of in enumerate(owners) if of in (None, number)]
            values[:, here] += rows
        self._kept = times, values

    def _read(self) -> tuple[npt.NDArray[np.uint64], npt.NDArray[np.float64]]:
        """Returns times in ps, and values, in the engine's memory."""
        times, values = ctypes.POINTER(ctypes.c_uint64)(), ctypes.POINTER(ctypes.c_double)()
        n = self._library.vn_samples(
            self._handle, self.number, ctypes.byref(times), ctypes.byref(values)
        )
        columns = len(self._here)
        if n == 0 or columns == 0:
            return np.zeros(0, np.uint64), np.zeros((0, columns))
        return np.ctypeslib.as_array(times, (n,)), np.ctypeslib.as_array(values, (n, columns))
