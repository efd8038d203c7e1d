"""Runs the assembly (NAME.bfa) of a program for Tofino: tables, gateways, actions and stateful
ALUs, stage by stage. It supports what the programs of p4src/tna compile to, and raises KeyError or
ValueError for anything else."""

import operator
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from pcn.base import packed

_WIDTHS = {"B": 8, "H": 16, "W": 32}
_SLICE = re.compile(r"(.+?)(?:\((\d+)(?:\.\.(\d+))?\))?")
_RANDOM = re.compile(r"rng\([^)]*\)")
_CALL = re.compile(r"(.+\$(?:salu|stats)\..+)\((?:(\w+), )?\$hash_dist\)")
_MASK32 = (1 << 32) - 1


@dataclass(frozen=True)
class Slice:
    """Bits of a container of the packet header vector."""

    container: str
    low: int
    width: int

    def of(self, containers: Mapping[str, int]) -> int:
        return containers[self.container] >> self.low & ((1 << self.width) - 1)

    def into(self, containers: dict[str, int], value: int):
        mask = ((1 << self.width) - 1) << self.low
        containers[self.container] = containers[self.container] & ~mask | value << self.low & mask


def read_assembly(folder: Path) -> str:
    """Returns the assembly of a program's folder."""
    return packed.read_text(folder / f"{folder.name}.bfa")


@dataclass
class Egress:
    """Of a program's folder. `entries`: of tables with keys, by name and key: the action's name and
    its parameters. A range or a prefix is matched by its lower end. `memory`: pairs of words of
    stateful ALUs, by name and index, which last from packet to packet; `counted`: packets, by
    counter and index, likewise. `random` is the next number drawn."""

    folder: Path
    entries: dict[tuple[str, tuple[int, ...]], tuple[str, dict[str, int]]] = field(
        default_factory=dict
    )
    random: int = 0
    memory: dict[tuple[str, int], tuple[int, int]] = field(
        default_factory=lambda: defaultdict(lambda: (0, 0))
    )
    counted: dict[tuple[str, int], int] = field(default_factory=lambda: defaultdict(int))
    gress = "egress"

    def __post_init__(self):
        text = read_assembly(self.folder)
        self._fields: dict[str, Slice] = {}
        for name, where in _section(text, f"phv {self.gress}")[f"phv {self.gress}"].items():
            if name != "context_json":
                self._fields[name] = self._slice(
                    str(where if isinstance(where, str) else next(iter(where.values())))
                )
        # Of whole fields, which the compiler may have split: each part, and where in the field it
        # begins.
        self._places = defaultdict(list)
        for name, place in self._fields.items():
            match = re.fullmatch(r"(.+)\.(\d+)-\d+", name)
            self._places[match[1] if match else name].append((place, int(match[2]) if match else 0))
            if match:
                self._places[name].append((place, 0))
        self._stages: dict[str, int] = {}
        self._tables: dict[str, dict[str, Any]] = {}
        for number in range(12):
            stage = f"stage {number} {self.gress}"
            for key, table in _section(text, stage).get(stage, {}).items():
                if isinstance(table, dict):
                    name = key.split()[1].rstrip(":")
                    self._stages[name] = number
                    self._tables[name] = {**table, "kind": key.split()[0]}
        self._first = next(
            name for name, table in self._tables.items() if table["kind"] != "phase0_match"
        )

    @property
    def fields(self) -> frozenset[str]:
        """By name."""
        return frozenset(self._places)

    @property
    def tables(self) -> frozenset[str]:
        """Of P4, by name."""
        return frozenset(table["p4"]["name"] for table in self._tables.values() if "p4" in table)

    @property
    def units(self) -> frozenset[str]:
        """Of `memory`, by name."""
        return frozenset(
            name for name, table in self._tables.items() if table["kind"] == "stateful"
        )

    def run(self, fields: Mapping[str, int]) -> dict[str, int]:
        """One packet with these fields, others 0; all fields as it leaves."""
        after = defaultdict(int)
        for name, value in fields.items():
            for place, low in self._places[name]:
                place.into(after, value >> low)
        before, stage, name = after, -1, self._first
        while name != "END":
            if self._stages[name] != stage:
                stage, before = self._stages[name], after.copy()
            name = self._apply(name, before, after)
        return {
            name: sum(place.of(after) << low for place, low in places)
            for name, places in self._places.items()
        }

    def _slice(self, text: str) -> Slice:
        match = _SLICE.fullmatch(text)
        name, low, high = match.groups()
        whole = self._fields.get(name) or Slice(name, 0, _WIDTHS[name.lstrip("T")[0]])
        if low is None:
            return whole
        return Slice(whole.container, whole.low + int(low), int(high or low) - int(low) + 1)

    def _apply(self, name: str, before: Mapping[str, int], after: dict[str, int]) -> str:
        """All of a stage read what it got, and write what it hands on. Returns the next table's
        name."""
        table = self._tables[name]
        gateway = table if table["kind"] == "gateway" else table.get("gateway", {})
        way = self._way(gateway, before) if "match" in gateway else None
        if table["kind"] == "gateway":
            return _next(way)
        # A gateway with a payload runs the action itself; without one it lets the table run, or
        # not.
        runs = way is None or ("run_table" in way) != ("payload" in gateway)
        hit, action, parameters = self._chosen(name, table, before) if runs else (False, None, {})
        if action is not None:
            indirect = self._tables.get(str(table.get("indirect")), table)
            self._act(indirect, _action(indirect, action), parameters, before, after)
        if way is not None and "run_table" not in way:
            return _next(way)
        return _next(
            (hit and table.get("hit"))
            or table.get("miss")
            or table.get("next")
            or gateway.get("miss")
        )

    def _way(self, gateway: Mapping[str, Any], before: Mapping[str, int]) -> dict[str, Any]:
        first = min(map(int, gateway["match"]))
        key = sum(
            self._slice(text).of(before) << int(low) - first
            for low, text in gateway["match"].items()
        )
        for pattern, way in gateway.items():
            if (isinstance(pattern, int) or pattern.startswith(("0b", "0x"))) and _fits(
                pattern, key
            ):
                return _as_way(way)
        return _as_way(gateway["miss"])

    def _chosen(
        self, name: str, table: Mapping[str, Any], before: Mapping[str, int]
    ) -> tuple[bool, str | None, dict[str, int]]:
        """Whether an entry fits, its action or the default one, and the parameters."""
        indirect = self._tables.get(str(table.get("indirect")), table)
        keys = [
            (text, field)
            for text, how in (table.get("p4_param_order") or {}).items()
            for field in (how if isinstance(how, list) else [how])
        ]
        key = tuple(
            (self._slice(text).of(before) >> how.get("start_bit", 0)) & ((1 << how["size"]) - 1)
            for text, how in keys
        )
        for entry in (table.get("context_json") or {}).get("static_entries", ()):
            if all(
                _matches(part, how)
                for part, how in zip(key, entry["match_key_fields_values"], strict=True)
            ):
                parameters = {
                    how["parameter_name"]: int(how["value"], 16)
                    for how in entry["action_parameters_values"]
                }
                return True, _by_handle(indirect, entry["action_handle"]), parameters
        name = table["p4"]["name"]
        if any(how["type"] in ("range", "lpm") for _, how in keys):
            lower = [
                known for at, known in self.entries if at == name and (*known[:-1],) == key[:-1]
            ]
            key = max((known for known in lower if known[-1] <= key[-1]), default=key)
        if (name, key) in self.entries:
            return True, *self.entries[name, key]
        return False, indirect.get("default_action"), {}

    def _act(
        self,
        table: Mapping[str, Any],
        instructions: list[Any],
        parameters: Mapping[str, int],
        before: Mapping[str, int],
        after: dict[str, int],
    ):
        known = {"rng": self.random}
        texts = [
            _RANDOM.sub("rng", instruction)
            for instruction in instructions
            if isinstance(instruction, str)
        ]
        for instruction in instructions:
            if isinstance(instruction, dict):
                known |= _named(instruction, parameters)
        for call in filter(None, map(_CALL.fullmatch, texts)):
            if call.group(2):
                known[call.group(1)] = self._stateful(call.group(1), call.group(2), table, before)
            else:
                self.counted[call.group(1).split(".", 1)[1], self._index(table, before)] += 1

        def value(text: str) -> int:
            if text in known:
                return known[text]
            return int(text) if text.isdecimal() else self._slice(text).of(before)

        for text in texts:
            if _CALL.fullmatch(text):
                continue
            operation, operands = text.split(" ", 1)
            target, *sources = operands.split(", ")
            numbers = [value(source) for source in sources]
            if operation == "deposit-field":
                whole = self._slice(target.split("(")[0])
                whole.into(after, numbers[1])
                self._slice(target).into(after, numbers[0])
                continue
            result = {
                "set": lambda n: n[0], "add": lambda n: n[0] + n[1] & _MASK32,
                "sub": lambda n: n[0] - n[1] & _MASK32, "ssubu": lambda n: max(n[0] - n[1], 0),
                "and": lambda n: n[0] & n[1], "shl": lambda n: n[0] << n[1] & _MASK32,
            }[operation](numbers)  # fmt: skip
            self._slice(target).into(after, result)

    def _stateful(
        self, name: str, action: str, table: Mapping[str, Any], before: Mapping[str, int]
    ) -> int:
        """Reads, computes, writes, and returns what the action puts out."""
        unit = self._tables[name]
        inputs = next(iter(unit.get("input_xbar", {}).values()), {})
        values = dict(zip(("lo", "hi"), self.memory[name, self._index(table, before)], strict=True))
        values |= {
            phv: self._slice(inputs[at]).of(before)
            for phv, at in (("phv_lo", 64), ("phv_hi", 96))
            if at in inputs
        }
        known = {
            f"{whose}_{word}": values[word] for whose in ("mem", "alu") for word in ("lo", "hi")
        }
        holds: dict[str, bool] = {}
        out = 0

        def value(text: str) -> int:
            return int(text) & _MASK32 if text.isdecimal() else values[text.split("(")[0]]

        for text in unit["actions"][action]:
            operation, condition, operands = _parsed(text)
            if operation in _COMPARE:
                # Those of memory and of the packet are compared as numbers; without the latter,
                # with 0.
                left, *right = operands[1:]
                holds[f"cmp{operands[0]}"] = _COMPARE[operation](
                    value(left), value(right[0][1:]) if right else 0
                )
            elif not _fulfilled(condition, holds):
                continue
            elif operation == "output":
                out = known[operands[0]]
            else:
                target, *sources = operands
                numbers = [value(source) for source in sources]
                known[f"alu_{target}"] = {
                    "alu_a": lambda n: n[-1],
                    "add": lambda n: sum(n) & _MASK32,
                    "sub": lambda n: n[0] - n[1] & _MASK32,
                }[operation](numbers)
        # `{ lo: 32, hi:32 }` or `{ lo: 8 }`: the ALU of a word that the register doesn't have only
        # computes.
        pair = any(word.startswith("hi") for word in unit["format"])
        self.memory[name, self._index(table, before)] = (
            known["alu_lo"],
            known["alu_hi"] if pair else 0,
        )
        return out

    def _index(self, table: Mapping[str, Any], before: Mapping[str, int]) -> int:
        crossbar = table["input_xbar"]
        ((slot, unit),) = table["hash_dist"].items()
        (number,) = crossbar[f"hash group {unit['hash']}"]["table"]
        bits = crossbar[f"hash {number}"]
        return (
            sum(
                self._slice(text).of(before) << int(str(at).split("..")[0])
                for at, text in bits.items()
            )
            >> 16 * slot
        )


_COMPARE = {"lss.u": operator.lt, "grt.u": operator.gt, "neq": operator.ne}


def _parsed(text: str) -> tuple[str, str, list[str]]:
    """A stateful ALU's instruction: what, on which condition, operands."""
    match = re.fullmatch(r"(\S+) (?:(\([^)]*\)|!?cmplo|!?cmphi), )?(.+)", text)
    return match[1], match[2] or "", match[3].split(", ")


def _fulfilled(condition: str, holds: Mapping[str, bool]) -> bool:
    """Of comparisons, with `!`, and `|` or `&` between two."""
    words = condition.strip("()").split()
    values = [holds[word.lstrip("!")] != word.startswith("!") for word in words[::2]]
    return any(values) if "|" in words else all(values)


def _named(names: Mapping[str, Any], parameters: Mapping[str, int]) -> dict[str, int]:
    """What the names in an action stand for: constants, parameters or slices of them, and words
    with these inside."""
    known: dict[str, int] = {}

    def place(name: str, number: int):
        """A name, and the words that it is in."""
        known[name] = known.get(name, 0) | number
        parts = names.get(name, ())
        for part in parts if isinstance(parts, list) else [parts]:
            if isinstance(part, str):
                match = _SLICE.fullmatch(part)
                place(match[1], number << int(match[2] or 0))

    for name, parts in names.items():
        constants = [
            part
            for part in (parts if isinstance(parts, list) else [parts])
            if isinstance(part, int)
        ]
        match = re.fullmatch(r"(.+?)(?:\.(\d+)-(\d+))?", name)
        assert match is not None
        if constants:
            place(name, constants[0])
        elif match[1] in parameters:
            low, high = int(match[2] or 0), int(match[3] or 63)
            place(name, parameters[match[1]] >> low & ((1 << high + 1 - low) - 1))
    return known


def _matches(part: int, how: Mapping[str, str]) -> bool:
    """A part of a key, and that of an entry."""
    if "range_start" in how:
        return int(how["range_start"], 16) <= part <= int(how["range_end"], 16)
    return (part ^ int(how["value"], 16)) & int(how.get("mask", "-1"), 16) == 0


class _Loader(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):  # libyaml's, where it is
    """Keeps all values of a name that a mapping has more than once, in a list."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict[Any, Any]:
        mapping: dict[Any, Any] = {}
        for key, value in [
            (self.construct_object(key_node, deep=True), value_node)
            for key_node, value_node in node.value
        ]:
            constructed = self.construct_object(value, deep=True)
            if key not in mapping:
                mapping[key] = constructed
            else:
                mapping[key] = [
                    *(mapping[key] if isinstance(mapping[key], list) else [mapping[key]]),
                    constructed,
                ]
        return mapping


_Loader.add_constructor(
    "tag:yaml.org,2002:map", lambda loader, node: loader.construct_mapping(node)
)


def _section(text: str, name: str) -> dict[str, Any]:
    """One top-level part of the file."""
    lines = text.splitlines()
    if f"{name}:" not in lines:
        return {}
    start = lines.index(f"{name}:")
    end = next(
        n for n in range(start + 1, len(lines)) if lines[n] and not lines[n].startswith((" ", "\t"))
    )
    return yaml.load("\n".join(lines[start:end]), _Loader)


def _actions(table: Mapping[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    for key, instructions in table["actions"].items():
        yield key.split("(")[0], instructions


def _action(table: Mapping[str, Any], name: str) -> list[Any]:
    return next(
        [
            instruction
            for instruction in instructions
            if not (isinstance(instruction, dict) and set(instruction) & _ABOUT)
        ]
        for known, instructions in _actions(table)
        if known == name
    )


_ABOUT = {
    "p4_param_order",
    "hit_allowed",
    "default_action",
    "default_only_action",
    "handle",
    "next_table",
}


def _by_handle(table: Mapping[str, Any], handle: int) -> str:
    return next(
        name for name, instructions in _actions(table) if {"handle": handle} in instructions
    )


def _fits(pattern: int | str, key: int) -> bool:
    if isinstance(pattern, int):
        return pattern == key
    base, digits = (1, pattern[2:]) if pattern.startswith("0b") else (4, pattern[2:])
    for place, digit in enumerate(reversed(digits)):
        if digit != "*" and (key >> base * place) & ((1 << base) - 1) != int(digit, 16):
            return False
    return True


def _as_way(way) -> dict[str, Any]:
    return way if isinstance(way, dict) else {"next": way}


def _next(way) -> str:
    if isinstance(way, dict):
        way = way["next"]
    return str(way[0] if isinstance(way, list) else way)


class Ingress(Egress):
    """The other half."""

    gress = "ingress"
