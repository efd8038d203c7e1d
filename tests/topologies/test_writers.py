"""Networks that are written, in our format and other projects', are read again as they were."""

from dataclasses import replace
from itertools import product
from pathlib import Path

import pytest
from file_networks import FILES, connected_topologies, read
from hypothesis import given

from pcn.topologies.catalog import TOPOLOGIES
from pcn.topologies.formats import FormatError
from pcn.topologies.formats.known import FORMATS, writer
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import FlowSpec, OutputBuffer, Switch, Topology


@pytest.mark.parametrize("name", TOPOLOGIES)
@pytest.mark.parametrize("form", ["pcn", "pcn-json"])
def test_own_format_gives_topology_back(form, name):
    topology = find_topology(name).build()
    write = FORMATS[form].write
    assert read(f"t{FORMATS[form].suffix}", write(topology)) == topology


def test_own_format_gives_all_back():
    topology = find_topology(str(FILES / "racks.yaml")).build({"xon_bytes": "100KB"})
    buffered = Switch("Tor-B", 9, "round robin", OutputBuffer(100e3, 1.7, 1 / 3e6, True))
    topology = replace(
        topology,
        switches=(topology.switches[0], buffered),
        flow_control="credits",
        flows=(
            *topology.flows,
            FlowSpec(7, "a0", "b1", -1 / 3e5, rate_bps=1e10 / 3),
            FlowSpec(8, "b1", "a0", 5e-6, 9, after=(1,)),
            FlowSpec(9, "b1", "a0", 5e-6, 9, after=(1, 8), after_s=(0.0, 1e-6), colour="red"),
            FlowSpec(10, "b1", "a0", 0.0, 9, after=(1, 8), acknowledged=(8,)),
        ),
    )
    quick = replace(topology.switches[0], latency_s=1 / 3e6, cut_through=True)
    cut = replace(topology, switches=(quick, topology.switches[1]), flow_control="pfc")
    for form, network in product(("pcn", "pcn-json"), (topology, cut)):
        write = FORMATS[form].write
        assert read(f"t{FORMATS[form].suffix}", write(network)) == network


@given(connected_topologies())
def test_writers_give_network_back(topology):
    """Names, addresses and ports where the format has them; HPCC's numbers its nodes, p4lang's has
    no device ids."""
    for form in FORMATS.values():
        if form.write is not None:
            again = read(f"random{form.suffix}", form.write(topology))
            if form.name == "hpcc":
                assert [len(again.hosts), links_by_place(again)] == [
                    len(topology.hosts),
                    links_by_place(topology),
                ]
                assert form.write(again) == form.write(topology)
                assert read("random.txt", form.write(again)) == again
            else:
                assert again == topology, form.name


def links_by_place(topology: Topology) -> list[tuple[int, int, int, int, float, float]]:
    names = [
        *(host.name for host in topology.hosts),
        *(switch.name for switch in topology.switches),
    ]
    return [
        (
            names.index(link.a.node), link.a.port, names.index(link.b.node), link.b.port,
            link.rate_bps, link.delay_s,
        )
        for link in topology.links
    ]  # fmt: skip


def test_writer_is_chosen_by_name_or_suffix():
    assert writer("a/topology.txt")[0].name == "hpcc"
    assert writer("hpcc:x.y") == (FORMATS["hpcc"], Path("x.y"))
    assert writer("net.graph.json")[0].name == "node-link"
    with pytest.raises(FormatError, match="write the format before the file, as hpcc:net"):
        writer("net.xyz")
    for name in (name for name, format_ in FORMATS.items() if not format_.write):
        with pytest.raises(
            FormatError, match=f"{name}:net.topo: {name} is only read; written are pcn,"
        ):
            writer(f"{name}:net.topo")


def test_writer_of_p4lang_refuses_names_that_exercises_read_otherwise():
    write = FORMATS["p4lang"].write
    with pytest.raises(FormatError, match="r0: hosts begin with h there, switches with s"):
        write(find_topology("dumbbell").build())


def test_writer_of_hpcc_notes_ports_that_a_reader_counts_otherwise():
    note = FORMATS["hpcc"].written_note
    assert note(find_topology("compact").build()).endswith(
        "in the order of links: s1:2 becomes s1:1"
    )
    assert "ports" not in note(find_topology("dumbbell").build())
