"""A p4info as wide as P4Runtime has it, by programs/names.p4: keys and actions of one last word, an
alias of two dots, an error in a digest, strings in packets' headers."""

from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pcn.base.aliases import aliases
from pcn.base.p4rt import p4d, p4i, p4t
from pcn.controller.control_plane import DigestEntry, TableAction, TableEntry, TableMatch
from pcn.controller.data_types import Types
from pcn.controller.errors import SwitchError
from pcn.controller.p4info import Names
from pcn.controller.programs import Program
from pcn.controller.schema import schema_of
from pcn.p4net.network import P4Network, P4Switch
from pcn.p4net.virtual import VirtualP4
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts

PROGRAMS = Path(__file__).parent / "programs"
NAMES = Program("names", PROGRAMS / "names.json", PROGRAMS / "names.p4info.txtpb")
CPU = 510


def ethernet(kind: int, rest: bytes = b"") -> bytes:
    return (
        bytes([2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1])
        + kind.to_bytes(2, "big")
        + rest.ljust(46, b"\0")
    )


def pair() -> P4Network:
    """h1 - s1 - h2."""
    links = tuple(Link(Endpoint(f"h{i}", 0), Endpoint("s1", i), 10e9, 1e-6) for i in (1, 2))
    topology = Topology("pair", make_hosts(["h1", "h2"]), (Switch("s1", 1),), links)
    return P4Network(topology, {"s1": P4Switch(NAMES, cpu_port=CPU)})


class Entity:
    def __init__(self, number: int, name: str):
        self.id, self.name = number, name


@given(
    st.lists(
        st.lists(st.sampled_from("abc"), min_size=1, max_size=4).map(".".join),
        unique=True,
        max_size=6,
    )
)
def test_last_part_finds_what_alone_ends_in_it(names):
    known = Names("thing", [Entity(number, name) for number, name in enumerate(names, start=1)])
    for part in {
        end for name in names for end in [name, *(name.split(".", cut)[-1] for cut in range(1, 4))]
    }:
        ending = [name for name in names if name == part or name.endswith(f".{part}")]
        entity = known.get(part)
        if part in names:
            assert entity.name == part
        elif len(ending) == 1:
            assert entity.name == ending[0]
        else:
            assert entity is None
            with pytest.raises(ValueError, match="is one of"):
                known[part]
    assert len(set(aliases(names))) == len(names)
    for name, alias in zip(names, aliases(names), strict=True):
        assert name == alias or name.endswith(f".{alias}")


def test_names_that_are_there_twice_are_refused():
    with pytest.raises(ValueError, match="two things are called 'a'"):
        Names("thing", [Entity(1, "a"), Entity(2, "a")])
    with pytest.raises(ValueError, match="two things have the id 1"):
        Names("thing", [Entity(1, "a"), Entity(1, "b")])


@pytest.mark.parametrize(
    ("table", "names"),
    [("by_field", ("h.a.x", "h.b.x")), ("by_header", ("h.a.$valid$", "h.b.$valid$"))],
)
def test_entry_with_keys_of_one_last_word_reads_back(table, names):
    with VirtualP4(pair()) as network:
        switch = network.switches["s1"]
        entry = TableEntry(
            table,
            match=TableMatch(dict(zip(names, (0, 1), strict=True))),
            action=TableAction("to", port=2),
        )
        switch.insert([entry])
        read_back, default = switch.read_table(table)
        assert read_back.match == dict(zip(aliases(names), (0, 1), strict=True))
        assert default.is_default_action
        with pytest.raises(SwitchError, match=r"is one of h\.a"):
            switch.insert(
                [
                    TableEntry(
                        table,
                        match=TableMatch({names[0].split(".")[-1]: 0}),
                        action=TableAction("to", port=1),
                    )
                ]
            )


def test_packet_meets_entries_of_both_pipelines():
    """One control in ingress and egress: their tables and actions have whole names as aliases."""
    with VirtualP4(pair()) as network:
        switch = network.switches["s1"]
        both = TableEntry(
            "by_header",
            match=TableMatch({"a.$valid$": 0, "b.$valid$": 1}),
            action=TableAction("to", port=2),
        )
        switch.insert([both])
        for control in ("I", "E"):
            action = TableAction(f"{control}.mark.act", value=0x1111 if control == "I" else 0x2222)
            switch.insert(
                [
                    TableEntry(
                        f"{control}.mark.marks", match=TableMatch(dst=0x020000000002), action=action
                    )
                ]
            )
        network.send("h1", 0.0, ethernet(0x1112, bytes([1, 2])))
        network.send("h1", 1e-6, ethernet(0x800))
        network.run(until_s=1e-3)
        assert [frame.start[12:14].hex() for frame in network.arrived("h2")] == ["2222"]
        (marked, _) = switch.read_table("E.mark.marks")
        assert marked.action == TableAction("E.mark.act", value=0x2222)


def test_digest_has_an_error_by_its_name():
    with VirtualP4(pair()) as network:
        switch = network.switches["s1"]
        switch.insert([DigestEntry("learn_t", max_list_size=1)])
        lists = []
        network.control("s1", lambda plane: lists.extend(plane.digests()))
        network.send("h1", 0.0, ethernet(0x800))
        network.send("h1", 1e-3, ethernet(0x1112)[:14])
        network.run(until_s=1.0)
        assert [digest.data for digest in lists] == [
            [{"src": 0x020000000001, "why": "NoError"}],
            [{"src": 0x020000000001, "why": "PacketTooShort"}],
        ]


def test_packets_of_controllers_have_ports_by_string():
    """The width of such a field is the program's: the p4info doesn't have it."""
    with VirtualP4(pair()) as network:
        switch = network.switches["s1"]
        switch.modify(
            [TableEntry("out_port", action=TableAction("to", port=CPU), is_default_action=True)]
        )
        seen = []
        network.control("s1", lambda plane: seen.extend(plane.packets_in()))
        for number, host in enumerate(("h1", "h2")):
            network.send(host, number * 1e-3, ethernet(0x800))
        network.run(until_s=1.0)
        assert [packet["ingress_port"] for packet in seen] == ["uplink", "2"]
        switch = network.switches["s1"]
        switch.packet_out(ethernet(0x800), egress_port="uplink", padding=0)
        switch.packet_out(ethernet(0x800), egress_port="2", padding=0)
        network.run(until_s=2.0)
        assert [len(network.arrived(host)) for host in ("h1", "h2")] == [1, 1]


def described(**types: p4t.P4DataTypeSpec) -> Types:
    info = p4t.P4TypeInfo()
    for name, spec in types.items():
        info.structs[name].members.add(name="part", type_spec=spec)
    return Types(info)


def test_types_read_what_they_write():
    bits = p4t.P4DataTypeSpec(
        bitstring=p4t.P4BitstringLikeTypeSpec(bit=p4t.P4BitTypeSpec(bitwidth=8))
    )
    error = p4t.P4DataTypeSpec(error=p4t.P4ErrorType())
    pairs = p4t.P4DataTypeSpec(tuple=p4t.P4TupleTypeSpec(members=[bits, error]))
    types = described(outer=pairs)
    value = {"part": (7, "NoMatch")}
    outer = types.read(p4t.P4DataTypeSpec(struct=p4t.P4NamedType(name="outer")))
    assert outer.encode_data(value).struct.members[0].tuple.members[1] == p4d.P4Data(
        error="NoMatch"
    )
    assert outer.decode_data(outer.encode_data(value)) == value
    with pytest.raises(ValueError, match="not other"):
        outer.encode_data({"other": 1})
    with pytest.raises(ValueError, match="has the form bitstring"):
        types.read(error).decode_data(p4d.P4Data(bitstring=b"\1"))


def test_type_that_contains_itself_is_refused():
    itself = p4t.P4DataTypeSpec(struct=p4t.P4NamedType(name="outer"))
    with pytest.raises(ValueError, match="'outer' contains itself"):
        described(outer=itself).read(itself)
    info = p4i.P4Info()
    info.digests.add(preamble=p4i.Preamble(id=1, name="d", alias="d"), type_spec=itself)
    with pytest.raises(ValueError, match="no struct 'outer'"):
        schema_of(info)


def test_name_of_many_dots_has_few_ends():
    """All ends of a name of a megabyte had terabytes."""
    name = 500_000 * "a." + "b"
    known = Names("thing", [Entity(1, name), Entity(2, "c.b")])
    assert {known[key].id for key in (name, 1, 15 * "a." + "b")} == {1}
    assert known["c.b"].id == 2
    assert known.get(16 * "a." + "b") is None
    assert aliases([name, "c.b"]) == ["a.b", "c.b"]
