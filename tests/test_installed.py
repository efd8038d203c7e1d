"""The wheel: what is in it, and that it runs without the checkout.

In separate environments, which have this one's dependencies by links and are fresh otherwise: all
of them, or the base and some extras. What `pcn` compiles there is in this user's cache, if the
wheel's C sources are the checkout's.
"""

import json
import os
import shutil
import subprocess
import sys
import uuid
import zipfile
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import cache
from importlib import metadata
from pathlib import Path

import matplotlib
import pyarrow.parquet as pq
import pytest
from distributions import PACKAGES, closure

from pcn.lab import supervisor
from pcn.softswitch.cache.objects import cache_dir
from pcn.topologies import extras

pytestmark = pytest.mark.long

CHECKOUT = Path(__file__).resolve().parent.parent
STAYS_HERE = (
    ".ci", ".github", "bench", "tests", "judges", "ptf-tests", "examples", "docs", "lint",
    "release",
)  # fmt: skip
"""Folders that aren't read at run time, except the pages of docs/: reports quote these."""


def tracked() -> list[str]:
    """The checkout's files, those that aren't committed yet too."""
    command = ["git", "-c", f"safe.directory={CHECKOUT}", "-C", str(CHECKOUT), "ls-files"]
    command += ["--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    return [name for name in names if (CHECKOUT / name).is_file() or (CHECKOUT / name).is_symlink()]


def copy_tracked(folder: Path, names: Iterable[str]):
    """Copies files of the checkout, links as links."""
    for name in names:
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(CHECKOUT / name, copy, follow_symlinks=False)


@pytest.fixture(scope="module")
def wheel(tmp_path_factory) -> Path:
    """From a copy, as a build leaves its own folders; by what pip calls for one."""
    folder = tmp_path_factory.mktemp("wheel")
    copy_tracked(folder / "clone", tracked())
    command = [
        "-c",
        "import sys; from setuptools import build_meta; build_meta.build_wheel(sys.argv[1])",
        str(folder),
    ]
    subprocess.run(
        [sys.executable, *command], cwd=folder / "clone", stdout=subprocess.DEVNULL, check=True
    )
    (path,) = folder.glob("*.whl")
    return path


@dataclass(frozen=True)
class Environment:
    folder: Path
    site_packages: Path
    home: Path
    here: Path
    """Where the user stands, with files that are called as our packages are."""

    @property
    def package(self) -> Path:
        return self.site_packages / "pcn"

    def python(self, *arguments: str) -> str:
        return self._run("python", *arguments, cwd=self.folder)

    def python_in(self, folder: Path, *arguments: str) -> str:
        return self._run("python", *arguments, cwd=folder)

    def pcn(self, *arguments: str) -> str:
        return self._run("pcn", *arguments, cwd=self.here)

    def all_of_pcn(self, *arguments: str) -> str:
        """What a command prints, with its notes."""
        done = self._done("pcn", *arguments, cwd=self.here)
        assert done.returncode == 0, done.stderr
        return done.stdout + done.stderr

    def refusal(self, *arguments: str) -> str:
        """The one line, behind its progress, of a command that ends with an error."""
        done = self._done("pcn", *arguments, cwd=self.here)
        (line,) = [line for line in done.stderr.splitlines() if line.startswith("pcn: ")]
        assert done.returncode == 1
        return line

    def _run(self, program: str, *arguments: str, cwd: Path) -> str:
        done = self._done(program, *arguments, cwd=cwd)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    def _done(self, program: str, *arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
        left_out = ("PYTHONPATH", "VIRTUAL_ENV")
        environment = {key: value for key, value in os.environ.items() if key not in left_out}
        # matplotlib's list of the machine's fonts, which takes seconds to make, is none of ours.
        environment |= {"HOME": str(self.home), "MPLCONFIGDIR": matplotlib.get_cachedir()}
        environment["XDG_CACHE_HOME"] = str(cache_dir().parent)
        command = [str(self.folder / "bin" / program), *arguments]
        return subprocess.run(
            command, cwd=cwd, env=environment, capture_output=True, text=True, check=False
        )


Make = Callable[..., Environment]


@pytest.fixture(scope="module")
def environment_with(wheel: Path, tmp_path_factory) -> Make:
    """Makes an environment with the base and these extras. pip installs the wheel once: the others
    have the first one's files by links, as they have the dependencies."""
    home = tmp_path_factory.mktemp("home")

    def fresh(distributions: Iterable[str]) -> Environment:
        folder, here = tmp_path_factory.mktemp("installed"), tmp_path_factory.mktemp("here")
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(folder)], check=True)
        (site_packages,) = folder.glob("lib/python*/site-packages")
        for path in parts(distributions):
            (site_packages / path.name).symlink_to(path)
        for name in PACKAGES:
            (here / f"{name}.py").write_text("raise SystemExit('not ours')\n")
        return Environment(folder, site_packages, home, here)

    first = fresh(closure(tuple(extras.MODULES)))
    theirs = set(first.site_packages.iterdir())
    pip = [
        sys.executable, "-m", "pip", "-q", "--disable-pip-version-check", "--python",
        f"{first.folder}/bin/python",
    ]  # fmt: skip
    subprocess.run(
        [*pip, "install", "--no-deps", "--no-index", "--no-compile", str(wheel)], check=True
    )

    @cache
    def make(*chosen: str) -> Environment:
        if chosen == tuple(extras.MODULES):
            return first
        environment = fresh(closure(chosen))
        for path in set(first.site_packages.iterdir()) - theirs:
            (environment.site_packages / path.name).symlink_to(path)
        for script in ("pcn", "softswitch"):
            text = (first.folder / "bin" / script).read_text()
            (environment.folder / "bin" / script).write_text(
                text.replace(str(first.folder), str(environment.folder))
            )
            (environment.folder / "bin" / script).chmod(0o755)
        return environment

    return make


def parts(distributions: Iterable[str]) -> set[Path]:
    """What lies of these in site-packages."""
    paths = set()
    for name in distributions:
        owner = metadata.distribution(name)
        tops = {file.parts[0] for file in owner.files or ()} - {"..", "__pycache__"}
        paths |= {Path(str(owner.locate_file(top))) for top in tops}
    return paths


@pytest.fixture(scope="module")
def installed(environment_with: Make) -> Environment:
    return environment_with(*extras.MODULES)


def packed_name(name: str) -> str:
    return name if name.startswith("pcn/") else f"pcn/{name}"


def test_it_has_every_file_but_those_for_work_on_the_project(wheel: Path):
    packed = {name for name in zipfile.ZipFile(wheel).namelist() if ".dist-info/" not in name}
    inner = [name for name in tracked() if "/" in name and not (CHECKOUT / name).is_symlink()]
    pages = {name for name in inner if Path(name).parent == Path("docs") and name.endswith(".md")}
    # no report quotes them
    pages -= {f"docs/{name}.md" for name in ("ARCHITECTURE", "results", "trust")}
    needed = {name for name in inner if name.split("/")[0] not in STAYS_HERE} | pages
    assert {packed_name(name) for name in needed} <= packed <= {packed_name(name) for name in inner}
    assert not {"pcn/docs/results.md", "pcn/docs/tree.svg"} & packed
    (top,) = (name for name in zipfile.ZipFile(wheel).namelist() if name.endswith("/top_level.txt"))
    folders = set(zipfile.ZipFile(wheel).read(top).decode().split())
    assert folders == {"pcn"}


def test_what_is_imported_is_the_wheels(installed: Environment):
    script = (
        "import importlib, sys; [print(importlib.import_module(name).__file__) for name in "
        "sys.argv[1:]]"
    )
    paths = installed.python(
        "-c", script, "pcn", *(f"pcn.{name}" for name in PACKAGES)
    ).splitlines()
    assert paths == [str(installed.package / name / "__init__.py") for name in ("", *PACKAGES)]


def test_project_with_packages_of_such_names_runs_an_experiment(installed: Environment):
    """Its folder comes first on Python's path, and has packages that are called as our folders
    are."""
    project = installed.here / "project"
    for name in (*PACKAGES, "docs", "p4src"):
        (project / name).mkdir(parents=True)
        (project / name / "__init__.py").write_text(f"WHOSE = 'the project: {name}'\n")
    (project / "main.py").write_text(
        "import experiments, hosts, p4net\n"
        "from pcn import run\n"
        "run('dumbbell', clock='virtual', settings=['duration=1ms'])\n"
        "print(experiments.WHOSE, hosts.WHOSE, p4net.WHOSE, sep='; ')\n"
    )
    output = installed.python_in(project, "main.py")
    assert (
        output.splitlines()[-1]
        == "the project: experiments; the project: hosts; the project: p4net"
    )
    assert [*(project / "results").rglob("summary.json")]


def doctor(installed: Environment) -> dict[str, dict[str, object]]:
    script = (
        "import json, dataclasses, pcn.doctor as d; print(json.dumps([dataclasses.asdict(c) for c "
        "in d.checks()]))"
    )
    return {check["name"]: check for check in json.loads(installed.python("-c", script))}


OURS = ("cache", "C libraries", "files", "P4 programs")


def test_doctor_finds_all_of_it(installed: Environment):
    checks = doctor(installed)
    assert [(name, checks[name]["found"]) for name in OURS if not checks[name]["present"]] == []
    assert checks["files"]["found"] == str(installed.package)


def test_doctor_finds_a_file_that_is_gone(installed: Environment, tmp_path):
    source = installed.package / "hosts" / "csrc" / "nic.c"
    moved = shutil.move(source, tmp_path)
    try:
        checks = doctor(installed)
        assert [name for name in OURS if not checks[name]["present"]] == ["C libraries", "files"]
        assert checks["files"]["found"] == "not as installed: pcn/hosts/csrc/nic.c"
    finally:
        shutil.move(moved, source)


@pytest.mark.root
def test_a_network(installed: Environment):
    name = f"i{os.getpid()}-{uuid.uuid4().hex[:8]}"
    try:
        installed.pcn("up", "dumbbell", "--set", "pairs=1", "-n", name)
        installed.pcn("flow", "start", "h0", "r0", "-n", name)
        look = json.loads(installed.pcn("watch", "--once", "--json", "-n", name))
        assert [flow["src"] for flow in look["flows"]] == ["h0"]
        assert installed.pcn("down", name).startswith(f"removed network {name}")
    finally:
        supervisor.down(name)


RUN = ("run", "dumbbell", "--clock", "virtual", "--set", "duration=1ms")


def files(environment: Environment, folder: str) -> set[str]:
    return {path.name for path in (environment.here / folder).iterdir()}


def test_base_runs_and_reports(environment_with: Make):
    base = environment_with()
    out = base.all_of_pcn(*RUN, "--pictures", "--out", "run")
    assert (
        "results have no PNG and SVG and no Parquet files here: pip install "
        "'pcn-lab[figures,parquet]' adds"
    ) in out
    assert "Report: run/report.html" in out
    assert files(base, "run") == {"summary.json", "topology.json", "report.html"}
    assert (
        json.loads((base.here / "run/summary.json").read_text())["provenance"]["commit"]
        == "unknown"
    )
    page = (base.here / "run/report.html").read_text()
    assert "series.parquet" not in page
    assert "Appendix A notifies all flows at once" in page  # docs/choices.md
    base.pcn(
        "sweep", "dumbbell", "--seeds", "1:2", "--jobs", "1", "--set", "duration=1ms", "--out",
        "sweep",
    )  # fmt: skip
    assert files(base, "sweep") == {"done.jsonl", "means.csv"}


SERVED = """
import subprocess, sys
from pathlib import Path
import grpc
from grpc_reflection.v1alpha.proto_reflection_descriptor_database import ProtoReflectionDescriptorDatabase
from pcn.controller.switch import SwitchClient
command = [Path(sys.executable).with_name("softswitch"), "--no-p4", "--clock", "manual", "-i", "1"]
with subprocess.Popen([*command, "--grpc-server-addr", sys.argv[1]], stderr=subprocess.PIPE, text=True) as switch:
    try:
        assert any("listening" in line for line in switch.stderr)  # behind a warning, if any
        with SwitchClient.connect("switch", sys.argv[1], device_id=0) as client:
            client.become_primary()
        with grpc.insecure_channel(sys.argv[1]) as channel:
            print(*ProtoReflectionDescriptorDatabase(channel).get_services())
    finally:
        switch.terminate()
"""  # noqa: E501


def test_base_serves_p4runtime_and_reflection(environment_with: Make):
    base = environment_with()
    assert "p4.v1.P4Runtime" in base.python("-c", SERVED, f"unix:{base.here}/switch.sock").split()


@pytest.mark.parametrize(
    ("extra", "line"),
    [
        (
            "cluster",
            (
                "sweep",
                "dumbbell",
                "--set",
                "duration=1ms",
                "--scheduler",
                "tcp://127.0.0.1:1",
                "--out",
                "no",
            ),
        ),
        ("figures", ("figure", "fig10")),
        ("yaml", ("deploy", "--ports", "ports.yaml", "--check")),
        pytest.param("live", ("up", "dumbbell"), marks=pytest.mark.root),
    ],
)
def test_command_names_the_extra_that_it_lacks(environment_with: Make, extra, line):
    base = environment_with()
    (base.here / "ports.yaml").touch()
    refusal = base.refusal(*line)
    assert (
        refusal
        == f"pcn: {extras.MODULES[extra]} is missing: pip install 'pcn-lab[{extra}]' installs it"
    )
    assert not (base.here / "no").exists()


@pytest.mark.root
def test_live_extra_runs_a_network_and_names_bmv2(environment_with: Make):
    live, name = environment_with("live"), f"i{os.getpid()}-{uuid.uuid4().hex[:8]}"
    refusal = live.refusal("up", "dumbbell", "--target", "bmv2", "-n", name)
    assert refusal == "pcn: thriftpy2 is missing: pip install 'pcn-lab[bmv2]' installs it"
    try:
        live.pcn("up", "dumbbell", "--set", "pairs=1", "-n", name)
    finally:
        supervisor.down(name)


def test_bmv2_extra_reads_the_interface_file(environment_with: Make):
    script = "import pcn.lab.thrift as t; print(t.idl.load().Standard.__name__)"
    assert environment_with("bmv2").python("-c", script) == "Standard\n"


def test_figures_extra_draws(environment_with: Make):
    figures = environment_with("figures")
    assert "pip install 'pcn-lab[parquet]' adds" in figures.all_of_pcn(
        *RUN, "--pictures", "--out", "run"
    )
    assert {"queue.png", "queue.svg"} <= files(figures, "run")


def test_parquet_extra_writes_what_pyarrow_reads(environment_with: Make):
    parquet = environment_with("parquet")
    assert "pip install" not in parquet.all_of_pcn(*RUN, "--out", "run")
    assert pq.read_table(parquet.here / "run/series.parquet").num_rows > 100


def test_yaml_extra_reads_a_lab(environment_with: Make):
    yaml = environment_with("yaml")
    (yaml.here / "ports.yaml").write_text(yaml.pcn("deploy", "--sample"))
    assert "Nothing was sent" in yaml.pcn("deploy", "--ports", "ports.yaml", "--check")


def test_cluster_extra_loads_dask(environment_with: Make):
    """Up to where it reads the certificates, which aren't any."""
    cluster, tls = environment_with("cluster"), []
    for name in ("ca", "cert", "key"):
        (cluster.here / name).touch()
        tls += [f"--tls-{name}", name]
    refusal = cluster.refusal(
        "sweep", "dumbbell", "--set", "duration=1ms", "--scheduler", "tls://127.0.0.1:1", *tls
    )
    assert refusal.startswith("pcn: --tls-ca ca, --tls-cert cert, --tls-key key: ")


USER = """
from pathlib import Path

from pcn import FlowSpec, RunResult, VirtualNetwork, __version__, dumbbell, find_scheme, run

result: RunResult = run("dumbbell", settings=["duration=1ms"])
series: Path = result / "series.parquet"
with VirtualNetwork(dumbbell(pairs=1), find_scheme("pcn").configure()) as network:
    network.add_flow(FlowSpec(9, "h0", "r0", size_bytes=1000))
    network.run(until_s=1e-3)
    sent: int = network.flows[9].stats().sent_payload
reveal_type(__version__)
run("dumbbell", seed="1")
"""
CHECKED = """\
user.py:12: note: Revealed type is "str"
user.py:13: error: Argument "seed" to "run" has incompatible type "str"; expected "int"  [arg-type]
Found 1 error in 1 file (checked 1 source file)
"""


def test_mypy_checks_a_user_s_program_against_the_package(installed: Environment, tmp_path):
    (tmp_path / "user.py").write_text(USER)
    command = [sys.executable, "-m", "mypy", "--strict", "--no-color-output", "user.py"]
    command += [
        "--python-executable",
        str(installed.folder / "bin/python"),
        "--cache-dir",
        str(tmp_path / "cache"),
    ]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.stdout, done.stderr) == (CHECKED, "")


def test_base_is_small():
    """As CONTRIBUTING.md bounds it: packages and their bytes, without the project's own."""
    base = closure(())
    assert len(base) <= 15
    sizes = [Path(str(file.locate())) for name in base for file in metadata.files(name) or ()]
    assert sum(path.stat().st_size for path in sizes if path.is_file()) < 130e6
