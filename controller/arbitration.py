"""Mastership of a switch: the stream channel that a primary controller keeps open (P4Runtime,
section 5).

A switch remembers the highest election id that it ever received, even after that client has
disconnected: then no client is primary until one connects with that id or a higher one. BMv2
forgets ids with their controllers."""

from __future__ import annotations

import contextlib
import logging
import queue
import threading
import time
from collections.abc import Iterator

import grpc

from pcn.base.p4rt import p4r, p4r_grpc
from pcn.controller.errors import PrimaryError, SwitchError
from pcn.controller.inbox import Inbox

log = logging.getLogger(__name__)

MAX_ELECTION_ID = 2**128 - 1
_END_LIMIT_S = 1.0
_LEAVING_S = 0.5  # a controller that has ended may be primary this long still
_MOST_CLAIMS = 16  # each of them a higher id than those of controllers that came and went meanwhile
_OK, _NOT_FOUND = grpc.StatusCode.OK.value[0], grpc.StatusCode.NOT_FOUND.value[0]


class Arbitration:
    """Holds the stream open until `close`. Other messages of it wait in `inbox`. `election_id` is
    the one that we claimed last."""

    def __init__(
        self,
        name: str,
        stub: p4r_grpc.P4RuntimeStub,
        device_id: int,
        election_id: int,
        limit_s: float,
    ) -> None:
        self._name = name
        self._device_id = device_id
        self.inbox = Inbox(name)
        self._requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        self._answers: queue.SimpleQueue[p4r.MasterArbitrationUpdate | grpc.RpcError] = (
            queue.SimpleQueue()
        )
        self._stream = stub.StreamChannel(self._outgoing())
        self._thread = threading.Thread(target=self._receive, name=f"p4runtime {name}", daemon=True)
        self._thread.start()
        self._claim(election_id)
        try:
            self.settle(limit_s)
        except BaseException:
            self.close()
            raise

    def settle(self, limit_s: float) -> None:
        """Waits until we are primary. Where the last primary has gone, that takes the next election
        id, and is logged. Raises PrimaryError if another one is it, SwitchError."""
        last = end = time.monotonic() + limit_s
        primary_id: int | None = None
        claims = 0
        while True:
            try:
                answer = self._answers.get(timeout=max(0.0, end - time.monotonic()))
            except queue.Empty:
                if primary_id is not None:
                    raise PrimaryError(
                        f"{self._name}: another controller is primary, with election id "
                        f"{primary_id} (ours is {self.election_id})",
                        primary_id + 1,
                    ) from None
                raise SwitchError(
                    f"{self._name}: no answer to arbitration within {limit_s:g} s"
                ) from None
            if isinstance(answer, grpc.RpcError):
                self._refused(answer)
            if answer.status.code == _OK:
                return
            highest = answer.election_id.high << 64 | answer.election_id.low
            if answer.status.code != _NOT_FOUND:
                primary_id = highest
                end = min(end, time.monotonic() + _LEAVING_S)
            elif highest == MAX_ELECTION_ID:
                raise SwitchError(
                    f"{self._name}: the last controller had the highest election id: none can "
                    "follow it"
                )
            elif highest >= self.election_id:
                claims += 1
                if claims > _MOST_CLAIMS:
                    grown = f"grows with each of our {_MOST_CLAIMS} claims, to {highest}"
                    raise SwitchError(f"{self._name}: the highest election id {grown}")
                log.warning(
                    "%s: the primary controller with election id %d has gone: we take %d",
                    *(self._name, highest, highest + 1),
                )
                self._claim(highest + 1)
                end = last

    def send(self, request: p4r.StreamMessageRequest) -> None:
        self._requests.put(request)

    def close(self) -> None:
        """Afterwards the election id is free: the server ends the stream when it has forgotten us.
        After a cancelled stream it may do so later."""
        self._requests.put(None)
        self._thread.join(timeout=_END_LIMIT_S)
        self._stream.cancel()
        self._thread.join(timeout=5)

    def _claim(self, election_id: int) -> None:
        self.election_id = election_id
        self.send(
            p4r.StreamMessageRequest(
                arbitration=p4r.MasterArbitrationUpdate(
                    device_id=self._device_id, election_id=uint128(election_id)
                )
            )
        )

    def _take_answer(self, answer: p4r.MasterArbitrationUpdate | grpc.RpcError) -> None:
        """Replaces the previous answer: a client that only keeps a network up reads none, but gets
        one for each controller that connects or leaves."""
        with contextlib.suppress(queue.Empty):
            self._answers.get_nowait()
        self._answers.put(answer)

    def _refused(self, error: grpc.RpcError) -> None:
        text = f"{self._name}: arbitration failed: {error.code().name}: {error.details()}"
        # another controller has this election id
        if error.code() == grpc.StatusCode.INVALID_ARGUMENT:
            raise PrimaryError(text, self.election_id + 1)
        raise SwitchError(text)

    def _outgoing(self) -> Iterator[p4r.StreamMessageRequest]:
        while (request := self._requests.get()) is not None:
            yield request

    def _receive(self) -> None:
        try:
            for response in self._stream:
                if response.HasField("arbitration"):
                    self._take_answer(response.arbitration)
                else:
                    self.inbox.put(response)
            self.inbox.end("the switch ended it")
        except grpc.RpcError as error:
            self._take_answer(error)
            self.inbox.end(f"{error.code().name}: {error.details()}")


def uint128(number: int) -> p4r.Uint128:
    return p4r.Uint128(high=number >> 64, low=number & (2**64 - 1))
