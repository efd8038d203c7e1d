"""What a written table entry may hold beside its key and its action: times, and direct counters and
meters.

Source: P4Runtime specification, "Direct Resources", "Idle-timeout".
"""

from __future__ import annotations

from pcn.base.p4rt import p4r
from pcn.softswitch.native_state import Counter, MeterConfig
from pcn.softswitch.p4runtime.arrays import meter_config
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, UNIMPLEMENTED, RpcError
from pcn.softswitch.p4runtime.schema import Table


def check_write(table: Table, message: p4r.TableEntry) -> None:
    """What an INSERT or MODIFY may not hold, whatever the entry."""
    where = f"table {table.name}"
    if message.is_const:
        raise RpcError(INVALID_ARGUMENT, f"{where}: is_const must be false in a write")
    if message.HasField("time_since_last_hit"):
        raise RpcError(INVALID_ARGUMENT, f"{where}: time_since_last_hit must be unset in a write")
    if message.idle_timeout_ns and (not table.idle_timeout or message.is_default_action):
        raise RpcError(INVALID_ARGUMENT, f"{where} has no idle timeout for this entry")
    if message.idle_timeout_ns < 0:
        raise RpcError(INVALID_ARGUMENT, f"{where}: idle_timeout_ns must not be negative")
    if message.HasField("counter_data"):
        if not table.direct_counter:
            raise RpcError(INVALID_ARGUMENT, f"{where} has no direct counter")
        if message.counter_data.packet_count < 0 or message.counter_data.byte_count < 0:
            raise RpcError(INVALID_ARGUMENT, f"{where}: counts must not be negative")
    if (
        message.HasField("meter_config") or message.HasField("meter_counter_data")
    ) and not table.direct_meter:
        raise RpcError(INVALID_ARGUMENT, f"{where} has no direct meter")
    if message.HasField("meter_counter_data"):
        raise RpcError(UNIMPLEMENTED, f"{where}: colour counters of meters are not implemented")


def counter_of(message: p4r.TableEntry) -> Counter:
    """Returns the direct counter that a message gives."""
    return Counter(message.counter_data.packet_count, message.counter_data.byte_count)


def meter_of(table: Table, message: p4r.TableEntry) -> MeterConfig | None:
    """Returns the direct meter that a message gives; None: none. Raises RpcError
    INVALID_ARGUMENT."""
    if not message.HasField("meter_config"):
        return None
    return meter_config(table.label, message.meter_config, table.single_rate)
