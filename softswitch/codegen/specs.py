"""The constant tables of `struct sw_program`: what the runtime reads to make an instance."""

from __future__ import annotations

from pcn.softswitch.codegen.array_layout import Place, cells
from pcn.softswitch.codegen.names import string_literal
from pcn.softswitch.program.model import ActionCall, ConstEntry, Match, Program, Table


def words(value: int, width: int) -> list[str]:
    """Returns an argument as 64-bit words, low word first."""
    return [f"UINT64_C({hex(value >> (64 * i) & (2**64 - 1))})" for i in range((width + 63) // 64)]


def lookup_of(table: Table) -> str:
    """Returns csrc/lookup.h's function for tables like this one."""
    return "sw_lookup_exact" if table.kind is Match.EXACT else "sw_lookup"


class Specs:
    def __init__(self, program: Program) -> None:
        self.program = program

    def defaults(self) -> str:
        """Returns the arguments of default actions; generated tables use them too."""
        lines = []
        for i, table in enumerate(self.program.tables):
            lines.append(
                f"static const uint64_t default_args_{i}[] = {self._arguments(table.default)};"
            )
        return "\n".join(lines) + "\n"

    def text(self) -> str:
        return "\n".join([self._actions(), self._tables(), self._state()])

    def _arguments(self, call: ActionCall | None) -> str:
        if call is None:
            return "{0}"
        parameters = self.program.actions[call.action].parameters
        parts = [
            w
            for value, p in zip(call.arguments, parameters, strict=True)
            for w in words(value, p.width)
        ]
        return f"{{{', '.join(parts) or '0'}}}"

    def _actions(self) -> str:
        lines = []
        rows = []
        for i, action in enumerate(self.program.actions):
            widths = ", ".join(str(p.width) for p in action.parameters) or "0"
            lines.append(f"static const uint16_t param_widths_{i}[] = {{{widths}}};")
            rows.append(
                f"    {{{string_literal(action.name)}, {len(action.parameters)}, "
                f"param_widths_{i}}},"
            )
        return "\n".join([*lines, *array("struct sw_action_spec", "action_specs", rows)]) + "\n"

    def _tables(self) -> str:
        lines: list[str] = []
        rows = []
        for i, table in enumerate(self.program.tables):
            fields = [f"    {{SW_{f.match.name}, {f.width}}}," for f in table.key]
            lines += array("struct sw_key_field", f"key_fields_{i}", fields)
            entries = []
            for j, entry in enumerate(table.const_entries):
                lines += self._entry_bytes(f"{i}_{j}", table, entry)
                mask = (
                    f"entry_mask_{i}_{j}" if table.kind in (Match.TERNARY, Match.RANGE) else "NULL"
                )
                entries.append(
                    f"    {{entry_key_{i}_{j}, {mask}, {entry.prefix}, {entry.priority}, "
                    f"{entry.call.action}, entry_args_{i}_{j}}},"
                )
            lines += array("struct sw_const_entry", f"const_entries_{i}", entries)
            rows.append(self._table_row(i, table))
        for i, value_set in enumerate(self.program.value_sets, len(self.program.tables)):
            lines += array(
                "struct sw_key_field",
                f"key_fields_{i}",
                [f"    {{SW_TERNARY, {w}}}," for w in value_set.parts],
            )
            rows.append(
                f"    {{{string_literal(value_set.name)}, SW_TERNARY, {len(value_set.parts)}, "
                f"key_fields_{i}, {sum((w + 7) // 8 for w in value_set.parts)}, INT32_MAX, "
                f"SW_VALUE_SET, UINT32_MAX, NULL, 0, NULL}},"
            )
        return "\n".join([*lines, *array("struct sw_table_spec", "table_specs", rows)]) + "\n"

    def _entry_bytes(self, name: str, table: Table, entry: ConstEntry) -> list[str]:
        lines = []
        kinds = [("key", entry.keys)] + (
            [("mask", entry.masks)] if table.kind in (Match.TERNARY, Match.RANGE) else []
        )
        for kind, values in kinds:
            data = b"".join(
                v.to_bytes((f.width + 7) // 8, "big")
                for v, f in zip(values, table.key, strict=True)
            )
            text = ", ".join(str(byte) for byte in data) or "0"
            lines.append(f"static const uint8_t entry_{kind}_{name}[] = {{{text}}};")
        lines.append(f"static const uint64_t entry_args_{name}[] = {self._arguments(entry.call)};")
        return lines

    def _table_row(self, index: int, table: Table) -> str:
        flags = []
        if table.has_const_entries:
            flags.append("SW_CONST_ENTRIES")
        if table.const_default:
            flags.append("SW_CONST_DEFAULT")
        if table.direct_counter:
            flags.append("SW_DIRECT_COUNTER")
        if table.idle_timeout:
            flags.append("SW_IDLE_TIMEOUT")
        if table.profile is not None:
            flags.append("SW_INDIRECT")
        if table.direct_meter is not None:
            flags.append("SW_DIRECT_METER")
            if self.program.meters[table.direct_meter].bytes:
                flags.append("SW_DIRECT_METER_BYTES")
        default = str(table.default.action) if table.default else "UINT32_MAX"
        size = max(table.size, len(table.const_entries))
        return (
            f"    {{{string_literal(table.name)}, SW_{table.kind.name}, {len(table.key)}, "
            f"key_fields_{index}, {table.key_bytes}, {size}, {' | '.join(flags) or '0'}, "
            f"{default}, default_args_{index}, {len(table.const_entries)}, const_entries_{index}}},"
        )

    def _state(self) -> str:
        places = cells(self.program)
        counters = [
            f"    {{{string_literal(c.name)}, {c.size}, {place(where)}}},"
            for c, where in zip(self.program.counters, places.counters, strict=True)
        ]
        registers = [
            f"    {{{string_literal(r.name)}, {r.size}, {r.width}, {place(where)}}},"
            for r, where in zip(self.program.registers, places.registers, strict=True)
        ]
        meters = [
            (
                f"    {{{string_literal(m.name)}, {m.size if m.table is None else 0}, "
                f"{'true' if m.bytes else 'false'}}},"
            )
            for m in self.program.meters
        ]
        lines = [
            *array("struct sw_counter_spec", "counter_specs", counters),
            *array("struct sw_register_spec", "register_specs", registers),
            *array("struct sw_meter_spec", "meter_specs", meters),
        ]
        return "\n".join(lines) + "\n"


def place(where: Place) -> str:
    """Returns a struct sw_place."""
    return f"{{{where.block}, {where.offset}, {where.stride}}}"


def array(c_type: str, name: str, rows: list[str]) -> list[str]:
    """Returns a constant array; a null pointer if it is empty, since C has no empty arrays."""
    if not rows:
        return [f"#define {name} ((const {c_type} *)NULL)"]
    return [f"static const {c_type} {name}[] = {{", *rows, "};"]
