"""Loads a program: BMv2 JSON, as p4c writes it for v1model, to the typed model.

The text may come from anyone (P4Runtime clients send it): whatever is malformed, contradictory or
beyond the switch is refused with an error that names the place in the JSON and the line of P4,
before any code is generated.
"""

from __future__ import annotations

from pcn.softswitch.program import limits
from pcn.softswitch.program.empty_fields import without_empty_fields
from pcn.softswitch.program.json_cursor import Place, parse
from pcn.softswitch.program.load_controls import ControlLoader
from pcn.softswitch.program.load_expressions import ExpressionLoader
from pcn.softswitch.program.load_headers import load_headers
from pcn.softswitch.program.load_parser import ParserLoader
from pcn.softswitch.program.load_statements import StatementLoader
from pcn.softswitch.program.model import (
    Action,
    ActionProfile,
    Calculation,
    Checksum,
    Counter,
    Deparser,
    FieldList,
    InputConstant,
    InputField,
    InputHeader,
    LearnField,
    LearnList,
    Meter,
    Parameter,
    Program,
    Register,
    ValueSet,
)
from pcn.softswitch.program.names import Index, Names
from pcn.softswitch.program.statements import Jump, Statement
from pcn.softswitch.program.union_copies import with_whole_unions

SUPPORTED_MAJOR = 2
ALGORITHMS = frozenset(
    (
        "crc16",
        "crc32",
        "crcCCITT",
        "xor16",
        "csum16",
        "cksum16",
        "identity",
        "crc16_custom",
        "crc32_custom",
    )
)
CORE_ERRORS = (
    "NoError",
    "PacketTooShort",
    "NoMatch",
    "StackOutOfBounds",
    "HeaderTooShort",
    "ParserTimeout",
    "ParserInvalidArgument",
)


def load_program(json_text: str) -> Program:
    """Loads a program from its JSON text.

    Raises ProgramError if the text is not a valid program, UnsupportedProgram if the switch cannot
    run it.
    """
    root = parse(json_text)
    _check_version(root)
    root = without_empty_fields(root)
    names = Names()
    load_headers(root, names)
    _refuse(root, "extern_instances", "extern object")
    value_sets = tuple(
        _value_set(place, names) for place in root.elements("parse_vsets", limits.VALUE_SETS)
    )
    counters = tuple(
        Counter(place.at("name").name(), place.at("size").integer(0, limits.ENTRIES))
        for place in root.elements("counter_arrays", limits.ARRAYS)
        if not _is_direct(place) and names.counters.add(place.at("name")) >= 0
    )
    registers = tuple(
        _register(place, names) for place in root.elements("register_arrays", limits.ARRAYS)
    )
    meters = tuple(_meter(place, names) for place in root.elements("meter_arrays", limits.ARRAYS))
    for place in root.elements("calculations", limits.LISTS):
        names.calculations.add(place.at("name"))
    calculations = [
        _calculation(place, names, place.at("name").name())
        for place in root.elements("calculations")
    ]
    learn_lists = tuple(
        _learn_list(place, names) for place in root.elements("learn_lists", limits.LISTS)
    )
    names.learn_ids = _by_id(root, "learn_lists")
    actions, action_ids = _actions(root, names)
    profiles = tuple(
        _profile(place, names, calculations)
        for pipe in root.elements("pipelines")
        for place in pipe.elements("action_profiles", limits.ARRAYS)
    )
    controls = ControlLoader(names, actions, action_ids, _direct_meters(meters, root))
    pipelines = {place.at("name").name(): place for place in root.at("pipelines").items()}
    if set(pipelines) != {"ingress", "egress"} or len(root.at("pipelines").items()) != 2:
        raise root.at("pipelines").unsupported(
            "expected the pipelines 'ingress' and 'egress' of v1model"
        )
    ingress, egress = controls.load(pipelines["ingress"]), controls.load(pipelines["egress"])
    parsers = ParserLoader(names, value_sets)
    parser = parsers.load(_only_element(root.at("parsers")))
    _by_id(root, "field_lists")
    program = root.maybe("program")
    return Program(
        name=_program_name(program) if program else "program",
        header_types=tuple(names.header_types),
        headers=tuple(names.headers),
        stacks=tuple(names.stacks),
        unions=tuple(names.unions),
        union_stacks=tuple(names.union_stacks),
        std_fields=names.std_fields,
        errors=_errors(root),
        parser=parser,
        value_sets=tuple(parsers.value_sets),
        deparser=_deparser(_only_element(root.at("deparsers")), names),
        ingress=ingress,
        egress=egress,
        tables=tuple(controls.tables),
        profiles=profiles,
        actions=tuple(actions),
        counters=counters,
        registers=registers,
        meters=_bind_meters(meters, controls),
        calculations=tuple(calculations),
        checksums=tuple(
            _checksum(place, names) for place in root.elements("checksums", limits.LISTS)
        ),
        field_lists=tuple(
            _field_list(place, names) for place in root.elements("field_lists", limits.LISTS)
        ),
        learn_lists=learn_lists,
    )


def _check_version(root: Place) -> None:
    meta = root.maybe("__meta__")
    if meta is None:
        return
    major = meta.at("version").items(2)[0]
    if major.integer(0, 1000) != SUPPORTED_MAJOR:
        raise major.unsupported(
            f"version {major.value} of the BMv2 JSON format; the switch reads version "
            f"{SUPPORTED_MAJOR}"
        )


def _program_name(place: Place) -> str:
    return "".join(c if c.isprintable() else "?" for c in place.string())[: limits.NAME]


def _only_element(place: Place) -> Place:
    items = place.items()
    if len(items) != 1:
        raise place.unsupported(f"expected one element as in v1model, found {len(items)}")
    return items[0]


def _refuse(root: Place, key: str, construct: str) -> None:
    for place in root.elements(key):
        kind = place.maybe("type")
        raise place.unsupported(
            f"{construct} {place.at('name').name()!r}"
            + (f" of type {kind.string()!r}" if kind else "")
        )


def _is_direct(place: Place) -> bool:
    return place.has("is_direct") and place.at("is_direct").boolean()


def _value_set(place: Place, names: Names) -> ValueSet:
    names.value_sets.add(place.at("name"))
    size = place.maybe("max_size")
    width = place.at("compressed_bitwidth").integer(1, 8 * limits.KEY_BYTES)
    return ValueSet(
        place.at("name").name(), width, size.integer(0, limits.ENTRIES) if size else 0, (width,)
    )


def _register(place: Place, names: Names) -> Register:
    names.registers.add(place.at("name"))
    size = place.at("size").integer(1, limits.ENTRIES)
    return Register(
        place.at("name").name(), size, place.at("bitwidth").integer(1, limits.FIELD_BITS)
    )


def _meter(place: Place, names: Names) -> Meter:
    names.meters.add(place.at("name"))
    kind = place.at("type").string()
    if kind not in ("bytes", "packets"):
        raise place.at("type").error("expected 'bytes' or 'packets'")
    if place.has("rate_count") and place.at("rate_count").integer(0, 100) != 2:
        raise place.at("rate_count").unsupported("a meter that has not two rates")
    size = place.at("size").integer(0, limits.ENTRIES)
    result = place.maybe("result_target")
    target = names.number_field(result) if result and _is_direct(place) else None
    return Meter(
        place.at("name").name(), size, kind == "bytes", -1 if _is_direct(place) else None, target
    )


def _direct_meters(meters: tuple[Meter, ...], root: Place) -> dict[str, int]:
    direct = {meter.name: index for index, meter in enumerate(meters) if meter.table is not None}
    for place in root.elements("meter_arrays"):
        if (
            place.at("name").name() in direct
            and meters[direct[place.at("name").name()]].result is None
        ):
            raise place.error("a direct meter needs result_target")
    return direct


def _bind_meters(meters: tuple[Meter, ...], controls: ControlLoader) -> tuple[Meter, ...]:
    table_of = {
        t.direct_meter: i for i, t in enumerate(controls.tables) if t.direct_meter is not None
    }
    return tuple(
        meter
        if meter.table is None
        else Meter(meter.name, meter.size, meter.bytes, table_of.get(i, -1), meter.result)
        for i, meter in enumerate(meters)
    )


def _calculation(place: Place, names: Names, name: str) -> Calculation:
    algorithm = place.at("algo").string()
    if algorithm not in ALGORITHMS:
        raise place.unsupported(f"hash algorithm {algorithm[:100]!r}")
    inputs: list[InputField | InputConstant | InputHeader] = []
    payload = False
    bits = 0
    for item in place.at("input").items():
        kind = item.at("type").string()
        match kind:
            case "field":
                field = names.field_or_valid(item.at("value"))
                inputs.append(InputField(field, names.width(field)))
                bits += names.width(field)
            case "hexstr":
                width = item.at("bitwidth").integer(1, limits.FIELD_BITS)
                value = item.at("value").hexadecimal(max_bits=limits.FIELD_BITS) & (
                    (1 << width) - 1
                )
                inputs.append(InputConstant(value, width))
                bits += width
            case "header":
                header = names.header_names.find(item.at("value"))
                if names.headers[header].metadata:
                    raise item.at("value").unsupported("metadata as a whole")
                inputs.append(InputHeader(header))
                bits += 8 * names.header_types[names.headers[header].type].max_bytes
            case "payload":
                payload = True
            case _:
                raise item.unsupported(f"input of type {kind[:100]!r}")
    place.most((bits + 7) // 8, limits.CALCULATION_BYTES, "bytes of a calculation's input")
    return Calculation(name, algorithm, tuple(inputs), payload)


def _profile(place: Place, names: Names, calculations: list[Calculation]) -> ActionProfile:
    """Returns an action profile. Its selector becomes one more calculation, which only the profile
    refers to."""
    names.profiles.add(place.at("name"))
    name = place.at("name").name()
    selector = place.maybe("selector")
    if selector is None:
        return ActionProfile(name, None)
    calculations.append(_calculation(selector, names, name))
    return ActionProfile(name, len(calculations) - 1)


def _checksum(place: Place, names: Names) -> Checksum:
    if place.at("type").string() != "generic":
        raise place.at("type").unsupported("a checksum that is not 'generic'")
    condition = place.maybe("if_cond")
    update, verify = place.maybe("update"), place.maybe("verify")
    return Checksum(
        name=place.at("name").name(),
        target=names.number_field(place.at("target")),
        calculation=names.calculations.find(place.at("calculation")),
        condition=ExpressionLoader(names, pure=True).condition(condition) if condition else None,
        update=update.boolean() if update else True,
        verify=verify.boolean() if verify else True,
        source=place.source,
    )


def _actions(root: Place, names: Names) -> tuple[list[Action], dict[int, int]]:
    actions: list[Action] = []
    ids: dict[int, int] = {}
    for place in root.elements("actions", limits.ACTIONS):
        number = place.at("id").integer(0, 2**31 - 1)
        if number in ids:
            raise place.at("id").error(f"a second action has id {number}")
        ids[number] = len(actions)
        parameters = tuple(
            Parameter(p.at("name").name(), p.at("bitwidth").integer(1, limits.FIELD_BITS))
            for p in place.elements("runtime_data", limits.PARAMETERS)
        )
        size = sum((p.width + 63) // 64 * 8 for p in parameters)
        place.most(size, limits.PARAMETER_BYTES, "bytes of an action's parameters")
        primitives = place.at("primitives").items()
        loader = StatementLoader(
            ExpressionLoader(names, tuple(p.width for p in parameters)), len(primitives)
        )
        statements = [
            loader.load(primitive) or Statement(Jump(i + 1), primitive.source)
            for i, primitive in enumerate(primitives)
        ]
        whole = with_whole_unions(statements, names, jumps=True)
        actions.append(Action(place.at("name").name(), number, parameters, whole, place.source))
    return actions, ids


def _field_list(place: Place, names: Names) -> FieldList:
    fields = []
    for item in place.at("elements").items():
        if item.at("type").string() != "field":
            raise item.unsupported(f"a field list with a {item.at('type').string()[:100]}")
        fields.append(names.field(item.at("value")))
    return FieldList(place.at("name").name(), place.at("id").integer(0, 2**16 - 1), tuple(fields))


def _learn_list(place: Place, names: Names) -> LearnList:
    loader = ExpressionLoader(names, pure=True)
    fields = []
    for item in place.at("elements").items():
        expression = loader.data(item)
        if item.at("type").string() == "field":
            width = names.width(names.field_or_valid(item.at("value")))
        else:
            width = item.at("bitwidth").integer(1, limits.FIELD_BITS)
        fields.append(LearnField(expression, width))
    place.most(sum((f.width + 7) // 8 for f in fields), limits.DIGEST_BYTES, "bytes of a digest")
    return LearnList(place.at("name").name(), place.at("id").integer(1, 2**16 - 1), tuple(fields))


def _by_id(root: Place, key: str) -> dict[int, int]:
    """Returns the indices of lists by their ids, each of which stands once."""
    indices: dict[int, int] = {}
    for index, place in enumerate(root.elements(key)):
        number = place.at("id").integer(0, 2**16 - 1)
        if number in indices:
            raise place.at("id").error(f"a second list has id {number}")
        indices[number] = index
    return indices


def _deparser(place: Place, names: Names) -> Deparser:
    items = place.at("order").items()
    place.at("order").most(len(items), limits.EMITS, "emitted headers")
    order = tuple(names.header_names.find(item) for item in items)
    emitted = 0
    for item, header in zip(items, order, strict=True):
        if names.headers[header].metadata:
            raise item.error("metadata cannot be emitted")
        emitted += names.header_types[names.headers[header].type].max_bytes
        item.most(
            emitted,
            limits.EMITTED_BYTES,
            f"bytes of emitted headers up to {names.headers[header].name!r}",
        )
    primitives = place.maybe("primitives")
    loader = StatementLoader(ExpressionLoader(names))
    statements = [
        s for item in (primitives.items() if primitives else ()) if (s := loader.load(item))
    ]
    return Deparser(
        place.at("name").name(), order, with_whole_unions(statements, names), place.source
    )


def _errors(root: Place) -> dict[str, int]:
    """Returns every error of the program, and those of core.p4: BMv2 gives the ones that are not
    declared the next numbers."""
    index = Index("error")
    errors: dict[str, int] = {}
    for place in root.elements("errors"):
        name, number = place.items(2)
        index.add(name)
        errors[name.name()] = number.integer(0, 2**31 - 2)
    for name_ in CORE_ERRORS:
        if name_ not in errors:
            errors[name_] = max(errors.values(), default=-1) + 1
    return errors
