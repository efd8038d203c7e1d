"""A live switch whose packets the engine moves, by the machine's clock (csrc/live/live.c), in place
of the switch's own queues: for what these haven't, as weights of classes."""

from __future__ import annotations

import ctypes
import errno
import os
from collections.abc import Mapping, Sequence
from typing import Any

from pcn.base.errors import LabError
from pcn.softswitch.embed.switch import NativeError, NativeSwitch
from pcn.topologies.switch import ARBITRATIONS
from pcn.virtualnet.native import CLASSES, CSRC, Part, engine
from pcn.virtualnet.ports import scheduler_name, scheduler_parts

PART = Part(
    CSRC / "live" / "live.c",
    lent=True,
    signatures={
        "vn_live": (ctypes.c_int, []),
        "vn_live_weights": (ctypes.c_int, [ctypes.c_uint16, ctypes.c_uint16 * CLASSES]),
        "vn_live_scheduler": (ctypes.c_int, [ctypes.c_char_p]),
    },
)


class EngineSwitch(NativeSwitch):
    """As its base on the live clock. What is inside is lost where a program is loaded, as there,
    and where a port is added.

    `weights`: by port, one a class, by which these share the port's rate; 0: strict. `arbitration`:
    the order among the packets of a class at an output, by the name of a scheduler of the engine or
    of an installed package, or FILE.c:NAME; None: that of their arrival. Raises NativeError,
    BuildError."""

    def __init__(
        self,
        library: ctypes.CDLL,
        *,
        weights: Mapping[int, Sequence[int]] | None = None,
        arbitration: str | None = None,
        **options: Any,
    ) -> None:
        ours = arbitration is None or arbitration in ARBITRATIONS.values()
        try:
            moves = engine([PART, *([] if ours else scheduler_parts([str(arbitration)]))])
        except LabError as error:
            raise NativeError(errno.EINVAL, str(error)) from None
        super().__init__(library, **options)
        try:
            _check(moves.vn_live(self.handle), "the engine")
            for port, of_port in (weights or {}).items():
                raw = (ctypes.c_uint16 * CLASSES)(*of_port)
                _check(moves.vn_live_weights(self.handle, port, raw), f"weights of port {port}")
            if arbitration is not None:
                name = scheduler_name(arbitration)
                code = moves.vn_live_scheduler(self.handle, name.encode())
                _check(code, f"arbitration {arbitration}: no vn_scheduler_{name} there")
        except NativeError:
            self.close()
            raise


def _check(code: int, subject: str) -> None:
    if code < 0:
        raise NativeError(-code, f"{subject}: {os.strerror(-code)}")
