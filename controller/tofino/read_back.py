"""Compares what a switch holds with what was written to it."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

from pcn.base.p4rt import p4r
from pcn.controller.control_plane import CloneSession, ControlPlane, TableEntry
from pcn.controller.errors import SwitchError

_NAMED = 5  # of those that are missing


def compare(client: ControlPlane, written: Sequence[CloneSession | TableEntry]) -> None:
    """Reads the tables and sessions that were written. Raises SwitchError for an entry that is
    missing or differs."""
    wanted = [(entry, entry.encode(client.schema)) for entry in written]
    queries = {_place(entity): _query(entity) for _, entity in wanted}
    held = {_essence(entity) for entity in client.read(list(queries.values()))}
    missing = [entry for entry, entity in wanted if _essence(entity) not in held]
    if missing:
        named = "; ".join(map(str, missing[:_NAMED]))
        raise SwitchError(
            f"{client.name}: {len(missing)} of {len(written)} entries don't read back as they were "
            f"written: {named}{'; ...' if len(missing) > _NAMED else ''}"
        )


def _session(entity: p4r.Entity) -> p4r.CloneSessionEntry:
    return entity.packet_replication_engine_entry.clone_session_entry


def _place(entity: p4r.Entity) -> tuple[str, int]:
    """Returns the table, or the session."""
    if entity.HasField("table_entry"):
        return "table", entity.table_entry.table_id
    return "session", _session(entity).session_id


def _query(entity: p4r.Entity) -> p4r.Entity:
    """Returns what selects a whole table, or the session."""
    query = p4r.Entity()
    if entity.HasField("table_entry"):
        query.table_entry.table_id = entity.table_entry.table_id
    else:
        _session(query).session_id = _session(entity).session_id
    return query


def _essence(entity: p4r.Entity) -> Hashable:
    """Returns what was written of an entity: servers add counters and times, and may pad
    numbers."""
    if not entity.HasField("table_entry"):
        session = _session(entity)
        ports = tuple(replica.egress_port for replica in session.replicas)
        return *_place(entity), ports, session.packet_length_bytes
    entry = entity.table_entry
    matches = sorted((match.field_id, *_numbers(match)) for match in entry.match)
    action = entry.action.action
    params = sorted((param.param_id, _number(param.value)) for param in action.params)
    return (
        *_place(entity),
        entry.is_default_action,
        entry.priority,
        tuple(matches),
        action.action_id,
        tuple(params),
    )


def _numbers(match: p4r.FieldMatch) -> tuple[int, ...]:
    kind = match.WhichOneof("field_match_type")
    if kind == "exact":
        return (_number(match.exact.value),)
    if kind == "lpm":
        return _number(match.lpm.value), match.lpm.prefix_len
    if kind == "ternary":
        return _number(match.ternary.value), _number(match.ternary.mask)
    return _number(match.range.low), _number(match.range.high)


def _number(value: bytes) -> int:
    return int.from_bytes(value, "big")
