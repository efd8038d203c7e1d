"""Programs that do what ours don't mean the same in virtual time, in place and in their general
form."""

import json
from pathlib import Path
from typing import Any

import pytest
from networks import PFC_ONLY, star, with_flows

from bench.virtual import measure
from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.programs import Program
from pcn.hosts.virtual import VirtualNetwork
from pcn.softswitch.codegen.generate import generate
from pcn.softswitch.program.load import load_program
from pcn.topologies.model import FlowSpec
from pcn.virtualnet import Totals, VirtualError
from pcn.virtualnet.switch import load

Json = dict[str, Any]
N_PACKETS = 40


def dropping_through_a_copy(source: Json, fields: list[str]) -> Json:
    """Each `mark_to_drop(standard_metadata)` as p4c writes it in an action with an inout parameter:
    `fields` are copied in, the copy is marked, and they are copied back."""
    types = {header["name"]: header["header_type"] for header in source["headers"]}
    copy = {
        "name": "copy",
        "id": len(source["headers"]),
        "header_type": types["standard_metadata"],
        "metadata": True,
    }
    result = source | {"headers": [*source["headers"], copy]}

    def field(header: str, name: str) -> Json:
        return {"type": "field", "value": [header, name]}

    def assignments(to: str, value: str) -> list[Json]:
        return [{"op": "assign", "parameters": [field(to, f), field(value, f)]} for f in fields]

    for action in result["actions"]:
        for i, primitive in reversed(list(enumerate(action["primitives"]))):
            if primitive["op"] == "mark_to_drop":
                mark = primitive | {"parameters": [{"type": "header", "value": "copy"}]}
                copied = [
                    *assignments("copy", "standard_metadata"),
                    mark,
                    *assignments("standard_metadata", "copy"),
                ]
                action["primitives"][i : i + 1] = copied
    return result


def source_of(program: Program) -> Json:
    return json.loads(bytes(program))


def changed(folder: Path, source: Json) -> Program:
    """`pcn_native` with another source."""
    program = Program("changed", folder / "changed.json", Program.compiled("pcn_native").p4info)
    program.json.write_text(json.dumps(source), encoding="utf-8")
    return program


def has_place(program: Program) -> bool:
    """Whether it has a form in place."""
    return "sw_inplace inplace" in generate(load_program(bytes(program).decode()), inplace=True)


def run(program: Program, *, inplace: bool, route: TableAction | None = None) -> Totals:
    """A flow across a switch without a route, or with this one."""
    with VirtualNetwork(star(2), PFC_ONLY, program=load(program, inplace)) as network:
        tables = load_program(bytes(program).decode()).tables
        routes = next(i for i, table in enumerate(tables) if table.name.endswith("ipv4_lpm"))
        for handle in range(len(network.topology.hosts)):
            network.switches["s0"].native.table_delete(routes, handle)
        if route is not None:
            every = TableMatch(dst_addr="10.0.0.0/8")
            network.switches["s0"].insert([TableEntry("ipv4_lpm", match=every, action=route)])
        with_flows(network, [FlowSpec(1, "h0", "r0", size_bytes=1000 * N_PACKETS)]).run(
            until_s=1e-3
        )
        return network.totals()


@pytest.mark.parametrize(
    "fields", [["egress_spec"], ["ingress_port", "egress_spec", "mcast_grp"]], ids=len
)
@pytest.mark.parametrize("inplace", [True, False])
def test_what_a_copy_of_standard_metadata_drops(tmp_path, fields, inplace):
    """Copied back without `mcast_grp`, the program has a form in place; with it, the general form
    alone."""
    compiled = Program.compiled("pcn_native")
    copying = changed(tmp_path, dropping_through_a_copy(source_of(compiled), fields))
    assert has_place(copying) == ("mcast_grp" not in fields)
    totals = run(copying, inplace=inplace)
    assert totals.dropped == N_PACKETS
    assert totals == run(compiled, inplace=inplace)


def test_packets_to_a_port_without_a_link_are_dropped_in_both_forms():
    program = Program.compiled("pcn_native")
    nowhere = TableAction("ipv4_forward", dst_mac="02:00:00:00:00:01", port=9)
    in_place, general = (run(program, inplace=inplace, route=nowhere) for inplace in (True, False))
    assert in_place.dropped == in_place.traversals == N_PACKETS
    assert in_place == general


@pytest.mark.parametrize("inplace", [True, False])
def test_what_the_parser_writes(tmp_path, inplace):
    """A parser that marks each packet, as `hdr.ipv4.ecn = 3` in a state."""
    source = source_of(Program.compiled("pcn_native"))
    state = next(s for s in source["parsers"][0]["parse_states"] if s["name"] == "parse_ipv4")
    to, value = {"type": "field", "value": ["ipv4", "ecn"]}, {"type": "hexstr", "value": "0x3"}
    state["parser_ops"].append({"op": "set", "parameters": [to, value]})
    # What the packet came with no longer holds when it is verified, after the parser.
    source["checksums"] = [checksum | {"verify": False} for checksum in source["checksums"]]
    program = changed(tmp_path, source)
    assert has_place(program)
    with VirtualNetwork(star(2), PFC_ONLY, program=load(program, inplace)) as network:
        with_flows(network, [FlowSpec(1, "h0", "r0", size_bytes=1000 * N_PACKETS)]).run(
            until_s=1e-3
        )
        assert network.flows[1].stats().marked_ce == N_PACKETS


def test_the_benchs_floor_forwards_through_next_hop_groups():
    full, floor = (measure("incast", 50e-6, empty=empty) for empty in (False, True))
    assert floor.events > full.events / 2


def resubmitting() -> Json:
    """A program that resubmits each packet that it forwards."""
    source = source_of(Program.compiled("pcn_native"))
    for action in source["actions"]:
        if action["name"].endswith(".ipv4_forward"):
            action["primitives"].append(
                {"op": "resubmit", "parameters": [{"type": "hexstr", "value": "0x1"}]}
            )
    return source


def test_program_that_resubmits_without_end_is_refused(tmp_path):
    source = resubmitting()
    with VirtualNetwork(
        star(1), PFC_ONLY, program=load(changed(tmp_path, source), False)
    ) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=1000))
        with pytest.raises(
            VirtualError,
            match="us: s0, a packet that came by port 0: it was resubmitted 64 times without time",
        ):
            network.run(until_s=1e-3)


def taking(n_bytes: int) -> Json:
    """A program whose parser takes more bytes of each RoCE packet, which it doesn't send on."""
    source = source_of(Program.compiled("pcn_native"))
    fields = [[f"f{i}", 64, False] for i in range(n_bytes // 8)]
    for kind, more in (
        ("header_types", {"fields": fields}),
        ("headers", {"header_type": "more_t", "metadata": False}),
    ):
        name = "more_t" if kind == "header_types" else "more"
        source[kind].append({"name": name, "id": len(source[kind]), **more})
    state = next(
        parse_state
        for parse_state in source["parsers"][0]["parse_states"]
        if parse_state["name"] == "parse_bth"
    )
    more = {"op": "extract", "parameters": [{"type": "regular", "value": "more"}]}
    state["parser_ops"].append(more)
    return source


def test_virtual_time_refuses_headers_beyond_the_bytes_that_it_stores(tmp_path):
    """54 bytes are Ethernet, IPv4, UDP and BTH."""
    route = TableAction("ipv4_forward", dst_mac="02:00:00:00:00:01", port=9)
    (folder := tmp_path / "other").mkdir()
    assert run(changed(folder, taking(72)), inplace=False, route=route).dropped == N_PACKETS
    with pytest.raises(
        VirtualError,
        match="a parser took 134 bytes of a packet, and virtual time stores the first 128",
    ):
        run(changed(tmp_path, taking(80)), inplace=False, route=route)


@pytest.mark.parametrize("source", [resubmitting, lambda: taking(80)], ids=["resubmit", "parse"])
def test_network_that_survives_loses_and_counts_what_would_end_its_run(source, tmp_path):
    with VirtualNetwork(
        star(1), PFC_ONLY, program=load(changed(tmp_path, source()), False)
    ) as network:
        network.survive()
        with_flows(network, [FlowSpec(1, "h0", "r0", size_bytes=1000 * N_PACKETS)]).run(
            until_s=1e-3
        )
        assert network.unable("s0") == network.flows[1].stats().lost_packets == N_PACKETS
        assert network.totals().dropped == N_PACKETS
        assert network.totals().packets == 0
        assert network.unable("h0") == 0


def test_network_that_survives_has_the_digest_of_others():
    digests = set()
    for survives in (False, True):
        with VirtualNetwork(star(3, out_bps=5e9, xoff_bytes=50e3), PFC_ONLY) as network:
            if survives:
                network.survive()
            flows = [FlowSpec(i + 1, f"h{i}", "r0", size_bytes=500_000) for i in range(3)]
            with_flows(network, flows).run(until_s=2e-3)
            assert network.link_stats("s0", 1).pause
            assert network.link_stats("h0", 0).overrun == network.unable("s0") == 0
            digests.add(network.totals().digest)
    assert len(digests) == 1
