"""Digests: what is to be learned, bundled into lists, without repeats until acknowledged.

Source: P4Runtime specification, "DigestEntry". Times are nanoseconds of the switch's clock.
Has its own lock: the data plane's events come in on another thread than the clients' requests.
"""

from __future__ import annotations

import functools
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime import p4data
from pcn.softswitch.p4runtime.errors import ALREADY_EXISTS, INVALID_ARGUMENT, NOT_FOUND, RpcError
from pcn.softswitch.p4runtime.idle import NEVER
from pcn.softswitch.p4runtime.parts import Part
from pcn.softswitch.p4runtime.schema import Digest, Schema

Undo = Callable[[], None]
MAX_LIST = 1000  # digests a list, where the client sets no limit
MAX_UNACKNOWLEDGED = (
    100_000  # remembered digests an instance; beyond it the oldest lists count as acknowledged
)


@dataclass
class _Learning:
    """One enabled digest: its buffer, and the lists that were sent and not acknowledged."""

    digest: Digest
    config: p4r.DigestEntry.Config
    buffer: dict[bytes, None] = field(default_factory=dict)
    since_ns: int = 0
    # list id: time, digests
    sent: dict[int, tuple[int, tuple[bytes, ...]]] = field(default_factory=dict)
    cache: set[bytes] = field(default_factory=set)
    next_list: int = 1

    def forget(self, list_id: int) -> None:
        _, digests = self.sent.pop(list_id, (0, ()))
        self.cache.difference_update(digests)

    def due_ns(self) -> int:
        """Returns when the buffer is to be sent at the latest."""
        return self.since_ns + self.config.max_timeout_ns if self.buffer else NEVER

    def expire(self, now_ns: int) -> None:
        """Forgets lists whose acknowledgement did not come."""
        timeout = self.config.ack_timeout_ns
        for list_id in [n for n, (sent, _) in self.sent.items() if now_ns - sent >= timeout]:
            self.forget(list_id)

    def flush(self, now_ns: int, timestamp_ns: int) -> p4r.DigestList:
        message = p4r.DigestList(
            digest_id=self.digest.id, list_id=self.next_list, timestamp=timestamp_ns
        )
        for packed in self.buffer:
            message.data.append(p4data.encode(self.digest.type, _split(self.digest, packed)))
        if self.config.ack_timeout_ns > 0:
            self.sent[self.next_list] = (now_ns, tuple(self.buffer))
            self.cache.update(self.buffer)
            while len(self.cache) > MAX_UNACKNOWLEDGED:
                self.forget(next(iter(self.sent)))
        self.next_list += 1
        self.buffer = {}
        return message


class Digests:
    """The digests of one pipeline."""

    def __init__(self, schema: Schema, timestamp_ns: Callable[[], int]) -> None:
        self._schema = schema
        self._timestamp_ns = timestamp_ns
        self._lock = threading.Lock()
        self._by_list = {digest.list_id: digest.id for digest in schema.digests.values()}
        self._active: dict[int, _Learning] = {}

    def write(self, kind: p4r.Update.Type.ValueType, message: p4r.DigestEntry) -> Undo:
        """Carries out INSERT, MODIFY or DELETE of a DigestEntry."""
        digest = self._schema.digest(message.digest_id)
        config = message.config
        negative = (
            config.max_timeout_ns < 0 or config.max_list_size < 0 or config.ack_timeout_ns < 0
        )
        if negative and kind != p4r.Update.DELETE:  # which considers the id alone
            raise RpcError(
                INVALID_ARGUMENT, f"digest {digest.name}: the configuration has a negative number"
            )
        with self._lock:
            old = self._active.get(digest.id)
            if kind == p4r.Update.INSERT and old:
                raise RpcError(ALREADY_EXISTS, f"digest {digest.name} is enabled")
            if kind != p4r.Update.INSERT and not old:
                raise RpcError(NOT_FOUND, f"digest {digest.name} is not enabled")
            if kind == p4r.Update.DELETE:
                del self._active[digest.id]
            else:
                config_copy = p4r.DigestEntry.Config()
                config_copy.CopyFrom(config)
                self._active[digest.id] = _Learning(digest, config_copy)
        return functools.partial(self._restore, digest.id, old)

    def read(self, query: p4r.DigestEntry) -> Iterator[Part]:
        """Yields the enabled digests that a query selects: one, or all (id 0)."""
        wanted = self._schema.digest(query.digest_id).id if query.digest_id else 0
        with self._lock:
            active = [(number, learning.config) for number, learning in self._active.items()]
        if wanted and wanted not in dict(active):
            raise RpcError(NOT_FOUND, f"digest {self._schema.digest(wanted).name} is not enabled")
        entries = [
            p4r.DigestEntry(digest_id=number, config=config)
            for number, config in active
            if wanted in (0, number)
        ]
        yield Part(len(active), (p4r.Entity(digest_entry=entry) for entry in entries))

    def learned(self, list_id: int, packed: bytes, now_ns: int) -> list[p4r.DigestList]:
        """Takes one digest that the data plane sent at `now_ns`; returns what is to be sent because
        of it."""
        with self._lock:
            learning = self._active.get(self._by_list.get(list_id, 0))
            if learning is None:
                return []
            learning.expire(now_ns)
            if packed in learning.cache or packed in learning.buffer:
                return []
            if not learning.buffer:
                learning.since_ns = now_ns
            learning.buffer[packed] = None
            limit = learning.config.max_list_size or MAX_LIST
            if len(learning.buffer) >= limit or learning.config.max_timeout_ns == 0:
                return [learning.flush(now_ns, self._timestamp_ns())]
            return []

    def due(self, now_ns: int) -> list[p4r.DigestList]:
        """Returns what is to be sent because its time has come."""
        messages = []
        with self._lock:
            for learning in self._active.values():
                if learning.due_ns() <= now_ns:
                    messages.append(learning.flush(now_ns, self._timestamp_ns()))
                learning.expire(now_ns)
        return messages

    @property
    def next_ns(self) -> int:
        """When `due` has something to send."""
        with self._lock:
            return min((learning.due_ns() for learning in self._active.values()), default=NEVER)

    def acknowledge(self, message: p4r.DigestListAck) -> None:
        """A client has seen a list. Raises RpcError INVALID_ARGUMENT for an unknown digest."""
        if message.digest_id not in self._schema.digests:
            raise RpcError(
                INVALID_ARGUMENT, f"the p4info has no digest with id {message.digest_id}"
            )
        with self._lock:
            learning = self._active.get(message.digest_id)
            if learning is not None:
                learning.forget(message.list_id)

    def _restore(self, digest_id: int, old: _Learning | None) -> None:
        with self._lock:
            if old is None:
                self._active.pop(digest_id, None)
            else:
                self._active[digest_id] = old


def _split(digest: Digest, packed: bytes) -> list[int]:
    """Returns the fields of a packed digest: each big endian in whole bytes."""
    values, at = [], 0
    for width in digest.widths:
        size = (width + 7) // 8
        values.append(int.from_bytes(packed[at : at + size], "big"))
        at += size
    return values
