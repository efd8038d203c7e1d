"""What of a scheme's parameters follows from a network: the round trip, frames, rates of hosts and
of ports."""

from dataclasses import replace
from pathlib import Path

import pytest

from pcn.controller.configure import plan
from pcn.hosts import wire
from pcn.hosts.algorithms import Ack, NetworkFacts, ReactionPoint, find_scheme, schemes
from pcn.hosts.parameter_table import documentation, networks
from pcn.hosts.recommended import network_facts, recommended, recommended_at_ports, round_trip_s
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.clos import clos
from pcn.topologies.compact import compact
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import FlowSpec, Topology
from pcn.topologies.star import star

FRAME, ACK = 1058, 62


def longest_s(topology: Topology, frame: int = FRAME, answer: int = ACK) -> float:
    """Of each pair of hosts, both ways."""
    return max(
        sum(
            delay_s + 8 * size / rate_bps
            for ends, size in (((host.name, two.name), frame), ((two.name, host.name), answer))
            for rate_bps, delay_s in topology.trail(*ends)
        )
        for host in topology.hosts
        for two in topology.hosts
        if host is not two
    )


MIXED = clos(2, 2, 2, 8, 25e9, 100e9, 1e-6)


@pytest.mark.parametrize(
    "topology", [dumbbell(), compact(), fat_tree(), MIXED], ids=lambda topology: topology.name
)
def test_round_trip_is_the_longest_of_all_pairs_with_frames_there_and_acks_back(topology):
    assert round_trip_s(topology) == pytest.approx(longest_s(topology), rel=1e-12)
    assert round_trip_s(topology, 4000) == pytest.approx(
        longest_s(topology, wire.data_bytes(4000)), rel=1e-12
    )


def test_round_trip_is_that_of_a_packet_and_its_ack_in_virtual_time():
    """A packet's RTT counts from when it has left its NIC, which takes a frame's time."""
    topology, acks = star(1, 1, 10e9, 5e-6), list[Ack]()

    class Rp(ReactionPoint):
        segment_bytes = 1

        def __init__(self, line_bps: float, _):
            self.rate_bps = line_bps

        def on_ack(self, ack: Ack, now_s: float):
            acks.append(ack)

    scheme = replace(find_scheme("pfc"), name="w", reaction_point=Rp).configure()
    with VirtualNetwork(topology, scheme) as network:
        network.add_flow(FlowSpec(1, "h0", "r0", rate_bps=100e6))
        network.run(until_s=200e-6)
    assert acks
    for ack in acks:
        assert ack.rtt_s + 8 * FRAME / 10e9 == pytest.approx(round_trip_s(topology), rel=1e-6)


def test_topology_decides_what_pcn_is_recommended():
    """6.2's w_min, w_max and T; a T of 20 frames of each flow, where that is longer than a round
    trip."""
    pcn = find_scheme("pcn")
    parameters = recommended(dumbbell(), pcn)
    assert parameters == {"w_min": 0.025, "period_s": pytest.approx(longest_s(dumbbell()))}
    assert parameters["period_s"] == pytest.approx(500e-6, rel=6e-3)
    assert pcn.configure(parameters).parameters.w_max == 0.5
    assert recommended(compact(), pcn) == {
        "w_min": 0.05,
        "period_s": pytest.approx(longest_s(compact())),
    }
    many = replace(
        star(16, 1, 25e9, 3e-6), flows=tuple(FlowSpec(n, f"h{n}", "r0") for n in range(16))
    )
    assert recommended(many, pcn)["period_s"] == pytest.approx(20 * 16 * 8 * FRAME / 25e9)
    assert recommended(many, find_scheme("pcn-x"))["period_s"] == pytest.approx(
        5 * 16 * 8 * FRAME / 25e9
    )


def test_flows_that_end_are_no_number_of_flows():
    """How many there are at a time is known after a run: T is the round trip, w_min 5.3's."""
    drawn = replace(
        star(16, 1, 25e9, 3e-6),
        flows=tuple(FlowSpec(n, f"h{n}", "r0", size_bytes=1) for n in range(16)),
    )
    parameters = recommended(drawn, find_scheme("pcn"))
    assert parameters == {"w_min": 1 / 128, "period_s": pytest.approx(longest_s(drawn))}


def test_topology_decides_what_windows_are_recommended():
    topology = star(2, 1, 100e9, 3e-6)
    rtt_s = longest_s(topology)
    bdp = 100e9 * rtt_s / 8
    swift = recommended(topology, find_scheme("swift"))
    assert (swift["base_target_s"], swift["init_cwnd"]) == (
        pytest.approx(2 * rtt_s),
        pytest.approx(bdp / FRAME),
    )
    nscc = recommended(topology, find_scheme("nscc"))
    assert nscc == {
        "network_rtt_s": pytest.approx(rtt_s),
        "target_qdelay_s": pytest.approx(rtt_s),
        "frame_bytes": FRAME,
    }
    telemetry = longest_s(topology, FRAME + wire.TELEMETRY_BYTES, ACK + wire.TELEMETRY_BYTES)
    assert recommended(topology, find_scheme("hpcc"))["base_rtt_s"] == pytest.approx(
        1.02 * telemetry
    )
    assert recommended(topology, find_scheme("pcn-w"))["rtt_s"] == pytest.approx(rtt_s)
    rccc = recommended(topology, find_scheme("rccc"))
    assert rccc["maxwnd_bytes"] == pytest.approx(1.5 * bdp, rel=1e-3)
    assert rccc["frame_bytes"] == FRAME + wire.CREDIT_BYTES


def test_what_depends_on_the_frame_follows_the_payload():
    topology = star(2, 1, 400e9, 0.75e-6)
    frame = wire.data_bytes(4038)
    for scheme in ("dctcp", "nscc", "swift", "pcn-w"):
        assert recommended(topology, find_scheme(scheme), 4038)["frame_bytes"] == frame
    assert (
        recommended(topology, find_scheme("rccc"), 4038)["frame_bytes"] == frame + wire.CREDIT_BYTES
    )
    assert recommended(topology, find_scheme("dctcp"), 4038)["k_bytes"] == 20 * frame
    assert recommended(star(2, 1, 10e9, 1e-6), find_scheme("dcqcn"), 9000)[
        "k_min_bytes"
    ] == 2 * wire.data_bytes(9000)


@pytest.mark.parametrize(
    ("scheme", "rate_bps"),
    [("dcqcn", 40e9), ("dcqcn-tcd", 40e9), ("red", 40e9), ("dcqcn-ns3", 100e9), ("qcn", 10e9)],
)
def test_rules_give_the_defaults_at_the_rate_that_these_are_for(scheme, rate_bps):
    definition = find_scheme(scheme)
    usual = definition.configure().parameters
    for name, value in recommended(star(2, 1, rate_bps, 5e-6), definition).items():
        assert value == pytest.approx(getattr(usual, name)), name


def test_timely_s_rules_give_the_papers_values_on_the_papers_network():
    """10 Gbit/s and a round trip of 20 us; segments of 16 KB are the smallest of the paper's."""
    parameters = find_scheme("timely").recommended(NetworkFacts(4, 20e-6, rate_bps=10e9))
    usual = find_scheme("timely").configure().parameters
    assert parameters.pop("segment_bytes") == 16e3
    assert parameters == {name: pytest.approx(getattr(usual, name)) for name in parameters}


def test_qcn_s_rules_give_the_papers_values_at_100_gbps():
    parameters = find_scheme("qcn").recommended(NetworkFacts(4, 20e-6, rate_bps=100e9))
    assert parameters == pytest.approx(
        {"r_ai_bps": 15e6, "q_eq_bytes": 60e3, "timer_s": 3e-3, "r_hai_bps": 250e6}
    )


@pytest.mark.parametrize("rate_bps", [1e9, 10e9, 25e9, 100e9, 400e9, 800e9])
@pytest.mark.parametrize("delay_s", [0.0, 0.1e-6, 3e-6, 1e-3])
@pytest.mark.parametrize("payload", [64, 1000, 9000])
def test_rules_stay_within_bounds_on_any_network(rate_bps, delay_s, payload):
    topology = star(2, 1, rate_bps, delay_s)
    for scheme in schemes.values():
        values = recommended(topology, scheme, payload)
        scheme.configure(values, recommended_at_ports(topology, scheme, payload))
        assert values.keys() <= scheme.by_network.keys(), scheme.name


def test_ports_have_thresholds_of_their_rate():
    """In the entries of the switches: hosts' links of 25 Gbit/s, 100 between switches."""
    for name, threshold in (
        ("dctcp", "k_bytes"),
        ("dcqcn", "k_max_bytes"),
        ("dcqcn-ns3", "k_min_bytes"),
        ("qcn", "q_eq_bytes"),
    ):
        scheme = find_scheme(name)
        at_ports = recommended_at_ports(MIXED, scheme)
        assert list(at_ports) == [25e9, 100e9]
        configured = scheme.configure(recommended(MIXED, scheme), at_ports)
        tor = next(switch.name for switch in MIXED.switches if switch.name.startswith("t"))
        for entry in plan(MIXED, tor, 1.0, configured).marking:
            rate_bps = MIXED.link_at(tor, entry.port).rate_bps
            assert getattr(entry, threshold) == round(at_ports[rate_bps][threshold])
        assert at_ports[100e9][threshold] > at_ports[25e9][threshold]


def test_value_that_is_given_holds_at_every_port():
    assert recommended_at_ports(MIXED, find_scheme("dctcp"), fixed=["k_bytes"]) == {}
    assert recommended_at_ports(MIXED, find_scheme("dcqcn"), fixed=["k_min_bytes"])[
        25e9
    ].keys() == {"k_max_bytes"}


def test_facts_have_the_frames_of_the_scheme():
    topology = star(2, 1, 100e9, 3e-6)
    plain, telemetry, credit = (
        network_facts(topology, find_scheme(name)) for name in ("pcn", "hpcc", "rccc")
    )
    assert plain.frame_bytes == FRAME
    assert telemetry.frame_bytes == FRAME + wire.TELEMETRY_BYTES
    assert credit.frame_bytes == FRAME + wire.CREDIT_BYTES
    assert (
        telemetry.round_trip_s
        > credit.round_trip_s
        > plain.round_trip_s
        > plain.rtt_s
        == topology.max_rtt_s()
    )


def test_remarks_name_networks_that_a_scheme_is_not_made_for():
    facts = NetworkFacts(4, 20e-6, rate_bps=25e9)
    (remark,) = find_scheme("dcqcn-ns3").unfit(facts)
    assert "these have 25" in remark
    assert not list(find_scheme("dcqcn-ns3").unfit(facts._replace(rate_bps=100e9)))
    (remark,) = find_scheme("rccc").unfit(facts)
    assert "switches that trim" in remark
    assert not list(find_scheme("qcn").unfit(facts))
    longest = facts._replace(rate_bps=10e9, rtt_s=500e-6)
    for scheme in ("qcn", "qcn-t", "qcn-in", "qcn-out", "qcn-both"):
        assert not list(find_scheme(scheme).unfit(longest))
        (remark,) = find_scheme(scheme).unfit(longest._replace(rate_bps=40e9))
        assert "carries 20 Mbit" in remark


def test_table_of_parameters_is_that_of_the_page():
    page = (Path(__file__).parents[2] / "docs" / "schemes.md").read_text()
    assert documentation() in page


def test_table_has_each_rule_of_each_scheme():
    rows = [line.split(" | ") for line in documentation().splitlines()[2:]]
    assert {name for row in rows for name in row[0].strip("| ").split(", ") if name} == {
        f"`{scheme.name}`"
        for scheme in schemes.values()
        if scheme.by_network and scheme.reference == scheme.name
    }
    texts = {row[2] for row in rows}
    assert texts == {rule.text for scheme in schemes.values() for rule in scheme.rules.values()}


def test_headings_of_the_table_have_the_round_trips_of_its_networks():
    for heading, where in networks().items():
        assert (
            f"{1e6 * round_trip_s(*where):.3g} us" in heading
            or f"{1e6 * round_trip_s(*where):.2g} us" in heading
        )
