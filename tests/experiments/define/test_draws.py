"""What seeds decide: the declarations against the plans, and where means have a spread."""

import operator
from dataclasses import replace

import pytest

from pcn.cli import run as pcn
from pcn.experiments.data.plan import Plan
from pcn.experiments.define.draws import NOTHING, distinct, draws, spreads
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.outcomes import Outcome
from pcn.experiments.papers import EXPERIMENTS
from pcn.experiments.sweep import parameter_sweep
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import TrafficSpec, parse_spec

CSV = "src,dst,start_s,size_bytes\nh0,r0,0,64KB\nh1,r1,10us,2MB\nh2,r1,0,2MB\n"


def plans(experiment: Experiment, run: Run) -> tuple[Plan, Plan]:
    """With two seeds."""
    small = {**run.arguments, **SMALL.get(experiment.name, {})}
    first, second = (experiment.plan(run.scheme, seed, small) for seed in (1, 2))
    return first, replace(second, seed=first.seed)


SMALL = {
    "fig14": {"count": 50},
    "today": {"count": 50},
    "fig21": {"duration": 2e-3},
    "fig20": {"count": 50},
    "tcd-fig16": {"count": 50},
    "tcd-fig17": {"count": 50},
    "shared-buffer": {"count": 50},
    "silence": {"count": 50},
    "marks": {"count": 50},
    "hpcc-fig11": {"count": 50},
}
"""Arguments that make plans of thousands of flows small."""


@pytest.mark.parametrize("name", sorted(EXPERIMENTS))
def test_declaration_of_draws_agrees_with_the_plans(name):
    experiment = EXPERIMENTS[name]
    runs = {run.scheme: run for run in experiment.runs(experiment.schemes) if not run.variant}
    drawn = any(operator.ne(*plans(experiment, run)) for run in runs.values())
    assert drawn == bool(experiment.draws), f"{name} declares {experiment.draws!r}"


def test_flow_file_leaves_the_seed_what_scheme_and_program_draw(tmp_path):
    file = tmp_path / "flows.csv"
    file.write_text(CSV)
    traffic = Traffic(parse_spec("compact", flows=str(file)))
    by_scheme = {
        scheme: draws(traffic, Run({}, scheme), traffic.plan(scheme, 1, {}))
        for scheme in ("pcn", "pfc", "dcqcn")
    }
    assert by_scheme == {
        "pcn": "when receivers' windows begin",
        "pfc": NOTHING,
        "dcqcn": "what the program dcqcn draws in switches",
    }
    drawn = Traffic(TrafficSpec("compact"))
    assert draws(drawn, Run({}, "pfc"), drawn.plan("pfc", 1, {"count": 5})) == DRAWN_FLOWS
    in_step = traffic.plan("pcn", 1, {"phases": 0.0})
    assert draws(traffic, Run({}, "pcn"), in_step) == NOTHING


def outcomes(*values: float | None) -> list[Outcome]:
    return [
        Outcome({"scheme": "dcqcn", "seed": seed}, {"mean_ms": value, "flows": 3.0})
        for seed, value in enumerate(values, 1)
    ]


def test_spread_stands_where_each_seed_gives_another_run():
    traffic = Traffic(TrafficSpec("compact"))
    different, equal, lacking = (
        outcomes(1.0, 2.0, 3.0),
        outcomes(1.0, 1.0, 3.0),
        outcomes(1.0, None, 3.0),
    )
    assert (
        parameter_sweep.means(different)["mean_ms"].error,
        parameter_sweep.means(different)["flows"].error,
    ) == (pytest.approx(3**-0.5), 0)
    assert parameter_sweep.means(different, NOTHING)["mean_ms"].error is None
    assert not spreads(equal)
    assert (distinct(equal), parameter_sweep.means(equal)["mean_ms"].error) == (2, None)
    assert "mean_ms" not in parameter_sweep.means(lacking)
    group = parameter_sweep.group_of(different[0].keys)
    assert parameter_sweep.notes(traffic, different, {group: "marks"}, ["mean_ms"]) == [
        "the seed decides marks"
    ]
    assert parameter_sweep.notes(traffic, equal, {group: "marks"}, ["mean_ms"])[1:] == [
        "DCQCN: 3 seeds give 2 different runs, so no standard error"
    ]
    assert parameter_sweep.notes(traffic, lacking, {group: "marks"}, ["mean_ms"])[1:] == [
        "DCQCN: no mean of mean_ms, which seed 2 lacks"
    ]
    few = [
        Outcome({"scheme": scheme, "seed": seed}, {"p99_ms all": None, "flows all": 50.0})
        for scheme in ("dcqcn", "pcn")
        for seed in (1, 2)
    ]
    decided = dict.fromkeys(parameter_sweep.groups(few), "marks")
    assert parameter_sweep.notes(traffic, few, decided, ["p99_ms all"])[-1] == (
        "no mean of p99_ms all: too few flows: 50 in a run, 100 needed"
    ), "once, of all schemes"
    assert parameter_sweep.notes(traffic, outcomes(1.0, 1.0), {group: NOTHING}, []) == [
        "the seed decides nothing"
    ]
    (chart,) = parameter_sweep.charts(traffic, equal, {group: "marks"}, ["mean_ms"])
    assert not any(chart.lines[0].seeds), "no bar of an error"


def test_sweep_prints_what_seeds_determine(tmp_path, capsys):
    file, out = tmp_path / "flows.csv", tmp_path / "out"
    file.write_text(CSV)
    command = [
        "sweep", "traffic", "--topology", "compact", "--flows", str(file), "--scheme", "pcn,pfc",
    ]  # fmt: skip
    assert (
        pcn([*command, "--seeds", "1:2", "--jobs", "1", "--show", "mean_ms all", "--out", str(out)])
        == 0
    )
    printed = capsys.readouterr()
    assert "note: PCN: the seed decides when receivers' windows begin\n" in printed.err
    assert "note: PFC alone: the seed decides nothing\n" in printed.err
    rows = {
        line.split(",")[0]: line.split(",")
        for line in (out / "means.csv").read_text().splitlines()
        if "mean_ms all" in line
    }
    assert rows["pfc"][-2:] == ["", "2"]
    assert float(rows["pcn"][-2]) > 0
    assert printed.out.count("±") == 1


def test_sweep_has_no_mean_where_a_seed_s_flow_is_unfinished(tmp_path, capsys):
    command = [
        "sweep", "traffic", "--topology", "star", "--set", "receivers=3", "--workload", "W1",
        "--scheme", "pfc",
    ]  # fmt: skip
    sizes = ["--set", "count=10", "--set", "duration=300us", "--seeds", "1:4", "--jobs", "1"]
    assert (
        pcn(
            [
                *command, *sizes, "--show", "unfinished all", "--show", "mean_ms all", "--out",
                str(tmp_path / "out"),
            ]
        )
        == 0
    )  # fmt: skip
    assert "no mean of mean_ms all, which seed" in capsys.readouterr().err
    assert "mean_ms all,," not in (tmp_path / "out" / "means.csv").read_text()
    assert ",mean_ms all," not in (tmp_path / "out" / "means.csv").read_text()
