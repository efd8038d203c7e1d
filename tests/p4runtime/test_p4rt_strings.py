"""Types that are translated to strings: what a client calls by name, the data plane has a number
for."""

from collections.abc import Iterator

import pytest
from hypothesis import given, strategies as st
from p4rt_client import Client, Names, RefusedError
from p4rt_switch import Program, Switch

from pcn.base.p4rt import p4i, p4r, p4t, rpc_code
from pcn.softswitch.p4runtime.errors import (
    INVALID_ARGUMENT,
    NOT_FOUND,
    RESOURCE_EXHAUSTED,
    RpcError,
)
from pcn.softswitch.p4runtime.translation import Strings, Translations

PORTS = '@p4runtime_translation_mappings({{"uplink", 4}, {"a \\"b\\"", 0x1f}, {"" , 9w0} , })'


def described(name: str, *annotations: str) -> p4i.P4Info:
    """A p4info with one type, translated to strings."""
    new = p4t.P4NewTypeSpec(
        translated_type=p4t.P4NewTypeTranslation(uri="u", sdn_string={}), annotations=annotations
    )
    return p4i.P4Info(type_info=p4t.P4TypeInfo(new_types={name: new}))


@given(
    st.integers(1, 12),
    st.lists(st.one_of(st.integers(0, 5000).map(lambda n: str(n).encode()), st.binary(max_size=3))),
)
def test_strings_and_numbers_are_one_to_one(width, texts):
    strings, numbers = Strings(width), {}
    for text in texts:
        if len({*numbers, text}) > 1 << width:
            with pytest.raises(RpcError) as refusal:
                strings.number(text, "t")
            assert refusal.value.code == RESOURCE_EXHAUSTED
        else:
            numbers[text] = strings.number(text, "t")
    assert len(set(numbers.values())) == len(numbers)
    for text, number in numbers.items():
        assert 0 <= number < 1 << width
        assert strings.text(number) == text
        assert strings.number(text, "t", known=True) == number


def test_numerals_stand_for_themselves_and_others_for_what_is_free():
    strings = Strings(4)
    assert [strings.number(text, "t") for text in (b"15", b"up", b"3", b"03", b"16", b"")] == [
        15, 14, 3, 13, 12, 11,
    ]  # fmt: skip
    assert strings.text(7) == b"7"
    with pytest.raises(RpcError) as refusal:
        strings.number(b"down", "t", known=True)
    assert refusal.value.code == NOT_FOUND


def test_a_program_fixes_some():
    strings = Translations(described("port_t", "@other", PORTS)).strings("port_t", 9, "t")
    assert [strings.number(text, "t") for text in (b"uplink", b'a "b"', b"", b"4", b"5")] == [
        4, 31, 0, 511, 5,
    ]  # fmt: skip
    for wrong in ('{"a", 1}, {"a", 2}', '{"a", 1}, {"b", 1}', '{"a", 512}'):
        types = Translations(described("port_t", f"@p4runtime_translation_mappings({{{wrong}}})"))
        with pytest.raises(RpcError) as refusal:
            types.strings("port_t", 9, "t")
        assert refusal.value.code == INVALID_ARGUMENT


@pytest.fixture
def translated(program: Program) -> Program:
    """programs/bench.p4 as if ports and reasons were of types that are translated to strings."""
    info = p4i.P4Info()
    info.CopyFrom(program.info)
    for name, annotation in (("port_t", PORTS), ("reason_t", "")):
        info.type_info.MergeFrom(described(name, annotation).type_info)
    for table in info.tables:
        for match in table.match_fields:
            if match.name == "port":
                match.bitwidth = 0
                match.type_name.name = "port_t"
    for action in info.actions:
        for param in action.params:
            if param.name in ("port", "reason"):
                param.bitwidth = 0
                param.type_name.name = f"{param.name}_t"
    return Program(info, program.json)


@pytest.fixture
def named(empty_switch: Switch, translated: Program) -> Iterator[Client]:
    """The primary controller of a switch that runs it."""
    with Client(empty_switch.port) as client:
        client.arbitrate()
        client.set_pipeline(translated.info, translated.json)
        yield client


def exact(names: Names, table: str, key: str, text: bytes) -> p4r.FieldMatch:
    fields = names.tables[table].match_fields
    return p4r.FieldMatch(
        field_id=next(f.id for f in fields if f.name == key), exact=p4r.FieldMatch.Exact(value=text)
    )


def test_entries_by_name(named: Client, names: Names, empty_switch: Switch):
    """In keys (exact and optional) and in parameters; what is read is what was written; packets
    meet the numbers."""
    wide = names.action("set_wide", value=77, small=1)
    at_uplink = names.entry("prefixes", None, wide)
    at_uplink.match.append(exact(names, "prefixes", "port", b"uplink"))
    by_name = names.entry("acl", {"src_addr": (1, 1)}, names.action("NoAction"), priority=1)
    number = next(f.id for f in names.tables["acl"].match_fields if f.name == "port")
    by_name.match.add(field_id=number, optional=p4r.FieldMatch.Optional(value=b"Ethernet0"))
    to_cpu = names.entry("l2", {"dst_addr": 7}, names.action("send_to_cpu", reason=b"why not"))
    for entry in (at_uplink, by_name, to_cpu):
        named.insert(entry)
        assert named.read(p4r.TableEntry(table_id=entry.table_id)) == [entry]
        assert named.read(
            p4r.TableEntry(table_id=entry.table_id, match=entry.match, priority=entry.priority)
        )
    empty_switch.native.packet_out(4, bytes.fromhex("000000000007 000000000002 0800") + bytes(46))
    assert [item.value for item in named.receive().packet.metadata] == [b"\x04", b"\x7f"]
    cells = named.read(p4r.RegisterEntry(register_id=names.id("registers", "wide_cells")))
    assert cells[1].data.bitstring == bytes([77])
    for entry in (at_uplink, by_name, to_cpu):
        named.delete(entry)
        assert named.read(p4r.TableEntry(table_id=entry.table_id)) == []


def test_packets_have_strings_in_their_headers(
    empty_switch: Switch, translated: Program, names: Names
):
    for header in translated.info.controller_packet_metadata:
        for field in header.metadata:
            if field.name in ("ingress_port", "egress_port"):
                field.bitwidth, field.type_name.name = 0, "port_t"
    to_cpu = names.entry("l2", {"dst_addr": 7}, names.action("send_to_cpu", reason=b"3"))
    frame = bytes.fromhex("000000000007 000000000002 0800") + bytes(46)
    with Client(empty_switch.port) as client:
        client.arbitrate()
        client.set_pipeline(translated.info, translated.json)
        client.insert(to_cpu)
        for port, text in ((4, b"uplink"), (7, b"7")):
            empty_switch.native.packet_out(port, frame)
            assert client.receive().packet.metadata[0].value == text


def test_an_unknown_string_finds_nothing(named: Client, names: Names):
    entry = names.entry("prefixes", None, names.action("NoAction"))
    entry.match.append(exact(names, "prefixes", "port", b"nowhere"))
    for call in (named.modify, named.delete):
        with pytest.raises(RefusedError) as refusal:
            call(entry)
        assert refusal.value.codes == [rpc_code.NOT_FOUND]
        assert "'nowhere'" in refusal.value.outcomes[0].message


def test_the_state_goes_along_by_name(named: Client, names: Names, translated: Program):
    """RECONCILE_AND_COMMIT: the other program may fix other numbers."""
    entry = names.entry("prefixes", None, names.action("NoAction"))
    entry.match.append(exact(names, "prefixes", "port", b"uplink"))
    named.insert(entry)
    p4_info = p4i.P4Info()
    p4_info.CopyFrom(translated.info)
    del p4_info.type_info.new_types["port_t"].annotations[:]
    named.set_pipeline(p4_info, translated.json, "RECONCILE_AND_COMMIT")
    assert named.read(p4r.TableEntry(table_id=entry.table_id)) == [entry]


@pytest.mark.parametrize("place", ["match", "packet_in", "register", "digest"])
def test_what_cannot_be_a_string_is_refused_at_load(named: Client, translated: Program, place):
    """A mask of strings has no meaning; the p4info doesn't have the width of the others, and the
    program has no header type with the fields of `packet_in`."""
    info = translated.info
    if place == "match":
        field = next(t for t in info.tables if t.preamble.alias == "fixed").match_fields[0]
        field.bitwidth, field.type_name.name = 0, "port_t"
    elif place == "packet_in":
        field = next(
            h for h in info.controller_packet_metadata if h.preamble.name == "packet_in"
        ).metadata[0]
        field.name, field.bitwidth, field.type_name.name = "renamed", 0, "port_t"
    elif place == "register":
        info.registers[0].type_spec.Clear()
        info.registers[0].type_spec.new_type.name = "port_t"
    else:
        (struct,) = info.type_info.structs.values()
        struct.members[1].type_spec.Clear()
        struct.members[1].type_spec.new_type.name = "port_t"
    with pytest.raises(RefusedError) as refusal:
        named.set_pipeline(info, translated.json)
    assert refusal.value.code.name == "UNIMPLEMENTED"
    assert "translated to a string" in refusal.value.message
