"""Messages of a switch that wait for their controller: packet-ins, digest lists, refusals."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from dataclasses import dataclass, field

from pcn.base.p4rt import p4r
from pcn.controller.errors import SwitchError, refusal_text

MOST_BYTES = 16_000_000
"""Of messages of a kind that wait; a new one takes the place of the oldest ones."""
OVERHEAD_BYTES = 500
"""Memory of a message beside its content."""
_REFUSED = {"packet_out": "packet-out", "digest_list_ack": "acknowledging digests"}


@dataclass
class _Queue:
    messages: deque[p4r.StreamMessageResponse] = field(default_factory=deque)
    n_bytes: int = 0

    def add(self, message: p4r.StreamMessageResponse) -> None:
        self.messages.append(message)
        self.n_bytes += _size(message)
        while self.n_bytes > MOST_BYTES:
            self.first()

    def first(self) -> p4r.StreamMessageResponse:
        message = self.messages.popleft()
        self.n_bytes -= _size(message)
        return message


class Inbox:
    """A thread puts messages in, others take them out. `name`: of the switch, for errors."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._kept: dict[str, _Queue] = defaultdict(_Queue)
        self._changed = threading.Condition()
        self._ended: str | None = None

    def put(self, message: p4r.StreamMessageResponse) -> None:
        """Keeps a message until it is taken."""
        with self._changed:
            self._kept[message.WhichOneof("update") or ""].add(message)
            self._changed.notify_all()

    def end(self, reason: str) -> None:
        """Nothing comes any more."""
        with self._changed:
            self._ended = reason
            self._changed.notify_all()

    def take(self, kind: str, wait_s: float = 0.0) -> list[p4r.StreamMessageResponse]:
        """Removes and returns the messages of a kind; where there is none, waits for the first one.
        Where none comes, raises SwitchError for the oldest refusal, each once, and after the
        end."""
        with self._changed:
            refused = self._kept["error"]
            self._changed.wait_for(
                lambda: self._kept[kind].messages or refused.messages or self._ended, wait_s
            )
            messages = self._kept.pop(kind).messages
            if not messages and refused.messages:
                error = refused.first().error
                operation = _REFUSED.get(error.WhichOneof("details") or "", "a message")
                raise SwitchError(
                    f"{self._name}: {operation} failed: "
                    f"{refusal_text(error.canonical_code, error.message)}"
                )
            if not messages and self._ended:
                raise SwitchError(f"{self._name}: the stream of messages has ended: {self._ended}")
            return list(messages)


def _size(message: p4r.StreamMessageResponse) -> int:
    return message.ByteSize() + OVERHEAD_BYTES
