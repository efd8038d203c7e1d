"""The manual clock's service (clock.proto), beside P4Runtime at the same address."""

from __future__ import annotations

import errno
from collections.abc import Iterable
from typing import Any

from pcn.softswitch.clock_messages import SERVICE, Frame, Moment
from pcn.softswitch.native import NativeError
from pcn.softswitch.p4runtime.calls import LARGEST, Call, Method, methods
from pcn.softswitch.p4runtime.clock import Clock
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, OUT_OF_RANGE, RpcError
from pcn.softswitch.values import MAX_PORT


def clock_methods(clock: Clock) -> Iterable[Method]:
    """Returns the methods that a server has of a clock. `Send` has frames, many of them."""
    servicer = _Servicer(clock)
    handlers = {"Advance": servicer.advance, "Send": servicer.send}
    return methods(SERVICE, handlers, most={"Send": LARGEST})


class _Servicer:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def advance(self, request: Any, call: Call) -> Any:
        self._check(request.port)
        try:
            return self._moment(
                self._clock.advance(request.ns, request.port, request.frames, call.is_active)
            )
        except OverflowError as error:
            raise RpcError(OUT_OF_RANGE, str(error)) from None

    def send(self, request: Any, _call: Call) -> Any:
        for frame in request.frames:
            self._check(frame.port)
        try:
            return self._moment(
                self._clock.inject((frame.port, frame.data) for frame in request.frames)
            )
        except NativeError as error:
            if error.code not in (errno.ENODEV, errno.EMSGSIZE):
                raise
            raise RpcError(INVALID_ARGUMENT, str(error)) from None

    def _check(self, port: int) -> None:
        if port > MAX_PORT:
            raise RpcError(INVALID_ARGUMENT, f"no port {port}: they are 0 to {MAX_PORT}")

    def _moment(self, ns: int) -> Any:
        frames = [
            Frame(port=port, data=data, time_ns=time_ns)
            for port, time_ns, data in self._clock.departed()
        ]
        return Moment(ns=ns, frames=frames)
