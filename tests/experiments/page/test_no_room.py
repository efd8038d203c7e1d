"""A disk that is full, for real: a small tmpfs in the tests' mount namespace. Files that had room
are kept; one line names the others."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from fluid import fluid
from summary_shape import mismatches

from pcn.cli import run as pcn
from pcn.experiments.data.series import Series
from pcn.experiments.page.write_run import write_run
from pcn.experiments.papers import SCENARIOS
from pcn.experiments.results.judged_run import Result
from pcn.softswitch.cache.objects import SCRATCH, cache_dir

pytestmark = [pytest.mark.root, pytest.mark.long]
LIMIT_S = 300.0
SHORT = ("--clock", "virtual", "--set", "duration=20ms")
PCN = (sys.executable, "-c", "from pcn.cli import main; main()")


@contextmanager
def disk(tmp_path: Path, size: str) -> Iterator[Path]:
    """A new file system of this size."""
    place = tmp_path / "disk"
    place.mkdir()
    subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], check=True)
    try:
        yield place
    finally:
        subprocess.run(["umount", "--lazy", place], check=True)


def test_numbers_are_kept_where_pictures_have_no_room(tmp_path, capsys):
    with disk(tmp_path, "80k") as full:
        mine = full / "mine"
        assert pcn(["run", "dumbbell", *SHORT, "--pictures", "--out", str(mine)]) == 1
        output = capsys.readouterr()
        (error,) = errors_in(output.err)
        assert re.fullmatch(
            rf"pcn: {mine} is incomplete: without .*\bqueue.png, .*report.html: No space left on "
            r"device. "
            r"The rest is there",
            error,
        )
        assert "packets lost" in output.out
        assert "Report:" not in output.out
        assert [path.name for path in full.iterdir()] == ["mine"]
        assert {path.name for path in mine.iterdir()} >= {"summary.json", "series.parquet"}
        assert mismatches(json.loads((mine / "summary.json").read_text())) == []
        assert Series.read(mine / "series.parquet").get("s0:4", "waiting_bytes")[0].size > 10
        for picture in mine.glob("*.png"):
            assert picture.read_bytes().endswith(b"IEND\xaeB`\x82")  # whole


def errors_in(text: str) -> list[str]:
    """Lines of stderr, without progress."""
    return [line for line in text.splitlines() if line.startswith("pcn: ")]


def test_where_nothing_has_room_nothing_is_left(tmp_path, capsys):
    with disk(tmp_path, "4k") as full:
        assert pcn(["run", "dumbbell", *SHORT, "--out", str(full / "mine")]) == 1
        (error,) = errors_in(capsys.readouterr().err)
        assert error.startswith(
            f"pcn: nothing could be written into {full}/mine: summary.json, series.parquet"
        )
        assert list(full.iterdir()) == []


def test_cache_without_room_for_objects_is_named_in_a_line(tmp_path):
    with disk(tmp_path, "100k") as full:
        done = subprocess.run(
            [*PCN, "run", "dumbbell", *SHORT, "--out", str(tmp_path / "mine")],
            env={**os.environ, "XDG_CACHE_HOME": str(full)},
            capture_output=True, text=True, timeout=LIMIT_S,
            check=False,
        )  # fmt: skip
        assert done.returncode == 1
        assert errors_in(done.stderr) == [
            f"pcn: no space for compiled objects in {full}/pcn-lab: free some, or set "
            "XDG_CACHE_HOME to a folder that has it"
        ]
        assert not list(full.rglob(f"{SCRATCH}*"))
    assert not (tmp_path / "mine").exists()


def test_a_figure_without_room_for_its_picture_keeps_its_numbers(tmp_path, capsys):
    with disk(tmp_path, "28k") as full:
        place = full / "figures"
        assert pcn(["figure", "fig10", "--out", str(place)]) == 1
        output = capsys.readouterr()
        assert errors_in(output.err) == [
            f"pcn: {place} is incomplete: without fig10/figure.png, fig10/figure.svg, report.html: "
            "No space left on device. The rest is there"
        ]
        assert {path.name for path in (place / "fig10").iterdir()} == {
            "figure.json",
            "outcomes.json",
        }
        assert json.loads((place / "fig10" / "figure.json").read_text())["checks"]
        assert "Report:" not in output.out
        assert not (place / "report.html").exists()


def test_logs_give_way_to_numbers(tmp_path):
    with disk(tmp_path, "64k") as full:
        dumbbell, place = SCENARIOS["dumbbell"], full / "run"
        (place / "logs").mkdir(parents=True)
        with pytest.raises(OSError, match="No space left"):
            (place / "logs" / "h0.jsonl").write_bytes(bytes(1 << 20))
        plan = dumbbell.plan("pcn", 1, {"duration": 30e-3})
        result = Result(dumbbell, plan, fluid(plan), "live")
        assert write_run(result, place)
        lines = result.failures.lines()
        assert lines[0].startswith("logs, ")
        assert lines[-1].endswith("report.html: No space left on device")
        assert {path.name for path in place.iterdir()} >= {"summary.json", "series.parquet"}
        assert not (place / "logs").exists()


def test_live_run_without_room_for_logs_ends_with_the_reason(tmp_path):
    # Six logs of a page each don't fit into three; a short run bears a k at which a busy machine
    # keeps pace.
    with disk(tmp_path, "12k") as full:
        command = [
            *PCN, "run", "dumbbell", "--set", "duration=4ms", "-k", "2000", "--out",
            f"{full}/mine",
        ]  # fmt: skip
        done = subprocess.run(command, capture_output=True, text=True, timeout=LIMIT_S, check=False)
        assert done.returncode == 1
        pattern = (
            rf"pcn: can't write {full}/mine/logs/\w+.jsonl: No space left on device. Choose "
            r"another --out"
        )
        (error,) = errors_in(done.stderr)
        assert re.fullmatch(pattern, error), done.stderr
        assert list(full.iterdir()) == []


READ_ONLY = """
cache=$1 compiled=$2
shift 2
mount -t tmpfs -o mode=700 tmpfs "$cache" || exit 99
cp -a "$compiled" "$cache/pcn-lab" 2>/dev/null  # others compile meanwhile: the first run adds what is missing
XDG_CACHE_HOME=$cache "$@" --out "$cache/../first" || exit 98
rm -r "$cache/pcn-lab/runs"  # an older version's, or a copy, has none
mount -o remount,ro "$cache" || exit 97
XDG_CACHE_HOME=$cache "$@" --out "$cache/../second"
"""  # noqa: E501


def test_read_only_cache_that_holds_what_a_run_needs_is_enough(tmp_path):
    cache = tmp_path / "cache"
    cache.mkdir()
    command = [*PCN, "run", "dumbbell", "--clock", "virtual", "--set", "duration=2ms", "--quiet"]
    done = subprocess.run(
        [
            "unshare", "-m", "--propagation", "private", "sh", "-c", READ_ONLY, "sh", str(cache),
            str(cache_dir()), *command,
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "first", "second"}
    assert (tmp_path / "second" / "summary.json").is_file()


def test_network_that_has_no_room_in_run_is_one_line(tmp_path):
    script = """
mount -t tmpfs -o mode=755,size=64k tmpfs /run || exit 99
mkdir -m 700 /run/pcn-lab
cat /dev/zero > /run/filling
"$@"
status=$?
ls -A /run/pcn-lab
exit $status
"""
    command = [*PCN, "up", "dumbbell", "-k", "400", "--logs", str(tmp_path / "logs")]
    done = subprocess.run(
        ["unshare", "-m", "--propagation", "private", "sh", "-c", script, "sh", *command],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert done.returncode == 1
    error = done.stderr.splitlines()[-1]  # the first is of the shell, whose file has no room
    assert error == "pcn: can't write /run/pcn-lab/dumbbell/record.json: No space left on device"
    assert "Traceback" not in done.stderr
    assert done.stdout.splitlines()[1:] == []
    assert list(tmp_path.iterdir()) == []
