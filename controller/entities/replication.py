"""Copies of packets: multicast groups and clone sessions."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, TypeAlias

from pcn.base import p4values
from pcn.base.p4rt import p4r
from pcn.controller.entities.tables import PORT_BITS
from pcn.controller.p4info import Schema


@dataclass(slots=True)
class Replica:
    """A copy's port, and the number that the program sees it by. `backup_replicas`: (port,
    instance) of those that replace it while its port is down."""

    port: int
    _: KW_ONLY
    instance: int = 0
    backup_replicas: Sequence[tuple[int, int]] = ()

    def encode(self, message: p4r.Replica) -> None:
        """Writes it into a message: the port as older servers have it too, where that can be."""
        message.instance = self.instance
        if not self.backup_replicas:
            message.egress_port = self.port
            return
        message.port = p4values.exact(self.port, PORT_BITS)
        for port, instance in self.backup_replicas:
            message.backup_replicas.add(port=p4values.exact(port, PORT_BITS), instance=instance)

    @classmethod
    def decode(cls, message: p4r.Replica) -> Replica:
        """Returns what a message has. Raises ValueError."""
        if message.WhichOneof("port_kind") == "port":
            port = p4values.decoded(message.port, PORT_BITS)
        else:
            port = message.egress_port
        return cls(
            port,
            instance=message.instance,
            backup_replicas=tuple(
                (p4values.decoded(backup.port, PORT_BITS), backup.instance)
                for backup in message.backup_replicas
            ),
        )


Copies: TypeAlias = Sequence[int | tuple[int, int] | Replica]
"""Of each copy its port, (port, instance), or the whole."""


def _encode_copies(copies: Copies, replicas: Any) -> None:
    for copy in copies:
        if isinstance(copy, int):
            copy = Replica(copy)
        elif isinstance(copy, tuple):
            copy = Replica(copy[0], instance=copy[1])
        copy.encode(replicas.add())


def _decode_copies(replicas: Iterable[p4r.Replica]) -> tuple[int | Replica, ...]:
    """Returns of each copy its port alone, where it has nothing beside it."""
    copies = (Replica.decode(replica) for replica in replicas)
    return tuple(copy if copy.instance or copy.backup_replicas else copy.port for copy in copies)


@dataclass(slots=True)
class MulticastGroup:
    """A multicast group."""

    multicast_group_id: int = 0
    _: KW_ONLY
    replicas: Copies = ()
    metadata: bytes = b""

    def encode(self, _schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.packet_replication_engine_entry.multicast_group_entry
        message.SetInParent()
        message.multicast_group_id = self.multicast_group_id
        message.metadata = self.metadata
        _encode_copies(self.replicas, message.replicas)
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, _schema: Schema) -> MulticastGroup:
        message = entity.packet_replication_engine_entry.multicast_group_entry
        return cls(
            message.multicast_group_id,
            replicas=_decode_copies(message.replicas),
            metadata=message.metadata,
        )


@dataclass(slots=True)
class CloneSession:
    """A clone session; `packet_length_bytes` 0: packets are copied whole."""

    session_id: int = 0
    _: KW_ONLY
    class_of_service: int = 0
    packet_length_bytes: int = 0
    replicas: Copies = ()

    def encode(self, _schema: Schema) -> p4r.Entity:
        entity = p4r.Entity()
        message = entity.packet_replication_engine_entry.clone_session_entry
        message.SetInParent()
        message.session_id = self.session_id
        message.class_of_service = self.class_of_service
        message.packet_length_bytes = self.packet_length_bytes
        _encode_copies(self.replicas, message.replicas)
        return entity

    @classmethod
    def decode(cls, entity: p4r.Entity, _schema: Schema) -> CloneSession:
        message = entity.packet_replication_engine_entry.clone_session_entry
        return cls(
            message.session_id,
            class_of_service=message.class_of_service,
            packet_length_bytes=message.packet_length_bytes,
            replicas=_decode_copies(message.replicas),
        )
