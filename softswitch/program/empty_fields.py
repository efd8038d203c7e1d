"""Fields of no bits (`bit<0>`, which p4c writes as any other): they hold 0, and take no place in a
header, a hash or a key of a parser.

They are taken out of the JSON before it is loaded, so that no other module meets one: what reads
one reads 0, what assigns to one does nothing. A program without such fields isn't touched.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from pcn.softswitch.program import limits
from pcn.softswitch.program.json_cursor import Place

_ZERO = {"type": "hexstr", "value": "0x0"}
_DEEPEST = 8 * limits.DEPTH  # of JSON; what is deeper, no expression may be
_TARGETS = {
    "modify_field_with_hash_based_offset": 0,
    "modify_field_rng_uniform": 0,
    "register_read": 0,
    "execute_meter": 2,
    **dict.fromkeys(
        (
            "assign",
            "modify_field",
            "add",
            "subtract",
            "bit_and",
            "bit_or",
            "bit_xor",
            "shift_left",
            "shift_right",
            "add_to_field",
            "subtract_from_field",
        ),
        0,
    ),
}
"""Which parameter of a primitive is the field that it writes to."""
_LISTS = ("elements", "input", "transition_key")
"""Keys of lists that have fields in a row, each as long as it is."""


def without_empty_fields(root: Place) -> Place:
    """Returns a program's JSON without fields of no bits. Raises UnsupportedProgram where a table's
    key or a digest has one: a P4Runtime message would have a value there."""
    types = _Types.of(root)
    if not types.empty:
        return root
    for place in _elements(root, "learn_lists"):
        for item in _elements(place, "elements"):
            if types.is_empty(item.value):
                raise item.unsupported("a digest with a field of width 0")
    for pipeline in _elements(root, "pipelines"):
        for table in _elements(pipeline, "tables"):
            for key in _elements(table, "key"):
                if types.is_empty({"type": "field", "value": _target(key.value)}):
                    raise key.unsupported("a key of width 0")
    value = dict(types.stripped(root.value, 0))
    for name, target_of in (("checksums", _target), ("field_aliases", _aliased)):
        if isinstance(value.get(name), list):
            value[name] = [
                part
                for part in value[name]
                if not types.is_empty({"type": "field", "value": target_of(part)})
            ]
    value["header_types"] = [types.rest(kind) for kind in value["header_types"]]
    return Place(value, root.path, root.source)


def _target(checksum: Any) -> Any:
    return checksum.get("target") if isinstance(checksum, dict) else None


def _aliased(alias: Any) -> Any:
    return alias[1] if isinstance(alias, list) and len(alias) == 2 else None


def _elements(place: Place, key: str) -> Iterator[Place]:
    """Yields the elements of a list, none where it is none: its reader refuses it then."""
    if isinstance(place.value, dict) and _list(place.value.get(key)):
        yield from place.at(key).items()


def _list(value: Any) -> list[Any]:
    return value if isinstance(value, list) else []


@dataclass
class _Types:
    """Types of headers, stacks and unions by name; `empty`: fields of no bits, by type."""

    empty: dict[str, dict[str, int]]
    headers: dict[str, str] = field(default_factory=dict)
    stacks: dict[str, str] = field(default_factory=dict)
    unions: dict[str, list[tuple[str, str]]] = field(default_factory=dict)
    """Of a union, or of a stack of unions: names and types of its members."""

    @classmethod
    def of(cls, root: Place) -> _Types:
        """Reads them as far as they are what they should be: what isn't is refused later."""
        types = cls({})
        for place in _elements(root, "header_types"):
            fields = place.value.get("fields") if isinstance(place.value, dict) else None
            if not isinstance(fields, list):
                continue
            if empty := {
                str(name_and_width[0]): place_in_type
                for place_in_type, name_and_width in enumerate(fields)
                if isinstance(name_and_width, list)
                and len(name_and_width) >= 2
                and name_and_width[1] == 0
                and not isinstance(name_and_width[1], bool)
            }:
                types.empty[str(place.value.get("name"))] = empty
        if not types.empty:
            return types
        for kind, known in (("headers", types.headers), ("header_stacks", types.stacks)):
            for place in _elements(root, kind):
                if isinstance(place.value, dict):
                    known[str(place.value.get("name"))] = str(place.value.get("header_type"))
        members = {
            str(place.value.get("name")): [
                (str(member[0]), str(member[1]))
                for member in _list(place.value.get("headers"))
                if isinstance(member, list) and len(member) == 2
            ]
            for place in _elements(root, "header_union_types")
            if isinstance(place.value, dict)
        }
        for kind in ("header_unions", "header_union_stacks"):
            for place in _elements(root, kind):
                if isinstance(place.value, dict):
                    union_type = str(place.value.get("union_type"))
                    types.unions[str(place.value.get("name"))] = members.get(union_type, [])
        return types

    def rest(self, kind: Any) -> Any:
        """Returns a header type without its fields of no bits."""
        empty = self.empty.get(str(kind.get("name"))) if isinstance(kind, dict) else None
        if not empty:
            return kind
        fields = [part for place, part in enumerate(kind["fields"]) if place not in empty.values()]
        return {**kind, "fields": fields}

    def stripped(self, value: Any, depth: int) -> Any:
        """Returns a part of the JSON, with 0 in place of each field of no bits that is read, and no
        operation in place of what writes one."""
        if depth > _DEEPEST:
            return value
        if isinstance(value, list):
            return [self.stripped(part, depth + 1) for part in value]
        if not isinstance(value, dict):
            return value
        if self.is_empty(value):
            return _ZERO
        if self._writes_empty(value):
            return {**value, "op": "no_op", "parameters": []}
        parts = {}
        for key, part in value.items():
            if isinstance(part, list) and key in _LISTS:
                part = [element for element in part if not self.is_empty(element)]
            elif isinstance(part, list) and key == "parser_ops":
                part = [element for element in part if not self._sets_empty(element)]
            parts[key] = self.stripped(part, depth + 1)
        if value.get("op") == "access_field":
            parts["right"] = self._moved(value, parts["right"])
        return parts

    def is_empty(self, value: Any) -> bool:
        """Returns whether a value of the JSON is a field of no bits."""
        if not isinstance(value, dict):
            return False
        names = value.get("value")
        match value.get("type"):
            case "field" if isinstance(names, list) and len(names) == 2:
                return self._has(self.headers.get(str(names[0])), names[1])
            case "stack_field" if isinstance(names, list) and len(names) == 2:
                return self._has(self.stacks.get(str(names[0])), names[1])
            case "union_stack_field" if isinstance(names, list) and len(names) == 3:
                members = dict(self.unions.get(str(names[0]), []))
                return self._has(members.get(str(names[1])), names[2])
            case "expression" if isinstance(names, dict):
                if "op" not in names:
                    return self.is_empty(names)
                empty = self.empty.get(self._type_of(names.get("left")) or "", {})
                return names["op"] == "access_field" and names.get("right") in empty.values()
        return False

    def _has(self, header_type: str | None, name: Any) -> bool:
        return header_type is not None and str(name) in self.empty.get(header_type, {})

    def _writes_empty(self, value: dict[str, Any]) -> bool:
        operation, parameters = value.get("op"), value.get("parameters")
        at = _TARGETS.get(operation) if isinstance(operation, str) else None
        return (
            at is not None
            and isinstance(parameters, list)
            and len(parameters) > at
            and self.is_empty(parameters[at])
        )

    def _sets_empty(self, value: Any) -> bool:
        """Returns whether an operation of a parser's state assigns to a field of no bits."""
        parameters = value.get("parameters") if isinstance(value, dict) else None
        return (
            isinstance(parameters, list)
            and value.get("op") == "set"
            and len(parameters) == 2
            and self.is_empty(parameters[0])
        )

    def _moved(self, value: dict[str, Any], index: Any) -> Any:
        """Returns the index of a field among those that have bits."""
        empty = self.empty.get(self._type_of(value.get("left")) or "")
        if not empty or not isinstance(index, int):
            return index
        return index - sum(place < index for place in empty.values())

    def _type_of(self, value: Any) -> str | None:
        """Returns the type of a header that an expression has; None: none that is declared."""
        while isinstance(value, dict) and value.get("type") == "expression":
            value = value.get("value")
            if isinstance(value, dict) and "op" in value:
                return self._type_of_operation(value)
        if isinstance(value, dict) and value.get("type") == "header":
            return self.headers.get(str(value.get("value")))
        return None

    def _type_of_operation(self, value: dict[str, Any]) -> str | None:
        left, right = value.get("left"), value.get("right")
        match value.get("op"):
            case "dereference_header_stack" | "dereference_stack" if isinstance(left, dict):
                return self.stacks.get(str(left.get("value")))
            case "access_union_header" if isinstance(right, int):
                members = self._members_of(left)
                return members[right][1] if 0 <= right < len(members) else None
        return None

    def _members_of(self, value: Any) -> list[tuple[str, str]]:
        while isinstance(value, dict) and value.get("type") == "expression":
            value = value.get("value")
        if isinstance(value, dict) and value.get("op") == "dereference_union_stack":
            value = value.get("left")
        name = value.get("value") if isinstance(value, dict) else None
        return self.unions.get(str(name), [])
