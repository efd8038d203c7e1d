"""A disk that is full, for real: a small tmpfs in a separate mount namespace. Files that had room are kept; one line
names the others."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from summary_shape import mismatches

from experiments.data.series import Series
from softswitch.cache.objects import cache_dir

pytestmark = [pytest.mark.root, pytest.mark.long]
LIMIT_S = 300.0
SHORT = ("--clock", "virtual", "--set", "duration=20ms")
PCN = (sys.executable, "-c", "from pcn.cli import main; main()")
SCRIPT = """
mount -t tmpfs -o "size=$1" tmpfs "$2" || exit 99
disk=$2 kept=$3
shift 3
"$@"
status=$?
cp -a "$disk/." "$kept"
exit $status
"""


def on_a_disk(tmp_path: Path, size: str, *command: str) -> tuple[int, str, str, Path]:
    """A command with {disk} for the folder of a new file system of this size. Exit code, stdout
    and stderr, and a copy of that disk's content at the end."""
    disk, kept = tmp_path / "disk", tmp_path / "kept"
    disk.mkdir()
    kept.mkdir()
    script = [
        "sh",
        "-c",
        SCRIPT,
        "sh",
        size,
        str(disk),
        str(kept),
        *(word.replace("{disk}", str(disk)) for word in command),
    ]
    done = subprocess.run(
        ["unshare", "-m", "--propagation", "private", *script],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    return done.returncode, done.stdout, done.stderr.replace(str(disk), "DISK"), kept


def test_numbers_are_kept_where_pictures_have_no_room(tmp_path: Path) -> None:
    code, output, errors, kept = on_a_disk(
        tmp_path, "80k", *PCN, "run", "dumbbell", *SHORT, "--pictures", "--out", "{disk}/mine"
    )
    assert code == 1
    assert re.fullmatch(
        r"pcn: DISK/mine is incomplete: without .*\bqueue.png, .*report.html: No space left on device. "
        r"The rest is there\n",
        errors,
    )
    assert "packets lost" in output
    assert "Report:" not in output
    assert [path.name for path in kept.iterdir()] == ["mine"]
    mine = kept / "mine"
    assert {path.name for path in mine.iterdir()} >= {"summary.json", "series.parquet"}
    assert mismatches(json.loads((mine / "summary.json").read_text())) == []
    assert Series.read(mine / "series.parquet").get("s0:4", "waiting_bytes")[0].size > 10
    for picture in mine.glob("*.png"):
        assert picture.read_bytes().endswith(b"IEND\xaeB`\x82")  # whole


def test_where_nothing_has_room_nothing_is_left(tmp_path: Path) -> None:
    code, _, errors, kept = on_a_disk(tmp_path, "4k", *PCN, "run", "dumbbell", *SHORT, "--out", "{disk}/mine")
    assert code == 1
    assert errors.startswith("pcn: nothing could be written into DISK/mine: summary.json, series.parquet")
    assert len(errors.splitlines()) == 1
    assert list(kept.iterdir()) == []


def test_a_figure_without_room_for_its_picture_keeps_its_numbers(tmp_path: Path) -> None:
    code, output, errors, kept = on_a_disk(tmp_path, "28k", *PCN, "figure", "fig10", "--out", "{disk}/figures")
    assert code == 1
    assert errors == (
        "pcn: DISK/figures is incomplete: without fig10/figure.png, fig10/figure.svg: No space left on device. "
        "The rest is there\n"
    )
    assert {path.name for path in (kept / "figures" / "fig10").iterdir()} == {"figure.json", "outcomes.json"}
    assert json.loads((kept / "figures" / "fig10" / "figure.json").read_text())["checks"]
    assert "Report:" in output
    assert "Its picture is missing." in (kept / "figures" / "report.html").read_text()


def test_logs_give_way_to_numbers(tmp_path: Path) -> None:
    script = """
import sys
from pathlib import Path
from fluid import fluid
from experiments.page.write_run import write_run
from experiments.results.judged_run import judge
from experiments.papers import SCENARIOS
made, place = SCENARIOS["dumbbell"], Path("{disk}/run")
(place / "logs").mkdir(parents=True)
try:
    (place / "logs" / "h0.jsonl").write_bytes(bytes(1 << 20))
except OSError:
    pass
plan = made.plan("pcn", 1, {"duration": 30e-3})
result = judge(made, plan, fluid(plan), "live", "softswitch")
assert write_run(result, place)
print(*result.failures.lines(), sep="\\n")
"""
    here = f"import sys; sys.path.insert(0, {str(Path(__file__).parents[1])!r})"
    code, output, errors, kept = on_a_disk(tmp_path, "64k", sys.executable, "-c", here + script)
    assert code == 0, errors
    assert output.startswith("logs, ")
    assert output.endswith("report.html: No space left on device\n")
    assert {path.name for path in (kept / "run").iterdir()} >= {"summary.json", "series.parquet"}
    assert not (kept / "run" / "logs").exists()


def test_live_run_without_room_for_logs_ends_with_the_reason(tmp_path: Path) -> None:
    # Six logs of a page each don't fit into three; a short run bears a k at which a busy machine keeps pace.
    arguments = ("--set", "duration=4ms", "-k", "2000", "--out", "{disk}/mine")
    code, _, errors, kept = on_a_disk(tmp_path, "12k", *PCN, "run", "dumbbell", *arguments)
    assert code == 1
    pattern = r"pcn: can't write DISK/mine/logs/\w+.jsonl: No space left on device. Choose another --out\n"
    assert re.fullmatch(pattern, errors), errors
    assert list(kept.iterdir()) == []


READ_ONLY = """
cache=$1 compiled=$2
shift 2
mount -t tmpfs -o mode=700 tmpfs "$cache" || exit 99
cp -a "$compiled" "$cache/pcn-lab" 2>/dev/null  # others compile meanwhile: the first run adds what is missing
XDG_CACHE_HOME=$cache "$@" --out "$cache/../first" || exit 98
rm -r "$cache/pcn-lab/runs"  # an older version's, or a copy, has none
mount -o remount,ro "$cache" || exit 97
XDG_CACHE_HOME=$cache "$@" --out "$cache/../second"
"""


def test_read_only_cache_that_holds_what_a_run_needs_is_enough(tmp_path: Path) -> None:
    cache = tmp_path / "cache"
    cache.mkdir()
    command = [*PCN, "run", "dumbbell", "--clock", "virtual", "--set", "duration=2ms", "--quiet"]
    done = subprocess.run(
        [
            "unshare",
            "-m",
            "--propagation",
            "private",
            "sh",
            "-c",
            READ_ONLY,
            "sh",
            str(cache),
            str(cache_dir()),
            *command,
        ],
        capture_output=True,
        text=True,
        timeout=LIMIT_S,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert {path.name for path in tmp_path.iterdir()} == {"cache", "first", "second"}
    assert (tmp_path / "second" / "summary.json").is_file()


def test_network_that_has_no_room_in_run_is_one_line(tmp_path: Path) -> None:
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
    said = done.stderr.splitlines()[-1]  # the first is of the shell, whose file has no room
    assert said == "pcn: can't write /run/pcn-lab/dumbbell/record.json: No space left on device"
    assert "Traceback" not in done.stderr
    assert done.stdout.splitlines()[1:] == []
    assert list(tmp_path.iterdir()) == []
