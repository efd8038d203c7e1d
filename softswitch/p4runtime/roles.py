"""The rights of a role with a `role.config`.

The P4Runtime specification leaves the form of role configurations to the operator; without one, a
role may do everything. The form supported here is Stratum's P4RoleConfig: the
P4Info ids that a role may write, for itself alone or with others, whether it receives packets, and
whether it may set the pipeline."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from google.protobuf.message import DecodeError

from pcn.base.p4rt import any_pb, p4r, stratum
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, RpcError

_IDS: dict[str, Callable[[Any], int]] = {
    "table_entry": lambda entry: entry.table_id,
    "direct_counter_entry": lambda entry: entry.table_entry.table_id,
    "direct_meter_entry": lambda entry: entry.table_entry.table_id,
    "action_profile_member": lambda entry: entry.action_profile_id,
    "action_profile_group": lambda entry: entry.action_profile_id,
    "counter_entry": lambda entry: entry.counter_id,
    "meter_entry": lambda entry: entry.meter_id,
    "register_entry": lambda entry: entry.register_id,
    "value_set_entry": lambda entry: entry.value_set_id,
    "digest_entry": lambda entry: entry.digest_id,
}


class Scope(NamedTuple):
    """A role's configuration. `only`: the metadata id and canonical value that its packets have."""

    exclusive: frozenset[int]
    shared: frozenset[int]
    packets: bool
    only: tuple[int, bytes] | None
    pipeline: bool

    def covers(self, entity: p4r.Entity) -> bool:
        """Returns whether the role may write and read an entity. The replication engine has no id,
        so it belongs to no role."""
        which = entity.WhichOneof("entity")
        return which in _IDS and self._has(_IDS[which](getattr(entity, which)))

    def conflicts(self, rival: Scope) -> bool:
        """Returns whether one has for itself what the other has too."""
        return bool(
            self.exclusive & (rival.exclusive | rival.shared) or rival.exclusive & self.shared
        )

    def heard(self, message: p4r.StreamMessageResponse) -> p4r.StreamMessageResponse | None:
        """Returns the part of a message that the role receives; None: nothing."""
        which = message.WhichOneof("update")
        if which == "packet":
            metadata = {(item.metadata_id, item.value) for item in message.packet.metadata}
            return (
                message if self.packets and (self.only is None or self.only in metadata) else None
            )
        if which == "digest":
            return message if self._has(message.digest.digest_id) else None
        entries = [
            e for e in message.idle_timeout_notification.table_entry if self._has(e.table_id)
        ]
        if not entries:
            return None
        stamp = message.idle_timeout_notification.timestamp
        return p4r.StreamMessageResponse(
            idle_timeout_notification=p4r.IdleTimeoutNotification(
                table_entry=entries, timestamp=stamp
            )
        )

    def _has(self, number: int) -> bool:
        return number in self.exclusive or number in self.shared


def scope_of(config: any_pb.Any) -> Scope:
    """Returns a `role.config`. Raises RpcError where it is no P4RoleConfig."""
    message = stratum.P4RoleConfig()
    try:
        known = config.Unpack(message)
    except DecodeError:
        known = False
    if not known:
        raise RpcError(
            INVALID_ARGUMENT, "the only role.config that is known is a stratum.P4RoleConfig"
        )
    exclusive, shared = frozenset(message.exclusive_p4_ids), frozenset(message.shared_p4_ids)
    wanted = message.packet_in_filter
    only = (wanted.metadata_id, wanted.value.lstrip(b"\0") or b"\0") if wanted.metadata_id else None
    return Scope(exclusive, shared, message.receives_packet_ins, only, message.can_push_pipeline)
