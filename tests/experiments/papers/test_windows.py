"""DCTCP's, HPCC's and Swift's figures in runs of this tree: orders and bounds, not digits."""

import pytest
from short_plans import number, outcome

from pcn.experiments.define.outcomes import Outcomes
from pcn.experiments.papers.dctcp.fig13 import Fig13
from pcn.experiments.papers.dctcp.fig14 import LEAST_K, Fig14
from pcn.experiments.papers.dctcp.fig17 import GROUPS, Fig17, network
from pcn.experiments.papers.dctcp.fig18 import Fig18
from pcn.experiments.papers.hpcc.claims import DCQCN, HPCC
from pcn.experiments.papers.hpcc.eta import Eta
from pcn.experiments.papers.hpcc.fig9 import INCAST, LONG_SHORT, MOUSE, SHARE, Fig9
from pcn.experiments.papers.hpcc.fig10 import SERVERS, Fig10, dual_homed
from pcn.experiments.papers.hpcc.fig11 import NO, YES, Fig11
from pcn.experiments.papers.hpcc.fig13 import EACH_ACK, EACH_ROUND, REFERENCE, ByWAi, Reference
from pcn.experiments.papers.swift.target import EMPTY_S, Target, target_s
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual

pytestmark = pytest.mark.long


def test_dctcp_queue_of_two_flows_stays_at_k():
    of = outcome(Fig13, 0.2)
    rows = Fig13().checks(Outcomes([of]))
    assert [row.verdict for row in rows] == ["met"] * 3
    assert (
        14 < number(of, "p5_packets") < number(of, "p50_packets") < number(of, "p95_packets") <= 23
    )


def test_dctcp_loses_throughput_below_a_seventh_of_a_bandwidth_delay_product_alone():
    below, above = (number(outcome(Fig14, k=k), "utilisation") for k in (2, 13))
    assert 2 < LEAST_K < 13
    assert below < 0.99 < 0.999 < above


def test_dctcp_shares_two_bottlenecks_as_the_paper_orders_them():
    """S1 passes both, and has the least."""
    of = outcome(Fig17, 0.75)
    first, second, third = (number(of, f"{group}_mbps") for group in GROUPS)
    assert first < 50 < third
    assert first + third == pytest.approx(100, rel=0.01)
    assert second == pytest.approx(475, rel=0.05)
    assert min(number(of, f"{group}_jain") for group in GROUPS) > 0.99


def test_network_of_two_bottlenecks_has_k_by_rate():
    topology = network()
    at = {(ecn.rate_bps, ecn.k_min_bytes) for switch in topology.switches for ecn in switch.ecn}
    assert at == {(1e9, 30e3), (10e9, 97.5e3)}
    assert {flow.dst for flow in topology.flows if flow.group != "S2"} == {"r0"}


def test_dctcp_answers_time_out_where_two_packets_of_each_overflow_the_queue(monkeypatch):
    """Fig. 18: at 35 servers; Fig. 19: not with a long queue. With 25 of the figure's 100
    queries."""
    monkeypatch.setattr("pcn.experiments.papers.dctcp.fig18.QUERIES", 25)
    few, many, long = (
        outcome(Fig18, queue=queue, servers=servers)
        for queue, servers in (("static", 34), ("static", 35), ("dynamic", 40))
    )
    assert number(few, "timeouts") == number(long, "timeouts") == 0 < number(many, "timeouts")
    assert 8 < number(few, "query_ms") < 9 < number(many, "query_ms")
    assert 8 < number(long, "query_ms") < 9


@pytest.mark.parametrize("line", [10.0, 100.0])
def test_hpcc_carries_eta_with_steps_of_none_and_of_five(line):
    """With a clock of 1 us the loads of a round trip of 12 us were so wrong that steps of five cost
    1%."""
    for stage in (0, 5):
        measured = outcome(Eta, line=line, stage=stage, flows=8)
        assert number(measured, "utilisation") == pytest.approx(0.952, abs=0.002)


def test_hpcc_recovers_and_reacts_sooner_than_dcqcn():
    hpcc, dcqcn = (
        number(outcome(Fig9, load=LONG_SHORT, scheme=scheme), "recovered_us")
        for scheme in (HPCC, DCQCN)
    )
    assert hpcc <= 54 < 2000 <= dcqcn
    hpcc, dcqcn = (
        number(outcome(Fig9, load=INCAST, scheme=scheme), "highest_rtts")
        for scheme in (HPCC, DCQCN)
    )
    assert hpcc < 2.2 < 10 < dcqcn


def test_hpcc_mice_meet_no_queue_and_flows_are_fair():
    hpcc, dcqcn = (outcome(Fig9, 35e-3, load=MOUSE, scheme=scheme) for scheme in (HPCC, DCQCN))
    assert number(hpcc, "p95_us") < 6.4
    assert number(dcqcn, "p50_us") > 17
    assert number(hpcc, "queue_p50_kb") == 0
    assert number(outcome(Fig9, load=SHARE, scheme=HPCC), "jain") > 0.99


def test_hpcc_without_reference_loses_throughput_or_keeps_the_queue():
    reference, ack, trip = (
        outcome(Reference, reaction=reaction) for reaction in (REFERENCE, EACH_ACK, EACH_ROUND)
    )
    assert number(ack, "least_gbps") < 5 < 80 < number(reference, "least_gbps")
    assert number(ack, "utilisation") < 0.8 < 0.94 < number(reference, "utilisation")
    assert number(trip, "drained_us") > 1.2 * number(reference, "drained_us")
    rows = Reference().checks(Outcomes([reference, ack, trip]))
    assert {row.verdict for row in rows} == {"met"}


def test_hpcc_queue_grows_with_w_ai():
    few, many = (outcome(ByWAi, 3e-3, w_ai=w_ai) for w_ai in (25.0, 300.0))
    assert number(few, "p95_kb") < 5 < number(many, "p95_kb")
    assert number(few, "jain") < number(many, "jain")


def test_hpcc_testbed_has_two_nics_a_server_and_loads_its_uplinks():
    """A load of the uplinks: the payload that crosses, by the Agg's four links."""
    topology = dual_homed(True)
    assert {len(topology.ports(host.name)) for host in topology.hosts} == {2}
    assert topology.peer("h0", 1).node == "t1"
    assert topology.peer(f"h{SERVERS - 1}", 0).node == "t2"
    flows = Fig10().plan(HPCC, 1, {"load": 0.5, "count": 4000}).topology.flows
    half = SERVERS // 2
    crossing = [flow for flow in flows if (int(flow.src[1:]) < half) != (int(flow.dst[1:]) < half)]
    sent = sum(flow.size_bytes or 0 for flow in crossing) * 8 * 1058 / 1000
    assert sent / (4 * 100e9 * max(flow.start_s for flow in flows)) == pytest.approx(0.5, rel=0.15)


def test_hpcc_shortens_small_flows_on_the_testbed():
    """With 300 of the figure's flows."""
    figure, outcomes = Fig10(), {}
    for run in list(figure.runs((HPCC, DCQCN)))[-2:]:
        plan = figure.plan(run.scheme, 1, {**run.arguments, "count": 300})
        outcomes[run.scheme] = figure.measure(run, plan, run_virtual(plan, Silent()))
    assert number(outcomes[HPCC], "unfinished") == 0
    assert number(outcomes[HPCC], "p95 small") < number(outcomes[DCQCN], "p95 small")
    assert 10 * number(outcomes[HPCC], "queue_p99_kb") < number(outcomes[DCQCN], "queue_p99_kb")


def test_hpcc_keeps_a_fat_tree_free_of_pause_and_a_window_helps_dcqcn():
    """With 3,000 of the figure's flows, an in-cast among them."""
    figure, outcomes = Fig11(), {}
    for run in figure.runs((HPCC, DCQCN)):
        if "in-casts" in str(run.keys["load"]):
            plan = figure.plan(run.scheme, 1, {**run.arguments, "count": 3000})
            recording = run_virtual(plan, Silent(), figure.variant(run))
            outcomes[run.keys["scheme"], run.keys["window"]] = figure.measure(run, plan, recording)
    hpcc, dcqcn, windowed = (outcomes[of] for of in ((HPCC, NO), (DCQCN, NO), (DCQCN, YES)))
    assert number(hpcc, "unfinished") == 0
    assert number(hpcc, "pause") == 0 == number(windowed, "pause") < number(dcqcn, "pause")
    assert (
        number(hpcc, "rtt_p95_us")
        < 25
        < 2 * number(hpcc, "rtt_p95_us")
        < number(windowed, "rtt_p95_us")
    )
    assert number(hpcc, "p95 short") < number(windowed, "p95 short") < number(dcqcn, "p95 short")


def test_swift_holds_the_round_trip_at_its_target():
    of = outcome(Target, 6.5e-3, ai=1.0, flows=16)
    assert number(of, "distance") < 0.02
    assert number(of, "rtt_us") > 2 * EMPTY_S * 1e6
    assert target_s(100) < target_s(10) < target_s(0.1) == pytest.approx(75e-6)
