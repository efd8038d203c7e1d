"""RPs in C: a scheme's C file beside its Python text, compiled when the first flow needs it (csrc/reaction_point.h).

A `CompiledReactionPoint` is a ReactionPoint like any other; the engine of virtual time calls its functions itself.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Sequence
from ctypes import c_bool, c_char_p, c_double, c_size_t, c_uint8, c_uint16, c_uint32, c_uint64, c_void_p
from functools import lru_cache
from pathlib import Path
from typing import Any

from softswitch.cache.objects import BuildError, build, digest

from .algorithms.base import Ack, Cnm, Cnp, Loss, ReactionPoint, Telemetry
from .algorithms.parameters import describe
from .algorithms.scheme import Configured, SchemeError
from .native import CSRC, FLAGS

NEVER = 2**64 - 1
_OWN_DOUBLES, _LOGGED, _MOST_HOPS = 24, 8, 5
_OURS = Path(__file__).parent / "algorithms"


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
        ("own", c_double * _OWN_DOUBLES),
    )


class _RawHop(ctypes.Structure):
    """struct rp_hop"""

    _fields_ = (("rate_bps", c_double), ("ticks", c_uint32), ("sent_bytes", c_uint32), ("queue_bytes", c_uint32))


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

    _fields_ = (("lost_bytes", c_uint64), ("timeout", c_bool))


class _Logged(ctypes.Structure):
    """struct rp_logged"""

    _fields_ = (("name", c_char_p), ("offset", c_size_t))


_RP = ctypes.POINTER(_Raw)


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
        ("logged", _Logged * _LOGGED),
    )


_MIRRORED = (_Raw, _RawHop, _RawTelemetry, _RawAck, _RawLoss, _Events)


class CompiledReactionPoint(ReactionPoint):
    """A flow's RP that runs in C. `specification` is its Python text's RP, which has what never changes. `address` is
    that of its struct reaction_point, which lives as long as this object."""

    def __init__(
        self, library: ctypes.CDLL, parameters: Sequence[float], line_rate_bps: float, specification: ReactionPoint
    ) -> None:
        """`parameters`: those of the file's struct, in its order."""
        self.segment_bytes = specification.segment_bytes
        self.exact_marks = specification.exact_marks
        self.paths = specification.paths
        self.reliability = specification.reliability
        self.wants_telemetry = specification.wants_telemetry
        self.needs_rec_rate = specification.needs_rec_rate
        self._events = _Events.in_dll(library, "reaction_point")
        self._parameters = (c_double * max(1, len(parameters)))(*parameters)
        self._raw = _Raw(
            events=ctypes.addressof(self._events),
            parameters=ctypes.addressof(self._parameters),
            line_rate_bps=line_rate_bps,
            rate_bps=line_rate_bps,
            window_bytes=math.inf,
            timer_s=math.inf,
            due_bytes=NEVER,
        )
        self._call("begin")

    @property
    def address(self) -> int:
        return ctypes.addressof(self._raw)

    @property
    def rate_bps(self) -> float:  # type: ignore[override]
        return float(self._raw.rate_bps)

    @property
    def window_bytes(self) -> float:  # type: ignore[override]
        return float(self._raw.window_bytes)

    @property
    def timer_s(self) -> float | None:  # type: ignore[override]
        return None if self._raw.timer_s == math.inf else float(self._raw.timer_s)

    @property
    def due_bytes(self) -> int | None:  # type: ignore[override]
        return None if self._raw.due_bytes == NEVER else int(self._raw.due_bytes)

    @property
    def sent_bytes(self) -> int:
        return int(self._raw.sent_bytes)

    @sent_bytes.setter
    def sent_bytes(self, sent_bytes: int) -> None:
        self._raw.sent_bytes = sent_bytes

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
        self._call("on_loss", _RawLoss(loss.lost_bytes, loss.timeout), now_s)

    def on_timer(self, now_s: float) -> None:
        self._call("on_timer", now_s)

    def on_bytes_sent(self, now_s: float) -> None:
        self._call("on_bytes_sent", now_s)

    def state(self) -> dict[str, float]:
        found = {}
        for one in self._events.logged:
            if one.name is None:
                break
            found[one.name.decode()] = c_double.from_buffer(self._raw, one.offset).value
        return found

    def _call(self, event: str, *arguments: Any) -> None:
        function = getattr(self._events, event)
        if function:  # NULL is false
            function(self._raw, *arguments)


def _raw_telemetry(telemetry: Telemetry) -> _RawTelemetry:
    hops = (_RawHop * _MOST_HOPS)(*(_RawHop(*hop) for hop in telemetry.hops))
    return _RawTelemetry(telemetry.tick_s, telemetry.path_id, len(telemetry.hops), hops)


def new_rp(configured: Configured, line_rate_bps: float) -> ReactionPoint:
    """Returns the RP of a flow that starts now, in C where the scheme has one, else in Python. Raises SchemeError."""
    specification = configured.new_rp(line_rate_bps)
    if not configured.scheme.reaction_point_c:
        return specification
    return in_c(configured, line_rate_bps, specification)


def in_c(configured: Configured, line_rate_bps: float, specification: ReactionPoint) -> CompiledReactionPoint:
    """Returns the RP of the scheme's C file. Raises SchemeError: that can't be compiled, or has no RP."""
    values = [getattr(configured.parameters, one.field) for one in describe(configured.scheme.parameters)]
    return CompiledReactionPoint(_library(configured), values, line_rate_bps, specification)


def _library(configured: Configured) -> ctypes.CDLL:
    scheme = configured.scheme
    fields = " ".join(f"double {one.field};" for one in describe(scheme.parameters)) or "double none;"
    return load(scheme.name, _OURS / scheme.reaction_point_c, f"struct parameters {{ {fields} }};")


@lru_cache(maxsize=64)
def load(scheme: str, file: Path, parameters: str = "") -> ctypes.CDLL:
    """Returns the shared object of a scheme's C file; `parameters`: its struct parameters, unless it has that itself.
    Raises SchemeError."""
    where = f"{scheme}: its RP in C, {file}"
    sizes = ", ".join(f"sizeof({one.__doc__})" for one in _MIRRORED)
    lines = (
        parameters,
        f'#include "{file}"',
        '#include "reaction_point.h"',
        f"const uint64_t reaction_point_sizes[] = {{ {sizes} }};\n",
    )
    text = "\n".join(lines)
    try:
        headers = [CSRC / "reaction_point.h", *sorted(file.parent.glob("*.h"))]
        path = build("librp", [text], f"{digest([file, *headers])} {text}", FLAGS, CSRC)
        library = ctypes.CDLL(str(path))
        _Events.in_dll(library, "reaction_point")
    except OSError as error:
        raise SchemeError(f"{where}: {error.strerror or error}") from error
    except BuildError as error:
        raise SchemeError(f"{where}: {error}") from error
    except ValueError:
        raise SchemeError(f"{where}: it defines no struct reaction_point_events `reaction_point`") from None
    made = (c_uint64 * len(_MIRRORED)).in_dll(library, "reaction_point_sizes")
    for structure, size in zip(_MIRRORED, made, strict=True):
        assert ctypes.sizeof(structure) == size, f"{structure.__name__} differs from {structure.__doc__} in csrc"
    return library
