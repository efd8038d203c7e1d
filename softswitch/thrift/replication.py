"""Calls of multicast groups and mirroring sessions. A group of P4Runtime has the replicas of all
its nodes; of one that a client of P4Runtime wrote, each instance is a node."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime.bytestring import encode
from pcn.softswitch.p4runtime.errors import RpcError
from pcn.softswitch.p4runtime.service import Service
from pcn.softswitch.thrift.face import DELETE, INSERT, MODIFY, Face

_GROUP, _GROUP_HANDLE, _NODE_HANDLE, _ERROR = 2, 3, 4, 5  # of BMv2's error codes
_MAX_GROUP: Final = 0xFFFF
_NOT_FOUND: Final = 1


@dataclass
class _Node:
    rid: int
    ports: tuple[int, ...]
    lags: tuple[int, ...] = ()
    group: int | None = None


class ReplicationCalls(Face):
    """bm_mc_*: groups of nodes, each with an instance, ports and LAGs."""

    def __init__(self, service: Service) -> None:
        super().__init__(service)
        self._groups: dict[int, list[int]] = {}
        self._nodes: dict[int, _Node] = {}
        self._lags: dict[int, tuple[int, ...]] = {}

    def bm_mc_mgrp_create(self, _context: int, group: int) -> int:
        if not 0 < group <= _MAX_GROUP:
            raise self._error(_GROUP)
        self._adopt()
        self._groups.setdefault(group, [])
        return group

    def bm_mc_mgrp_destroy(self, _context: int, group: int) -> None:
        nodes = self._known(group)
        before, self._groups[group] = nodes, []
        self._write(group, before)
        for node in before:
            self._nodes[node].group = None
        del self._groups[group]

    def bm_mc_node_create(self, _context: int, rid: int, ports: str, lags: str = "") -> int:
        if not 0 <= rid <= _MAX_GROUP:
            raise self._error(_ERROR)
        self._adopt()
        return self._new(_Node(rid, _numbers(ports), _numbers(lags)))

    def bm_mc_node_update(self, _context: int, handle: int, ports: str, lags: str = "") -> None:
        node = self._node(handle)
        before = node.ports, node.lags
        node.ports, node.lags = _numbers(ports), _numbers(lags)

        def undo() -> None:
            node.ports, node.lags = before

        self._changed(node, undo)

    def bm_mc_node_destroy(self, _context: int, handle: int) -> None:
        node = self._node(handle)
        if node.group is not None:
            self.bm_mc_node_dissociate(0, node.group, handle)
        del self._nodes[handle]

    def bm_mc_node_associate(self, _context: int, group: int, handle: int) -> None:
        nodes, node = self._known(group), self._node(handle)
        if node.group is not None:
            raise self._error(_ERROR)
        self._groups[group] = [*nodes, handle]
        self._write(group, nodes)
        node.group = group

    def bm_mc_node_dissociate(self, _context: int, group: int, handle: int) -> None:
        nodes, node = self._known(group), self._node(handle)
        if handle not in nodes:
            raise self._error(_ERROR)
        self._groups[group] = [node for node in nodes if node != handle]
        self._write(group, nodes)
        node.group = None

    def bm_mc_set_lag_membership(self, _context: int, lag: int, ports: str) -> None:
        self._adopt()
        before = self._lags.get(lag, ())
        self._lags[lag] = _numbers(ports)

        def undo() -> None:
            self._lags[lag] = before

        for node in list(self._nodes.values()):
            if lag in node.lags:
                self._changed(node, undo)

    def bm_mc_get_entries(self, _context: int) -> str:
        self._adopt()
        nodes = sorted(self._nodes.items())
        return json.dumps(
            {
                "mgrps": [
                    {"id": group, "l1_handles": handles}
                    for group, handles in sorted(self._groups.items())
                ],
                "l1_handles": [
                    {"handle": handle, "rid": node.rid, "l2_handle": handle}
                    for handle, node in nodes
                ],
                "l2_handles": [
                    {"handle": handle, "ports": list(node.ports), "lags": list(node.lags)}
                    for handle, node in nodes
                ],
                "lags": [
                    {"id": lag, "ports": list(ports)} for lag, ports in sorted(self._lags.items())
                ],
            }
        )

    def forget(self) -> None:
        """All state was reset."""
        self._groups.clear()
        self._nodes.clear()
        self._lags.clear()

    # ---- inside ----

    def _error(self, code: int) -> Exception:
        exception: Exception = self.idl.ReplicationFailure(code)
        return exception

    def _adopt(self) -> None:
        """Takes P4Runtime's groups whose replicas aren't those of nodes here: a node for each
        instance."""
        query = p4r.PacketReplicationEngineEntry(multicast_group_entry=p4r.MulticastGroupEntry())
        there: dict[int, dict[int, list[int]]] = {}
        try:
            entries = list(self.read(packet_replication_engine_entry=query))
        except RpcError:  # there is no program
            return
        for entry in entries:
            by_rid = there.setdefault(entry.multicast_group_entry.multicast_group_id, {})
            for replica in entry.multicast_group_entry.replicas:
                port = int.from_bytes(replica.port, "big") if replica.port else replica.egress_port
                by_rid.setdefault(replica.instance, []).append(port)
        for group in {
            number for number, nodes in self._groups.items() if self._replicas(nodes)
        } | set(there):
            by_rid = there.get(group, {})
            replicas = {(port, rid) for rid, ports in by_rid.items() for port in ports}
            if set(self._replicas(self._groups.get(group, []))) == replicas:
                continue
            for handle in self._groups.pop(group, []):
                del self._nodes[handle]
            if by_rid:
                self._groups[group] = [
                    self._new(_Node(rid, tuple(ports), group=group))
                    for rid, ports in by_rid.items()
                ]

    def _new(self, node: _Node) -> int:
        handle = next(number for number in range(len(self._nodes) + 1) if number not in self._nodes)
        self._nodes[handle] = node
        return handle

    def _known(self, group: int) -> list[int]:
        self._adopt()
        if group not in self._groups:
            raise self._error(_GROUP_HANDLE)
        return self._groups[group]

    def _node(self, handle: int) -> _Node:
        self._adopt()
        if handle not in self._nodes:
            raise self._error(_NODE_HANDLE)
        return self._nodes[handle]

    def _changed(self, node: _Node, undo: Callable[[], None]) -> None:
        if node.group is None:
            return
        try:
            self._write(node.group, self._groups[node.group])
        except Exception:
            undo()
            raise

    def _write(self, group: int, before: list[int]) -> None:
        """Gives P4Runtime's group the replicas of its nodes. On failure the nodes are those of
        `before`."""
        replicas = self._replicas(self._groups[group])
        message = p4r.MulticastGroupEntry(multicast_group_id=group)
        for port, rid in replicas:
            message.replicas.add(port=encode(port), instance=rid)
        there = self._exists(group)
        if not replicas and not there:
            return
        kind = DELETE if not replicas else MODIFY if there else INSERT
        try:
            self.write(
                kind,
                packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
                    multicast_group_entry=message
                ),
            )
        except RpcError:
            self._groups[group] = before
            raise self._error(_ERROR) from None

    def _replicas(self, handles: Sequence[int]) -> list[tuple[int, int]]:
        """Returns port and instance of each copy; of a LAG, its first port."""
        copies: dict[tuple[int, int], None] = {}
        for node in (self._nodes[handle] for handle in handles):
            lag_ports = [self._lags[lag][0] for lag in node.lags if self._lags.get(lag)]
            copies.update({(port, node.rid): None for port in (*node.ports, *lag_ports)})
        return list(copies)

    def _exists(self, group: int) -> bool:
        query = p4r.PacketReplicationEngineEntry(
            multicast_group_entry=p4r.MulticastGroupEntry(multicast_group_id=group)
        )
        try:
            return any(True for _ in self.read(packet_replication_engine_entry=query))
        except RpcError:
            return False


class MirrorCalls(Face):
    """mirroring_*: sessions of P4Runtime with one replica. A session for a multicast group is
    refused."""

    def mirroring_session_add(self, session: int, config: Any) -> None:
        if config.mgid is not None or config.port is None:
            raise self.idl.MirrorFailure(_NOT_FOUND)
        message = p4r.CloneSessionEntry(session_id=session)
        message.replicas.add(port=encode(max(config.port, 0)), instance=0)
        kind = MODIFY if self._port(session) is not None else INSERT
        self._write_session(kind, message)

    def mirroring_session_delete(self, session: int) -> None:
        if self._port(session) is None:
            raise self.idl.MirrorFailure(_NOT_FOUND)
        self._write_session(DELETE, p4r.CloneSessionEntry(session_id=session))

    def mirroring_session_get(self, session: int) -> Any:
        port = self._port(session)
        if port is None:
            raise self.idl.MirrorFailure(_NOT_FOUND)
        return self.idl.Mirror(port)

    def mirroring_mapping_add(self, session: int, port: int) -> int:
        self.mirroring_session_add(session, self.idl.Mirror(port))
        return 0

    def mirroring_mapping_delete(self, session: int) -> int:
        self.mirroring_session_delete(session)
        return 0

    def mirroring_mapping_get_egress_port(self, session: int) -> int:
        port = self._port(session)
        return -1 if port is None else port

    def _port(self, session: int) -> int | None:
        query = p4r.PacketReplicationEngineEntry(
            clone_session_entry=p4r.CloneSessionEntry(session_id=session)
        )
        try:
            entries = list(self.read(packet_replication_engine_entry=query)) if session > 0 else []
        except RpcError:
            return None
        replicas = [replica for entry in entries for replica in entry.clone_session_entry.replicas]
        if not replicas:
            return None
        return (
            int.from_bytes(replicas[0].port, "big") if replicas[0].port else replicas[0].egress_port
        )

    def _write_session(self, kind: Any, message: p4r.CloneSessionEntry) -> None:
        try:
            self.write(
                kind,
                packet_replication_engine_entry=p4r.PacketReplicationEngineEntry(
                    clone_session_entry=message
                ),
            )
        except RpcError:
            raise self.idl.MirrorFailure(_NOT_FOUND) from None


def _numbers(text: str) -> tuple[int, ...]:
    """Returns the places of the ones in a string of 0 and 1, counted from the right."""
    return tuple(number for number, digit in enumerate(reversed(text)) if digit == "1")
