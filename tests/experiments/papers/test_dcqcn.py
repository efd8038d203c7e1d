"""DCQCN's figures: its testbed, PFC's shares by ports, DCQCN's by flows, the victim."""

import pytest

from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.dcqcn.claims import DCQCN, PFC
from pcn.experiments.papers.dcqcn.fixed_point import FixedPoint, marking
from pcn.experiments.papers.dcqcn.plans import DRAWS, rates, span
from pcn.experiments.papers.dcqcn.unfairness import H4_SHARES, HOSTS, SHARES, Unfairness, farthest
from pcn.experiments.papers.dcqcn.victim import SENDERS, Victim
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual
from pcn.experiments.sweep.run_task import outcome_of
from pcn.topologies.two_pods import two_pods

pytestmark = pytest.mark.long


def runs(name: str, scheme: str, seeds: tuple[int, ...], **keys: int) -> list[Outcome]:
    figure = Unfairness() if name == "dcqcn-fig3" else Victim()
    selected = [run for run in figure.runs([scheme]) if run.seed in seeds]
    return [
        outcome_of(figure, run)
        for run in selected
        if all(run.keys[key] == value for key, value in keys.items())
    ]


def verdicts(outcomes: list[Outcome], figure: Unfairness | Victim) -> dict[str, str]:
    return {check.what: check.verdict for check in figure.checks(Outcomes(outcomes))}


def test_the_testbed_is_two_pods_joined_by_two_spines():
    topology = two_pods()
    assert [switch.name for switch in topology.switches] == [
        "t1", "t2", "t3", "t4", "l1", "l2", "l3", "l4", "s1", "s2",
    ]  # fmt: skip
    assert {link.rate_bps for link in topology.links} == {40e9}
    for host in ("h1", "h2", "h3"):
        # two leaves; from the other pod's ToRs two spines each, and two leaves there
        assert len(topology.next_hops(f"t{host[1]}", "r")) == 2
        assert topology.distance(host, "r") == (4 if host == "h3" else 6)
    assert topology.distance("h4", "r") == 2
    assert topology.distance("vs", "vr") == 4


def test_draws_differ_in_flow_numbers_alone():
    plans = [Unfairness().plan(PFC, seed, {}) for seed in DRAWS]
    assert (
        len({tuple(flow.id for flow in plan.topology.flows) for plan in plans}) == len(DRAWS) >= 100
    )
    assert {tuple(flow.src for flow in plan.topology.flows) for plan in plans} == {HOSTS}
    assert {plan.duration_s for plan in plans} == {span(PFC)[1]}
    assert [flow.src for flow in Victim().plan(PFC, 1, {"senders": 2}).topology.flows][4:] == [
        "h31",
        "h32",
        "vs",
    ]


def test_pfc_divides_links_by_ports():
    """Draws of each kind: H4 gets a half, two fifths, a third; the rest of the link goes to the
    others, by ports."""
    outcomes = runs("dcqcn-fig3", PFC, (1, 3, 5))
    assert [round(outcome.numbers["h4"] or 0, 1) for outcome in outcomes] == [13.3, 16.0, 20.0]
    assert set(verdicts(outcomes, Unfairness()).values()) == {"met"}


def test_dcqcn_divides_them_by_flows():
    (outcome,) = runs("dcqcn-fig3", DCQCN, (6,))
    assert all(8.5 < (outcome.numbers[host] or 0) < 11.5 for host in HOSTS)


def test_rates_are_of_frames_in_the_measured_span():
    plan = Unfairness().plan(PFC, 5, {})
    by_host = rates(plan, run_virtual(plan, Silent()))
    assert list(by_host) == list(HOSTS)
    assert sum(by_host.values()) == pytest.approx(40.0, rel=1e-3)


def test_the_victim_has_what_pauses_leave_it():
    """One draw in which VS shares an uplink: it gets as little as those who are paused, and with
    DCQCN more."""
    paused = [run.numbers["vs"] or 0 for run in runs("dcqcn-fig4", PFC, (3,))]
    assert len(paused) == len(SENDERS)
    assert paused[0] == pytest.approx(20 / 3, rel=0.01)
    free = [run.numbers["vs"] or 0 for run in runs("dcqcn-fig4", DCQCN, (3,), senders=0)]
    assert free[0] > 1.5 * paused[0]


def test_marks_settle_where_the_fluid_model_has_its_fixed_point():
    """The closed form by hand, with C = 4.726 packets a us: two flows, p^3 = 1.54e-5 * (1/9452 +
    2/259.9)^2."""
    assert marking(2) == pytest.approx(
        (1.539e-5 * (1 / 9452 + 2 / 259.9) ** 2) ** (1 / 3), rel=1e-3
    )
    assert marking(16) > 0.01 > marking(8)
    (two,) = (
        outcome_of(FixedPoint(), run)
        for run in FixedPoint().runs([DCQCN])
        if run.label.endswith("2, seed 1")
    )
    assert two.numbers["marked"] == pytest.approx(marking(2), rel=0.25)
    assert 5 < (two.numbers["queue_kb"] or 0) < 50
    rows = FixedPoint().checks(
        Outcomes([Outcome({"scheme": DCQCN, "flows": 2}, {"marked": 0.03, "queue_kb": 190})])
    )
    by_check = {check.what: check.verdict for check in rows if check.measured is not None}
    assert list(by_check.values()) == ["not met"] * 3


def test_verdicts_come_from_the_numbers():
    def outcomes(h1: float, h4: float) -> list[Outcome]:
        numbers = {"h1": h1, "h2": 20 / 3, "h3": 20 / 3, "h4": h4, "sum": h1 + h4 + 40 / 3}
        return [Outcome({"scheme": PFC, "seed": 1}, numbers)]

    good = verdicts(outcomes(20 / 3, 20.0), Unfairness())
    assert set(good.values()) == {"met"}
    bad = verdicts(outcomes(20.0, 20 / 3), Unfairness())
    assert [verdict for check, verdict in bad.items() if "all together" in check] == ["met"]
    assert "met" not in [verdict for check, verdict in bad.items() if "all together" not in check]
    assert farthest([10.1, 4.0], SHARES) == pytest.approx(0.2)
    assert farthest([], H4_SHARES) is None
    victims = [
        Outcome({"scheme": PFC, "senders": n, "seed": 1}, {"vs": rate})
        for n, rate in ((0, 10), (1, 7), (2, 12))
    ]
    assert list(verdicts(victims, Victim()).values()) == ["met", "met", "not met"]
    flat = [
        Outcome({"scheme": DCQCN, "senders": n, "seed": 1}, {"vs": rate})
        for n, rate in ((0, 20), (1, 21), (2, 9))
    ]
    assert list(verdicts(flat, Victim()).values()) == ["not met", "not met"]
