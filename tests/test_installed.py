"""The wheel: what is in it, and that it runs without the checkout.

In an environment of its own, which has this one's dependencies by links and is fresh otherwise: there `pcn` compiles
the wheel's C sources into a cache of its own.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
import uuid
import zipfile
from dataclasses import dataclass
from pathlib import Path

import matplotlib
import pytest

from lab import supervisor
from pcn import names

pytestmark = pytest.mark.long

CHECKOUT = Path(__file__).resolve().parent.parent
STAYS_HERE = (".ci", "bench", "tests", "ptf-tests", "examples", "docs")
"""Folders that nothing looks into at run time, but for the pages of docs/: reports quote these."""


def tracked() -> list[str]:
    """The checkout's files, those that aren't committed yet too."""
    command = ["git", "-c", f"safe.directory={CHECKOUT}", "-C", str(CHECKOUT), "ls-files"]
    command += ["--cached", "--others", "--exclude-standard"]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in found if (CHECKOUT / name).is_file()]


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """From a copy: a build leaves its own folders."""
    folder = tmp_path_factory.mktemp("wheel")
    for name in tracked():
        copy = folder / "clone" / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CHECKOUT / name, copy)
    build = [sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "wheel", "--no-deps", "--no-index"]
    subprocess.run([*build, "--no-build-isolation", "-w", str(folder), str(folder / "clone")], check=True)
    (found,) = folder.glob("*.whl")
    return found


@dataclass(frozen=True)
class Environment:
    folder: Path
    site_packages: Path
    here: Path
    """Where the user stands, with files that are called as our packages are."""

    def python(self, *arguments: str) -> str:
        return self._run("python", *arguments, cwd=self.folder)

    def pcn(self, *arguments: str) -> str:
        return self._run("pcn", *arguments, cwd=self.here)

    def _run(self, program: str, *arguments: str, cwd: Path) -> str:
        own = ("PYTHONPATH", "XDG_CACHE_HOME", "VIRTUAL_ENV")
        environment = {key: value for key, value in os.environ.items() if key not in own}
        # matplotlib's list of the machine's fonts, which takes seconds to make, is none of ours.
        environment |= {"HOME": str(self.folder), "MPLCONFIGDIR": matplotlib.get_cachedir()}
        command = [str(self.folder / "bin" / program), *arguments]
        done = subprocess.run(command, cwd=cwd, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Environment:
    folder = tmp_path_factory.mktemp("installed")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
    (site_packages,) = folder.glob("lib/python*/site-packages")
    for path in Path(sysconfig.get_path("purelib")).iterdir():
        if path.suffix != ".pth" and not path.name.startswith(("pcn_lab-", "__editable__")):
            (site_packages / path.name).symlink_to(path)
    here = tmp_path_factory.mktemp("here")
    for name in names.PACKAGES:
        (here / f"{name}.py").write_text("raise SystemExit('not ours')\n")
    found = Environment(folder, site_packages, here)
    found.python("-m", "pip", "-q", "--disable-pip-version-check", "install", "--no-deps", "--no-index", str(wheel))
    return found


def test_it_has_every_file_but_those_for_work_on_the_project(wheel: Path) -> None:
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    inner = [name for name in tracked() if "/" in name]
    pages = {name for name in inner if Path(name).parent == Path("docs") and name.endswith(".md")}
    assert {name for name in inner if name.split("/")[0] not in STAYS_HERE} | pages <= packed
    assert packed <= set(inner)
    (top,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/top_level.txt"))
    folders = set(zipfile.ZipFile(wheel).read(top).decode().split())
    assert folders == {*names.PACKAGES, "pcn", "p4src", "docs"}


def test_what_is_imported_is_the_wheels(installed: Environment) -> None:
    script = "import importlib, sys; [print(importlib.import_module(name).__file__) for name in sys.argv[1:]]"
    found = installed.python("-c", script, "pcn", *names.PACKAGES).splitlines()
    assert found == [str(installed.site_packages / name / "__init__.py") for name in ("pcn", *names.PACKAGES)]


def test_a_run_and_its_report(installed: Environment) -> None:
    out = installed.pcn(
        "run", "dumbbell", "--clock", "virtual", "--set", "duration=2ms", "--no-pictures", "--out", "mine"
    )
    assert "Report: mine/report.html" in out
    result = installed.here / "mine"
    assert json.loads((result / "summary.json").read_text())["provenance"]["commit"] == "unknown"
    page = (result / "report.html").read_text()
    assert "Appendix A notifies all flows at once" in page  # docs/choices.md
    assert (installed.folder / ".cache/pcn-lab").is_dir()


def doctor(installed: Environment) -> dict[str, dict[str, object]]:
    script = "import json, dataclasses, pcn.doctor as d; print(json.dumps([dataclasses.asdict(c) for c in d.checks()]))"
    return {check["name"]: check for check in json.loads(installed.python("-c", script))}


OURS = ("cache", "C libraries", "package names", "files", "P4 programs")


def test_doctor_finds_all_of_it(installed: Environment) -> None:
    found = doctor(installed)
    assert [(name, found[name]["found"]) for name in OURS if not found[name]["present"]] == []
    assert found["files"]["found"] == str(installed.site_packages)


def test_doctor_finds_what_is_gone_and_who_else_is_there(installed: Environment, tmp_path: Path) -> None:
    """Of two projects that have a package of one name, pip writes both into one folder, and says nothing."""
    source = installed.site_packages / "hosts" / "csrc" / "nic.c"
    theirs = installed.site_packages / "ryu_apps-1.0.dist-info"
    theirs.mkdir()
    kept = shutil.move(source, tmp_path)
    try:
        (theirs / "METADATA").write_text("Metadata-Version: 2.1\nName: ryu-apps\nVersion: 1.0\n")
        (theirs / "RECORD").write_text("controller/app.py,,\n")
        (theirs / "top_level.txt").write_text("controller\n")
        found = doctor(installed)
        assert [name for name in OURS if not found[name]["present"]] == ["C libraries", "package names", "files"]
        assert found["package names"]["found"] == f"{installed.site_packages / 'controller'} is also of ryu-apps"
        assert found["files"]["found"] == "not as installed: hosts/csrc/nic.c"
    finally:
        shutil.rmtree(theirs)
        shutil.move(kept, source)


@pytest.mark.root
def test_a_network(installed: Environment) -> None:
    name = f"i{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        installed.pcn("up", "dumbbell", "--set", "pairs=1", "-n", name)
        installed.pcn("flow", "start", "h0", "r0", "-n", name)
        look = json.loads(installed.pcn("watch", "--once", "--json", "-n", name))
        assert [flow["src"] for flow in look["flows"]] == ["h0"]
        assert installed.pcn("down", name).startswith(f"removed network {name}")
    finally:
        supervisor.down(name)
