"""Header types, headers, stacks, unions, and which fields are the switch's own (standard
metadata)."""

from __future__ import annotations

from dataclasses import replace

from pcn.softswitch.program import limits
from pcn.softswitch.program.expressions import FieldRef
from pcn.softswitch.program.json_cursor import Place
from pcn.softswitch.program.model import (
    FieldType,
    Header,
    HeaderStack,
    HeaderType,
    HeaderUnion,
    HeaderUnionStack,
)
from pcn.softswitch.program.names import Names

# BMv2's names of the fields that simple_switch reads and writes; the member of struct sw_std, and
# its bits.
STD_FIELDS = {
    "standard_metadata.ingress_port": ("ingress_port", 16),
    "standard_metadata.egress_spec": ("egress_spec", 16),
    "standard_metadata.egress_port": ("egress_port", 16),
    "standard_metadata.instance_type": ("instance_type", 32),
    "standard_metadata.packet_length": ("packet_length", 32),
    "standard_metadata.parser_error": ("parser_error", 32),
    "standard_metadata.checksum_error": ("checksum_error", 8),
    "intrinsic_metadata.ingress_global_timestamp": ("ingress_global_timestamp", 64),
    "intrinsic_metadata.egress_global_timestamp": ("egress_global_timestamp", 64),
    "intrinsic_metadata.mcast_grp": ("mcast_grp", 16),
    "intrinsic_metadata.egress_rid": ("egress_rid", 16),
    "intrinsic_metadata.priority": ("priority", 8),
    "queueing_metadata.enq_timestamp": ("enq_timestamp", 32),
    "queueing_metadata.enq_qdepth": ("enq_qdepth", 32),
    "queueing_metadata.deq_timedelta": ("deq_timedelta", 32),
    "queueing_metadata.deq_qdepth": ("deq_qdepth", 32),
    "queueing_metadata.qid": ("qid", 8),
}


def load_headers(root: Place, names: Names) -> None:
    """Fills the header part of `names`, with which fields live in struct sw_std, and where."""
    fields = 0
    for place in root.elements("header_types", limits.HEADERS):
        names.header_type_names.add(place.at("name"))
        fields += len(place.at("fields").items())
        place.most(fields, limits.FIELDS, "fields of header types so far")
        names.header_types.append(_header_type(place))
        names.members.append(
            {field.name: i for i, field in enumerate(names.header_types[-1].fields)}
        )
    by_id: dict[int, int] = {}
    stored = 0
    for place in root.elements("headers", limits.HEADERS):
        index = names.header_names.add(place.at("name"))
        by_id[_new_id(place, by_id)] = index
        type_index = names.header_type_names.find(place.at("header_type"))
        header = Header(place.at("name").name(), type_index, place.at("metadata").boolean())
        names.headers.append(header)
        kind = names.header_types[type_index]
        if not header.metadata and kind.fixed_bits % 8:
            raise place.error(f"header {header.name!r} is not a whole number of bytes")
        if not header.metadata:
            place.most(kind.max_bytes, limits.HEADER_BYTES, f"bytes of header {header.name!r}")
        stored += kind.stored_bytes
        place.most(stored, limits.PHV_BYTES, f"bytes of headers and metadata up to {header.name!r}")
    _stacks(root, names, by_id)
    _unions(root, names, by_id)
    names.std_fields = _std_fields(root, names)


def _new_id(place: Place, known: dict[int, int]) -> int:
    number = place.at("id").integer(0, 2**31 - 1)
    if number in known:
        raise place.at("id").error(f"a second object has id {number}")
    return number


def _header_type(place: Place) -> HeaderType:
    fields: list[FieldType] = []
    known: set[str] = set()
    max_length = place.maybe("max_length")
    fixed = 0
    varbit: int | None = None
    for field_place in place.at("fields").items():
        parts = field_place.items()
        if not 2 <= len(parts) <= 4:
            raise field_place.error("expected [name, width, signed]")
        name = parts[0].name()
        if name in known:
            raise parts[0].error(f"a second field is named {name!r}")
        known.add(name)
        signed = len(parts) > 2 and parts[2].flag()
        saturating = len(parts) > 3 and parts[3].flag()
        if parts[1].value == "*":
            if varbit is not None:
                raise parts[1].error("a header has at most one varbit")
            if max_length is None:
                raise place.error("a header with a varbit needs max_length")
            varbit = len(fields)
            fields.append(FieldType(name, 0, varbit=True))
            continue
        width = parts[1].integer(0, limits.FIELD_BITS)
        if width == 0:
            raise parts[1].unsupported(f"field {name!r} of width 0")
        if signed and width < 2:
            raise parts[1].error("a signed field has at least 2 bits")
        fixed += width
        fields.append(FieldType(name, width, signed, saturating))
    if varbit is not None and max_length is not None:
        if place.has("length_exp"):
            raise place.unsupported("a header type with length_exp (P4_14)")
        longest = max_length.integer((fixed + 7) // 8, limits.FIELD_BITS // 8)
        fields[varbit] = replace(fields[varbit], width=longest * 8 - fixed)
    return HeaderType(place.at("name").name(), tuple(fields))


def _members(place: Place, key: str, by_id: dict[int, int]) -> tuple[int, ...]:
    result = []
    for item in place.at(key).items():
        number = item.integer(0, 2**31 - 1)
        if number not in by_id:
            raise item.error(f"nothing has the id {number}")
        result.append(by_id[number])
    if not result:
        raise place.at(key).error("expected at least one element")
    return tuple(result)


def _stacks(root: Place, names: Names, by_id: dict[int, int]) -> None:
    for place in root.elements("header_stacks"):
        index = names.stack_names.add(place.at("name"))
        header_type = names.header_type_names.find(place.at("header_type"))
        members = _members(place, "header_ids", by_id)
        for position, header in enumerate(members):
            old = names.headers[header]
            if old.type != header_type or old.stack or old.metadata:
                raise place.at("header_ids").error(
                    f"header {old.name!r} cannot be an element of this stack"
                )
            names.headers[header] = replace(old, stack=(index, position))
        names.stacks.append(HeaderStack(place.at("name").name(), header_type, members))


def _unions(root: Place, names: Names, by_id: dict[int, int]) -> None:
    types: dict[str, list[tuple[str, int]]] = {}
    for place in root.elements("header_union_types"):
        members = []
        for member in place.at("headers").items():
            name, header_type = member.items(2)
            members.append((name.name(), names.header_type_names.find(header_type)))
        types[place.at("name").name()] = members
    unions_by_id: dict[int, int] = {}
    for place in root.elements("header_unions"):
        index = names.union_names.add(place.at("name"))
        unions_by_id[_new_id(place, unions_by_id)] = index
        union_type = place.at("union_type").string()
        if union_type not in types:
            raise place.at("union_type").error("no such header union type")
        headers = _members(place, "header_ids", by_id)
        if [names.headers[h].type for h in headers] != [t for _, t in types[union_type]]:
            raise place.at("header_ids").error("the headers are not those of the union's type")
        for position, header in enumerate(headers):
            if names.headers[header].union or names.headers[header].stack:
                raise place.at("header_ids").error("a header belongs to two unions or stacks")
            if names.headers[header].metadata:
                raise place.at("header_ids").error(
                    f"metadata {names.headers[header].name!r} cannot be in a union"
                )
            names.headers[header] = replace(names.headers[header], union=(index, position))
        members_of_type = tuple(name for name, _ in types[union_type])
        names.unions.append(HeaderUnion(place.at("name").name(), headers, members_of_type))
    for place in root.elements("header_union_stacks"):
        index = names.union_stack_names.add(place.at("name"))
        elements = _members(place, "header_union_ids", unions_by_id)
        for position, union in enumerate(elements):
            if (
                names.unions[union].members != names.unions[elements[0]].members
                or names.unions[union].stack
            ):
                raise place.at("header_union_ids").error(
                    "the unions cannot be elements of one stack"
                )
            names.unions[union] = replace(names.unions[union], stack=(index, position))
        names.union_stacks.append(HeaderUnionStack(place.at("name").name(), elements))


def _std_fields(root: Place, names: Names) -> dict[FieldRef, str]:
    result: dict[FieldRef, str] = {}
    members = dict(STD_FIELDS)
    for place in root.elements("field_aliases"):
        alias, target = place.items(2)
        if alias.string() in members:
            _bind(names, names.field(target), members.pop(alias.string()), target, result)
    for index, header in enumerate(names.headers):
        if not header.metadata:
            continue
        for i, field in enumerate(names.header_types[header.type].fields):
            ref = FieldRef(index, i)
            member = members.get(f"{header.name}.{field.name}")
            if member and ref not in result:
                _bind(names, ref, member, root, result)
    return result


def _bind(
    names: Names, ref: FieldRef, member: tuple[str, int], place: Place, result: dict[FieldRef, str]
) -> None:
    field = names.header_types[names.headers[ref.header].type].fields[ref.field]
    if field.width > member[1] or field.signed or field.varbit:
        raise place.error(
            f"field {field.name!r} must be unsigned and at most {member[1]} bits wide"
        )
    if not names.headers[ref.header].metadata:
        raise place.error(
            f"{names.headers[ref.header].name!r} is a header; fields of the switch's own are "
            "metadata"
        )
    result[ref] = member[0]
