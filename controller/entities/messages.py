"""Digests, and what a switch sends by itself: packets, lists of digests, idle timeouts."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import KW_ONLY, dataclass
from typing import Any

from pcn.base.p4rt import p4r
from pcn.controller.entities.tables import TableEntry
from pcn.controller.p4info import Schema


@dataclass(slots=True)
class DigestEntry:
    """What a controller wants of a digest: lists of at most `max_list_size` values, after at most
    `max_timeout_ns`, and a value again only `ack_timeout_ns` after it wasn't acknowledged."""

    digest_id: str = ""
    _: KW_ONLY
    max_list_size: int = 0
    max_timeout_ns: int = 0
    ack_timeout_ns: int = 0

    def encode(self, schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.digest_entry
        message.SetInParent()
        if self.digest_id:
            message.digest_id = schema.digests[self.digest_id].id
            if self.max_list_size or self.max_timeout_ns or self.ack_timeout_ns:
                config = message.config
                config.max_list_size = self.max_list_size
                config.max_timeout_ns = self.max_timeout_ns
                config.ack_timeout_ns = self.ack_timeout_ns
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, schema: Schema) -> DigestEntry:
        message = entity.digest_entry
        if not message.digest_id:
            return cls()
        config = message.config
        return cls(
            schema.digests[message.digest_id].alias,
            max_list_size=config.max_list_size,
            max_timeout_ns=config.max_timeout_ns,
            ack_timeout_ns=config.ack_timeout_ns,
        )


@dataclass(slots=True)
class PacketIn:
    """A packet of the program, with the fields of its packet_in header."""

    payload: bytes
    _: KW_ONLY
    metadata: dict[str, Any]

    def __getitem__(self, key: str) -> Any:
        """Returns a field. Raises KeyError."""
        return self.metadata[key]

    @classmethod
    def decode(cls, message: p4r.StreamMessageResponse, schema: Schema) -> PacketIn:
        header = schema.controller_packet_metadata.get("packet_in")
        packet = message.packet
        return cls(packet.payload, metadata=header.decode(packet.metadata) if header else {})


@dataclass(slots=True)
class DigestList:
    """Values that a program sent by a digest, as `data_types` has them; `timestamp` in ns."""

    digest_id: str
    _: KW_ONLY
    list_id: int
    timestamp: int
    data: list[Any]

    def __len__(self) -> int:
        return len(self.data)

    def __getitem__(self, number: int) -> Any:
        return self.data[number]

    def __iter__(self) -> Iterator[Any]:
        return iter(self.data)

    @classmethod
    def decode(cls, message: p4r.StreamMessageResponse, schema: Schema) -> DigestList:
        digest = schema.digests[message.digest.digest_id]
        return cls(
            digest.alias,
            list_id=message.digest.list_id,
            timestamp=message.digest.timestamp,
            data=[digest.type_spec.decode_data(value) for value in message.digest.data],
        )

    def acknowledgement(self, schema: Schema) -> p4r.StreamMessageRequest:
        """Returns the message that acknowledges it."""
        acknowledgement = p4r.DigestListAck(
            digest_id=schema.digests[self.digest_id].id, list_id=self.list_id
        )
        return p4r.StreamMessageRequest(digest_ack=acknowledgement)


@dataclass(slots=True)
class IdleTimeouts:
    """Entries that no packet has hit for as long as their `idle_timeout_ns`; `timestamp` in ns."""

    table_entry: list[TableEntry]
    timestamp: int

    def __len__(self) -> int:
        return len(self.table_entry)

    def __getitem__(self, number: int) -> TableEntry:
        return self.table_entry[number]

    def __iter__(self) -> Iterator[TableEntry]:
        return iter(self.table_entry)

    @classmethod
    def decode(cls, message: p4r.StreamMessageResponse, schema: Schema) -> IdleTimeouts:
        notification = message.idle_timeout_notification
        entries = [TableEntry.decode_entry(entry, schema) for entry in notification.table_entry]
        return cls(entries, notification.timestamp)
