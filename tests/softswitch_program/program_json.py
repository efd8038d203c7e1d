"""BMv2 JSON for tests: small programs, written in Python."""

from __future__ import annotations

from typing import Any

Json = dict[str, Any]

STANDARD_METADATA = [
    ("ingress_port", 9), ("egress_spec", 9), ("egress_port", 9), ("instance_type", 32), ((
        "packet_length"
    ), 32),
    ("enq_timestamp", 32), ("enq_qdepth", 19), ("deq_timedelta", 32), ("deq_qdepth", 19),
    ("ingress_global_timestamp", 48), ("egress_global_timestamp", 48), ("mcast_grp", 16), ((
        "egress_rid"
    ), 16),
    ("checksum_error", 1), ("parser_error", 32), ("priority", 3), ("_padding", 3),
]  # fmt: skip
ALIASES = [
    ("intrinsic_metadata", "ingress_global_timestamp"), ("intrinsic_metadata", (
        "egress_global_timestamp"
    )),
    ("intrinsic_metadata", "mcast_grp"), ("intrinsic_metadata", "egress_rid"),
    ("intrinsic_metadata", (
        "priority"
    )),
    ("queueing_metadata", "enq_timestamp"), ("queueing_metadata", "enq_qdepth"),
    ("queueing_metadata", "deq_timedelta"), ("queueing_metadata", "deq_qdepth"),
]  # fmt: skip


def value(n: int) -> Json:
    return {"type": "hexstr", "value": ("-" if n < 0 else "") + hex(abs(n))}


def field(header: str, name: str) -> Json:
    return {"type": "field", "value": [header, name]}


def header(name: str) -> Json:
    return {"type": "header", "value": name}


def parameter(index: int) -> Json:
    return {"type": "runtime_data", "value": index}


def op(name: str, left: Json | None, right: Json, cond: Json | None = None) -> Json:
    inner = {"op": name, "left": left, "right": right}
    if cond is not None:
        inner["cond"] = cond
    return {"type": "expression", "value": inner}


def primitive(name: str, *parameters: Json, line: int = 7) -> Json:
    source = {"filename": "test.p4", "line": line, "column": 1, "source_fragment": name}
    return {"op": name, "parameters": list(parameters), "source_info": source}


def assign(to: Json, source: Json) -> Json:
    return primitive("assign", to, source)


def state(name: str, ops: list[Json], next_state: str | None = None, **extra) -> Json:
    default = {"type": "default", "value": None, "mask": None, "next_state": next_state}
    result = {
        "name": name, "id": 0, "parser_ops": ops, "transitions": [default], "transition_key": [],
    }  # fmt: skip
    result["transitions"] = [*extra.pop("cases", []), default]
    return result | {"transition_key": extra.pop("key", [])} | extra


def case(match: int, next_state: str | None, mask: int | None = None) -> Json:
    text = None if mask is None else hex(mask)
    return {"type": "hexstr", "value": hex(match), "mask": text, "next_state": next_state}


def extract(name: str) -> Json:
    return {"op": "extract", "parameters": [{"type": "regular", "value": name}]}


class Builder:
    """Collects the parts of a program; `json()` is the whole. Headers are extracted in order by the
    default parser, and emitted in order by the deparser."""

    def __init__(self):
        self.types: list[Json] = []
        self.headers: list[Json] = []
        self.actions: list[Json] = []
        self.tables = {"ingress": [], "egress": []}
        self.conditionals = {"ingress": [], "egress": []}
        self.states: list[Json] = []
        self.order: list[str] = []
        self.extra: Json = {}
        self.header("standard_metadata", [[n, w] for n, w in STANDARD_METADATA], metadata=True)

    def header(
        self, name: str, fields: list[Any], *, metadata: bool = False, type_name: str = ""
    ) -> Builder:
        """`fields`: [name, width] or [name, width, signed]."""
        kind = type_name or f"{name}_t"
        if all(t["name"] != kind for t in self.types):
            rows = [[*f, False] if len(f) == 2 else f for f in fields]
            self.types.append({"name": kind, "id": len(self.types), "fields": rows})
        self.headers.append(
            {"name": name, "id": len(self.headers), "header_type": kind, "metadata": metadata}
        )
        if not metadata:
            self.order.append(name)
        return self

    def action(
        self, name: str, primitives: list[Json], parameters: list[tuple[str, int]] | None = None
    ) -> int:
        data = [{"name": n, "bitwidth": w} for n, w in parameters or []]
        number = len(self.actions)
        self.actions.append(
            {"name": name, "id": number, "runtime_data": data, "primitives": primitives}
        )
        return number

    def table(self, name: str, control: str = "ingress", **parts) -> Json:
        """A table; by default without a key, so that its default action always runs."""
        actions = parts.pop("actions")
        default = parts.pop("default", actions[0])
        next_table = parts.pop("next_table", None)
        table = {
            "name": name, "id": sum(map(len, self.tables.values())), "key": [], "match_type": (
                "exact"
            ),
            "type": "simple", "max_size": 1024, "with_counters": False, "support_timeout": False,
            "direct_meters": None, "action_ids": actions,
            "actions": [self.actions[a]["name"] for a in actions],
            "base_default_next": next_table,
            "next_tables": {self.actions[a]["name"]: next_table for a in actions},
        }  # fmt: skip
        if default is not None:
            table["default_entry"] = {
                "action_id": default, "action_const": not parts.get("key"),
                "action_data": parts.pop((
                    "data"
                ), []),
                "action_entry_const": not parts.get("key"),
            }  # fmt: skip
        self.tables[control].append(table | parts)
        return table

    def run(self, primitives: list[Json], control: str = "ingress") -> Builder:
        """One action that always runs, at the end of a control."""
        name = f"{control}_step{len(self.tables[control])}"
        if self.tables[control]:
            last = self.tables[control][-1]
            last["base_default_next"] = name
            last["next_tables"] = dict.fromkeys(last["next_tables"], name)
        self.table(name, control, actions=[self.action(f"{name}_action", primitives)])
        return self

    def pipeline(self, control: str) -> Json:
        nodes = self.tables[control] or self.conditionals[control]
        first = (self.conditionals[control] or nodes)[0]["name"] if nodes else None
        return {
            "name": control, "id": 0, "init_table": first, "tables": self.tables[control], (
                "action_profiles"
            ): [],
            "conditionals": self.conditionals[control],
        }  # fmt: skip

    def json(self) -> Json:
        states = self.states or [state("start", [extract(name) for name in self.order])]
        return {
            "program": "test.p4", "__meta__": {"version": [2, 23]}, "header_types": self.types,
            "headers": self.headers, "header_stacks": [], "header_union_types": [],
            "header_unions": [],
            "header_union_stacks": [], "field_lists": [], "errors": [["NoError", 0], [(
                "PacketTooShort"
            ), 1]],
            "enums": [], "parsers": [{"name": "parser", "id": 0, "init_state": "start", (
                "parse_states"
            ): states}],
            "parse_vsets": [], "deparsers": [{"name": "deparser", "id": 0, "order": self.order}],
            "meter_arrays": [], "counter_arrays": [], "register_arrays": [], "calculations": [], (
                "learn_lists"
            ): [],
            "actions": self.actions, "pipelines": [self.pipeline("ingress"),
            self.pipeline("egress")],
            "checksums": [], "force_arith": [], "extern_instances": [],
            "field_aliases": [[f"{a}.{b}", ["standard_metadata", b]] for a, b in ALIASES],
        } | self.extra  # fmt: skip
