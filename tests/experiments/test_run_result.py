"""What `pcn.run` returns: numbers and a folder that stay, whatever runs later or beside it."""

import json
import logging
import os
import pickle
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path

import pytest

import pcn
from pcn import RunResult, run
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.results.atomic_folder import result_directory

SHORT = ["duration=1ms"]


@pytest.fixture(autouse=True)
def _here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)


def written(result: RunResult):
    return json.loads((result.folder / "summary.json").read_text())


def test_run_without_out_keeps_each_result_where_it_was(tmp_path):
    results = [run("dumbbell", settings=SHORT, seed=seed) for seed in (1, 2)]
    assert results[0].folder != results[1].folder
    for seed, result in enumerate(results, start=1):
        assert result.folder.parent == tmp_path / "results/runs"
        assert result.folder.name.startswith("dumbbell-virtual-pcn-")
        assert result.summary["seed"] == seed
        assert result.summary["clock"] == "virtual"
        assert written(result) == result.summary
        assert result.runs["pcn", "virtual"].folder == result.folder
        assert result.runs["pcn", "virtual"].summary == result.summary


def seed_of(seed: int) -> tuple[int, RunResult]:
    return seed, run("dumbbell", settings=SHORT, seed=seed)


def test_parallel_runs_each_return_their_numbers():
    with ProcessPoolExecutor(3, get_context("fork")) as pool:
        results = list(pool.map(seed_of, range(1, 7)))
    assert len({result.folder for _, result in results}) == 6
    for seed, result in results:
        assert result.summary["seed"] == seed
        assert written(result) == result.summary


def test_run_with_out_renames_the_earlier_result_and_returns_its_numbers(tmp_path):
    first = run("dumbbell", settings=SHORT, seed=1, out="mine")
    second = run("dumbbell", settings=SHORT, seed=2, out=Path("mine"))
    assert first.folder == second.folder == tmp_path / "mine"
    assert (first.summary["seed"], second.summary["seed"]) == (1, 2)
    assert json.loads((tmp_path / "mine.1/summary.json").read_text()) == first.summary


def test_several_runs_are_by_scheme_and_clock():
    result = run("victim", scheme="pfc,pcn", settings=["duration=4ms"])
    assert result.summary == json.loads((result / "comparison.json").read_text())
    assert list(result.runs) == [("pfc", "virtual"), ("pcn", "virtual")]
    for (scheme, _), scheme_run in result.runs.items():
        assert scheme_run.folder == result.folder / scheme
        assert scheme_run.summary == json.loads((scheme_run / "summary.json").read_text())
        assert scheme_run.summary["scheme"] == scheme


def test_result_is_a_path_for_code_that_takes_one():
    result = run("dumbbell", settings=SHORT)
    assert os.listdir(result) == os.listdir(result.folder)  # noqa: PTH208
    assert Path(result) == result.folder
    with pytest.warns(
        DeprecationWarning, match=r"pcn.run returns a RunResult: write .folder.joinpath"
    ):
        assert result.joinpath("logs") == result.folder / "logs"
    with pytest.raises(AttributeError, match="no attribute 'sumary'"):
        _ = result.sumary
    assert pickle.loads(pickle.dumps(result)) == result
    assert len({result, pickle.loads(pickle.dumps(result))}) == 1


def test_folder_of_a_call_takes_the_place_of_nothing(tmp_path):
    place = tmp_path / "results/runs/taken"
    place.mkdir(parents=True)
    (place / "summary.json").write_text("{}")
    with (
        pytest.raises(ExperimentError, match="taken"),
        result_directory(place, replaces=False) as work,
    ):
        (work / "summary.json").write_text("[]")
    assert [path.name for path in place.parent.iterdir()] == ["taken"]
    assert (place / "summary.json").read_text() == "{}"


def test_steps_of_a_run_go_to_the_logger(caplog):
    with caplog.at_level(logging.INFO, "pcn.experiments"):
        run("dumbbell", settings=SHORT)
    assert "Figures and report" in [record.message for record in caplog.records]


def test_docstring_of_run_names_what_users_have():
    text = pcn.run.__doc__ or ""
    assert "atomic_folder" not in text
    assert "place_of" not in text


def test_version_is_the_distribution_s():
    from importlib.metadata import version

    assert pcn.__version__ == version("pcn-lab")
    assert "__version__" in dir(sys.modules["pcn"])
