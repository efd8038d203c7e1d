"""What others take: the action for PTF, the container, CI's workflow, hooks; each names what this
project has."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from pcn.topologies import extras

ROOT = Path(__file__).resolve().parent.parent
ACTION = ROOT / "ptf-tests/action.sh"
ROUTER = ROOT / "examples/router/router.json"
PATHS = f"{Path(sys.executable).parent}:{os.environ['PATH']}"


def read(name: str):
    return yaml.safe_load((ROOT / name).read_text())


def act(folder: Path, *words) -> subprocess.CompletedProcess[str]:
    """Runs what action.yml runs, in a folder."""
    environment = {**os.environ, "PATH": PATHS}
    command = ["bash", str(ACTION), *map(str, words)]
    return subprocess.run(
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )


def links() -> str:
    return subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout


@pytest.mark.root
def test_action_runs_tests_of_users_in_an_empty_folder(tmp_path):
    before = links()
    done = act(tmp_path, ROUTER, ROOT / "examples/ptf", 4, "")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "router.Routed ... ok" in done.stdout + done.stderr
    assert list(tmp_path.iterdir()) == []
    assert links() == before


@pytest.mark.root
def test_action_fails_where_a_test_does(tmp_path):
    text = (ROOT / "examples/ptf/router.py").read_text().replace('"10.0.3.0/24"', '"10.0.4.0/24"')
    adapted = text.replace(
        "Path(__file__).resolve().parents[1]", f"Path({str(ROOT / 'examples')!r})"
    )
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/router.py").write_text(adapted)
    done = act(tmp_path, ROUTER, tmp_path / "mine", 3, "")
    assert done.returncode == 1
    assert "Routed ... FAIL" in done.stdout + done.stderr


@pytest.mark.root
@pytest.mark.parametrize(("program", "tests"), [("no.json", "."), (ROUTER, "nosuch")])
def test_action_names_what_is_missing(tmp_path, program, tests):
    done = act(tmp_path, program, tests, 1, "")
    assert done.returncode == 2
    (line,) = done.stderr.splitlines()
    assert re.fullmatch(r"action\.sh: there is no (program no\.json|folder nosuch)", line)


def test_action_gives_its_script_all_inputs():
    action = read("action.yml")
    steps = action["runs"]["steps"]
    used = set(re.findall(r"inputs\.([\w-]+)", str(steps)))
    assert used == set(action["inputs"])
    assert "ptf-tests/action.sh" in steps[-1]["run"]
    # As arguments of a shell's own variables: an input is no part of the script.
    assert not any("${{" in step.get("run", "") for step in steps)
    installs = [
        line
        for step in steps
        for line in step.get("run", "").splitlines()
        if '"${install[@]}"' in line
    ]
    assert len(installs) == 3
    assert all("--require-hashes" in line or "--no-deps" in line for line in installs)
    assert set(action["outputs"]["logs"]["value"].split()) & {"steps.logs.outputs.folder"}


@pytest.mark.root
def test_action_keeps_logs_in_its_output(tmp_path, monkeypatch):
    monkeypatch.setenv("LOGS", str(tmp_path))
    assert act(tmp_path, ROUTER, ROOT / "examples/ptf", 4, "").returncode == 0
    assert "listening" in (tmp_path / "switch.log").read_text()
    assert (tmp_path / "ptf.log").is_file()
    monkeypatch.setenv("LOGS", str(tmp_path / "none"))
    assert act(tmp_path, ROUTER, ROOT / "examples/ptf", 4, "").returncode == 2


@pytest.mark.root
def test_action_leaves_out_proxies_that_its_namespace_lacks(tmp_path, monkeypatch):
    """gRPC would go by them, also to the switch."""
    monkeypatch.delenv("no_grpc_proxy", raising=False)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    (tmp_path / "stub.py").write_text(
        "import grpc\nfrom ptf.base_tests import BaseTest\n\n\nclass Reached(BaseTest):\n    def "
        "runTest(self):\n"
        "        channel = grpc.insecure_channel('127.0.0.1:9559')\n"
        "        grpc.channel_ready_future(channel).result(timeout=60)\n"
    )
    done = act(tmp_path, ROUTER, tmp_path, 1, "")
    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize("name", ["action.yml", ".github/workflows/ci.yml"])
def test_actions_of_others_are_named_by_their_commits(name):
    """A tag can be moved."""
    used = re.findall(r"uses: (\S+)(.*)", (ROOT / name).read_text())
    assert used
    for action, comment in used:
        assert action == "./" or re.fullmatch(
            r"actions/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action + comment
        ), action


def test_workflow_runs_readme_s_commands_on_every_supported_python():
    jobs = read(".github/workflows/ci.yml")["jobs"]
    supported = re.findall(r"Python :: (3\.\d+)", (ROOT / "pyproject.toml").read_text())
    assert jobs["python"]["strategy"]["matrix"]["python"] == supported
    runs = [step.get("run", "") for job in jobs.values() for step in job["steps"]]
    makefile = (ROOT / "Makefile").read_text()
    for target in re.findall(r"(?:sudo|^|&&) make (\w+)", " && ".join(runs)):
        assert re.search(rf"^{target}:", makefile, re.M)
    uses = [step["uses"] for job in jobs.values() for step in job["steps"] if "uses" in step]
    assert "./" in uses
    (inputs,) = [step["with"] for step in jobs["ptf-action"]["steps"] if step.get("uses") == "./"]
    assert all((ROOT / inputs[name]).exists() for name in ("program", "tests"))


def test_container_is_built_of_locked_packages_and_has_no_sources():
    text = (ROOT / "Containerfile").read_text().replace("\\\n", " ")
    build, final = re.split(r"^FROM ", text, flags=re.M)[1:]
    installs = re.findall(r"pip install [^&\n]*", text)
    assert installs
    assert all("--require-hashes" in line or "--no-index" in line for line in installs), installs
    assert "COPY . /src" in build
    assert re.findall(r"^COPY (.*)$", final, re.M) == ["--from=build /opt/pcn /opt/pcn"]
    base, user = (
        re.findall(r"^ARG PYTHON=python:(\d\.\d+)-", text, re.M),
        re.findall(r"^USER (\d+)$", final, re.M),
    )
    assert f'"Programming Language :: Python :: {base[0]}"' in (ROOT / "pyproject.toml").read_text()
    assert int(user[0]) > 0
    makefile = (ROOT / "Makefile").read_text()
    (chosen,) = re.findall(r"LOCK\) release/image\.txt (.*)", makefile)
    assert set(re.findall(r"--extra (\w+)", chosen)) <= set(extras.MODULES)


def test_container_takes_no_history_and_no_environment():
    """Docker and Podman both read this file; Docker reads no .containerignore, which Podman
    prefers."""
    assert not (ROOT / ".containerignore").exists()
    assert {".git", ".venv", "results"} <= set((ROOT / ".dockerignore").read_text().split())


def test_hooks_run_what_lint_runs():
    lint = (ROOT / "Makefile").read_text().split("\nlint:")[1].split("\n\n")[0]
    for hook in read(".pre-commit-config.yaml")["repos"][0]["hooks"]:
        program = hook["entry"].split()[0]
        assert program.startswith(".venv/bin/")
        tool = hook["entry"].split()[1] if program.endswith("python") else Path(program).name
        assert tool in lint, hook
