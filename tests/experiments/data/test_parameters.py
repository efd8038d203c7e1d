"""Parameters by name: units, ranges, and errors."""

import dataclasses
import math
import re

import pytest

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter, complete, format_value
from pcn.experiments.define import scheme_parameters
from pcn.experiments.papers import SCENARIOS
from pcn.hosts.algorithms import find_scheme, schemes
from pcn.hosts.algorithms.parameters import describe
from pcn.hosts.algorithms.qcn import QcnParameters

DUMBBELL = SCENARIOS["dumbbell"]
PARAMETERS = DUMBBELL.parameters("pcn")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("rate=10G", 10e9),
        ("rate=10Gbit/s", 10e9),
        ("rate=40Gbps", 40e9),
        ("rate=1e3M", 1e9),
        ("rtt=500us", 500e-6),
        ("rtt=0.5 ms", 500e-6),
        ("rtt=5e-4s", 500e-6),
        ("w_min=1/128", 1 / 128),
        ("P_max=1%", 0.01),
        ("xoff=512KB", 512_000),
        ("xoff=512kB", 512_000),
        ("xoff=500KiB", 512_000),
        ("pairs=5", 5),
        ("w_min=0.025", 0.025),
        ("w_min=auto", None),
    ],
)
def test_values_have_units(text, value):
    by_scheme = scheme_parameters.settings(DUMBBELL, ["pcn", "dcqcn"], [text])
    (parsed,) = {value for values in by_scheme.values() for value in values.values()}
    assert parsed == (value if value is None else pytest.approx(value))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("rtt", "name=value"),
        ("=5", "name=value"),
        ("paris=3", "did you mean 'pairs'?"),
        ("W-min=0.1", "no parameter 'W-min'; did you mean 'w_min'"),
        ("zzz=3", "(`pcn run dumbbell --list` lists them)"),
        ("rate=fast", "rate=fast: 'fast' is no rate: write it like 10G"),
        ("rate=10Gs", "is no rate"),
        ("rate=5", "rate=5: '5' has no unit: write 5G, 5M or 5k"),
        ("rate=25e9", "write 25G"),
        ("duration=10", "write 10s, 10ms or 10us"),
        ("rtt=5G", "is no time"),
        ("pairs=2.5", "whole number"),
        ("pairs=0", "must be 1 to 32"),
        ("w_max=1.5", "must be 1e-06 to 1"),
        ("rate=nan", "is no rate"),
        ("duration=1us", "must be 1 ms to 10 s"),
        ("rate=auto", "is no rate"),
    ],
)
def test_mistakes_are_named(text, message):
    with pytest.raises(ExperimentError, match=re.escape(message)) as caught:
        scheme_parameters.settings(DUMBBELL, ["pcn"], [text])
    assert "\n" not in str(caught.value)


def test_percent_beyond_the_maximum_is_shown_as_a_share():
    load = Parameter("load", "number", 0.6, "", 0.001, 10)
    with pytest.raises(
        ExperimentError, match=r"load=50: must be 0.001 to 10; 50 percent is 0.5 or 50%"
    ):
        load.parse("50")
    with pytest.raises(ExperimentError, match=r"load=5e\+06: must be 0.001 to 10$"):
        load.parse("5e6")


def test_two_assignments_of_one_name_are_refused():
    with pytest.raises(ExperimentError, match="pairs is given twice: give one"):
        scheme_parameters.settings(DUMBBELL, ["pcn"], ["pairs=2", "pairs=4"])


def test_complete_takes_defaults_and_checks_what_is_given():
    values = complete({"pairs": 2}, PARAMETERS)
    assert values["pairs"] == 2
    assert values["w_max"] == 0.5
    assert list(values) == [parameter.name for parameter in PARAMETERS]
    with pytest.raises(ExperimentError, match="must be 1 to 32"):
        complete({"pairs": 99}, PARAMETERS)
    with pytest.raises(ExperimentError, match="needs a value"):
        complete({"pairs": None}, PARAMETERS)


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("rate", 10e9, "10 Gbit/s"),
        ("time", 500e-6, "500 us"),
        ("size", 512_000, "512 KB"),
        ("size", 509_884, "509.884 KB"),
        ("size", 0, "0 B"),
        ("count", 3, "3"),
        ("number", None, "auto"),
    ],
)
def test_values_are_written_with_units(kind, value, text):
    assert format_value(kind, value) == text


def test_every_default_is_an_allowed_value():
    for scenario in SCENARIOS.values():
        for parameter in {
            parameter for scheme in schemes for parameter in scenario.parameters(scheme)
        }:
            assert parameter.meaning
            assert parameter.default is not None or parameter.derived
            parameter.check(parameter.default)


def test_a_number_beyond_the_range_is_refused_with_the_range():
    with pytest.raises(ExperimentError, match=r"x=5: must be 0 or more|x=-1: must be 0 or more"):
        Parameter("x", "number", 1.0, "").parse("-1")


def test_schemes_parameters_are_their_fields_with_the_papers_names():
    offered = {parameter.name: parameter for parameter in DUMBBELL.parameters("dcqcn")}
    assert (offered["K_min"].kind, offered["K_min"].default, offered["F"].default) == (
        "size",
        None,
        5,
    )
    qcn = DUMBBELL.plan("qcn", 1, {}).values  # of 10 Gbit/s, for which QCN's defaults are
    assert qcn["R_AI"] == 5e6
    assert scheme_parameters.fields("qcn", qcn) == dataclasses.asdict(QcnParameters())
    assert {parameter.name: parameter for parameter in PARAMETERS}["T"].derived.startswith(
        "the largest round trip"
    )


@pytest.mark.parametrize("scheme", sorted(schemes))
def test_every_field_of_a_scheme_is_described(scheme):
    for parameter in describe(schemes[scheme].parameters):
        assert parameter.meaning
        parameter.check(parameter.default)
        assert parameter.least < parameter.most
        with pytest.raises(ValueError, match=f"{parameter.field} = nan: it must be"):
            parameter.check(math.nan)


def test_size_has_a_fraction_where_its_least_value_has():
    """What HPCC's rule gives, a run takes from the command, too."""
    by_name = {parameter.name: parameter for parameter in DUMBBELL.parameters("hpcc")}
    assert by_name["W_AI"].parse("3.78216B") == 3.78216
    assert by_name["W_AI"].parse("0.001B") == by_name["W_AI"].minimum
    assert find_scheme("hpcc").configure({"w_ai_bytes": "1.5B"}).parameters.w_ai_bytes == 1.5
    with pytest.raises(ExperimentError, match="must be whole bytes"):
        by_name["xoff"].parse("512000.5B")
