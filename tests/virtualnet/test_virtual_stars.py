"""A scheme on stars: what `pcn scheme check --stars` measures, beside what the scheme's rule
holds."""

import json

import pytest
from click.testing import CliRunner

from pcn.commands.scheme import scheme as command
from pcn.hosts.algorithms import find_scheme, schemes
from pcn.hosts.recommended import network_facts, recommended
from pcn.hosts.virtual import stars
from pcn.hosts.virtual.stars import Star, shared

SHORT = Star(25e9, 20e-6)


@pytest.mark.parametrize(
    "scheme", ["pcn", "pcn-x", "pcn-w", "dctcp", "hpcc", "swift", "nscc", "rccc"]
)
def test_two_flows_share_a_star_as_the_scheme_s_rule_holds(scheme):
    """PCN's mean queue is up to twice what its bound, of flows in step, allows."""
    measured = shared(find_scheme(scheme), SHORT, 2)
    assert measured.rule_utilisation is not None
    assert measured.utilisation >= measured.rule_utilisation - 0.03
    assert measured.queue_bdp <= 2 * (measured.rule_queue_bdp or 0)
    assert measured.jain >= 0.95


@pytest.mark.parametrize("scheme", ["pcn", "pcn-w"])
def test_sixteen_flows_of_pcn_share_a_star_equally(scheme):
    """A T of the round trip alone leaves Jain's index at 0.7 and less there, and so does a window
    of two of them."""
    assert shared(find_scheme(scheme), SHORT, 16).jain >= 0.98


def test_sixteen_flows_of_nscc_count_one_delay():
    """Those that start later never find the network empty: with a least round trip that has a
    frame's time for some flows, and hasn't for others, Jain's index is 0.80."""
    assert shared(find_scheme("nscc"), Star(400e9, 3e-6, 4038), 16).jain >= 0.98


def test_every_rule_states_known_numbers():
    topology = SHORT.topology(2)
    for scheme in schemes.values():
        if scheme.holds is not None:
            parameters = scheme.configure(recommended(topology, scheme)).parameters
            stated = scheme.holds(network_facts(topology, scheme), parameters)
            assert stated.keys() <= {"utilisation", "queue_bytes"}
            assert all(value > 0 for value in stated.values())


def test_command_prints_each_star_and_number_of_flows(monkeypatch):
    monkeypatch.setattr(stars, "STARS", (SHORT,))
    printed = CliRunner().invoke(
        command, ["check", "hpcc", "--stars", "--json"], standalone_mode=False
    )
    rows = json.loads(printed.output)
    assert [(row["star"], row["flows"]) for row in rows] == [
        ("25 Gbit/s, 20 us", flows) for flows in stars.FLOWS
    ]
    assert [row["rule_utilisation"] for row in rows] == [0.95] * 3
    table = CliRunner().invoke(command, ["check", "hpcc", "--stars"], standalone_mode=False).output
    assert table.count("25 Gbit/s, 20 us") == 3
    assert f"{rows[2]['utilisation']:.3f}" in table


def test_authors_figures_are_of_known_schemes_on_the_stars():
    """Each once, in order, as the judge writes them, and each of a program that is named."""
    programs, lines = stars.read_authors()
    known = [place.name for place in stars.STARS]
    keys = [(line.scheme, known.index(line.star), line.flows) for line in lines]
    assert keys == sorted(set(keys))
    assert {name for name, _, _ in keys} <= set(schemes)
    for line in lines:
        assert len(programs[line.program]["commit"]) == 40
        assert 0 < line.utilisation <= 1.02  # ns-3's frames take whole nanoseconds
        assert 0 < line.jain <= 1.001
        assert line.queue_bdp >= 0


def test_command_prints_authors_figures_beside_ours(monkeypatch):
    monkeypatch.setattr(stars, "STARS", (SHORT,))
    row = json.loads(
        CliRunner()
        .invoke(command, ["check", "nscc", "--stars", "--json"], standalone_mode=False)
        .output
    )[2]
    theirs = stars.authors("nscc", SHORT.name, 16)
    assert theirs is not None
    assert (row["authors_utilisation"], row["authors_queue_bdp"], row["authors_jain"]) == theirs[4:]
    assert stars.authors("pcn", SHORT.name, 16) is None
    table = CliRunner().invoke(command, ["check", "nscc", "--stars"], standalone_mode=False).output
    assert "authors' by uet-htsim 40ccb05, three switches in a row" in table
    assert f"{theirs.jain:.3f}" in table
