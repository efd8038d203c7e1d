"""Multicast groups and clone sessions: section 9.5. Ports and instances are those of v1model."""

from collections.abc import Iterator, Mapping, Sequence

from oracle.forms import Form, replica_form
from oracle.state import Multicast, Session, State
from oracle.values import number
from pcn.base.p4rt import p4r

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
Type = p4r.Update.Type.ValueType
PORTS = 511  # the last port: v1model's are bit<9>, and 511 is its drop port
INSTANCES = 0xFFFF  # v1model's egress_rid is a bit<16>
IDS = 0x7FFF  # what any target of v1model has of either


class Replication:
    """The packet replication engine."""

    def __init__(self, state: State):
        self._state = state

    def wrong(self, kind: Type, message: p4r.PacketReplicationEngineEntry) -> Iterator[str]:
        """The rules that a write breaks."""
        which = message.WhichOneof("type")
        if which == "multicast_group_entry":
            group = message.multicast_group_entry
            yield from _wrong_id(
                "multicast-zero", kind, group.multicast_group_id, self._state.multicasts
            )
            if kind != DELETE:
                yield from _wrong_replicas(group.replicas, "replica-twice")
        elif which == "clone_session_entry":
            session = message.clone_session_entry
            yield from _wrong_id("session-zero", kind, session.session_id, self._state.sessions)
            if kind != DELETE:
                yield from _wrong_replicas(session.replicas, "replica-twice-clone")
                if session.class_of_service:
                    yield "class-of-service"
                if session.packet_length_bytes < 0:
                    yield "length-negative"
        else:
            yield "pre-empty"

    def apply(self, kind: Type, message: p4r.PacketReplicationEngineEntry):
        """Carries out a write that breaks no rule."""
        if message.HasField("multicast_group_entry"):
            group = message.multicast_group_entry
            if kind == DELETE:
                del self._state.multicasts[group.multicast_group_id]
            else:
                self._state.multicasts[group.multicast_group_id] = multicast_form(
                    group, canonical=True
                )
        else:
            session = message.clone_session_entry
            if kind == DELETE:
                del self._state.sessions[session.session_id]
            else:
                self._state.sessions[session.session_id] = session_form(session, canonical=True)


def multicast_form(message: p4r.MulticastGroupEntry, *, canonical: bool = False) -> Multicast:
    """A multicast group, without its id."""
    return Multicast(message.metadata, _replicas(message.replicas, canonical))


def session_form(message: p4r.CloneSessionEntry, *, canonical: bool = False) -> Session:
    """A clone session, without its id."""
    return Session(
        message.class_of_service,
        message.packet_length_bytes,
        _replicas(message.replicas, canonical),
    )


def _replicas(messages: Sequence[p4r.Replica], canonical: bool) -> Form:
    return tuple(
        sorted((replica_form(message, canonical=canonical) for message in messages), key=repr)
    )


def _wrong_id(zero: str, kind: Type, wanted: int, held: Mapping[int, Form]) -> Iterator[str]:
    if not wanted:
        yield zero
    elif wanted > IDS:
        yield "pre-large"
    if kind == INSERT and wanted in held:
        yield "exists"
    elif kind != INSERT and wanted not in held and wanted:
        yield "absent"


def _wrong_replicas(messages: Sequence[p4r.Replica], twice: str) -> Iterator[str]:
    seen = set()
    for message in messages:
        kind = message.WhichOneof("port_kind")
        # neither: before 1.4, 0
        port = number(message.port) if kind == "port" else message.egress_port
        if (kind == "port" and not message.port) or port > PORTS:
            yield "replica-port"
        elif not port:
            yield "replica-port-zero"
        if message.instance > INSTANCES:
            yield "instance-large"
        if (port, message.instance) in seen:
            yield twice
        seen.add((port, message.instance))
