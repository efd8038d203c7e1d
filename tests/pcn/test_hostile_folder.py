"""Commands in a folder with another user's `signal.py`: no process that they start imports it.
(machine.py runs those of the pages in such a folder, too.)"""

import ast
import os
import re
import subprocess
import sys
from pathlib import Path

import planted_modules
import pytest
from distributions import PACKAGES

from pcn.base.python_process import python_command

ROOT = Path(__file__).resolve().parent.parent.parent
BIN = Path(sys.executable).parent


COMMANDS = {
    "sweep": [
        *(
            BIN / "pcn", "sweep", "dumbbell", "--scheme", "pcn", "--seeds", "1:2", "--set",
            "duration=1ms",
        ),
        *("--jobs", "2", "--out", "out"),
    ],
    "bench": [
        sys.executable, ROOT / "bench" / "virtual.py", "incast", "--repetitions", "1",
        "--duration", "1e-5",
    ],
    "ptf": [
        sys.executable,
        ROOT / "ptf-tests" / "run.py",
        "np_ecn.UncongestedPortMarksNothing",
        "--twice",
    ],
    "mn": [
        *(
            BIN / "mn", "--custom", ROOT / "lab" / "mn.py", "--topo", "dumbbell,1",
            "--controller", "none",
        ),
        *("--switch", "pcn", "--test", "none"),
    ],
    "another's": python_command("json.tool", "--help"),
}  # fmt: skip


@pytest.mark.parametrize(
    "name",
    [pytest.param(name, marks=pytest.mark.root if name == "mn" else ()) for name in COMMANDS],
)
def test_child_processes_import_nothing_from_the_current_folder(name, tmp_path):
    planted_modules.plant(tmp_path)
    done = subprocess.run(
        COMMANDS[name], cwd=tmp_path, capture_output=True, text=True, check=False,
        env=_environment(),
    )  # fmt: skip
    planted_modules.check(tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr


def test_hostile_folder_is_what_python_m_imports(tmp_path):
    """What the others would find."""
    planted_modules.plant(tmp_path)
    subprocess.run(
        [sys.executable, "-m", "pcn.hosts.agent"], cwd=tmp_path, check=False, env=_environment()
    )
    with pytest.raises(AssertionError, match=r"imported from the current folder: \w+ "):
        planted_modules.check(tmp_path)


def test_product_starts_python_by_one_function():
    """`sys.executable` elsewhere, or multiprocessing's `spawn`, would look into the current
    folder."""
    files = set()
    for folder in (*PACKAGES, "docs", "p4src", "pcn"):
        for path in (ROOT / folder).rglob("*.py"):
            text = path.read_text()
            for node in (
                ast.walk(ast.parse(text)) if re.search("executable|spawn|forkserver", text) else ()
            ):
                executable = isinstance(node, ast.Attribute) and node.attr == "executable"
                if executable or (
                    isinstance(node, ast.Constant) and node.value in ("spawn", "forkserver")
                ):
                    files.add(str(path.relative_to(ROOT)))
    assert files == {"lab/mininet_switch.py", "base/python_process.py"}


def _environment() -> dict[str, str]:
    """Without what would help: PYTHONSAFEPATH."""
    return {name: value for name, value in os.environ.items() if name != "PYTHONSAFEPATH"}
