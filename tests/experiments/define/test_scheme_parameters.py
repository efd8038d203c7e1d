"""Parameters of schemes in scenarios: those that follow from the network."""

from dataclasses import replace

import pytest

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter
from pcn.experiments.define import scheme_parameters
from pcn.experiments.papers.pcn.scenarios.dumbbell import Dumbbell
from pcn.experiments.papers.pcn.scenarios.victim import Victim
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import parse_spec
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.recommended import recommended

TRAFFIC = Traffic(parse_spec("star"))


@pytest.mark.parametrize("scenario", [Dumbbell(), Victim()], ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("scheme", ["swift", "hpcc", "nscc", "pcn-w", "dctcp", "timely-hpcc"])
def test_parameters_of_a_run_follow_from_its_network(scheme, scenario):
    """In the RPs' parameters, and in what the run records."""
    plan = scenario.plan(scheme, 1, {})
    definition = find_scheme(scheme)
    usual = {
        field: value
        for field, value in recommended(plan.topology, definition).items()
        if field in plan.derived
    }
    assert usual.keys() >= definition.by_network.keys() - {"w_min", "period_s"}
    assert usual == {field: plan.scheme_parameters[field] for field in usual}
    assert set(usual.values()) <= set(plan.values.values())


def test_papers_scenario_keeps_its_papers_values_for_the_schemes_that_it_has():
    """Whatever its rate, other than the network's rule."""
    for scheme in ("pcn", "dcqcn", "qcn", "timely"):
        plan = Victim().plan(scheme, 1, {"rate": 10e9, "duration": 20e-3})
        usual = find_scheme(scheme).configure().parameters
        assert not set(plan.derived)
        for field in find_scheme(scheme).by_network.keys() - {"w_min"}:
            assert plan.scheme_parameters[field] == getattr(usual, field), field


def test_value_that_is_set_holds():
    assert (
        Dumbbell().plan("swift", 1, {"base_target": 3e-3}).scheme_parameters["base_target_s"]
        == 3e-3
    )
    assert Dumbbell().plan("hpcc", 1, {"W_AI": 500}).scheme_parameters["w_ai_bytes"] == 500


@pytest.mark.parametrize("scheme", ["pcn", "dctcp", "dcqcn", "timely", "nscc"])
def test_every_command_gives_a_scheme_the_same(scheme):
    """A scenario, traffic, a figure's plan and `pcn up`, on one network."""
    plan = Dumbbell().plan(scheme, 1, {"pairs": 2})
    bare = replace(plan, values={}, scheme_parameters={}, derived=(), port_parameters={})
    figure = scheme_parameters.by_rules(bare)
    assert {
        **recommended(plan.topology, find_scheme(scheme))
    }.items() <= plan.scheme_parameters.items()
    assert figure.scheme_parameters.items() <= plan.scheme_parameters.items()
    assert (set(figure.derived), figure.port_parameters) == (
        set(plan.derived),
        plan.port_parameters,
    )
    drawn = TRAFFIC.plan(scheme, 1, {"count": 5})
    assert {
        **recommended(drawn.topology, find_scheme(scheme))
    }.items() <= drawn.scheme_parameters.items()


def test_rules_of_a_plan_state_value_rule_and_source_of_each_parameter():
    plan = Dumbbell().plan("dctcp", 1, {"init_window": 20_000})
    rules = scheme_parameters.rules_of(plan)
    assert rules.keys() == {parameter.name for parameter in scheme_parameters.of("dctcp")}
    assert rules["K"] == {
        "value": plan.scheme_parameters["k_bytes"],
        "rule": "C RTT / 7 of the port, at least 20 frames",
        "source": "eq. 13; the 20 of its ports of 1 Gbit/s (4)",
        "ports": {"10000000000": plan.scheme_parameters["k_bytes"]},
    }
    assert (rules["init_window"]["value"], rules["init_window"]["rule"]) == (20_000, "set")
    assert rules["g"]["rule"] == "the same on every network"
    assert all(rule["source"] for rule in rules.values())


def test_values_that_do_not_go_together_are_refused():
    with pytest.raises(
        ExperimentError, match=r"^pcn: w_min = 0\.6 and w_max = 0\.5: w_min <= w_max must hold$"
    ):
        Dumbbell().plan("pcn", 1, {"w_min": 0.6})


def test_plan_remarks_networks_that_a_scheme_is_not_made_for():
    notes = {
        scheme: TRAFFIC.plan(scheme, 1, {"count": 5}).notes
        for scheme in ("dcqcn-ns3", "rccc", "pcn")
    }
    assert [
        "made for" in note or "are for" in note for remarks in notes.values() for note in remarks
    ] == [True, True]
    assert notes["pcn"] == ()
    assert TRAFFIC.plan("dcqcn-ns3", 1, {"rate_bps": 100e9, "count": 5}).notes == ()


def test_name_sets_the_parameter_of_each_scheme_that_has_it():
    by_scheme = scheme_parameters.settings(
        Dumbbell(), ["dcqcn", "dcqcn-tcd", "pcn"], ["R_AI=20M", "pairs=2"]
    )
    assert by_scheme == {
        "dcqcn": {"R_AI": 20e6, "pairs": 2},
        "dcqcn-tcd": {"R_AI": 20e6, "pairs": 2},
        "pcn": {"pairs": 2},
    }


def test_name_of_one_scheme_is_its_papers_whatever_others_are_there():
    assert scheme_parameters.settings(Dumbbell(), ["qcn"], ["R_AI=9M"]) == {"qcn": {"R_AI": 9e6}}
    assert scheme_parameters.settings(Dumbbell(), ["nscc"], ["paths=8", "eta=0.2"]) == {
        "nscc": {"paths": 8, "eta": 0.2}
    }


def test_scheme_before_a_name_chooses_among_different_meanings():
    by_scheme = scheme_parameters.settings(
        Dumbbell(), ["dcqcn", "qcn"], ["qcn.R_AI=9M", "dcqcn.R_AI=20M"]
    )
    assert by_scheme == {"qcn": {"R_AI": 9e6}, "dcqcn": {"R_AI": 20e6}}
    with pytest.raises(
        ExperimentError, match=r"^R_AI differs by scheme: give dcqcn\.R_AI or qcn\.R_AI$"
    ):
        scheme_parameters.settings(Dumbbell(), ["dcqcn", "qcn"], ["R_AI=9M"])


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        (
            "maxStage=4",
            (
                "maxStage is a parameter of hpcc: no such scheme runs here. Leave it out, or add "
                "--scheme hpcc"
            ),
        ),
        (
            "qcn.R_AI=1M",
            (
                "qcn.R_AI is a parameter of qcn: no such scheme runs here. Leave it out, or add "
                "--scheme qcn"
            ),
        ),
        ("R_IA=1M", "no parameter 'R_IA'; did you mean"),
        ("dcqcn.R_AI=1M,dcqcn.R_AI=2M", "no rate"),
    ],
)
def test_name_that_no_scheme_of_the_run_has_is_refused(setting, message):
    with pytest.raises(ExperimentError) as caught:
        scheme_parameters.settings(Dumbbell(), ["dcqcn"], [setting])
    assert message in str(caught.value)


def test_scenarios_default_is_of_what_it_means_in_any_scheme():
    defaults = {"dcqcn.R_AI": (1e6, "")}
    rates = {
        scheme: {
            parameter.name: parameter.default
            for parameter in scheme_parameters.of(scheme, (), defaults)
        }["R_AI"]
        for scheme in ("dcqcn", "dcqcn-tcd", "qcn")
    }
    assert rates == {"dcqcn": 1e6, "dcqcn-tcd": 1e6, "qcn": None}


def test_scheme_s_parameter_named_as_a_scenarios_has_the_scheme_before_it():
    parameters = (Parameter("paths", "count", 3, "of the network"),)
    offered = {
        parameter.name: parameter.default
        for parameter in scheme_parameters.of("nscc", parameters, {"nscc.paths": (5, "")})
    }
    assert (offered["paths"], offered["nscc.paths"]) == (3, 5)
    assert scheme_parameters.fields("nscc", offered)["paths"] == 5
