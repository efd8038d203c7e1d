"""Which runs are one group, what groups are called, and settings that differ."""

import json
from pathlib import Path

from compared_runs import stored_run

from pcn.experiments.compare import groups, tables
from pcn.experiments.compare.groups import grouped
from pcn.experiments.compare.stored_results import read


def test_runs_that_differ_by_their_seed_are_one_group(results: Path):
    run_groups = grouped([run for seed in range(1, 4) for run in read(results / f"both-{seed}")])
    assert [(group.name, [run.seed for run in group.runs]) for group in run_groups] == [
        ("PCN", [1, 2, 3]),
        ("PFC alone", [1, 2, 3]),
    ]
    differing = groups.different_settings(run_groups)
    assert {"scheme", "w_min"} <= set(differing)
    assert not {"load", "topology", "count"} & set(differing)
    everything = grouped(read(results))
    assert [len(group.runs) for group in everything] == [3, 3, 1]
    assert [group.name for group in everything][2].startswith("PCN, load 0.3")
    rows = {row[0]: row[1:] for row in tables.settings(everything).rows}
    assert rows["load"] == ["0.9", "0.9", "0.3"]
    assert rows["seeds"] == ["1, 2, 3", "1, 2, 3", "1"]


def test_runs_of_a_sweep_on_changed_files_are_no_group(tmp_path):
    """A topology's file, then a scheme's: one folder has the runs of all versions."""
    contents = {"numbers": {"jain": 1.0}, "curves": {}, "samples": {}}
    rows = [
        {"version": "v", "experiment": f"traffic?topology=net.yaml&digest={network}", "error": "",
         "keys": {"scheme": "pcn", "seed": seed}, "files": scheme, "value": contents}
        for seed, (network, scheme) in enumerate([("11", ""), ("11", ""), ("22", ""), ("22", "33")])
    ]  # fmt: skip
    (tmp_path / "done.jsonl").write_text("\n".join(map(json.dumps, rows)))
    run_groups = grouped(read(tmp_path))
    assert [[run.seed for run in group.runs] for group in run_groups] == [[0, 1], [2], [3]]
    assert [group.name for group in run_groups] == ["PCN, 11", "PCN, 22", "PCN, 22 33"]


def test_equal_runs_from_one_place_have_a_name_each():
    run_groups = grouped([stored_run(1, place="a"), stored_run(1, place="a")])
    assert [group.name for group in run_groups] == ["PCN, a (1)", "PCN, a (2)"]


def test_equal_runs_from_two_places_stay_apart():
    run_groups = grouped(
        [
            stored_run(1, place="a"),
            stored_run(1, place="b"),
            stored_run(2, place="a"),
            stored_run(2, place="b"),
        ]
    )
    assert [group.name for group in run_groups] == ["PCN, a", "PCN, b"]
    assert [[run.seed for run in group.runs] for group in run_groups] == [[1, 2], [1, 2]]
    (group,) = grouped([stored_run(1, number=1.0), stored_run(2, number=None)])
    assert group.mean("n") is None, "a mean over the others would be of other seeds"


def test_groups_are_named_by_what_they_need():
    """Two networks with two schemes: parameters of the schemes aren't differences."""
    dcqcn = {"R_AI": 40e6, "cnp_interval": 50e-6, "K_max": 200_000}
    runs = [
        stored_run(1, scheme, topology=f"/a/long/way/{network}.txt", xoff_bytes=xoff, **parameters)
        for network, xoff in (("clos", 512e3), ("fat", 300e3))
        for scheme, parameters in (("dcqcn", dcqcn), ("pcn", {"w_max": 0.5}))
    ]
    run_groups = grouped(runs)
    assert [group.name for group in run_groups] == [
        "DCQCN, clos",
        "PCN, clos",
        "DCQCN, fat",
        "PCN, fat",
    ]
    rows = {row[0]: row[1:] for row in tables.settings(run_groups).rows}
    assert rows.keys() == {
        "scheme", "topology", "xoff_bytes", "R_AI", "cnp_interval", "K_max", "w_max", "seeds",
    }  # fmt: skip
    assert rows["R_AI"] == ["40 Mbit/s", "–", "40 Mbit/s", "–"]
    assert rows["topology"] == ["clos", "clos", "fat", "fat"]
    assert rows["xoff_bytes"] == ["512 KB", "512 KB", "300 KB", "300 KB"]
    run_groups = grouped(
        [
            runs[1],
            *(
                stored_run(seed, "dcqcn", **{**dcqcn, "R_AI": rate})
                for seed in (3, 2)
                for rate in (4e7, 8e7)
            ),
        ]
    )
    assert [group.name for group in run_groups] == [
        "PCN",
        "DCQCN, R_AI 40 Mbit/s",
        "DCQCN, R_AI 80 Mbit/s",
    ]
    rows = {row[0]: row[1:] for row in tables.settings(run_groups).rows}
    assert (rows["R_AI"], rows["seeds"]) == (["–", "40 Mbit/s", "80 Mbit/s"], ["1", "2, 3", "2, 3"])


def test_files_of_one_stem_keep_their_paths():
    run_groups = grouped([stored_run(1, topology=f"/{place}/net.txt") for place in "ab"])
    assert [group.name for group in run_groups] == ["PCN, /a/net.txt", "PCN, /b/net.txt"]


def test_options_keep_their_names_beside_those_of_files():
    run_groups = grouped(
        [stored_run(1, options=f"order={order}") for order in ("fifo", "/a/fair.c:fair")]
    )
    assert [group.name for group in run_groups] == ["PCN, order=fifo", "PCN, order=fair.c:fair"]


def test_settings_that_differ_are_all_and_only_those():
    run_groups = grouped(
        [
            stored_run(1, "pcn", w_min=0.025, x=5, y=1.0),
            stored_run(1, "hpcc", x=5.0, y=1.0000000001, eta=0.95),
        ]
    )
    rows = {row[0]: row[1:] for row in tables.settings(run_groups).rows}
    assert rows == {
        "scheme": ["pcn", "hpcc"],
        "w_min": ["0.025", "–"],
        "y": ["1.0", "1.0000000001"],
        "eta": ["–", "0.95"],
        "seeds": ["1", "1"],
    }
