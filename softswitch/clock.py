"""A switch on the manual clock (`softswitch --clock manual`), as a test sees it: it moves time,
sends, receives.

    with ManualClock("127.0.0.1:9559") as clock:
        clock.send(1, frame)
        clock.advance(0.012)
        for port, time_ns, data in clock.received(): ...

Tables, counters and all else are P4Runtime's, at the same address. docs/test-clock.md has the
whole.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import grpc

from pcn.base import rpc
from pcn.base.address import AddressError, channel
from pcn.softswitch.clock_messages import SERVICE, Frame, Frames, Span


class ClockError(Exception):
    """The switch is missing, isn't on the manual clock, or refused a call; the message has the
    reason."""


class Departure(NamedTuple):
    """A frame that left the switch by a port, `time_ns` after the switch was made. Nothing is
    padded."""

    port: int
    time_ns: int
    data: bytes

    @property
    def time(self) -> float:
        """Seconds after the switch was made."""
        return self.time_ns / 1e9


class ManualClock:
    """The clock of the switch at `address`, as gRPC writes it (HOST:PORT, unix:PATH). A context
    manager.

    With `credentials` over TLS. The switch has to listen already. Raises ClockError, as calls do.
    """

    def __init__(self, address: str, credentials: grpc.ChannelCredentials | None = None) -> None:
        self._address = address
        options = [("grpc.max_receive_message_length", -1), ("grpc.use_local_subchannel_pool", 1)]
        try:
            self._channel = channel(address, options, credentials)
        except AddressError as error:
            raise ClockError(str(error)) from None
        self._left: list[Departure] = []
        self._calls: dict[str, Any] = rpc.calls(SERVICE, self._channel)

    def close(self) -> None:
        """Ends the connection. The switch's clock stands."""
        self._channel.close()

    def __enter__(self) -> ManualClock:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def advance(self, seconds: float) -> float:
        """Moves time on, to the nanosecond, and returns it, in seconds since the switch was made.

        All that is due by then has been done: frames have left, idle entries and digests are on the
        controllers' streams.
        """
        return self._advance(seconds)

    def advance_until(self, port: int, frames: int, seconds: float) -> float:
        """Moves time on as `advance` does, at most to the moment at which `frames` more frames have
        left by a port."""
        return self._advance(seconds, port=port, frames=frames)

    def send(self, port: int, *frames: bytes) -> None:
        """Frames come in at a port without interface, one after the other, each of 0 to 9,216
        bytes.

        What they cause at the time that stands has been done; what takes time (a rate, a delay) is
        for `advance`.
        """
        self._call("Send", Frames(frames=[Frame(port=port, data=frame) for frame in frames]))

    def received(self) -> list[Departure]:
        """Returns the frames that left ports without interface since the last call, in order."""
        self._advance(0)  # a controller's packet-out may have left since
        return self.departed()

    def departed(self) -> list[Departure]:
        """Returns the frames that `received` returns, without a request: those that had left when
        the latest call here returned."""
        left, self._left = self._left, []
        return left

    @property
    def now_ns(self) -> int:
        """The time, in nanoseconds since the switch was made."""
        return self._call("Advance", Span())

    @property
    def now(self) -> float:
        """The time, in seconds since the switch was made."""
        return self.now_ns / 1e9

    def _advance(self, seconds: float, **until: int) -> float:
        span_ns = round(seconds * 1e9)
        if not 0 <= span_ns < 2**64:
            raise ClockError(f"the clock can't be moved by {seconds:g} s")
        return self._call("Advance", Span(ns=span_ns, **until)) / 1e9

    def _call(self, name: str, request: Any) -> int:
        """Returns the time, ns. Keeps the frames that the reply has."""
        try:
            moment = self._calls[name](request)
        except grpc.RpcError as error:
            reason = error.details() or error.code().name
            if error.code() is grpc.StatusCode.UNIMPLEMENTED:
                reason = "it has no manual clock: start it with --clock manual"
            raise ClockError(f"the switch at {self._address}: {reason}") from error
        self._left += [Departure(frame.port, frame.time_ns, frame.data) for frame in moment.frames]
        return int(moment.ns)
