"""Pipelines: tables, conditions and the order they run in."""

from __future__ import annotations

from pcn.softswitch.program import limits
from pcn.softswitch.program.expressions import Sort, sort_of
from pcn.softswitch.program.json_cursor import Place
from pcn.softswitch.program.load_expressions import ExpressionLoader
from pcn.softswitch.program.model import (
    Action,
    ActionCall,
    ActionNode,
    ConditionNode,
    ConstEntry,
    Control,
    KeyField,
    Match,
    Node,
    Table,
    TableNode,
)
from pcn.softswitch.program.names import Index, Names


class ControlLoader:
    """Loads pipelines one after the other; `tables` collects the tables of all of them."""

    def __init__(
        self,
        names: Names,
        actions: list[Action],
        action_ids: dict[int, int],
        direct_meters: dict[str, int],
    ) -> None:
        self.names = names
        self.actions = actions
        self.action_ids = action_ids
        self.direct_meters = direct_meters
        self.tables: list[Table] = []
        self.table_names = Index("table")
        self._const_entries = 0
        self._metered: set[int] = set()

    def load(self, place: Place) -> Control:
        nodes = Index("node")
        tables = list(place.elements("tables"))
        conditionals = list(place.elements("conditionals"))
        calls = list(place.elements("action_calls"))
        place.most(
            len(tables) + len(conditionals) + len(calls),
            limits.NODES,
            "tables, conditions and calls",
        )
        for item in (*tables, *conditionals, *calls):
            nodes.add(item.at("name"))
        loaded: list[Node] = []
        for item in tables:
            index = self.table_names.add(item.at("name"))
            self.tables.append(self._table(item, nodes))
            loaded.append(TableNode(item.at("name").name(), index))
        for item in conditionals:
            expression = ExpressionLoader(self.names).any(item.at("expression"))
            if sort_of(expression) is not Sort.BOOL:
                raise item.at("expression").error("expected a condition")
            loaded.append(
                ConditionNode(
                    item.at("name").name(),
                    expression,
                    _next(item, "true_next", nodes),
                    _next(item, "false_next", nodes),
                    item.source,
                )
            )
        for item in calls:
            action = self._action(item.at("action_id"))
            if self.actions[action].parameters:
                raise item.error("an action that is called directly takes no parameters")
            loaded.append(
                ActionNode(item.at("name").name(), action, _next(item, "next_node", nodes))
            )
        control = Control(place.at("name").name(), tuple(loaded), _next(place, "init_table", nodes))
        self._refuse_cycles(place, control)
        return control

    def successors(self, node: Node) -> list[int | None]:
        match node:
            case TableNode(_, index):
                table = self.tables[index]
                return [table.next_hit, table.next_miss, *table.next_by_action, table.base_next]
            case ConditionNode():
                return [node.on_true, node.on_false]
            case ActionNode():
                return [node.next]

    def _refuse_cycles(self, place: Place, control: Control) -> None:
        order: dict[int, int] = {}  # 1: on the path, 2: done
        stack = [(i, 0) for i in range(len(control.nodes))]
        following = [self.successors(node) for node in control.nodes]
        while stack:
            node, position = stack.pop()
            if position == 0 and order.get(node) == 2:
                continue
            order[node] = 1
            if position == len(following[node]):
                order[node] = 2
                continue
            stack.append((node, position + 1))
            successor = following[node][position]
            if successor is not None:
                if order.get(successor) == 1:
                    raise place.error(
                        f"control {control.name!r} runs in a circle through "
                        f"{control.nodes[successor].name!r}"
                    )
                if order.get(successor) is None:
                    stack.append((successor, 0))

    def _action(self, place: Place) -> int:
        number = place.integer(0, 2**31 - 1)
        if number not in self.action_ids:
            raise place.error(f"no action with id {number}")
        return self.action_ids[number]

    def _call(self, place: Place) -> ActionCall:
        action = self._action(place.at("action_id"))
        parameters = self.actions[action].parameters
        data = place.at("action_data").items(len(parameters))
        arguments = tuple(
            _unsigned(item, p.width) for item, p in zip(data, parameters, strict=True)
        )
        return ActionCall(action, arguments)

    def _table(self, place: Place, nodes: Index) -> Table:
        kind = place.at("type").string()
        profile = None
        if kind in ("indirect", "indirect_ws"):
            profile = self.names.profiles.find(place.at("action_profile"))
        elif kind != "simple":
            raise place.unsupported(
                f"table {place.at('name').name()!r} is implemented by {kind[:100]!r}"
            )
        key = tuple(self._key_field(item) for item in place.at("key").items())
        place.at("key").most(
            sum((f.width + 7) // 8 for f in key), limits.KEY_BYTES, "bytes of a key"
        )
        match = _lookup_kind(key)
        declared = place.at("match_type").string()
        if (
            match is Match.TERNARY
            and sum(f.match is Match.LPM for f in key) > 1
            and declared == "lpm"
        ):
            raise place.error("a table has at most one lpm key")
        actions = tuple(self._action(item) for item in place.at("action_ids").items())
        if len(set(actions)) != len(actions):
            raise place.at("action_ids").error("an action stands twice")
        default_place = place.maybe("default_entry")
        default = self._call(default_place) if default_place else None
        const = False
        if default_place:
            flag = default_place.maybe("action_const")
            entry_flag = default_place.maybe("action_entry_const")
            const = bool(flag and flag.boolean()) or bool(entry_flag and entry_flag.boolean())
            if default and default.action not in actions:
                actions = (*actions, default.action)
        entries_place = place.maybe("entries")
        if entries_place and profile is not None:
            raise entries_place.unsupported("entries of a table with an action profile")
        if entries_place:
            self._const_entries += len(entries_place.items())
            entries_place.most(
                self._const_entries, limits.CONST_ENTRIES, "entries of the source so far"
            )
        entries = (
            tuple(self._entry(item, key, match, actions) for item in entries_place.items())
            if entries_place
            else ()
        )
        by_hit, hit, miss, by_action = self._next(place.at("next_tables"), actions, nodes)
        meter_place = place.maybe("direct_meters")
        meter = None
        if meter_place:
            if meter_place.string() not in self.direct_meters:
                raise meter_place.error("no such direct meter")
            meter = self.direct_meters[meter_place.string()]
            if meter in self._metered:
                raise meter_place.error("a second table has this direct meter")
            self._metered.add(meter)
        return Table(
            name=place.at("name").name(),
            id=place.at("id").integer(0, 2**31 - 1),
            kind=match,
            key=key,
            size=place.at("max_size").integer(0, limits.ENTRIES),
            actions=actions,
            default=default,
            const_default=const,
            const_entries=entries,
            has_const_entries=entries_place is not None,
            direct_counter=place.has("with_counters") and place.at("with_counters").boolean(),
            direct_meter=meter,
            idle_timeout=place.has("support_timeout") and place.at("support_timeout").boolean(),
            next_hit=hit,
            next_miss=miss,
            by_hit=by_hit,
            next_by_action=by_action,
            base_next=_next(place, "base_default_next", nodes),
            source=place.source,
            profile=profile,
        )

    def _next(
        self, place: Place, actions: tuple[int, ...], nodes: Index
    ) -> tuple[bool, int | None, int | None, tuple[int | None, ...]]:
        names = place.object()
        if "__HIT__" in names or "__MISS__" in names:
            return (
                True,
                _next(place, "__HIT__", nodes),
                _next(place, "__MISS__", nodes),
                (None,) * len(actions),
            )
        return False, None, None, tuple(_next(place, self.actions[a].name, nodes) for a in actions)

    def _key_field(self, place: Place) -> KeyField:
        kind = place.at("match_type").string()
        target = place.at("target")
        if kind == "valid":
            raise target.unsupported("a key of match type 'valid' (P4_14)")
        if kind not in [m.value for m in Match]:
            raise place.unsupported(f"a key of match type {kind[:100]!r}")
        field = self.names.field_or_valid(target)
        width = self.names.width(field)
        mask_place = place.maybe("mask")
        name_place = place.maybe("name")
        name = (
            name_place.name() if name_place else ".".join(part.string() for part in target.items())
        )
        mask = _unsigned(mask_place, width) if mask_place else None
        return KeyField(name, Match(kind), field, width, mask)

    def _entry(
        self, place: Place, key: tuple[KeyField, ...], kind: Match, actions: tuple[int, ...]
    ) -> ConstEntry:
        keys, masks, prefix = [], [], 0
        for item, field in zip(place.at("match_key").items(len(key)), key, strict=True):
            full = (1 << field.width) - 1
            match_type = item.at("match_type").string()
            if match_type != field.match.value and not (
                field.match is Match.OPTIONAL and match_type == "ternary"
            ):
                raise item.error(f"expected a key of match type {field.match.value!r}")
            match field.match:
                case Match.RANGE:
                    keys.append(_unsigned(item.at("start"), field.width, clip=True))
                    masks.append(_unsigned(item.at("end"), field.width, clip=True))
                    continue
                case Match.EXACT:
                    mask = full
                case Match.LPM:
                    prefix = item.at("prefix_length").integer(0, field.width)
                    mask = full & ~((1 << (field.width - prefix)) - 1)
                case _:
                    mask_place = item.maybe("mask")
                    mask = _unsigned(mask_place, field.width, clip=True) if mask_place else full
            keys.append(_unsigned(item.at("key"), field.width, clip=True) & mask)
            masks.append(mask)
        call = self._call(place.at("action_entry"))
        if call.action not in actions:
            raise place.at("action_entry").error("the table does not have this action")
        priority = place.at("priority").integer(-(2**31), 2**31 - 1) if place.has("priority") else 0
        return ConstEntry(tuple(keys), tuple(masks), prefix, priority, call, place.source)


def _lookup_kind(key: tuple[KeyField, ...]) -> Match:
    kinds = [f.match for f in key]
    if Match.RANGE in kinds:
        return Match.RANGE
    if Match.TERNARY in kinds or Match.OPTIONAL in kinds or kinds.count(Match.LPM) > 1:
        return Match.TERNARY
    return Match.LPM if Match.LPM in kinds else Match.EXACT


def _next(place: Place, key: str, nodes: Index) -> int | None:
    target = place.maybe(key)
    return nodes.find(target) if target else None


def _unsigned(place: Place, width: int, *, clip: bool = False) -> int:
    """Returns a hexstr in `width` bits. `clip` drops what p4c leaves above them, such as the
    padding of a range's bound."""
    value = place.hexadecimal(max_bits=max(width, 64) + 64)
    if clip or value < 0:
        value &= (1 << width) - 1
    if value >> width:
        raise place.error(f"the value does not fit {width} bits")
    return value
