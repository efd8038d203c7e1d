"""Which small wrong changes to our sources do our tests notice? Slow; not part of `make test`.

    mutants.py --each 10 --jobs 2 --out results/mutants       ten changes of each file, drawn by --seed
    mutants.py --each 40 virtualnet/csrc/credit.c             forty of one file

A change is made in a copy of the last commit, compiled, and tried with the tests of its folder; the first one that
fails, or takes five times as long, has noticed it. Changes that don't compile, or whose code in assembly is the same,
don't count. Live tests aren't run, nor those of other folders: `make test` notices more. What was tried isn't tried
again (--out); the share noticed is printed by file, then all that nobody noticed.
"""

from __future__ import annotations

import argparse
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from functools import cache
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [path for path in (str(HERE), str(ROOT)) if path not in sys.path]

from changes import Change, changes  # noqa: E402

from controller import signals  # noqa: E402
from experiments.progress import ConsoleProgress  # noqa: E402
from experiments.sweep.store import Store  # noqa: E402
from experiments.sweep.sweep import Means, sweep  # noqa: E402
from experiments.sweep.task import Done, Task  # noqa: E402
from experiments.terminal import stdout  # noqa: E402
from hosts.native import FLAGS as HOST_FLAGS  # noqa: E402
from softswitch.codegen.build import RUNTIME_FLAGS  # noqa: E402
from softswitch.codegen.compiling import cache_dir, compiler  # noqa: E402
from topologies.errors import LabError  # noqa: E402

FOLDERS: dict[str, tuple[str, ...]] = {
    "virtualnet/csrc": ("tests/virtualnet", "tests/swarm"),
    "hosts/csrc": ("tests/hosts",),
    "hosts/algorithms": ("tests/hosts", "tests/virtualnet/test_virtual_schemes.py", "tests/swarm"),
    "softswitch/csrc": ("tests/softswitch_runtime", "tests/p4runtime"),
}
"""And the tests of each."""
LEFT_OUT = ("__init__.py", "found.py", "check.py", "capture.c", "prefetch.c", "cache_lines.c", "realtime.c")
"""Files of these folders whose work shows in no result: found by names, or speed alone."""
COMPILED = ".compiled"
COPIES = "PCN_MUTANTS_COPIES"
"""Where worker processes put theirs."""
PATIENCE, LEAST_S = 5, 60.0
"""Tests that take so many times as long as without a change have noticed it."""


def git(*words: str) -> str:
    return subprocess.run(["git", *words], cwd=ROOT, capture_output=True, text=True, check=True).stdout


def files() -> list[str]:
    found = [path for folder in FOLDERS for path in (ROOT / folder).iterdir() if path.suffix in (".c", ".py")]
    return sorted(str(path.relative_to(ROOT)) for path in found if path.name not in LEFT_OUT)


@cache
def copy(commit: str) -> Path:
    """The tree of a commit, for this process; `main` removes it."""
    place = Path(tempfile.mkdtemp(dir=os.environ[COPIES]))
    archive = subprocess.run(["git", "archive", commit], cwd=ROOT, capture_output=True, check=True).stdout
    subprocess.run(["tar", "-x"], cwd=place, input=archive, check=True)
    shutil.copytree(cache_dir(), place / COMPILED / "pcn-lab", symlinks=True)  # what is compiled already
    return place


def environment(place: Path) -> dict[str, str]:
    return {**os.environ, "PYTHONPATH": str(place), "XDG_CACHE_HOME": str(place / COMPILED)}


def hearing() -> None:
    """A sweep's workers have signals blocked, which their children inherit; some tests send them."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals.SIGNALS)


def tests(place: Path, path: str, limit_s: float) -> tuple[str, float]:
    """The first test that fails, "" if none does; how long it took, seconds."""
    folder = str(Path(path).parent)
    command = [
        sys.executable, "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--ignore-glob=*_live.py", "--tb=no",
        *FOLDERS[folder],
    ]  # fmt: skip
    began = time.monotonic()
    process = subprocess.Popen(
        command, cwd=place, env=environment(place), stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True,
        start_new_session=True, preexec_fn=hearing,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return "a hang", time.monotonic() - began
    finally:  # also where we are interrupted
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    took_s = time.monotonic() - began
    if process.returncode == 0:
        return "", took_s
    failed = [line.split()[1] for line in output.splitlines() if line.startswith(("FAILED ", "ERROR "))]
    return (failed or [f"exit code {process.returncode}"])[0], took_s


@cache
def baseline_s(place: Path, folder: str) -> float:
    """How long the folder's tests take without a change. Raises LabError where they fail."""
    failed, took_s = tests(place, f"{folder}/-", 3600.0)
    if failed:
        raise LabError(f"{folder}: without any change {failed} fails")
    return took_s


def assembly(place: Path, path: str) -> str | None:
    """What the compiler makes of a C file's unit; None: it doesn't compile."""
    folder = place / Path(path).parent
    unit = folder / "engine.c" if folder.parent.name == "virtualnet" else place / path
    flags = [flag for flag in (HOST_FLAGS if folder.parent.name == "hosts" else RUNTIME_FLAGS) if flag[:2] != "-l"]
    includes = [f"-I{place / other}" for other in FOLDERS if other.endswith("csrc")]
    done = subprocess.run(
        [*compiler(), *flags, *includes, "-g0", "-w", "-S", "-o", "-", unit], capture_output=True, text=True, cwd=place
    )
    return done.stdout if done.returncode == 0 else None


def attempt(commit: str, path: str, offset: int, old: str, new: str) -> dict[str, Any]:
    """A sweep's task: one change. Its verdict, what was changed, and who noticed."""
    place, change = copy(commit), Change(path, offset, old, new)
    file = place / path
    text = file.read_text()
    said = {"file": path, "change": change.said(text)}
    limit_s = LEAST_S + PATIENCE * baseline_s(place, str(Path(path).parent))
    before = assembly(place, path) if path.endswith(".c") else ""
    file.write_text(change.applied(text))
    try:
        if path.endswith(".c"):
            after = assembly(place, path)
            if after is None or after == before:
                return said | {"verdict": "doesn't compile" if after is None else "the same code", "by": ""}
        else:
            try:
                compile(file.read_text(), path, "exec")
            except SyntaxError:
                return said | {"verdict": "doesn't compile", "by": ""}
        by, _ = tests(place, path, limit_s)
    finally:
        file.write_text(text)
    return said | {"verdict": "noticed" if by else "not noticed", "by": by}


def tasks(commit: str, paths: list[str], each: int, seed: int) -> list[Task]:
    made = []
    for path in paths:
        found = changes(path, git("show", f"{commit}:{path}"))
        for change in random.Random(f"{seed} {path}").sample(found, min(each, len(found))):
            arguments = {"commit": commit, "path": path, "offset": change.offset, "old": change.old, "new": change.new}
            made.append(Task("mutants:attempt", arguments, {"file": path, "offset": change.offset, "new": change.new}))
    return made


def report(done: list[Done]) -> None:
    by_file: dict[str, list[dict[str, Any]]] = defaultdict(list)
    for one in done:
        if one.error:
            print(f"not tried: {one.error}")
        else:
            by_file[one.value["file"]].append(one.value)
    if not by_file:
        return
    print(f"{'file':36} {'tried':>6} {'noticed':>8} {'left out':>9}")
    lines = [(path, *_counted(values)) for path, values in by_file.items()]
    lines.append(("all", *(sum(column) for column in zip(*(line[1:] for line in lines), strict=True))))
    for path, tried, noticed, out in lines:
        share = f"{noticed / tried:.0%}" if tried else "-"
        print(f"{path:36} {tried:6} {noticed:4} {share:>4} {out:8}")
    for values in by_file.values():
        for value in values:
            if value["verdict"] == "not noticed":
                print(value["change"])


def _counted(values: list[dict[str, Any]]) -> tuple[int, int, int]:
    """Tried, noticed, left out."""
    verdicts = [value["verdict"] for value in values]
    noticed = verdicts.count("noticed")
    tried = noticed + verdicts.count("not noticed")
    return tried, noticed, len(verdicts) - tried


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("files", nargs="*", help="all that have tests here, unless given")
    parser.add_argument("--each", type=int, default=10, help="changes of a file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/mutants"))
    arguments = parser.parse_args()
    if unknown := set(arguments.files) - set(files()):
        parser.error(f"no tests here for {', '.join(sorted(unknown))}; there are {', '.join(files())}")
    made = tasks(git("rev-parse", "HEAD").strip(), arguments.files or files(), arguments.each, arguments.seed)
    try:
        with tempfile.TemporaryDirectory(prefix="pcn-mutants-") as copies, ConsoleProgress(stdout()) as progress:
            os.environ[COPIES] = copies
            progress.stage(f"mutants: {len(made)} changes")
            done = sweep(made, Store(arguments.out), Means(arguments.jobs), progress)
    except LabError as error:
        print(f"mutants: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, signals.Terminated):
        print("mutants: interrupted; the same command goes on", file=sys.stderr)
        return 130
    report(done)
    return 0


if __name__ == "__main__":
    sys.exit(main())
