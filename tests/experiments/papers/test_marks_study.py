"""The study of marks: NP-ECN's decisions against the queue without PAUSE, by order and bounds."""

import functools

import pytest

from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.pcn.studies.marks import SCHEMES, SEEDS, SETTINGS, VICTIM, Marks
from pcn.experiments.run.progress import Silent
from pcn.experiments.run.virtual import run_virtual

pytestmark = pytest.mark.long


@functools.cache
def outcome(setting: str, scheme: str) -> Outcome:
    study = Marks()
    (run,) = (
        run for run in study.runs((scheme,)) if (run.keys["setting"], run.seed) == (setting, 1)
    )
    plan = study.plan(scheme, 1, {**run.arguments, "count": 60})
    return study.measure(run, plan, run_virtual(plan, Silent()))


def number(name: str, setting: str, scheme: str) -> float:
    value = outcome(setting, scheme).numbers[name]
    assert value is not None, f"{name} of {setting} with {scheme}"
    return value


def test_study_runs_each_scheme_in_each_setting_with_all_seeds():
    runs = [(run.keys["setting"], run.scheme, run.seed) for run in Marks().runs(SCHEMES)]
    assert sorted(runs) == sorted(
        (setting, scheme, seed) for setting in SETTINGS for scheme in SCHEMES for seed in SEEDS
    )


@pytest.mark.parametrize("setting", SETTINGS)
def test_np_ecn_leaves_no_packet_unmarked_without_its_reason(setting):
    for scheme in ("pfc", "pcn"):
        assert number("other", setting, scheme) == 0
        assert number("decisions", setting, scheme) > 0
        assert 0.5 < number("decisions confirmed", setting, scheme) <= 1


def test_with_few_pauses_more_decisions_are_confirmed():
    """PCN sends fewer PAUSEs than PFC alone, with the same marking."""
    for setting in SETTINGS:
        assert number("pause", setting, "pcn") < number("pause", setting, "pfc")
        assert number("decisions confirmed", setting, "pcn") >= number(
            "decisions confirmed", setting, "pfc"
        )
        assert number("held", setting, "pcn") < number("held", setting, "pfc")


def test_in_the_victim_every_mark_of_pcn_is_confirmed_and_a_tenth_of_dcqcns_is_not():
    assert number("marks confirmed", VICTIM, "pcn") == 1
    assert number("marks confirmed", VICTIM, "dcqcn") < 0.9


def test_page_has_means_with_intervals_of_all_that_was_run():
    runs = Outcomes([outcome(setting, scheme) for setting in SETTINGS for scheme in ("pcn", "pfc")])
    (table,) = Marks().page_tables(runs)
    assert [row[0] for row in table.rows] == [
        f"{setting}, {name}" for setting in SETTINGS for name in ("PFC alone", "PCN")
    ]
    assert all(len(row) == len(table.columns) for row in table.rows)
    charts = Marks().charts(runs)
    assert [line.label for line in charts[0].lines] == ["PFC alone", "PCN"]
    assert len(Marks().story(runs)) == len(SETTINGS)
