"""TCD with RESUMEs detected by a port's rest against TCD with RESUMEs reported by PFC, in virtual
time: without congestion control traffic is the same in both, frame by frame. The data plane counts
the packets that only one of the two marks UE."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import pytest
from networks import tree, with_flows

from pcn.experiments.papers.tcd.undetermined import network as fig11
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.compact import P0_S0
from pcn.topologies.head_of_line import P1, P2, head_of_line
from pcn.topologies.model import Endpoint, FlowSpec, Topology

ROCE = 3
DOCUMENTED = (Path(__file__).parents[2] / "docs/tofino.md").read_text()
RED = {"k_min_bytes": 20_000, "k_max_bytes": 20_000}
"""A threshold: what it marks is no matter of chance."""


@dataclass(frozen=True)
class Marks:
    """Of one port's RoCE class. `time_alone` and `pfc_alone`: packets that only one of the two
    marks UE."""

    transmitted: int
    resumes: int
    ue: int
    ce: int
    time_alone: int = 0
    pfc_alone: int = 0


def marks(network: VirtualNetwork, at: Endpoint, by_time: bool) -> Marks:
    names = ["transmitted", "resume_received", "marked_ue", "marked"]
    names += ["marked_ue_by_time", "marked_ue_by_pfc"] if by_time else []
    read = network.switches[at.node].read_counter
    return Marks(*(read(name, at.port * 8 + ROCE).packets for name in names))


@dataclass(frozen=True)
class Compared:
    """A port's marks in two runs of the same traffic."""

    by_time: Marks
    by_pfc: Marks


def compare(
    topology: Topology,
    flows: Iterable[FlowSpec],
    at: Endpoint,
    until_s: float,
    emulated: bool = False,
    largest_frame: float = 1518,
) -> Compared:
    by_scheme = {}
    for name in ("tcd", "tcd-time"):
        by_time = name == "tcd-time"
        parameters = {"largest_frame_bytes": largest_frame} if by_time else {}
        scheme = find_scheme(name).configure({**RED, **parameters})
        program = find_scheme(name).program + ("" if emulated else "_native")
        with VirtualNetwork(topology, scheme, program=program, pfc=not emulated) as network:
            with_flows(network, flows).run(until_s=until_s)
            by_scheme[name] = marks(network, at, by_time)
    compared = Compared(by_scheme["tcd-time"], by_scheme["tcd"])
    assert (compared.by_time.transmitted, compared.by_time.resumes) == (
        compared.by_pfc.transmitted,
        compared.by_pfc.resumes,
    )
    assert (
        compared.by_time.ue - compared.by_pfc.ue
        == compared.by_time.time_alone - compared.by_time.pfc_alone
    )
    return compared


def assert_documented(row: str, seen: Compared):
    """That the table of TCD by time in docs/tofino.md has these figures in the row that begins
    so."""
    table = DOCUMENTED[DOCUMENTED.index("### TCD by time in v1model") :]
    (line,) = [line for line in table.splitlines() if line.startswith(f"| {row}")]
    by_time = seen.by_time
    figures = (
        by_time.transmitted, by_time.resumes, by_time.ue, by_time.time_alone, by_time.pfc_alone,
        by_time.ce, seen.by_pfc.ce,
    )  # fmt: skip
    assert [cell.strip() for cell in line.split("|")[2:-1]] == [f"{figure:,}" for figure in figures]


def paused_tree(out_bps: float, emulated: bool = False, largest_frame: float = 1518) -> Compared:
    """Two senders through s0, which s1 pauses again and again."""
    topology = tree(2, out_bps=out_bps, xoff_bytes=20e3)
    flows = [FlowSpec(i + 1, f"h{i}", "r0", size_bytes=2_000_000) for i in range(2)]
    return compare(topology, flows, Endpoint("s0", 3), 10e-3, emulated, largest_frame)


def class_7_goes_before(rate_bps: float) -> Compared:
    """h1's flow isn't paused and goes first."""
    flows = [
        FlowSpec(1, "h0", "r0", size_bytes=2_000_000),
        FlowSpec(2, "h1", "r0", rate_bps=rate_bps, traffic_class=7),
    ]
    return compare(tree(2, out_bps=5e9, xoff_bytes=20e3), flows, Endpoint("s0", 3), 10e-3)


def undetermined() -> Compared:
    """Fig. 11, half as long: the first switch's port to the second is paused by F1's and A0's
    congestion."""
    topology = fig11(10e9, 4e-6, 30e-3, 1000)
    return compare(topology, topology.flows, P0_S0, 30e-3)


def head_of_line_port(at: Endpoint) -> Compared:
    """5.1.2: bursts to r1 pause P2 and P1; then what the pauses left drains."""
    topology = head_of_line()
    flows = [FlowSpec(n, f"s{n}", f"r{n}", rate_bps=10e9) for n in range(2)]
    bursts = [
        FlowSpec(
            10 + 15 * turn + i, f"a{i}", "r1", size_bytes=64_000, start_s=1e-3 + turn * 47.5e-6
        )
        for turn in range(8)
        for i in range(15)
    ]
    return compare(topology, [*flows, *bursts], at, 5e-3)


def the_same(seen: Compared) -> bool:
    """UE for the same packets, and as many CE."""
    return (seen.by_time.time_alone, seen.by_time.pfc_alone) == (
        0,
        0,
    ) and seen.by_time.ce == seen.by_pfc.ce


@pytest.mark.parametrize("emulated", [False, True])
@pytest.mark.parametrize("out_bps", [1e9, 5e9, 9e9])
def test_many_pauses_make_the_same_states(out_bps, emulated):
    """Each RESUME comes before max(Ton) has passed since the one before: undetermined to the
    end."""
    seen = paused_tree(out_bps, emulated)
    assert seen.by_time.resumes > 50
    assert seen.by_time.ue > 0.95 * seen.by_time.transmitted
    assert the_same(seen)


def test_a_port_that_another_s_congestion_pauses_is_undetermined_in_both():
    seen = undetermined()
    assert seen.by_time.ue > 5000
    assert seen.by_time.ce == 0
    assert the_same(seen)


@pytest.mark.parametrize("at", [P1, P2], ids=str)
def test_what_pauses_left_drains_in_both(at):
    """Though RED would mark it: the threshold is far below."""
    seen = head_of_line_port(at)
    assert seen.by_time.resumes >= 5
    assert seen.by_time.ue > 1000
    assert seen.by_time.ce == 0
    assert the_same(seen)


def test_pauses_shorter_than_the_largest_frame_are_not_seen():
    """9,216 B take 7.4 us, none of these pauses does: RED marks what PFC's RESUME makes
    undetermined."""
    seen = paused_tree(9e9, largest_frame=9216)
    assert (seen.by_time.ue, seen.by_time.pfc_alone) == (0, seen.by_pfc.ue)
    assert seen.by_time.ce > 20 * seen.by_pfc.ce


@pytest.mark.parametrize(("rate_bps", "hidden"), [(3.9e9, False), (4.3e9, True)])
def test_a_class_that_goes_before_hides_pauses_if_it_leaves_no_rest(rate_bps, hidden):
    """Its frames leave each 2.2 us, or each 2.0; the bound is 2 us."""
    seen = class_7_goes_before(rate_bps)
    assert seen.by_pfc.ue > 800
    assert seen.by_pfc.ce == 0
    assert seen.by_time.ue == (0 if hidden else seen.by_pfc.ue)
    assert (seen.by_time.ce > 300) == hidden


def test_documentation_has_what_is_counted():
    for row, seen in (
        ("Fig. 11's network, 30 ms: the port that the congested one pauses", undetermined()),
        ("Fig. 2's network, eight times 15 bursts of 64 KB: P2", head_of_line_port(P2)),
        (
            "two senders of 10 Gbit/s share a port of 10 that the next switch lets have 5",
            paused_tree(5e9),
        ),
        ("as above, by recirculation", paused_tree(5e9, emulated=True)),
        ("let have 9", paused_tree(9e9)),
        ("as above, with a `gap` for frames of 9,216 B", paused_tree(9e9, largest_frame=9216)),
        (
            "let have 5, and a sender of 4.3 Gbit/s in class 7 leaves no rest",
            class_7_goes_before(4.3e9),
        ),
    ):
        assert_documented(row, seen)
