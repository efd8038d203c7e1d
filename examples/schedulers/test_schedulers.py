"""The schedulers of this folder beside closed forms, in virtual time.
tests/softswitch_runtime/test_engine.py has them live, in the same order."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pcn import FlowSpec, Scheme, VirtualNetwork, find_scheme
from pcn.base.errors import TopologyError
from pcn.experiments.run.virtual import remarks
from pcn.hosts.virtual.flows import VirtualFlow
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import Topology
from pcn.topologies.star import star
from pcn.virtualnet import native
from pcn.virtualnet.errors import VirtualError

FOLDER = Path(__file__).resolve().parent
NAMES = ("fair", "stochastic", "srpt", "pias")
LINE_BPS, DELAY_S, PAYLOAD, HEADERS, MTU = 10e9, 1e-6, 1000, 58, 1058
PFC = find_scheme("pfc").configure()
LOSSY = {"lossless_classes": "6"}


@pytest.fixture(scope="module", autouse=True)
def engines_compile_sooner() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(native, "FLAGS", (*native.FLAGS, "-O0"))
        yield


def pfabric() -> Scheme:
    """Not when the module is read: other modules' tests of all schemes are made later."""
    return find_scheme(f"{FOLDER}/pfabric.py:PFABRIC")


def ordered(topology: Topology, name: str) -> Topology:
    arbitration = f"{FOLDER}/{name}.c:{name}" if name in NAMES else name
    switches = tuple(replace(switch, arbitration=arbitration) for switch in topology.switches)
    return replace(topology, switches=switches)


def wire_s(size_bytes: int, more: int = 0) -> float:
    """What a flow takes on the line; `more`: bytes of each packet beside the usual."""
    return (size_bytes + -(-size_bytes // PAYLOAD) * (HEADERS + more)) * 8 / LINE_BPS


def completion_s(flow: VirtualFlow) -> float:
    stats = flow.stats()
    assert stats.complete_s is not None
    assert stats.start_s is not None
    return stats.complete_s - stats.start_s


@pytest.mark.parametrize(
    ("name", "shares"),
    [
        ("fifo", (4, 4, 2)),
        ("round robin", (4, 4, 2)),
        ("fair", (3, 3, 3)),
        ("stochastic", (3, 3, 3)),
    ],
)
def test_backlogged_flows_share_an_output(name: str, shares: tuple[int, ...]) -> None:
    """Two flows of one host and one of another, by PFC alone: inputs share equally, or flows do."""
    with VirtualNetwork(ordered(star(2, xoff_bytes=50e3), name), PFC) as network:
        flows = [
            network.add_flow(FlowSpec(number, host, "r0"))
            for number, host in enumerate(("h0", "h0", "h1"), start=1)
        ]
        network.run(until_s=2e-3)
        before = [flow.stats().received_bytes for flow in flows]
        network.run(until_s=6e-3)
        got = [
            (flow.stats().received_bytes - was) * 8 / 4e-3
            for flow, was in zip(flows, before, strict=True)
        ]
    assert sum(got) == pytest.approx(LINE_BPS, rel=2e-3)
    assert got == pytest.approx([LINE_BPS / share for share in shares], rel=0.01)


def test_scheduler_that_its_file_lacks_is_refused_and_another_of_it_works(tmp_path: Path) -> None:
    """The file is edited meanwhile."""
    file = tmp_path / "own.c"
    for has, name in (("pias", "fair"), ("fair", "unfair")):
        file.write_text(f'#include "{FOLDER}/{has}.c"\n')
        with pytest.raises(VirtualError, match=f"no scheduler {name}: no file defines"):
            VirtualNetwork(ordered(star(1), f"{file}:{name}"), PFC)
    VirtualNetwork(ordered(star(1), f"{file}:fair"), PFC).close()


@pytest.mark.parametrize("name", ['a"b', "\udce9"])
def test_file_that_c_cannot_include_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(TopologyError, match="C's #include can't name this path: rename it"):
        find_topology("star").build({"order": f"{tmp_path}/{name}.c:fair"})


@pytest.mark.parametrize("name", ["fifo", "srpt"])
def test_srpt_ends_flows_in_the_order_of_their_sizes(name: str) -> None:
    """Three at once: each ends when it and all shorter ones have been carried; by a FIFO the last
    third of the longest one's time sees all three."""
    sizes = (3_000_000, 1_000_000, 2_000_000)
    with VirtualNetwork(
        ordered(star(3, xoff_bytes=50e3), name),
        pfabric().configure({"window_bytes": 1e9, "timeout_s": 1.0}),
    ) as network:
        flows = [
            network.add_flow(FlowSpec(number, f"h{number - 1}", "r0", size_bytes=size))
            for number, size in enumerate(sizes, start=1)
        ]
        assert network.run(until_s=0.1, finish=True)
        times = [completion_s(flow) for flow in flows]
        assert all(flow.stats().out_of_order == 0 for flow in flows)
    fixed_s = 2 * DELAY_S + 2 * MTU * 8 / LINE_BPS
    sums = np.cumsum([wire_s(size, more=4) for size in sorted(sizes)])
    bounds = dict(zip(sorted(sizes), sums, strict=True))
    if name == "srpt":
        for size, time_s in zip(sizes, times, strict=True):
            assert time_s == pytest.approx(bounds[size] + fixed_s, rel=5e-3)
    else:
        assert min(times) > 2.5 * bounds[1_000_000]


def test_srpt_gives_up_the_packets_with_the_most_left() -> None:
    """A queue of four packets: the long flow loses, the short one goes as by itself, except for the
    frame that was on the line."""
    topology = star(2)
    topology = replace(topology, parameters={**topology.parameters, **LOSSY, "queue_packets": 4})
    times = {}
    for alone in (True, False):
        with VirtualNetwork(
            ordered(topology, "srpt"), pfabric().configure({"window_bytes": 1e9, "timeout_s": 1e-3})
        ) as network:
            if not alone:
                long = network.add_flow(FlowSpec(1, "h0", "r0", size_bytes=5_000_000))
            short = network.add_flow(FlowSpec(2, "h1", "r0", size_bytes=300_000, start_s=1e-4))
            assert network.run(until_s=0.1, finish=True)
            times[alone] = completion_s(short)
            assert short.stats().lost_packets == 0
            assert alone or long.stats().lost_packets > 200
    assert times[True] < times[False] < times[True] + 2 * MTU * 8 / LINE_BPS


@pytest.mark.parametrize("name", NAMES)
def test_run_notes_a_scheme_that_does_not_report_what_srpt_reads(name: str) -> None:
    for scheme in (PFC, pfabric().configure()):
        with VirtualNetwork(ordered(star(1), name), scheme) as network:
            noted = any("by which srpt serves them" in note for note in remarks(network))
            assert noted is (name == "srpt" and scheme is PFC)


def test_pias_serves_what_has_sent_less_first() -> None:
    """Beside a flow beyond the last threshold, one of 100 kB and one of 1 MB take what they take
    alone, and a frame that was on the line."""
    times: dict[tuple[bool, int], float] = {}
    for alone in (True, False):
        with VirtualNetwork(ordered(star(3, xoff_bytes=50e3), "pias"), PFC) as network:
            if not alone:
                network.add_flow(FlowSpec(1, "h0", "r0"))
            for number, size, start_s in ((2, 90_000, 10e-3), (3, 900_000, 11e-3)):
                network.add_flow(
                    FlowSpec(number, f"h{number - 1}", "r0", size_bytes=size, start_s=start_s)
                )
            network.run(until_s=13e-3)
            for number in (2, 3):
                times[alone, number] = completion_s(network.flows[number])
    for number in (2, 3):
        alone_s = times[True, number]
        assert alone_s <= times[False, number] <= alone_s + 2 * MTU * 8 / LINE_BPS


@pytest.mark.parametrize("name", NAMES)
@settings(max_examples=15)
@given(
    flows=st.lists(
        st.tuples(st.integers(0, 3), st.integers(1, 60_000), st.integers(0, 100)),
        min_size=1,
        max_size=30,
    ),
    lossy=st.booleans(),
)
def test_scheduler_keeps_each_flow_s_order_and_loses_nothing(
    name: str, flows: list[tuple[int, int, int]], lossy: bool
) -> None:
    topology = star(4, xoff_bytes=20e3)
    if lossy:
        topology = replace(
            topology, parameters={**topology.parameters, **LOSSY, "queue_packets": 6}
        )
    scheme = pfabric().configure({"window_bytes": 20e3})
    with VirtualNetwork(ordered(topology, name), scheme) as network:
        for number, (host, size, start_us) in enumerate(flows, start=1):
            network.add_flow(
                FlowSpec(number, f"h{host}", "r0", size_bytes=size, start_s=start_us * 1e-6)
            )
        assert network.run(until_s=1.0, finish=True)
        network.run(until_s=1.1)
        totals = network.totals()
        assert totals.packets == 0  # none is left inside
        for flow in network.flows.values():
            assert flow.stats().received_bytes >= flow.spec.size_bytes
            assert lossy or flow.stats().out_of_order == 0
        waiting = network.switches["s0"].read_registers("waiting_packets")
        assert all(value == 0 for value in waiting.values())
