"""Looks up what the JSON refers to by name: built up while a program is loaded."""

from __future__ import annotations

from dataclasses import dataclass, field

from pcn.softswitch.program.expressions import FieldRef, HeaderExpression, HeaderRef, Valid
from pcn.softswitch.program.json_cursor import Place
from pcn.softswitch.program.model import (
    Header,
    HeaderStack,
    HeaderType,
    HeaderUnion,
    HeaderUnionStack,
)

VALID = "$valid$"


class Index:
    """Names of one kind of object, each with its index. Names are unique."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        self._by_name: dict[str, int] = {}

    def add(self, place: Place) -> int:
        """Registers the name at `place`; returns its index."""
        name = place.name()
        if name in self._by_name:
            raise place.error(f"a second {self.kind} is named {name!r}")
        self._by_name[name] = len(self._by_name)
        return self._by_name[name]

    def find(self, place: Place) -> int:
        """Returns the index of the object that `place` names."""
        name = place.string()
        if name not in self._by_name:
            raise place.error(f"no {self.kind} named {name[:100]!r}")
        return self._by_name[name]

    def get(self, name: str) -> int | None:
        return self._by_name.get(name)


@dataclass
class Names:
    """Everything that statements and expressions can name."""

    header_types: list[HeaderType] = field(default_factory=list)
    members: list[dict[str, int]] = field(default_factory=list)  # of header types: fields by name
    headers: list[Header] = field(default_factory=list)
    stacks: list[HeaderStack] = field(default_factory=list)
    unions: list[HeaderUnion] = field(default_factory=list)
    union_stacks: list[HeaderUnionStack] = field(default_factory=list)
    header_type_names: Index = field(default_factory=lambda: Index("header type"))
    header_names: Index = field(default_factory=lambda: Index("header"))
    stack_names: Index = field(default_factory=lambda: Index("header stack"))
    union_names: Index = field(default_factory=lambda: Index("header union"))
    union_stack_names: Index = field(default_factory=lambda: Index("header union stack"))
    calculations: Index = field(default_factory=lambda: Index("calculation"))
    profiles: Index = field(default_factory=lambda: Index("action profile"))
    counters: Index = field(default_factory=lambda: Index("counter array"))
    registers: Index = field(default_factory=lambda: Index("register array"))
    meters: Index = field(default_factory=lambda: Index("meter array"))
    value_sets: Index = field(default_factory=lambda: Index("value set"))
    learn_ids: dict[int, int] = field(default_factory=dict)
    std_fields: dict[FieldRef, str] = field(default_factory=dict)
    expressions: int = 0  # loaded so far
    statements: int = 0

    def field_or_valid(self, place: Place) -> FieldRef | Valid:
        """Returns a field reference: [header, field], where the field may be $valid$."""
        header_place, field_place = place.items(2)
        header = self.header_names.find(header_place)
        if field_place.string() == VALID:
            if self.headers[header].metadata:
                raise place.error(
                    f"{self.headers[header].name!r} is metadata, which is neither valid nor invalid"
                )
            return Valid(HeaderRef(header))
        return FieldRef(header, self.member(self.headers[header].type, field_place))

    def field(self, place: Place) -> FieldRef:
        """Returns a field reference that is not $valid$."""
        ref = self.field_or_valid(place)
        if isinstance(ref, Valid):
            raise place.error(f"{VALID} cannot be used here")
        return ref

    def number_field(self, place: Place) -> FieldRef:
        """Returns a field that holds a number: no varbit."""
        ref = self.field(place)
        if self.is_varbit(ref):
            raise place.error("a varbit cannot be used here")
        return ref

    def member(self, header_type: int, place: Place) -> int:
        """Returns the index of the field that `place` names in a header type."""
        name = place.string()
        index = self.members[header_type].get(name)
        if index is not None:
            return index
        raise place.error(
            f"header type {self.header_types[header_type].name!r} has no field {name[:100]!r}"
        )

    def width(self, ref: FieldRef | Valid) -> int:
        """Returns the bits of a field; of a varbit, its largest."""
        if isinstance(ref, Valid):
            return 1
        return self.header_types[self.headers[ref.header].type].fields[ref.field].width

    def is_varbit(self, ref: FieldRef) -> bool:
        return self.header_types[self.headers[ref.header].type].fields[ref.field].varbit

    def type_of(self, header: HeaderExpression) -> int:
        """Returns the header type that a header expression has."""
        if isinstance(header, HeaderRef):
            return self.headers[header.header].type
        if hasattr(header, "stack"):
            return self.stacks[header.stack].type
        union = (
            header.union.union
            if hasattr(header.union, "union")
            else self.union_stacks[header.union.stack].unions[0]
        )
        return self.headers[self.unions[union].headers[header.member]].type
