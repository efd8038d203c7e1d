"""Entities by names against a second implementation's: finsy encodes and decodes the same ones, of
all our programs."""

import ipaddress
from functools import cache
from pathlib import Path
from typing import Any

import finsy
import pytest
from finsy.p4entity import P4Replica, P4ValueSetMember
from finsy.proto import p4i as their_p4i, p4r as their_p4r
from hypothesis import assume, given, settings, strategies as st

from pcn.base import p4values, packed
from pcn.base.p4rt import p4r
from pcn.controller import entities
from pcn.controller.p4info import MatchKind, Schema
from pcn.controller.programs import COMPILED, Program

PROGRAMS = Path(__file__).resolve().parent.parent / "p4runtime/programs"
OURS = [path.name.partition(".")[0] for path in packed.files(COMPILED, ".p4info.txtpb")]
OUTSIDE = ["bench", "indirect", "valuesets", "idle", "digests"]
KNOWN = sorted({*OURS, *(name for name in OUTSIDE if packed.is_file(PROGRAMS / f"{name}.json"))})


@cache
def schemas(name: str) -> tuple[Schema, finsy.P4Schema]:
    path = PROGRAMS / f"{name}.json"
    program = Program.find(str(path)) if packed.is_file(path) else Program.compiled(name)
    data = program.schema.p4info.SerializeToString()
    return program.schema, finsy.P4Schema(their_p4i.P4Info.FromString(data))


def same(ours, theirs, name: str):
    """Both encode alike, and both decode what the other has encoded."""
    our_schema, their_schema = schemas(name)
    message = ours.encode(our_schema)
    data = message.SerializeToString(deterministic=True)
    their_entity = theirs.encode(their_schema)
    assert their_entity.SerializeToString(deterministic=True) == data
    decoded = entities.decode_entity(p4r.Entity.FromString(data), our_schema)
    assert decoded.encode(our_schema) == message
    their_decoded = type(theirs).decode(their_p4r.Entity.FromString(data), their_schema)
    assert plain(their_decoded) == plain(decoded)


def plain(value):
    """Values of either implementation's classes, as a comparison of both takes them."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [plain(part) for part in value]
    if type(value).__name__ == "MACAddress":
        return str(value)
    fields = getattr(type(value), "__dataclass_fields__", None)
    if fields is None:
        return int(value) if isinstance(value, int) else value
    parts = {name: plain(getattr(value, name)) for name in fields if name not in ("_", "args")}
    if hasattr(value, "args"):
        parts["args"] = plain(value.args)
    return {name: part for name, part in parts.items() if part not in (None, [], ())}


@st.composite
def number(draw: st.DrawFn, width: int):
    """A value of a field, in one of its forms."""
    if width == 0:
        return draw(st.text(max_size=5))
    value = draw(st.one_of(st.sampled_from([0, 1, (1 << width) - 1]), st.integers(0, 2**width - 1)))
    forms = [value, str(value), hex(value)]
    if width == 32:
        forms += [str(ipaddress.IPv4Address(value)), ipaddress.IPv4Address(value)]
    if width == 128:
        forms += [str(ipaddress.IPv6Address(value)), ipaddress.IPv6Address(value)]
    if width == 48:
        forms.append(":".join(f"{byte:02x}" for byte in value.to_bytes(6, "big")))
    return draw(st.sampled_from(forms))


@st.composite
def pattern(draw: st.DrawFn, kind, width: int):
    """A value of a key field of this kind."""
    value = draw(number(width))
    if kind is MatchKind.LPM:
        length = draw(st.integers(0, width))
        forms = [(value, length), value, f"{value}/{length}"]
        if width == 32:
            start = ipaddress.IPv4Address(p4values.integer(value, 32))
            network = ipaddress.ip_network((start, length), strict=False)
            forms += [network, f"{value}/{network.netmask}"]
        return draw(st.sampled_from(forms))
    if kind is MatchKind.TERNARY:
        mask, length = draw(number(width)), draw(st.integers(0, width))
        forms = [(value, mask), f"{value}/&{mask}", value, f"{value}/{length}"]
        return draw(st.sampled_from(forms))
    if kind is MatchKind.RANGE:
        high = draw(number(width))
        return draw(st.sampled_from([(value, high), f"{value}...{high}"]))
    return value


@st.composite
def call(draw: st.DrawFn, owner) -> tuple[str, dict[str, Any]]:
    action = draw(st.sampled_from(list(owner.actions)))
    spelled = draw(st.sampled_from([action.name, action.alias]))
    return spelled, {param.name: draw(number(param.bitwidth)) for param in action.params}


@st.composite
def weight(draw: st.DrawFn):
    share, port = draw(st.integers(1, 9)), draw(st.integers(0, 511))
    return draw(st.sampled_from([share, (share, port)]))


CONFIG = st.fixed_dictionaries(
    {name: st.integers(0, 2**40) for name in ("cir", "cburst", "pir", "pburst", "eburst")}
)
COUNTS = st.fixed_dictionaries(
    {name: st.integers(0, 2**40) for name in ("byte_count", "packet_count")}
)


def test_programs_are_there():
    assert {"pcn", "dcqcn", "bench"} <= {*KNOWN}


@settings(max_examples=300)
@given(st.sampled_from(KNOWN), st.data())
def test_table_entry_is_encoded_as_finsy_does(name, data):
    schema, _ = schemas(name)
    assume(len(schema.tables))
    table = data.draw(st.sampled_from(list(schema.tables)))
    match = {
        field.alias: data.draw(pattern(field.match_type, field.bitwidth))
        for field in table.match_fields
        if data.draw(st.booleans())
    }
    rest = data.draw(
        st.fixed_dictionaries(
            {},
            optional={
                "priority": st.integers(0, 2**31 - 1), "is_default_action": st.booleans(),
                "idle_timeout_ns": st.integers(0, 2**40),
                "time_since_last_hit": st.integers(0, 2**40), "metadata": st.binary(max_size=4),
                "is_const": st.booleans(), "controller_metadata": st.integers(0, 2**40),
            },
        )
    )  # fmt: skip
    theirs = dict(rest)
    for key, kind, values in (
        ("meter_config", "MeterConfig", CONFIG),
        ("counter_data", "CounterData", COUNTS),
    ):
        if data.draw(st.booleans()):
            fields = data.draw(values)
            rest[key] = getattr(entities, kind)(**fields)
            theirs[key] = getattr(finsy, f"P4{kind}")(**fields)
    if len(table.actions) and data.draw(st.booleans()):
        action, args = data.draw(call(table))
        rest["action"] = entities.TableAction(action, **args)
        theirs["action"] = finsy.P4TableAction(action, **args)
        if table.action_profile and data.draw(st.booleans()):
            weights = data.draw(st.lists(weight(), max_size=3))
            rest["action"] = entities.TableActions([(w, rest["action"]) for w in weights])
            theirs["action"] = finsy.P4IndirectAction([(w, theirs["action"]) for w in weights])
        elif table.action_profile and data.draw(st.booleans()):
            number = data.draw(st.integers(1, 99))
            key = data.draw(st.sampled_from(["member_id", "group_id"]))
            rest["action"] = entities.TableActions(**{key: number})
            theirs["action"] = finsy.P4IndirectAction(**{key: number})
    entry = entities.TableEntry(table.name, match=entities.TableMatch(match), **rest)
    same(entry, finsy.P4TableEntry(table.name, match=finsy.P4TableMatch(match), **theirs), name)


@given(st.sampled_from(KNOWN), st.data())
def test_cells_are_encoded_as_finsy_does(name, data):
    schema, _ = schemas(name)
    index = data.draw(st.one_of(st.none(), st.integers(0, 2**20)))
    counts, config = data.draw(COUNTS), data.draw(CONFIG)
    for counter in schema.counters:
        same(
            entities.CounterEntry(counter.alias, index=index, data=entities.CounterData(**counts)),
            finsy.P4CounterEntry(counter.alias, index=index, data=finsy.P4CounterData(**counts)),
            name,
        )
    for meter in schema.meters:
        same(
            entities.MeterEntry(meter.alias, index=index, config=entities.MeterConfig(**config)),
            finsy.P4MeterEntry(meter.alias, index=index, config=finsy.P4MeterConfig(**config)),
            name,
        )
    for register in schema.registers:
        spec = register.spec.type_spec
        if spec.WhichOneof("type_spec") == "bitstring" and spec.bitstring.HasField("bit"):
            value = data.draw(st.integers(0, 2**spec.bitstring.bit.bitwidth - 1))
            same(
                entities.RegisterEntry(register.alias, index=index, data=value),
                finsy.P4RegisterEntry(register.alias, index=index, data=value),
                name,
            )
    for direct in schema.direct_counters:
        same(
            entities.DirectCounterEntry(direct.alias, data=entities.CounterData(**counts)),
            finsy.P4DirectCounterEntry(direct.alias, data=finsy.P4CounterData(**counts)),
            name,
        )
    for table in schema.tables:
        if table.direct_meter is not None:
            same(
                entities.DirectMeterEntry(
                    table_entry=entities.TableEntry(table.alias),
                    config=entities.MeterConfig(**config),
                ),
                finsy.P4DirectMeterEntry(
                    table_entry=finsy.P4TableEntry(table.alias),
                    config=finsy.P4MeterConfig(**config),
                ),
                name,
            )


@given(st.lists(st.tuples(st.integers(0, 511), st.integers(0, 9)), max_size=4), st.data())
def test_replication_is_encoded_as_finsy_does(copies, data):
    number, more = data.draw(st.integers(1, 2**15)), data.draw(st.integers(0, 255))
    ours = [
        data.draw(st.sampled_from([copy, entities.Replica(copy[0], instance=copy[1])]))
        for copy in copies
    ]
    theirs = [P4Replica(port, instance=instance) for port, instance in copies]
    same(
        entities.MulticastGroup(number, replicas=ours, metadata=b"x"),
        finsy.P4MulticastGroupEntry(number, replicas=theirs, metadata=b"x"),
        "bench",
    )
    same(
        entities.CloneSession(number, replicas=ours, class_of_service=1, packet_length_bytes=more),
        finsy.P4CloneSessionEntry(
            number, replicas=theirs, class_of_service=1, packet_length_bytes=more
        ),
        "bench",
    )


@given(st.sampled_from(KNOWN), st.data())
def test_digests_and_profiles_are_encoded_as_finsy_does(name, data):
    schema, _ = schemas(name)
    times = {
        key: data.draw(st.integers(0, 2**30))
        for key in ("max_list_size", "max_timeout_ns", "ack_timeout_ns")
    }
    for digest in schema.digests:
        same(
            entities.DigestEntry(digest.alias, **times),
            finsy.P4DigestEntry(digest.alias, **times),
            name,
        )
    for profile in schema.action_profiles:
        number = data.draw(st.integers(1, 99))
        action, args = data.draw(call(schema))
        same(
            entities.ProfileMember(
                profile.alias, member_id=number, action=entities.TableAction(action, **args)
            ),
            finsy.P4ActionProfileMember(
                profile.alias, member_id=number, action=finsy.P4TableAction(action, **args)
            ),
            name,
        )
        members = data.draw(st.lists(st.tuples(st.integers(1, 9), weight()), max_size=3))
        same(
            entities.ProfileGroup(
                profile.alias,
                group_id=number,
                max_size=3,
                members=[entities.GroupMember(member, weight=share) for member, share in members],
            ),
            finsy.P4ActionProfileGroup(
                profile.alias,
                group_id=number,
                max_size=3,
                members=[finsy.P4Member(member, weight=share) for member, share in members],
            ),
            name,
        )
    for value_set in schema.value_sets:
        member = {
            field.alias: data.draw(pattern(field.match_type, field.bitwidth))
            for field in value_set.match_fields
        }
        same(
            entities.ValueSetEntry(value_set.alias, members=[member]),
            finsy.P4ValueSetEntry(value_set.alias, members=[P4ValueSetMember(member)]),
            name,
        )


@given(st.integers(1, 130), st.data())
def test_values_are_those_of_finsy(width, data):
    from finsy import p4values as theirs

    value = data.draw(st.one_of(number(width), st.integers(-2, 2**width + 1), st.text(max_size=6)))
    for ours, their_function in (
        (p4values.exact, theirs.encode_exact),
        (p4values.lpm, theirs.encode_lpm),
        (p4values.ternary, theirs.encode_ternary),
    ):
        assert outcome(ours, value, width) == outcome(their_function, value, width)
    signed = data.draw(st.integers(-(2**width), 2**width))
    assert outcome(p4values.signed, signed, width) == outcome(theirs.encode_signed, signed, width)


def outcome(function, value, width: int):
    """What a call returns; None: it refuses."""
    try:
        return function(value, width)
    except ValueError:
        return None


@pytest.mark.parametrize(
    ("entry", "fault"),
    [
        (entities.TableEntry("ipv4_lpn"), "no table 'ipv4_lpn'; did you mean 'ipv4_lpm'"),
        (
            entities.TableEntry("ipv4_lpm", match=entities.TableMatch(dst=1)),
            "'SwitchIngress.forwarding.ipv4_lpm': match field 'dst': no match field 'dst'",
        ),
        (
            entities.TableEntry("ipv4_lpm", match=entities.TableMatch(dst_addr=1 << 32)),
            "match field 'dst_addr': invalid value for bitwidth 32: 4294967296",
        ),
        (
            entities.TableEntry("ipv4_lpm", match=entities.TableMatch(dst_addr="1.2.3.4/33")),
            "match field 'dst_addr': invalid LPM value for bitwidth 32: '1.2.3.4/33'",
        ),
        (
            entities.TableEntry("ipv4_lpm", action=entities.TableAction("ipv4_forward", port=1)),
            "action 'ipv4_forward': dst_mac is missing",
        ),
        (
            entities.TableEntry("ipv4_lpm", action=entities.TableAction("ipv4_forward", prt=1)),
            "action 'ipv4_forward': prt: no parameter 'prt'; did you mean 'port'",
        ),
        (
            entities.TableEntry(
                "ipv4_lpm", action=entities.TableAction("ipv4_forward", port=1 << 20, dst_mac=1)
            ),
            "action 'ipv4_forward': port: invalid value for bitwidth 9: 1048576",
        ),
    ],
)
def test_fault_names_the_place(entry, fault):
    with pytest.raises(ValueError, match=r".") as failure:
        entry.encode(schemas("pcn")[0])
    assert fault in str(failure.value)
