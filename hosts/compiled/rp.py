"""RPs in C (csrc/reaction_point.h)."""

from __future__ import annotations

import ctypes
import math
from ctypes import (
    c_bool,
    c_char_p,
    c_double,
    c_size_t,
    c_uint8,
    c_uint16,
    c_uint32,
    c_uint64,
    c_void_p,
)
from functools import partial
from itertools import takewhile
from typing import Any

from ..algorithms.base import Ack, Cnm, Cnp, Grant, Loss, ReactionPoint, Telemetry
from .code import Code, EndsInC, Held, Interface, Structs, specified

NEVER = 2**64 - 1
_OWN_DOUBLES, _LOGGED, _MOST_HOPS = 24, 8, 5


class _Raw(ctypes.Structure):
    """struct reaction_point"""

    _fields_ = (
        ("events", c_void_p),
        ("parameters", c_void_p),
        ("line_rate_bps", c_double),
        ("sent_bytes", c_uint64),
        ("rate_bps", c_double),
        ("window_bytes", c_double),
        ("timer_s", c_double),
        ("due_bytes", c_uint64),
        ("left_bytes", c_uint64),
        ("demand_bytes", c_uint64),
        ("own", c_double * _OWN_DOUBLES),
    )


class _RawHop(ctypes.Structure):
    """struct rp_hop"""

    _fields_ = (
        ("rate_bps", c_double),
        ("ticks", c_uint32),
        ("sent_bytes", c_uint32),
        ("queue_bytes", c_uint32),
    )


class _RawTelemetry(ctypes.Structure):
    """struct rp_telemetry"""

    _fields_ = (
        ("tick_s", c_double),
        ("path_id", c_uint16),
        ("n_hops", c_uint8),
        ("hops", _RawHop * _MOST_HOPS),
    )


class _RawAck(ctypes.Structure):
    """struct rp_ack"""

    _fields_ = (
        ("rtt_s", c_double),
        ("acked_bytes", c_uint64),
        ("psn", c_uint32),
        ("path", c_uint16),
        ("mark", c_uint8),
        ("telemetry", ctypes.POINTER(_RawTelemetry)),
    )


class _RawLoss(ctypes.Structure):
    """struct rp_loss"""

    _fields_ = (("lost_bytes", c_uint64), ("timeout", c_bool), ("rtt_s", c_double))


class _Logged(ctypes.Structure):
    """struct rp_logged"""

    _fields_ = (("name", c_char_p), ("offset", c_size_t))


_RP = c_void_p


class _Events(ctypes.Structure):
    """struct reaction_point_events"""

    _fields_ = (
        ("begin", ctypes.CFUNCTYPE(None, _RP)),
        ("on_start", ctypes.CFUNCTYPE(None, _RP, c_double)),
        ("on_cnp", ctypes.CFUNCTYPE(None, _RP, ctypes.c_int, c_double, c_double)),
        ("on_cnm", ctypes.CFUNCTYPE(None, _RP, c_uint32, c_double)),
        ("on_ack", ctypes.CFUNCTYPE(None, _RP, ctypes.POINTER(_RawAck), c_double)),
        ("on_loss", ctypes.CFUNCTYPE(None, _RP, ctypes.POINTER(_RawLoss), c_double)),
        ("on_timer", ctypes.CFUNCTYPE(None, _RP, c_double)),
        ("on_bytes_sent", ctypes.CFUNCTYPE(None, _RP, c_double)),
        ("on_grant", ctypes.CFUNCTYPE(None, _RP, c_uint64, c_double)),
        ("logged", _Logged * _LOGGED),
    )


RP = Interface(
    "RP",
    "reaction_point",
    _Events,
    (
        ("reaction_point", _Raw),
        ("rp_hop", _RawHop),
        ("rp_telemetry", _RawTelemetry),
        ("rp_ack", _RawAck),
        ("rp_loss", _RawLoss),
        ("reaction_point_events", _Events),
    ),
)


class CompiledReactionPoint(ReactionPoint):
    """A flow's RP that runs in C. `specification` is its Python text's RP, which has what never
    changes. `address` is that of its struct reaction_point, which lives as long as this object."""

    __slots__ = ("_chunk", "_code", "_logged", "_specification", "_view", "address")

    segment_bytes = specified("segment_bytes")
    exact_marks = specified("exact_marks")
    paths = specified("paths")
    reliability = specified("reliability")
    wants_telemetry = specified("wants_telemetry")
    needs_rec_rate = specified("needs_rec_rate")
    reports_left = specified("reports_left")

    def __init__(self, code: Code, specification: ReactionPoint, held: Held) -> None:
        """`held`: of one of the `structs`."""
        self._code, self._specification = code, specification
        self._chunk, self.address = held
        self._view: _Raw | None = None
        self._logged: list[tuple[str, c_double]] | None = None

    @staticmethod
    def structs(code: Code, line_rate_bps: float) -> Structs:
        """Returns that of a flow on a NIC of this rate."""
        return code.structs(line_rate_bps, 0, line_rate_bps, math.inf, math.inf, NEVER, NEVER, 0)

    def like(self, n: int) -> EndsInC[CompiledReactionPoint]:
        """Returns those of `n` flows, as this one is now."""
        new = partial(CompiledReactionPoint, self._code, self._specification)
        return EndsInC(new, self._code, self._code.copies(self.address, n))

    @property
    def _raw(self) -> _Raw:
        if self._view is None:
            self._view = _Raw.from_address(self.address)
        return self._view

    @property
    def rate_bps(self) -> float:  # type: ignore[override]
        rate_bps: float = self._raw.rate_bps
        return rate_bps

    @property
    def window_bytes(self) -> float:  # type: ignore[override]
        window_bytes: float = self._raw.window_bytes
        return window_bytes

    @property
    def timer_s(self) -> float | None:  # type: ignore[override]
        timer_s = float(self._raw.timer_s)
        return None if timer_s == math.inf else timer_s

    @property
    def due_bytes(self) -> int | None:  # type: ignore[override]
        due_bytes = int(self._raw.due_bytes)
        return None if due_bytes == NEVER else due_bytes

    @property
    def sent_bytes(self) -> int:
        return int(self._raw.sent_bytes)

    @sent_bytes.setter
    def sent_bytes(self, sent_bytes: int) -> None:
        self._raw.sent_bytes = sent_bytes

    @property
    def left_bytes(self) -> int | None:
        left_bytes = int(self._raw.left_bytes)
        return None if left_bytes == NEVER else left_bytes

    @left_bytes.setter
    def left_bytes(self, left_bytes: int | None) -> None:
        self._raw.left_bytes = NEVER if left_bytes is None else left_bytes

    @property
    def demand_bytes(self) -> int:  # type: ignore[override]
        return int(self._raw.demand_bytes)

    def on_start(self, now_s: float) -> None:
        self._call("on_start", now_s)

    def on_cnp(self, cnp: Cnp, now_s: float) -> None:
        self._call("on_cnp", cnp.mark, cnp.rec_rate_bps, now_s)

    def on_cnm(self, cnm: Cnm, now_s: float) -> None:
        self._call("on_cnm", cnm.feedback, now_s)

    def on_ack(self, ack: Ack, now_s: float) -> None:
        telemetry = None if ack.telemetry is None else ctypes.pointer(_raw_telemetry(ack.telemetry))
        raw = _RawAck(ack.rtt_s, ack.acked_bytes, ack.psn, ack.path, ack.mark, telemetry)
        self._call("on_ack", raw, now_s)

    def on_loss(self, loss: Loss, now_s: float) -> None:
        self._call("on_loss", _RawLoss(loss.lost_bytes, loss.timeout, loss.rtt_s), now_s)

    def on_grant(self, grant: Grant, now_s: float) -> None:
        self._call("on_grant", grant.granted_bytes, now_s)

    def on_timer(self, now_s: float) -> None:
        self._call("on_timer", now_s)

    def on_bytes_sent(self, now_s: float) -> None:
        self._call("on_bytes_sent", now_s)

    def state(self) -> dict[str, float]:
        if self._logged is None:
            named = takewhile(lambda field: field.name is not None, self._code.events.logged)
            self._logged = [
                (field.name.decode(), c_double.from_address(self.address + field.offset))
                for field in named
            ]
        return {name: number.value for name, number in self._logged}

    def _call(self, event: str, *arguments: Any) -> None:
        function = self._code.functions.get(event)
        if function is not None:
            function(self.address, *arguments)


def _raw_telemetry(telemetry: Telemetry) -> _RawTelemetry:
    hops = (_RawHop * _MOST_HOPS)(*(_RawHop(*hop) for hop in telemetry.hops))
    return _RawTelemetry(telemetry.tick_s, telemetry.path_id, len(telemetry.hops), hops)
