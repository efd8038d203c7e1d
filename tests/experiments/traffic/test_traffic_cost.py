"""What a run of traffic keeps and does of each flow: counts, since what stands around the engine
grows with them."""

import json
from collections.abc import Sequence
from pathlib import Path
from unittest import mock

import pytest

from pcn.experiments import runner
from pcn.experiments.data import parquet
from pcn.experiments.define.recording_numbers import EmptyPath, EmptyPaths
from pcn.hosts.algorithms import Configured, NotificationPoint, ReactionPoint
from pcn.hosts.virtual import VirtualNetwork
from pcn.virtualnet import Samples, Source

FEW, MANY = 300, 3000


class Counted:
    """A run's files, and what was counted while it was made."""

    def __init__(self, folder: Path, count: int):
        self.columns: list[int] = []
        self.paths = 0
        self.ends = 0
        new_rp, new_np = Configured.new_rp, Configured.new_np
        sample, between = VirtualNetwork.sample, EmptyPaths.between

        def sampled(
            network: VirtualNetwork, every_s: float, sources: Sequence[Source], **more
        ) -> Samples:
            self.columns.append(len(sources))
            return sample(network, every_s, sources, **more)

        def looked_up(paths: EmptyPaths, src: str, dst: str) -> EmptyPath:
            self.paths += 1
            return between(paths, src, dst)

        def rp(configured: Configured, line_rate_bps: float) -> ReactionPoint:
            self.ends += 1
            return new_rp(configured, line_rate_bps)

        def np(configured: Configured) -> NotificationPoint:
            self.ends += 1
            return new_np(configured)

        settings = [f"count={count}", "duration=20ms", "receivers=4"]
        with (
            mock.patch.object(VirtualNetwork, "sample", sampled),
            mock.patch.object(EmptyPaths, "between", looked_up),
            mock.patch.multiple(Configured, new_rp=rp, new_np=np),
        ):
            self.out = runner.run(
                "traffic?topology=star&workload=AliStorage&pattern=uniform",
                scheme="pcn", clock="virtual", settings=settings, out=folder / str(count),
            )  # fmt: skip

    def size(self, name: str) -> int:
        return (self.out / name).stat().st_size


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> tuple[Counted, Counted]:
    folder = tmp_path_factory.mktemp("runs")
    return Counted(folder, FEW), Counted(folder, MANY)


def test_samples_have_a_column_a_group_of_flows(runs: tuple[Counted, Counted]):
    few, many = runs
    assert few.columns == many.columns


def test_empty_path_of_flows_alike_is_looked_up_once_a_run(runs: tuple[Counted, Counted]):
    assert [run.paths for run in runs] == [1, 1]


def test_flows_with_rp_and_np_in_c_share_those_in_python(runs: tuple[Counted, Counted]):
    few, many = runs
    assert few.ends == many.ends


def test_flows_are_in_their_table_alone(runs: tuple[Counted, Counted]):
    _, many = runs
    assert len(parquet.read(many.out / "flows.parquet")["id"]) == MANY
    assert json.loads((many.out / "summary.json").read_text())["flows"] == []
    texts = []
    for run, count in zip(runs, (FEW, MANY), strict=True):
        summary = json.loads((run.out / "summary.json").read_text())
        samples = summary.pop("samples")["groups"]["flows"]
        assert sum(samples["flows"]) == count
        texts.append(len(json.dumps(summary)))
    assert texts[1] < 1.05 * texts[0]


def test_page_draws_lines_of_bounded_length_over_any_number_of_flows(runs: tuple[Counted, Counted]):
    assert runs[1].size("report.html") < 1.5 * runs[0].size("report.html")
