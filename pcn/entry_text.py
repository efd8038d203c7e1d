"""Table entries for people: addresses as addresses, everything else in decimal."""

from __future__ import annotations

import ipaddress
from typing import Any

from pcn.controller.control_plane import ControlPlane, TableAction, TableActions, TableEntry
from pcn.controller.p4info import MatchField, MatchKind, Table

Shown = str | int


def entry(client: ControlPlane, table_entry: TableEntry) -> dict[str, Any]:
    """Returns an entry as plain values: table, match (by key), action, parameters (by name),
    priority, and whether it is the table's default."""
    table = client.schema.tables[table_entry.table_id]
    match = {
        field.alias: _match(field, table_entry.match[field.alias])
        for field in table.match_fields
        if table_entry.match is not None and field.alias in table_entry.match
    }
    action, parameters = "", {}
    if isinstance(table_entry.action, TableAction):
        action, parameters = table_entry.action.name, _parameters(table, table_entry.action)
    elif isinstance(table_entry.action, TableActions) and table_entry.action.action_set:
        actions = [action for _, action in table_entry.action.action_set]
        action = " | ".join(dict.fromkeys(action.name for action in actions))
        shown = [_parameters(table, action) for action in actions]
        parameters = {name: " | ".join(str(params[name]) for params in shown) for name in shown[0]}
    return {
        "table": table.alias,
        "default": table_entry.is_default_action,
        "match": match,
        "priority": table_entry.priority,
        "action": action,
        "parameters": parameters,
    }


def _parameters(table: Table, action: TableAction) -> dict[str, Shown]:
    widths = {param.name: param.bitwidth for param in table.actions[action.name].params}
    return {name: value(name, widths[name], raw) for name, raw in action.args.items()}


def value(name: str, bitwidth: int, raw: Any) -> Shown:
    """Formats a value as a MAC or IP address if its name and width are those of one, as `dst_addr`
    and the tutorials' `dstAddr`. A value that has an @format annotation is a text already."""
    if not isinstance(raw, int):
        return str(raw)
    name = name.lower()
    if bitwidth == 48 and ("mac" in name or "addr" in name):
        return ":".join(f"{byte:02x}" for byte in raw.to_bytes(6, "big"))
    if bitwidth == 32 and "addr" in name:
        return str(ipaddress.IPv4Address(raw))
    if bitwidth == 128 and "addr" in name:
        return str(ipaddress.IPv6Address(raw))
    return raw


def _match(field: MatchField, raw: Any) -> Shown:
    def show(part: Any) -> Shown:
        return value(field.alias, field.bitwidth, part)

    if field.match_type is MatchKind.LPM:
        return f"{show(raw[0])}/{raw[1]}"
    if field.match_type is MatchKind.TERNARY:
        return f"{show(raw[0])} &&& {show(raw[1])}"
    if field.match_type is MatchKind.RANGE:
        return f"{show(raw[0])}..{show(raw[1])}"
    return show(raw)


def assignments(values: dict[str, Shown]) -> str:
    return ", ".join(f"{name}={shown}" for name, shown in values.items())
