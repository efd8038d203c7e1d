"""Actions, tables and controls to C: a static inline function each.

A table's function returns which action ran, whether it was a hit, and whether the action called
exit. A control's nodes stand in topological order (they have no cycle), so most of them fall
through to the next.
"""

from __future__ import annotations

from collections import defaultdict

from pcn.softswitch.codegen.covering import Covering
from pcn.softswitch.codegen.expressions import Expressions
from pcn.softswitch.codegen.names import comment, identifier
from pcn.softswitch.codegen.packets import Piece, write_pieces
from pcn.softswitch.codegen.specs import lookup_of
from pcn.softswitch.codegen.statements import Statements
from pcn.softswitch.codegen.tracing import Tracing
from pcn.softswitch.codegen.values import Value, constant, modular_kind
from pcn.softswitch.program.limits import JUMPS_BACK
from pcn.softswitch.program.model import (
    ActionNode,
    ConditionNode,
    Control,
    KeyField,
    Node,
    Table,
    TableNode,
)
from pcn.softswitch.program.statements import Exit, Jump, JumpIfZero

SIGNATURE = "(struct sw_instance *s, struct sw_packet *p, struct phv *h, struct locals *l"
UNUSED = "    (void)s; (void)p; (void)h; (void)l;"
ENTRY_WORDS = 6  # SW_ENTRY_WORDS: of arguments in an entry
# Up to this many statements, counted once for each table that can run them, everything is inlined
# into its pipeline.
MAX_INLINED = 20_000


class ControlGenerator:
    def __init__(
        self, expressions: Expressions, statements: Statements, trace: Tracing, cover: Covering
    ) -> None:
        self.trace = trace
        self.cover = cover
        self.e = expressions
        self.statements = statements
        self.program = expressions.program
        self.layout = expressions.layout
        program = self.program
        size = sum(
            len(program.actions[a].statements) + 1 for t in program.tables for a in t.actions
        )
        # Action numbers of the tables that share a profile, by its number and the action's name.
        self._shared: defaultdict[tuple[int, str], set[int]] = defaultdict(set)
        for t in program.tables:
            for a in t.actions if t.profile is not None else ():
                self._shared[t.profile or 0, program.actions[a].name].add(a)
        self.inline = "SW_INLINE" if size <= MAX_INLINED else "static"

    # ---- actions ----

    def action_name(self, index: int) -> str:
        return identifier("action", index, self.program.actions[index].name)

    def action(self, index: int) -> str:
        """Writes bool action(s, p, h, args): whether exit was called."""
        action = self.program.actions[index]
        self.e.in_action(tuple(p.width for p in action.parameters))
        self.e.enter(f"action {action.name!r}")
        targets: set[int] = set()
        back = False
        for i, statement in enumerate(action.statements):
            if isinstance(statement.operation, Jump | JumpIfZero):
                targets.add(statement.operation.target)
                back |= statement.operation.target <= i
        lines = [
            f"/* {comment(action.name)}{comment(f', {action.source}') if action.source else ''} */",
            f"{self.inline} bool {self.action_name(index)}{SIGNATURE}, const uint64_t *args) {{",
            f"{UNUSED} (void)args;",
            "    bool exited = false;",
            *self.trace.arguments(index, [p.width for p in action.parameters]),
            *(f"    {line}" for line in self.cover.action(index)),
        ]
        if back:
            lines.append("    uint32_t jumps = 0;")
        for i, statement in enumerate(action.statements):
            if i in targets:
                lines.append(f"step_{i}:;")
            lines += self.trace.step("PRIMITIVE", index, i)
            match statement.operation:
                case Jump(target):
                    lines.append(f"    {self._jump(index, i, target)}")
                case JumpIfZero(condition, target):
                    self.e.source = statement.source
                    lines.append(
                        f"    if (!({self.e.condition(condition)})) {self._jump(index, i, target)}"
                    )
                case operation:
                    lines += [
                        f"    {line}" for line in self.statements.emit(operation, statement.source)
                    ]
        if len(action.statements) in targets:
            lines.append(f"step_{len(action.statements)}:;")
        self.e.in_action(())
        return "\n".join([*lines, "    return exited;", "}"]) + "\n"

    def _jump(self, action: int, at: int, target: int) -> str:
        counted = self.cover.jump(action, at)
        if target <= at:
            over = f"if (++jumps > {JUMPS_BACK}) return exited;"
            return f"{{ {over} {counted}goto step_{target}; }}"
        return f"{{ {counted}goto step_{target}; }}" if counted else f"goto step_{target};"

    def exits(self, index: int) -> bool:
        return any(isinstance(s.operation, Exit) for s in self.program.actions[index].statements)

    # ---- tables ----

    def table_name(self, index: int) -> str:
        return identifier("table", index, self.program.tables[index].name)

    def table(self, index: int) -> str:
        table = self.program.tables[index]
        lines = [
            f"/* {comment(table.name)}{comment(f', {table.source}') if table.source else ''} */",
            f"{self.inline} struct applied {self.table_name(index)}{SIGNATURE}) {{",
            UNUSED,
            "    struct applied result = {UINT32_MAX, false, false};",
        ]
        if not table.key and table.const_default and table.default:
            call = table.default
            lines += self.trace.step("TABLE", index)
            lines += self.trace.step("ENTRY", index, "UINT32_MAX")
            lines += [
                *(f"    {line}" for line in self.cover.missed(index)),
                f"    result.action = {call.action};",
                (
                    f"    result.exited = {self.action_name(call.action)}(s, p, h, l, "
                    f"default_args_{index});"
                ),
                "    return result;",
                "}",
            ]
            return "\n".join(lines) + "\n"
        lines += self._lookup(index, table)
        if not table.key:
            lines += [
                *self.trace.step("TABLE", index),
                *self.trace.step("ENTRY", index, "UINT32_MAX"),
                *(f"    {line}" for line in self.cover.missed(index)),
            ]
        lines += [
            "    if (!entry)",
            "        return result;",
            f"    const struct sw_call call = {self._call(table)};",
        ]
        lines += ["    result.action = call.action;", "    switch (call.action) {"]
        for action in table.actions:
            set_action = f"result.action = {action}; " if table.profile is not None else ""
            call_text = (
                f"{set_action}result.exited = {self.action_name(action)}(s, p, h, l, call.args)"
            )
            labels = " ".join(f"case {number}:" for number in self._labels(table, action))
            lines.append(f"    {labels} {call_text}; break;")
        lines += ["    default: break;", "    }", "    return result;", "}"]
        return "\n".join(lines) + "\n"

    def _labels(self, table: Table, action: int) -> list[int]:
        """Returns the numbers under which a table meets an action. p4c gives each table its own
        copy of an action; a profile that tables share holds only one of the copies."""
        if table.profile is None:
            return [action]
        return sorted(self._shared[table.profile, self.program.actions[action].name])

    def _call(self, table: Table) -> str:
        call = f"{{entry->action, entry->{'words' if self._inline(table) else 'args'}}}"
        if table.profile is None:
            return call
        selector = self.program.profiles[table.profile].selector
        hashed = "0"
        if selector is not None:
            hashed = f"entry->action == SW_GROUP ? (uint32_t)calculation_{selector}(p, h, l) : 0"
        return f"sw_resolve(s->profiles[{table.profile}], (struct sw_call){call}, {hashed})"

    def _inline(self, table: Table) -> bool:
        """Returns whether an entry's arguments are always in the entry: then a packet needn't wait
        for their address."""
        state = table.direct_counter or table.idle_timeout or table.direct_meter is not None
        return not state and all(
            sum((parameter.width + 63) // 64 for parameter in self.program.actions[i].parameters)
            <= ENTRY_WORDS
            for i in table.actions
        )

    def _lookup(self, index: int, table: Table) -> list[str]:
        default = f"sw_default_entry(s->tables[{index}])"
        if not table.key:
            return [f"    const struct sw_entry *entry = {default};"]
        lines = [f"    uint8_t key[{table.key_bytes}];"]
        at = 0
        for field in table.key:
            lines += [f"    {line}" for line in self._key_field(field, at)]
            at += (field.width + 7) // 8
        lines += [
            (
                f"    const struct sw_entry *entry = {lookup_of(table)}(s->tables[{index}], key, "
                f"{table.key_bytes});"
            ),
            "    result.hit = entry != NULL;",
            *self.trace.step("TABLE", index, 0, "key", table.key_bytes),
            *self.trace.step("ENTRY", index, "entry ? entry->handle : UINT32_MAX"),
            *(f"    {line}" for line in self.cover.looked_up(index, table)),
        ]
        on_hit = []
        if table.direct_counter:
            on_hit += [
                "struct sw_entry *counted = (struct sw_entry *)entry;",
                "counted->packets++;",
                "counted->bytes += p->ingress_length;",
            ]
        if table.idle_timeout:
            on_hit.append("((struct sw_entry *)entry)->last_hit_us = sw_us(s);")
        if table.direct_meter is not None:
            target = self.program.meters[table.direct_meter].result
            assert target is not None
            colour = Value("colour", "u64", (0, 2**32 - 1))
            on_hit += [
                "uint64_t colour = sw_meter_execute_direct(entry, p->ingress_length, sw_us(s));",
                self.statements.store(target, colour),
            ]
        if not on_hit:
            return [*lines, "    if (!entry)", f"        entry = {default};"]
        return [
            *lines,
            "    if (entry) {",
            *(f"        {line}" for line in on_hit),
            "    } else {",
            f"        entry = {default};",
            "    }",
        ]

    def _key_field(self, field: KeyField, at: int) -> list[str]:
        """Stores a field of a key, big-endian in whole bytes."""
        size = (field.width + 7) // 8
        text = self.e.unsigned(field.field, field.width)
        kind = modular_kind(field.width, self.e.limbs)
        if field.mask is not None:
            mask = constant(field.mask, kind, self.e.limbs)
            text = f"sw_wide_and({text}, {mask})" if kind == "wide" else f"({text} & {mask})"
        return store_key(text, kind, size, at)

    # ---- controls ----

    def control(self, name: str, control: Control) -> str:
        self.e.enter(f"control {name!r}")
        order = self._topological(control)
        targets: set[int] = set()
        blocks: list[tuple[int, list[str]]] = []
        for position, index in enumerate(order):
            following = order[position + 1] if position + 1 < len(order) else None
            blocks.append(
                (index, self._node(name, index, control.nodes[index], following, targets))
            )
        lines = [f"{self.inline} void run_{name}{SIGNATURE}) {{", UNUSED]
        for index, block in blocks:
            if index in targets:
                lines.append(f"node_{index}:;")
            lines += [f"    {line}" for line in block]
        return "\n".join([*lines, "}"]) + "\n"

    def _topological(self, control: Control) -> list[int]:
        """Returns the reachable nodes, each before all that follow it."""
        if control.start is None:
            return []
        done: list[int] = []
        seen: set[int] = set()
        stack: list[tuple[int, bool]] = [(control.start, False)]
        while stack:
            index, finished = stack.pop()
            if finished:
                done.append(index)
                continue
            if index in seen:
                continue
            seen.add(index)
            stack.append((index, True))
            stack += [
                (n, False)
                for n in self._successors(control.nodes[index])
                if n is not None and n not in seen
            ]
        return done[::-1]

    def _successors(self, node: Node) -> list[int | None]:
        match node:
            case TableNode(_, index):
                table = self.program.tables[index]
                if table.by_hit:
                    return [table.next_miss, table.next_hit]
                return [table.base_next, *reversed(table.next_by_action)]
            case ConditionNode():
                return [node.on_false, node.on_true]
            case ActionNode():
                return [node.next]

    def _goto(self, target: int | None, following: int | None, targets: set[int]) -> str:
        """Returns a jump; empty if the target comes next anyway."""
        if target is None:
            return "return;" if following is not None else ""
        if target == following:
            return ""
        targets.add(target)
        return f"goto node_{target};"

    def _node(
        self, name: str, number: int, node: Node, following: int | None, targets: set[int]
    ) -> list[str]:
        match node:
            case ConditionNode():
                self.e.source = node.source
                yes = self._goto(node.on_true, following, targets)
                no = self._goto(node.on_false, following, targets)
                condition = self.e.condition(node.condition)
                title = [f"/* {comment(str(node.source))} */"] if node.source else []
                if self.trace.enabled:
                    title += [
                        f"const bool taken_{number} = {condition};",
                        *self.trace.condition(name, number),
                    ]
                    condition = f"taken_{number}"
                if self.cover.enabled:
                    yes = f"{{ {self.cover.condition(name, number, True)}{yes} }}"
                    no = f"{{ {self.cover.condition(name, number, False)}{no} }}"
                    return [*title, f"if ({condition}) {yes} else {no}"]
                if not yes and not no:
                    return [*title, f"(void){condition};"]
                if not yes:
                    return [*title, f"if (!{condition}) {no}"]
                return [*title, f"if ({condition}) {yes}", *([no] if no else [])]
            case ActionNode(_, action, next_):
                jump = self._goto(next_, following, targets)
                return [
                    f"if ({self.action_name(action)}(s, p, h, l, NULL)) return;",
                    *([jump] if jump else []),
                ]
            case TableNode(_, index):
                return self._table_node(index, following, targets)

    def _table_node(self, index: int, following: int | None, targets: set[int]) -> list[str]:
        table = self.program.tables[index]
        call = f"{self.table_name(index)}(s, p, h, l)"
        exits = any(self.exits(a) for a in table.actions)
        lines = ["{", f"    struct applied r = {call};", "    (void)r;"]
        if exits:
            lines.append("    if (r.exited) return;")
        if table.by_hit:
            hit = self._goto(table.next_hit, following, targets)
            miss = self._goto(table.next_miss, following, targets)
            lines += (
                [f"    if (r.hit) {{ {hit} }} else {{ {miss} }}"] if hit != miss else [f"    {hit}"]
            )
            return [line for line in [*lines, "}"] if line.strip()]
        base = self._goto(table.base_next, following, targets)
        by_action = [
            (action, self._goto(next_, following, targets))
            for action, next_ in zip(table.actions, table.next_by_action, strict=True)
        ]
        # After a hit or a default action, the action decides; without any, base_default_next does.
        if all(jump == base for _, jump in by_action):
            return [line for line in [*lines, f"    {base}", "}"] if line.strip()]
        lines.append("    switch (r.action) {")
        for action, jump in by_action:
            lines.append(f"    case {action}: {jump or 'break;'}" + (" break;" if jump else ""))
        return [*lines, f"    default: {base} break;", "    }", "}"]


def store_key(text: str, kind: str, size: int, at: int) -> list[str]:
    """Writes a number into `key`: `size` bytes, big endian, `at` bytes from its start."""
    if kind == "u64":
        return write_pieces([Piece(text, 8 * size)], f"(key + {at})", aligned=True)
    if kind == "u128":
        return [
            (
                f"{{ uint64_t w[2]; sw_u128_store(w, {text}); sw_put_limbs(key + {at}, 0, "
                f"{8 * size}, w); }}"
            )
        ]
    return [f"{{ sw_wide w = {text}; sw_put_limbs(key + {at}, 0, {8 * size}, w.w); }}"]
