"""PFC frames, one by one: when a port queued one, and when one took effect at the port that it
stops."""

from __future__ import annotations

import ctypes
from dataclasses import dataclass
from typing import Final

import numpy as np
import numpy.typing as npt

from pcn.topologies.model import Endpoint
from pcn.virtualnet import native

KINDS: Final = ("PAUSE queued", "RESUME queued", "paused", "resumed", "expired")
"""enum vn_pfc_what. The first two are of the port that sends the frame; the others of the port that
it stops."""


@dataclass(frozen=True)
class PfcEvents:
    """One item an event, in the order of time. `which` are indices of `ports`, `kinds` of KINDS."""

    times_s: npt.NDArray[np.float64]
    ports: tuple[Endpoint, ...]
    which: npt.NDArray[np.int32]
    classes: npt.NDArray[np.int32]
    kinds: npt.NDArray[np.int32]


class PfcLog:
    """The log of a network, which must be open when it is read."""

    def __init__(self, library: ctypes.CDLL, handle: int, ports: tuple[Endpoint, ...]) -> None:
        """`ports`: by the engine's number of the link that leaves them."""
        self._library, self._handle, self._ports = library, handle, ports

    def __repr__(self) -> str:
        return f"PfcLog of {len(self._ports)} ports: read() returns its events"

    def read(self) -> PfcEvents:
        """Returns what was logged so far. Events of one time are in the order of the links' numbers
        and classes; those of one class of a port in the order in which they happened."""
        at = ctypes.POINTER(native.PfcEvent)()
        n = self._library.vn_pfc_events(self._handle, ctypes.byref(at))
        raw = np.ctypeslib.as_array(at, (n,)) if n else np.zeros(0, native.PfcEvent)
        # stable, and a port's node logs in order
        raw = raw[np.lexsort((raw["class"], raw["link"], raw["time_ps"]))]
        columns = (raw[name].astype(np.int32) for name in ("link", "class", "kind"))
        return PfcEvents(raw["time_ps"] / 1e12, self._ports, *columns)
