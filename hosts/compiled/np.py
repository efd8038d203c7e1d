"""NPs in C (csrc/notification_point.h)."""

from __future__ import annotations

import ctypes
from ctypes import c_bool, c_double, c_int, c_uint64, c_void_p
from functools import partial

from ..algorithms.base import Cnp, Demand, Mark, NotificationPoint, Turn, Window
from .code import Code, EndsInC, Held, Interface, Structs, specified

_OWN_DOUBLES = 4


class _Raw(ctypes.Structure):
    """struct notification_point"""

    _fields_ = (
        ("events", c_void_p),
        ("parameters", c_void_p),
        ("marked_from_s", c_double),
        ("pace_bytes", c_double),
        ("turn", c_uint64),
        ("own", c_double * _OWN_DOUBLES),
    )


class _RawWindow(ctypes.Structure):
    """struct np_window"""

    _fields_ = (
        *((name, c_uint64) for name in ("packets", "marked_ce", "marked_ue", "bytes")),
        *((name, c_double) for name in ("first_s", "last_s")),
    )


class _RawCnp(ctypes.Structure):
    """struct np_cnp"""

    _fields_ = (("mark", c_int), ("rec_rate_bps", c_double))


_NP, _CNP = c_void_p, ctypes.POINTER(_RawCnp)


class _Events(ctypes.Structure):
    """struct notification_point_events"""

    _fields_ = (
        ("on_window", ctypes.CFUNCTYPE(c_bool, _NP, ctypes.POINTER(_RawWindow), _CNP)),
        ("on_marked", ctypes.CFUNCTYPE(c_bool, _NP, c_double, _CNP)),
        ("on_demand", ctypes.CFUNCTYPE(None, _NP, c_uint64, c_bool, c_double)),
        ("on_turn", ctypes.CFUNCTYPE(c_uint64, _NP, c_int, c_double)),
    )


NP = Interface(
    "NP",
    "notification_point",
    _Events,
    (
        ("notification_point", _Raw),
        ("np_window", _RawWindow),
        ("np_cnp", _RawCnp),
        ("notification_point_events", _Events),
    ),
)


class CompiledNotificationPoint(NotificationPoint):
    """A flow's NP that runs in C. `specification` is its Python text's NP, which has what never
    changes. `address` is that of its struct notification_point, which lives as long as this
    object."""

    __slots__ = ("_chunk", "_code", "_specification", "address")

    period_s = specified("period_s")
    phase_spread = specified("phase_spread")
    grants = specified("grants")

    def __init__(self, code: Code, specification: NotificationPoint, held: Held) -> None:
        """`held`: of one of the `structs`."""
        self._code, self._specification = code, specification
        self._chunk, self.address = held

    @staticmethod
    def structs(code: Code, specification: NotificationPoint) -> Structs:
        """Returns that of a flow with such an NP."""
        return code.structs(
            specification.marked_from_s, specification.pace_bytes, specification.turn
        )

    def like(self, n: int) -> EndsInC[CompiledNotificationPoint]:
        """Returns those of `n` flows, as this one is now."""
        new = partial(CompiledNotificationPoint, self._code, self._specification)
        return EndsInC(new, self._code, self._code.copies(self.address, n))

    @property
    def wants_marked(self) -> bool:
        return "on_marked" in self._code.functions

    @property
    def marked_from_s(self) -> float:  # type: ignore[override]
        return float(_Raw.from_address(self.address).marked_from_s)

    @property
    def turn(self) -> Turn:  # type: ignore[override]
        return Turn(_Raw.from_address(self.address).turn)

    @property
    def pace_bytes(self) -> float:  # type: ignore[override]
        return float(_Raw.from_address(self.address).pace_bytes)

    def on_demand(self, demand: Demand, now_s: float) -> None:
        self._code.functions["on_demand"](self.address, *demand, now_s)

    def on_turn(self, turn: Turn, now_s: float) -> int:
        return int(self._code.functions["on_turn"](self.address, turn, now_s))

    def on_window(self, window: Window) -> Cnp | None:
        return self._call("on_window", _RawWindow(*window))

    def on_marked(self, now_s: float) -> Cnp | None:
        return self._call("on_marked", now_s)

    def _call(self, event: str, about: _RawWindow | float) -> Cnp | None:
        function, cnp = self._code.functions.get(event), _RawCnp(Mark.NONE)
        if function is None or not function(self.address, about, cnp):
            return None
        return Cnp(Mark(cnp.mark), cnp.rec_rate_bps)
