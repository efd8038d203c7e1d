"""`pcn down` and `pcn status`, where no network or several are up: on a machine of the test's
own."""

import json

import pytest
from machine import machine

pytestmark = pytest.mark.root


def test_down_refuses_to_choose_and_ends_all(tmp_path):
    with machine(tmp_path) as here:
        assert "nothing to remove" in here.run("pcn down")
        for name in ("one", "two"):
            here.run(f"pcn up dumbbell --set pairs=1 -n {name} --logs {tmp_path / name}")
        for words in ("pcn down", "pcn down --force"):
            with pytest.raises(
                AssertionError,
                match=r"several networks are up \(one, two\): name one, or give --all",
            ):
                here.run(words)
        assert [record["name"] for record in json.loads(here.run("pcn status --json"))] == [
            "one",
            "two",
        ]
        for words in (
            "pcn status two --json",
            "pcn status --network two --json",
            "pcn status two -n two --json",
        ):
            assert [record["name"] for record in json.loads(here.run(words))] == ["two"]
        assert "removed network two" in here.run("pcn down --network two")
        here.run(f"pcn up dumbbell --set pairs=1 -n three --logs {tmp_path / 'three'}")
        removed = here.run("pcn down --all")
        assert all(f"removed network {name}" in removed for name in ("one", "three"))
        assert "no network is up" in here.run("pcn status")
