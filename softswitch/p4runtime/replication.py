"""The packet replication engine: clone sessions and multicast groups.

Source: P4Runtime specification, "PacketReplicationEngineEntry". Writes return what undoes them.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Iterable, Iterator, Sequence

from pcn.base.p4rt import p4r
from pcn.softswitch.native import NativeSwitch, Replica
from pcn.softswitch.p4runtime.bytestring import encode
from pcn.softswitch.p4runtime.errors import (
    ALREADY_EXISTS,
    INVALID_ARGUMENT,
    NOT_FOUND,
    OUT_OF_RANGE,
    UNIMPLEMENTED,
    RpcError,
)
from pcn.softswitch.p4runtime.parts import Part

Undo = Callable[[], None]
MAX_PORT = 511
MAX_INSTANCE = 0xFFFF
MAX_SESSION = 0x7FFF  # BMv2's, too
MAX_GROUP = 0xFFFF  # standard_metadata.mcast_grp is a bit<16>


class Replication:
    """The clone sessions and multicast groups of one pipeline. They keep the client's messages,
    which don't change."""

    def __init__(self, native: NativeSwitch) -> None:
        self._native = native
        self._sessions: dict[int, p4r.CloneSessionEntry] = {}
        self._groups: dict[int, p4r.MulticastGroupEntry] = {}

    def write(
        self, kind: p4r.Update.Type.ValueType, message: p4r.PacketReplicationEngineEntry
    ) -> Undo:
        """Carries out INSERT, MODIFY or DELETE of either kind of entry."""
        which = message.WhichOneof("type")
        if which == "clone_session_entry":
            return self._write_session(kind, message.clone_session_entry)
        if which == "multicast_group_entry":
            return self._write_group(kind, message.multicast_group_entry)
        raise RpcError(INVALID_ARGUMENT, "the packet replication engine entry is empty")

    def read(self, query: p4r.PacketReplicationEngineEntry) -> Iterator[Part]:
        """Yields the entries that a query selects: one, all of a kind (id 0), or all."""
        which = query.WhichOneof("type")
        if which in (None, "clone_session_entry"):
            wanted = query.clone_session_entry.session_id
            if wanted and wanted not in self._sessions:
                raise RpcError(NOT_FOUND, f"no clone session {wanted}")
            sessions = [self._sessions[wanted]] if wanted else list(self._sessions.values())
            yield Part(len(sessions), map(_session_entity, sessions))
        if which in (None, "multicast_group_entry"):
            wanted = query.multicast_group_entry.multicast_group_id
            if wanted and wanted not in self._groups:
                raise RpcError(NOT_FOUND, f"no multicast group {wanted}")
            groups = [self._groups[wanted]] if wanted else list(self._groups.values())
            yield Part(len(groups), map(_group_entity, groups))

    def clear(self) -> None:
        """Removes every session and group."""
        for session in list(self._sessions):
            self._set_session(session, None)
        for group in list(self._groups):
            self._set_group(group, None)

    def _write_session(
        self, kind: p4r.Update.Type.ValueType, message: p4r.CloneSessionEntry
    ) -> Undo:
        session = message.session_id
        label = f"clone session {session}"
        _check_id(label, session, MAX_SESSION)
        old = self._sessions.get(session)
        _check_presence(label, kind, old is not None)
        if kind == p4r.Update.DELETE:
            self._set_session(session, None)
        else:
            if message.class_of_service:
                raise RpcError(UNIMPLEMENTED, f"{label}: a class of service is not implemented")
            if message.packet_length_bytes < 0:
                raise RpcError(INVALID_ARGUMENT, f"{label}: packet_length_bytes is negative")
            self._set_session(session, message)
        return functools.partial(self._set_session, session, old)

    def _set_session(self, session: int, message: p4r.CloneSessionEntry | None) -> None:
        if message is None:
            self._native.clone_session(session, [])
            self._sessions.pop(session, None)
            return
        replicas = _replicas(f"clone session {session}", message.replicas)
        self._native.clone_session(session, replicas, message.packet_length_bytes)
        clone_session_entry = p4r.CloneSessionEntry()
        clone_session_entry.CopyFrom(message)
        _make_canonical(clone_session_entry.replicas)
        self._sessions[session] = clone_session_entry

    def _write_group(
        self, kind: p4r.Update.Type.ValueType, message: p4r.MulticastGroupEntry
    ) -> Undo:
        group = message.multicast_group_id
        label = f"multicast group {group}"
        _check_id(label, group, MAX_GROUP)
        old = self._groups.get(group)
        _check_presence(label, kind, old is not None)
        self._set_group(group, None if kind == p4r.Update.DELETE else message)
        return functools.partial(self._set_group, group, old)

    def _set_group(self, group: int, message: p4r.MulticastGroupEntry | None) -> None:
        if message is None:
            self._native.multicast_group(group, [])
            self._groups.pop(group, None)
            return
        self._native.multicast_group(group, _replicas(f"multicast group {group}", message.replicas))
        multicast_group_entry = p4r.MulticastGroupEntry()
        multicast_group_entry.CopyFrom(message)
        _make_canonical(multicast_group_entry.replicas)
        self._groups[group] = multicast_group_entry


def _session_entity(message: p4r.CloneSessionEntry) -> p4r.Entity:
    entry = p4r.PacketReplicationEngineEntry(clone_session_entry=message)
    return p4r.Entity(packet_replication_engine_entry=entry)


def _group_entity(message: p4r.MulticastGroupEntry) -> p4r.Entity:
    entry = p4r.PacketReplicationEngineEntry(multicast_group_entry=message)
    return p4r.Entity(packet_replication_engine_entry=entry)


def _check_id(label: str, number: int, largest: int) -> None:
    if number == 0:
        raise RpcError(INVALID_ARGUMENT, f"{label}: the id must not be 0")
    if number > largest:
        raise RpcError(OUT_OF_RANGE, f"{label}: the id must not exceed {largest}")


def _check_presence(label: str, kind: p4r.Update.Type.ValueType, present: bool) -> None:
    if kind == p4r.Update.INSERT and present:
        raise RpcError(ALREADY_EXISTS, f"{label} exists")
    if kind != p4r.Update.INSERT and not present:
        raise RpcError(NOT_FOUND, f"{label} does not exist")


def _replicas(label: str, messages: Sequence[p4r.Replica]) -> list[Replica]:
    replicas = [_replica(label, message) for message in messages]
    if len(set(replicas)) != len(replicas):
        raise RpcError(INVALID_ARGUMENT, f"{label}: two replicas have the same port and instance")
    return replicas


def _make_canonical(messages: Iterable[p4r.Replica]) -> None:
    """Gives ports their shortest strings: what is read is canonical, whatever was written."""
    for message in messages:
        if message.WhichOneof("port_kind") == "port":
            message.port = encode(int.from_bytes(message.port, "big"))


def _replica(label: str, message: p4r.Replica) -> Replica:
    if message.backup_replicas:
        raise RpcError(UNIMPLEMENTED, f"{label}: backup replicas are not implemented")
    kind = message.WhichOneof("port_kind")
    if kind == "port" and not message.port:
        raise RpcError(INVALID_ARGUMENT, f"{label}: a replica's port is empty")
    # Without a kind it is 0: before P4Runtime 1.4 egress_port was a field alone, and its 0 isn't on
    # the wire.
    port = int.from_bytes(message.port, "big") if kind == "port" else message.egress_port
    if port > MAX_PORT:
        raise RpcError(INVALID_ARGUMENT, f"{label}: port {port} exceeds {MAX_PORT}")
    if message.instance > MAX_INSTANCE:
        raise RpcError(
            INVALID_ARGUMENT, f"{label}: instance {message.instance} exceeds {MAX_INSTANCE}"
        )
    return Replica(port, message.instance)
