"""P4Runtime's entities by the names of a program.

    entry = TableEntry(
        "ipv4_lpm",
        match=TableMatch(dst_addr="10.0.0.0/8"),
        action=TableAction("forward", port=1),
    )
    message = entry.encode(schema)
    entry = decode_entity(message, schema)

An entity without a name, or without a key, selects all in a read. `encode` raises ValueError, which
names what the program lacks or a value that doesn't fit; so does `decode`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from pcn.base.p4rt import p4r
from pcn.controller.entities.cells import (
    CounterEntry as CounterEntry,
    DirectCounterEntry as DirectCounterEntry,
    DirectMeterEntry as DirectMeterEntry,
    MeterEntry as MeterEntry,
    RegisterEntry as RegisterEntry,
)
from pcn.controller.entities.counts import (
    CounterData as CounterData,
    MeterConfig as MeterConfig,
    MeterCounterData as MeterCounterData,
)
from pcn.controller.entities.messages import (
    DigestEntry as DigestEntry,
    DigestList as DigestList,
    IdleTimeouts as IdleTimeouts,
    PacketIn as PacketIn,
)
from pcn.controller.entities.profiles import (
    GroupMember as GroupMember,
    ProfileGroup as ProfileGroup,
    ProfileMember as ProfileMember,
)
from pcn.controller.entities.replication import (
    CloneSession as CloneSession,
    Copies as Copies,
    MulticastGroup as MulticastGroup,
    Replica as Replica,
)
from pcn.controller.entities.tables import (
    PORT_BITS as PORT_BITS,
    TableAction as TableAction,
    TableActions as TableActions,
    TableEntry as TableEntry,
    TableMatch as TableMatch,
    ValueSetEntry as ValueSetEntry,
    Weight as Weight,
)
from pcn.controller.p4info import Schema

_ENTITIES: Final[Mapping[str, Any]] = {
    "table_entry": TableEntry,
    "register_entry": RegisterEntry,
    "counter_entry": CounterEntry,
    "direct_counter_entry": DirectCounterEntry,
    "meter_entry": MeterEntry,
    "direct_meter_entry": DirectMeterEntry,
    "multicast_group_entry": MulticastGroup,
    "clone_session_entry": CloneSession,
    "digest_entry": DigestEntry,
    "action_profile_member": ProfileMember,
    "action_profile_group": ProfileGroup,
    "value_set_entry": ValueSetEntry,
}


def decode_entity(entity: p4r.Entity, schema: Schema) -> Any:
    """Returns what a message has, as one of these classes. Raises ValueError."""
    which: str | None = entity.WhichOneof("entity")
    if which == "packet_replication_engine_entry":
        which = entity.packet_replication_engine_entry.WhichOneof("type")
    if which is None or which not in _ENTITIES:
        raise ValueError(f"an entity of the kind {which} isn't read")
    return _ENTITIES[which].decode(entity, schema)
