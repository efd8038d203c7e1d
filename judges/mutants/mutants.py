"""Which small wrong changes to our sources do our tests notice? Slow; not part of `make test`.

    mutants.py --each 10 --jobs 2 --out results/mutants       ten changes of each file, drawn by
                                                              --seed
    mutants.py --each 40 virtualnet/csrc/links/credit.c       forty of one file

A change is made in a copy of the last commit, compiled, and tried with the tests of its folder; the
first one that fails, or takes five times as long, has noticed it. Changes that don't compile, or of
which the compiler makes the same, don't count. Live tests aren't run, nor those of other folders:
`make test` notices more. What was tried isn't tried again (--out); it prints the detected share by
file, then all undetected changes. P4 needs p4c-bm2-ss on the PATH.
"""

import argparse
import contextlib
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [path for path in (str(HERE), str(ROOT)) if path not in sys.path]

from changes import Change, changes  # noqa: E402
from compiled_code import code, same  # noqa: E402

from pcn.base import signals  # noqa: E402
from pcn.base.errors import LabError  # noqa: E402
from pcn.experiments.page.terminal import stdout  # noqa: E402
from pcn.experiments.run.progress import ConsoleProgress, RunProgress  # noqa: E402
from pcn.experiments.sweep.executor import Means, sweep  # noqa: E402
from pcn.experiments.sweep.store import Store  # noqa: E402
from pcn.experiments.sweep.task import Done, Task  # noqa: E402
from pcn.softswitch import p4c  # noqa: E402
from pcn.softswitch.cache.objects import cache_dir  # noqa: E402

PTF = "ptf-tests/run.py"
PYTEST = (
    "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", "--ignore-glob=*_live.py", "--tb=no",
    # a hang, in C with Python's lock, too
    "-o", "faulthandler_timeout=120", "-o", "faulthandler_exit_on_timeout=true",
)  # fmt: skip
FOLDERS = {
    "virtualnet/csrc": ("tests/virtualnet", "judges/swarm"),
    "hosts/csrc": ("tests/hosts", "judges/fuzz/test_fuzz_frames.py"),
    "hosts/csrc/virtual": ("tests/virtualnet", "judges/swarm"),
    "hosts/algorithms": (
        "tests/hosts", "judges/fuzz/test_fuzz_frames.py",
        "tests/controller/test_qcn_at_inputs.py", "tests/experiments/data/test_parameters.py",
        "tests/virtualnet/test_virtual_schemes.py", "judges/swarm",
    ),
    "softswitch/csrc": (
        PTF, "tests/softswitch_runtime", "tests/p4runtime", "judges/p4runtime",
        "judges/test_sanitizers.py",
    ),
    "p4src/v1model": (
        PTF, "tests/p4/test_compiled.py", "tests/np_ecn", "tests/tcd", "tests/virtualnet",
        "tests/experiments/papers/test_unbiased.py",
    ),
}  # fmt: skip
"""And the tests of each."""
WITH_INNER = ("virtualnet/csrc",)
"""Of these folders, those in them count as well."""
LEFT_OUT = (
    "__init__.py", "discovery.py", "check.py", "check_events.py",
    "capture.c", "prefetch.c", "prefetch.h", "cache_lines.c", "cache_lines.h", "realtime.c",
    "realtime.h",
)  # fmt: skip
"""Files of these folders whose work shows in no result: found by names, or speed alone."""
SUFFIXES = (".c", ".h", ".py", ".p4")
COMPILED = ".compiled"
COPIES = "PCN_MUTANTS_COPIES"
"""Where worker processes put theirs."""
PATIENCE, LEAST_S = 5, 60.0
"""Tests that take this many times as long as without a change have detected it."""


def git(*words: str) -> str:
    return subprocess.run(
        ["git", *words], cwd=ROOT, capture_output=True, text=True, check=True
    ).stdout


def files() -> list[str]:
    paths = [
        path
        for folder in FOLDERS
        for path in (ROOT / folder).glob("**/*" if folder in WITH_INNER else "*")
        if path.suffix in SUFFIXES
    ]
    return sorted(str(path.relative_to(ROOT)) for path in paths if path.name not in LEFT_OUT)


def folder_of(path: str) -> str:
    """Returns the folder whose tests look at a file."""
    return next(str(parent) for parent in Path(path).parents if str(parent) in FOLDERS)


def chosen(named: list[str]) -> list[str]:
    """Those that are named, or all that can be compiled here. Raises LabError where a .p4 is named
    and can't be."""
    try:
        p4c.find_compiler()
    except p4c.P4Error:
        if any(path.endswith(".p4") for path in named):
            raise
        print("no p4c-bm2-ss on the PATH: p4src is left out", file=sys.stderr)
        return named or [path for path in files() if not path.endswith(".p4")]
    return named or files()


@cache
def copy(commit: str) -> Path:
    """The tree of a commit, for this process; `main` removes it."""
    place = Path(tempfile.mkdtemp(dir=os.environ[COPIES]))
    archive = subprocess.run(
        ["git", "archive", commit], cwd=ROOT, capture_output=True, check=True
    ).stdout
    subprocess.run(["tar", "-x"], cwd=place, input=archive, check=True)
    unfinished = shutil.ignore_patterns(".build-*")  # another process may compile meanwhile
    shutil.copytree(cache_dir(), place / COMPILED / "pcn-lab", symlinks=True, ignore=unfinished)
    return place


def environment(place: Path) -> dict[str, str]:
    """With a seed hypothesis draws the same each time, and doesn't play again what a change before
    has failed. What tests that are killed leave behind goes with the copies."""
    options = f"{os.environ.get('PYTEST_ADDOPTS', '')} --hypothesis-seed=1"
    return {
        **os.environ, "PYTHONPATH": str(place), "XDG_CACHE_HOME": str(place / COMPILED), (
            "PYTEST_ADDOPTS"
        ): options,
        "TMPDIR": os.environ[COPIES],
    }  # fmt: skip


def hearing():
    """A sweep's workers have signals blocked, which their children inherit; some tests send
    them."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, signals.SIGNALS)


def tests(place: Path, path: str, limit_s: float, files: Sequence[str]) -> tuple[str, float]:
    """The first test that fails, "" if none does; how long it took, seconds. Raises LabError if
    that passes then.

    PTF's where the folder has it, and `files`, in their order; before all, those that have the name
    of `path`, which notice most."""
    began = time.monotonic()
    folder, stem = FOLDERS[folder_of(path)], Path(path).stem
    commands = [[PTF]] if PTF in folder else []
    if named := [file for file in files if stem in Path(file).name]:
        commands.insert(0, [*PYTEST, *named])
    commands.append([*PYTEST, *(file for file in files if file not in named)])
    for command in commands:
        by = _first_failure([sys.executable, *command], place, limit_s - (time.monotonic() - began))
        took_s = time.monotonic() - began
        if "::" in by and not _first_failure([sys.executable, *PYTEST, by], place, limit_s):
            raise LabError(f"{by} fails, and passes when it is tried again")
        if by:
            return by, took_s
    return "", time.monotonic() - began


def _first_failure(command: list[str], place: Path, limit_s: float) -> str:
    process = subprocess.Popen(
        command, cwd=place, env=environment(place), stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True,
        start_new_session=True, preexec_fn=hearing,
    )  # fmt: skip
    try:
        output, _ = process.communicate(timeout=limit_s)
    except subprocess.TimeoutExpired:
        return "a hang"
    finally:  # also where we are interrupted
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)
            process.communicate()
    if process.returncode == 0:
        return ""
    failed = [
        line.split()[1]
        for line in output.splitlines()
        if line.startswith(("FAILED ", "FAIL: ", "ERROR"))
    ]
    return (failed or [f"exit code {process.returncode}"])[0]


def baseline(commit: str, folder: str) -> dict[str, Any]:
    """A sweep's task: how long the folder's tests take without a change, and their files, the
    quickest first. Raises LabError where one fails."""
    place = copy(commit)
    times = place / COMPILED / "times.xml"
    options = ("-o", "junit_family=xunit1", f"--junitxml={times}")
    places = [path for path in FOLDERS[folder] if path != PTF]
    failed, took_s = tests(place, f"{folder}/*", 3600.0, [*options, *places])
    if failed:
        raise LabError(f"{folder}: without any change {failed} fails")
    by_file = defaultdict(float)
    for case in ElementTree.parse(times).iter("testcase"):
        by_file[case.attrib["file"]] += float(case.attrib["time"])
    return {"took_s": took_s, "files": sorted(by_file, key=lambda file: by_file[file])}


@contextlib.contextmanager
def replaced(texts: Mapping[Path, str]) -> Iterator[None]:
    """Files have other texts for a while."""
    before = {path: path.read_text() for path in texts}
    try:
        for path, text in texts.items():
            path.write_text(text)
        yield
    finally:
        for path, text in before.items():
            path.write_text(text)


@cache
def unchanged(place: Path, path: str) -> str | dict[Path, str]:
    """A copy's code before any change. Raises LabError where there is none."""
    original = code(place, path)
    if original is None:
        raise LabError(f"{path} doesn't compile as it is")
    return original


def attempt(
    commit: str, path: str, offset: int, old: str, new: str, took_s: float, files: Sequence[str]
) -> dict[str, Any]:
    """A sweep's task: one change, after its folder's `baseline`. Its verdict, what was changed, and
    who noticed."""
    place, change = copy(commit), Change(path, offset, old, new)
    text = (place / path).read_text()
    record = {"file": path, "change": change.described(text)}
    before = unchanged(place, path)
    source = {place / path: change.applied(text)}
    with replaced(source):
        after = code(place, path)
    if after is None or same(before, after):
        return record | {
            "verdict": "doesn't compile" if after is None else "the same code",
            "by": "",
        }
    # Tests take P4 as it is compiled, and C and Python as they stand.
    with replaced(source if isinstance(after, str) else after):
        by, _ = tests(place, path, LEAST_S + PATIENCE * took_s, files)
    return record | {"verdict": "noticed" if by else "not noticed", "by": by}


def drawn(commit: str, paths: Sequence[str], per_file: int, seed: int) -> list[Change]:
    """One of each file, then another of each: of a sweep that is interrupted, every file has as
    many. More of a file are those that fewer were, and others."""
    numbered = []
    for path in paths:
        of_file = changes(path, git("show", f"{commit}:{path}"))
        random.Random(f"{seed} {path}").shuffle(of_file)
        numbered += list(enumerate(of_file[:per_file]))
    return [change for _, change in sorted(numbered, key=lambda pair: pair[0])]


def tried(
    commit: str, mutations: Sequence[Change], store: Store, means: Means, progress: RunProgress
) -> list[Done]:
    """All of them, after their folders' baselines. Raises LabError where one of these fails."""
    folders = sorted({folder_of(change.path) for change in mutations})
    progress.stage("mutants: the tests without a change")
    whole = [
        Task("mutants:baseline", {"commit": commit, "folder": folder}, {"folder": folder})
        for folder in folders
    ]
    before = dict(zip(folders, sweep(whole, store, means, progress), strict=True))
    if failed := [outcome.error for outcome in before.values() if outcome.error]:
        raise LabError("; ".join(failed))
    tasks = []
    for change in mutations:
        keys = {"file": change.path, "offset": change.offset, "new": change.new}
        limits = before[folder_of(change.path)].value
        tasks.append(Task("mutants:attempt", {"commit": commit, **asdict(change)}, keys, limits))
    progress.stage(f"mutants: {len(tasks)} changes")
    return sweep(tasks, store, means, progress)


def report(done: list[Done]):
    by_file = defaultdict(list)
    for outcome in done:
        if outcome.error:
            print(f"not tried: {outcome.error}")
        else:
            by_file[outcome.value["file"]].append(outcome.value)
    if not by_file:
        return
    print(f"{'file':36} {'tried':>6} {'noticed':>8} {'left out':>9}")
    lines = [(path, *_counted(values)) for path, values in by_file.items()]
    lines.append(
        ("all", *(sum(column) for column in zip(*(line[1:] for line in lines), strict=True)))
    )
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
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("files", nargs="*", help="files to mutate (default: all that have tests)")
    parser.add_argument("--each", type=int, default=10, help="changes of a file")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--out", type=Path, default=Path("results/mutants"))
    arguments = parser.parse_args()
    if unknown := set(arguments.files) - set(files()):
        parser.error(
            f"no tests here for {', '.join(sorted(unknown))}; there are {', '.join(files())}"
        )
    signals.heed_interrupts()
    try:
        commit = git("rev-parse", "HEAD").strip()
        mutations = drawn(commit, chosen(arguments.files), arguments.each, arguments.seed)
        with signals.raising(), tempfile.TemporaryDirectory(prefix="pcn-mutants-") as copies:
            os.environ[COPIES] = copies
            with ConsoleProgress(stdout()) as progress:
                done = tried(
                    commit, mutations, Store(arguments.out), Means(arguments.jobs), progress
                )
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
