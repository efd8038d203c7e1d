"""The manual clock's service (clock.proto), beside P4Runtime at the same address."""

from __future__ import annotations

import errno
from typing import Any

import grpc

from pcn.base import rpc
from pcn.softswitch.clock_messages import SERVICE, Frame, Moment
from pcn.softswitch.native import NativeError
from pcn.softswitch.p4runtime.clock import Clock
from pcn.softswitch.values import MAX_PORT


def handler(clock: Clock) -> Any:
    """Returns what a gRPC server needs to serve a clock."""
    servicer = _Servicer(clock)
    return rpc.handler(SERVICE, {"Advance": servicer.advance, "Send": servicer.send})


class _Servicer:
    def __init__(self, clock: Clock) -> None:
        self._clock = clock

    def advance(self, request: Any, context: grpc.ServicerContext) -> Any:
        self._check(request.port, context)
        try:
            return self._moment(
                self._clock.advance(request.ns, request.port, request.frames, context.is_active)
            )
        except OverflowError as error:
            context.abort(grpc.StatusCode.OUT_OF_RANGE, str(error))

    def send(self, request: Any, context: grpc.ServicerContext) -> Any:
        for frame in request.frames:
            self._check(frame.port, context)
        try:
            return self._moment(
                self._clock.inject((frame.port, frame.data) for frame in request.frames)
            )
        except NativeError as error:
            if error.code not in (errno.ENODEV, errno.EMSGSIZE):
                raise
            context.abort(grpc.StatusCode.INVALID_ARGUMENT, str(error))

    def _check(self, port: int, context: grpc.ServicerContext) -> None:
        if port > MAX_PORT:
            context.abort(
                grpc.StatusCode.INVALID_ARGUMENT,
                f"there is no port {port}: they are 0 to {MAX_PORT}",
            )

    def _moment(self, ns: int) -> Any:
        frames = [
            Frame(port=port, data=data, time_ns=time_ns)
            for port, time_ns, data in self._clock.departed()
        ]
        return Moment(ns=ns, frames=frames)
