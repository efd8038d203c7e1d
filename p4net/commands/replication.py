"""Commands of multicast groups and mirroring sessions.

BMv2's group is made of nodes, each of which sends copies with one instance (rid) to ports.
P4Runtime's is a list of replicas, and exists here while it has one.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from pcn.base.p4rt import p4r
from pcn.controller.entities import CloneSession, MulticastGroup, Replica
from pcn.p4net import values
from pcn.p4net.commands.session import DELETE, INSERT, MODIFY, Command, Node, Session
from pcn.p4net.steps import Read, Step

_MOST_GROUP, _MOST_RID, _MOST_PORT, _MOST_SESSION = 2**16 - 1, 2**16 - 1, 511, 2**15 - 1


def _ports(words: Sequence[str]) -> tuple[int, ...]:
    if "|" in words:
        raise ValueError("link aggregation groups (behind |) are not supported: name their ports")
    ports = tuple(values.whole(word, 0, _MOST_PORT) for word in words)
    if len(set(ports)) != len(ports):
        raise ValueError("a port stands twice")
    return ports


def _group(session: Session, word: str) -> int:
    number = values.whole(word, 0, _MOST_GROUP)
    if number not in session.multicast:
        raise ValueError(f"no multicast group {number} was created here")
    return number


def _replicas(session: Session, group: int) -> list[Replica]:
    nodes = [session.nodes[handle] for handle in session.multicast[group]]
    return [Replica(port, instance=node.rid) for node in nodes for port in node.ports]


def _changed(session: Session, group: int, before: Sequence[Replica]) -> list[Step]:
    """Returns what makes the switch's group as it is here."""
    after = _replicas(session, group)
    if after == list(before):
        return []
    kind = INSERT if not before else MODIFY if after else DELETE
    return [session.write(kind, MulticastGroup(group, replicas=after))]


def _create_group(session: Session, words: Sequence[str]) -> Sequence[Step]:
    number = values.whole(words[0], 1, _MOST_GROUP)
    if number in session.multicast:
        raise ValueError(f"multicast group {number} was created before")
    session.assign(session.multicast, number, ())
    return []


def _destroy_group(session: Session, words: Sequence[str]) -> Sequence[Step]:
    number = _group(session, words[0])
    before = _replicas(session, number)
    session.assign(session.multicast, number, ())
    steps = _changed(session, number, before)
    session.assign(session.multicast, number, None)
    return steps


def _create_node(session: Session, words: Sequence[str]) -> Sequence[Step]:
    session.nodes.add(Node(values.whole(words[0], 0, _MOST_RID), _ports(words[1:])))
    return []


def _update_node(session: Session, words: Sequence[str]) -> Sequence[Step]:
    handle, ports = values.whole(words[0]), _ports(words[1:])
    node = session.nodes[handle]
    groups = [group for group, nodes in session.multicast.items() if handle in nodes]
    before = {group: _replicas(session, group) for group in groups}
    session.nodes[handle] = Node(node.rid, ports)
    return [step for group in groups for step in _changed(session, group, before[group])]


def _destroy_node(session: Session, words: Sequence[str]) -> Sequence[Step]:
    handle = values.whole(words[0])
    if any(handle in nodes for nodes in session.multicast.values()):
        raise ValueError(f"node {handle} is in a group: mc_node_dissociate it before")
    session.nodes.remove(handle)
    return []


def _associate(session: Session, words: Sequence[str]) -> Sequence[Step]:
    number, handle = _group(session, words[0]), values.whole(words[1])
    _ = session.nodes[handle]
    if any(handle in nodes for nodes in session.multicast.values()):
        raise ValueError(f"node {handle} is in a group already")
    before = _replicas(session, number)
    session.assign(session.multicast, number, (*session.multicast[number], handle))
    return _changed(session, number, before)


def _dissociate(session: Session, words: Sequence[str]) -> Sequence[Step]:
    number, handle = _group(session, words[0]), values.whole(words[1])
    if handle not in session.multicast[number]:
        raise ValueError(f"node {handle} isn't in group {number}")
    before = _replicas(session, number)
    session.assign(
        session.multicast,
        number,
        tuple(node for node in session.multicast[number] if node != handle),
    )
    return _changed(session, number, before)


def _mirror(session: Session, number: int, replicas: Sequence[Replica]) -> list[Step]:
    kind = MODIFY if number in session.mirrors else INSERT
    step = session.write(kind, CloneSession(number, replicas=list(replicas)))
    if number not in session.mirrors:
        session.mirrors.add(number)
        session.changes.append(lambda: session.mirrors.discard(number))
    return [step]


def _add_mirror(session: Session, words: Sequence[str]) -> Sequence[Step]:
    number = values.whole(words[0], 1, _MOST_SESSION)
    return _mirror(session, number, [Replica(values.whole(words[1], 0, _MOST_PORT))])


def _add_mirror_to_group(session: Session, words: Sequence[str]) -> Sequence[Step]:
    replicas = _replicas(session, _group(session, words[1]))
    if not replicas:
        raise ValueError(f"multicast group {words[1]} has no node with a port yet")
    return _mirror(session, values.whole(words[0], 1, _MOST_SESSION), replicas)


def _delete_mirror(session: Session, words: Sequence[str]) -> Sequence[Step]:
    number = values.whole(words[0], 1, _MOST_SESSION)
    if number not in session.mirrors:
        raise ValueError(f"no mirroring session {number} was added here")
    session.mirrors.remove(number)
    session.changes.append(lambda: session.mirrors.add(number))
    return [session.write(DELETE, CloneSession(number))]


def _dump(session: Session, words: Sequence[str]) -> Sequence[Step]:
    return [Read(session.place, "group ", MulticastGroup().encode(session.schema), _groups)]


def _groups(entities: Sequence[p4r.Entity]) -> list[str]:
    groups = [entity.packet_replication_engine_entry.multicast_group_entry for entity in entities]
    return [f"{group.multicast_group_id}: {_copies(group.replicas)}" for group in groups]


def _get_mirror(session: Session, words: Sequence[str]) -> Sequence[Step]:
    query = CloneSession(values.whole(words[0], 1, _MOST_SESSION)).encode(session.schema)
    return [Read(session.place, f"session {words[0]}", query, _sessions)]


def _sessions(entities: Sequence[p4r.Entity]) -> list[str]:
    sessions = [entity.packet_replication_engine_entry.clone_session_entry for entity in entities]
    return [f": {_copies(session.replicas)}" for session in sessions]


def _copies(replicas: Iterable[p4r.Replica]) -> str:
    ports = [
        (
            int.from_bytes(replica.port, "big") if replica.port else replica.egress_port,
            replica.instance,
        )
        for replica in replicas
    ]
    return ", ".join(f"port {port} instance {rid}" for port, rid in ports)


COMMANDS = {
    "mc_dump": Command("", _dump, 0, 0),
    "mirroring_get": Command("SESSION", _get_mirror, 1, 1),
    "mc_mgrp_create": Command("GROUP", _create_group, 1, 1),
    "mc_mgrp_destroy": Command("GROUP", _destroy_group, 1, 1),
    "mc_node_create": Command("RID PORT...", _create_node, 1),
    "mc_node_update": Command("NODE PORT...", _update_node, 2),
    "mc_node_destroy": Command("NODE", _destroy_node, 1, 1),
    "mc_node_associate": Command("GROUP NODE", _associate, 2, 2),
    "mc_node_dissociate": Command("GROUP NODE", _dissociate, 2, 2),
    "mirroring_add": Command("SESSION PORT", _add_mirror, 2, 2),
    "mirroring_add_mc": Command("SESSION GROUP", _add_mirror_to_group, 2, 2),
    "mirroring_delete": Command("SESSION", _delete_mirror, 1, 1),
}
