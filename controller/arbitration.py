"""Mastership of a switch: the stream channel that a primary controller keeps open (P4Runtime, section 5)."""

from __future__ import annotations

import queue
import threading
from collections.abc import Iterator

import grpc
from finsy.proto import p4r, p4r_grpc

from controller.errors import SwitchError

_END_LIMIT_S = 1.0


class Arbitration:
    """Holds the stream open until `close`. Other stream messages are kept for `messages`."""

    def __init__(
        self, name: str, stub: p4r_grpc.P4RuntimeStub, device_id: int, election_id: int, limit_s: float
    ) -> None:
        self.election_id = p4r.Uint128(high=election_id >> 64, low=election_id & (2**64 - 1))
        self.messages: queue.SimpleQueue[p4r.StreamMessageResponse] = queue.SimpleQueue()
        self._requests: queue.SimpleQueue[p4r.StreamMessageRequest | None] = queue.SimpleQueue()
        self._answer: queue.SimpleQueue[p4r.MasterArbitrationUpdate | str] = queue.SimpleQueue()
        self._stream = stub.StreamChannel(self._outgoing())
        self._thread = threading.Thread(target=self._receive, name=f"p4runtime {name}", daemon=True)
        self._thread.start()
        update = p4r.MasterArbitrationUpdate(device_id=device_id, election_id=self.election_id)
        self.send(p4r.StreamMessageRequest(arbitration=update))
        try:
            answer = self._answer.get(timeout=limit_s)
        except queue.Empty:
            self.close()
            raise SwitchError(f"{name}: no answer to arbitration within {limit_s:g} s") from None
        except BaseException:
            self.close()
            raise
        if isinstance(answer, str):
            self.close()
            raise SwitchError(f"{name}: arbitration failed: {answer}")
        if answer.status.code != 0:
            self.close()
            raise SwitchError(
                f"{name}: another controller is primary, with election id {answer.election_id.low} "
                f"(ours is {election_id}): end it first"
            )

    def send(self, request: p4r.StreamMessageRequest) -> None:
        self._requests.put(request)

    def close(self) -> None:
        """Afterwards the election id is free: the server ends the stream when it has forgotten us. After a cancelled
        stream it may do so later."""
        self._requests.put(None)
        self._thread.join(timeout=_END_LIMIT_S)
        self._stream.cancel()
        self._thread.join(timeout=5)

    def _outgoing(self) -> Iterator[p4r.StreamMessageRequest]:
        while (request := self._requests.get()) is not None:
            yield request

    def _receive(self) -> None:
        try:
            for response in self._stream:
                if response.HasField("arbitration"):
                    self._answer.put(response.arbitration)
                else:
                    self.messages.put(response)
        except grpc.RpcError as error:
            self._answer.put(f"{error.code().name}: {error.details()}")
