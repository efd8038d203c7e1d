"""Frames for any program: random ways through its parser, whose fields have the values that its
tables are keyed by."""

import json
import random
import re
from pathlib import Path
from typing import Any

Json = dict[str, Any]
MOST_HEADERS = 12  # of a frame: a parser may loop
POOLED = 0.7  # of the fields that could have a known value, those that have one


class Frames:
    """Frames of a program in BMv2's JSON. `known`: values by width in bits, beside those of
    constant entries. `whole`: on ways with the most headers alone."""

    def __init__(
        self, program: Path, known: dict[int, list[int]], seed: int, *, whole: bool = False
    ):
        document = json.loads(program.read_text())
        self._fields = {
            header_type["name"]: header_type["fields"] for header_type in document["header_types"]
        }
        self._types = {header["name"]: header["header_type"] for header in document["headers"]}
        for stack in document["header_stacks"]:
            self._types[stack["name"]] = stack["header_type"]
        parser = document["parsers"][0]
        self._start = parser["init_state"]
        self._states = {state["name"]: state for state in parser["parse_states"]}
        self._known = {bits: list(values) for bits, values in known.items()}
        for table in (table for pipeline in document["pipelines"] for table in pipeline["tables"]):
            for part in (part for entry in table.get("entries", []) for part in entry["match_key"]):
                if part["match_type"].lower() == "exact":
                    self._known.setdefault(4 * len(part["key"].removeprefix("0x")), []).append(
                        int(part["key"], 16)
                    )
        self._random = random.Random(seed)
        self._whole = whole

    def frame(self) -> bytes:
        """Returns a frame: the headers of a way through the parser, then 1 to 60 bytes."""
        headers: list[tuple[str, dict[str, tuple[int, int]]]] = []
        self._ahead: list[
            tuple[int, int, int]
        ] = []  # what a lookahead has to find: bits from the start, width, value
        state = self._start
        while state is not None and len(headers) < MOST_HEADERS:
            rules = self._states[state]
            for step in rules["parser_ops"]:
                if step["op"] == "extract":
                    name = step["parameters"][0]["value"]
                    headers.append((name, self._header(self._types[name])))
            state = self._next(rules, headers)
        text = "".join(
            f"{value:0{bits}b}" for _, fields in headers for value, bits in fields.values() if bits
        )
        for at, bits, value in self._ahead:
            text = text.ljust(at + bits, "0")
            text = text[:at] + f"{value:0{bits}b}" + text[at + bits :]
        whole = text.ljust(-(-len(text) // 8) * 8, "0")
        return int(whole or "0", 2).to_bytes(len(whole) // 8, "big") + self._random.randbytes(
            self._random.randint(1, 60)
        )

    def _header(self, kind: str) -> dict[str, tuple[int, int]]:
        """Returns value and width of each field. One of variable length has none of its bits."""
        return {
            name: (self._value(name, bits), bits)
            for name, bits, *_ in self._fields[kind]
            if isinstance(bits, int)
        }

    def _value(self, name: str, bits: int) -> int:
        if name == "ihl":
            return 5
        pool = self._known.get(bits)
        if pool and self._random.random() < POOLED:
            return self._random.choice(pool)
        return self._random.getrandbits(bits)

    def _next(
        self, rules: Json, headers: list[tuple[str, dict[str, tuple[int, int]]]]
    ) -> str | None:
        """Returns the state of a transition drawn, whose value the fields of its key then have;
        None: accepted."""
        transitions = rules["transitions"]
        if self._whole:
            lengths = [
                self._most(transition["next_state"], frozenset()) for transition in transitions
            ]
            transitions = [
                transition
                for transition, length in zip(transitions, lengths, strict=True)
                if length == max(lengths)
            ]
        chosen = self._random.choice(transitions)
        if chosen["type"] == "hexstr":
            value = int(chosen["value"], 16)
            mask = int(chosen["mask"], 16) if chosen["mask"] else -1
            for part in reversed(rules["transition_key"]):
                if part["type"] == "lookahead":
                    offset, bits = part["value"]
                    passed = sum(bits for _, fields in headers for _, bits in fields.values())
                    self._ahead.append((passed + offset, bits, value & (1 << bits) - 1))
                    value, mask = value >> bits, mask >> bits
                    continue
                header, name = part["value"]
                header_fields = next(
                    (
                        fields
                        for extracted, fields in reversed(headers)
                        if extracted == header and name in fields
                    ),
                    None,
                )
                bits = (
                    header_fields[name][1]
                    if header_fields
                    else next(b for n, b, *_ in self._fields[self._types[header]] if n == name)
                )
                if header_fields:
                    field_mask = mask & (1 << bits) - 1
                    header_fields[name] = (
                        value & field_mask | header_fields[name][0] & ~field_mask & (1 << bits) - 1,
                        bits,
                    )
                value, mask = value >> bits, mask >> bits
        return str(chosen["next_state"]) if chosen["next_state"] else None

    def _most(self, state: str | None, passed: frozenset[str]) -> int:
        """Returns the most headers of a way from a state on that passes none twice."""
        if state is None or state in passed:
            return 0
        rules = self._states[state]
        extracts = sum(step["op"] == "extract" for step in rules["parser_ops"])
        return extracts + max(
            self._most(rule["next_state"], passed | {state}) for rule in rules["transitions"]
        )


def known_values(commands: str) -> dict[int, list[int]]:
    """Returns the values in a text of commands by widths in bits: addresses, prefixes, numbers."""
    by_width: dict[int, set[int]] = {}
    for word in re.split(r"[\s,&]+|->|=>", commands):
        address = word.partition("/")[0]
        if re.fullmatch(r"\d+(\.\d+){3}", address):
            by_width.setdefault(32, set()).add(
                int.from_bytes(bytes(int(part) & 255 for part in address.split(".")), "big")
            )
        elif re.fullmatch(r"[0-9a-fA-F]{1,2}(:[0-9a-fA-F]{1,2}){5}", word):
            by_width.setdefault(48, set()).add(
                int(word.replace(":", "") if len(word) == 17 else _long(word), 16)
            )
        elif re.fullmatch(r"\d+|0x[0-9a-fA-F]+", address):
            value = int(address, 0)
            for bits in (1, 3, 4, 6, 7, 8, 9, 16, 19, 20, 32):
                if value < 1 << bits:
                    by_width.setdefault(bits, set()).add(value)
    return {bits: sorted(values) for bits, values in by_width.items()}


def _long(mac: str) -> str:
    return "".join(part.zfill(2) for part in mac.split(":"))
