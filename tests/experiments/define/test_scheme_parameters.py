"""Parameters of schemes in scenarios: those that follow from the network."""

from __future__ import annotations

import pytest

from experiments.define import scheme_parameters
from experiments.papers.pcn.scenarios.dumbbell import Dumbbell
from experiments.papers.pcn.scenarios.victim import Victim
from hosts.algorithms import find_scheme
from hosts.recommended import recommended


@pytest.mark.parametrize("scenario", [Dumbbell(), Victim()], ids=lambda scenario: scenario.name)
@pytest.mark.parametrize("scheme", ["swift", "hpcc"])
def test_windows_of_a_run_follow_from_its_network(scheme: str, scenario: Dumbbell | Victim) -> None:
    """In the RPs' parameters, and in what the run records."""
    plan = scenario.plan(scheme, 1, {})
    found = find_scheme(scheme)
    usual = {field: recommended(plan.topology, found)[field] for field in found.by_network}
    assert usual == {field: plan.scheme_parameters[field] for field in usual}
    assert set(usual.values()) <= set(plan.values.values())


def test_value_that_is_set_holds() -> None:
    assert Dumbbell().plan("swift", 1, {"base_target": 3e-3}).scheme_parameters["base_target_s"] == 3e-3
    assert Dumbbell().plan("hpcc", 1, {"W_AI": 500}).scheme_parameters["w_ai_bytes"] == 500


def test_others_keep_their_defaults() -> None:
    """No other scheme has parameters that follow from a network."""
    for scheme in ("pcn", "dctcp", "dcqcn", "timely"):
        values = Dumbbell().plan(scheme, 1, {}).values
        assert scheme_parameters.with_network(scheme, values, Dumbbell().plan(scheme, 1, {}).topology) == values
