"""What an agent leaves out of its start is there when a user's scheme imports it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

START = "from pcn.softswitch.unused import leave_out\nleave_out(switch={})\n"


def run(script: str, *words: str, switch: bool = False) -> str:
    command = [sys.executable, "-c", START.format(switch) + script, *words]
    return subprocess.run(command, check=True, capture_output=True, text=True).stdout.strip()


def test_scheme_file_may_import_a_controller(tmp_path: Path) -> None:
    """A marking point and its scheme may be in one file."""
    (tmp_path / "mine.py").write_text(
        "import dataclasses\n"
        "from pcn.controller.control_plane import TableEntry\n"
        "from pcn.hosts.algorithms import schemes\n"
        "MINE = dataclasses.replace(schemes['pcn'], name='mine')\n"
    )
    script = "import sys; from pcn.hosts.algorithms import find_scheme; print(find_scheme(sys.argv[1]).name)"
    assert run(script, f"{tmp_path / 'mine.py'}:MINE") == "mine"


def test_shortened_module_becomes_whole_in_its_place() -> None:
    """For modules that imported it before, too, and for all names at once."""
    script = (
        "import sys, inspect, typing_extensions as short\n"
        "print(hasattr(inspect, 'none'), sys.modules['inspect'] is inspect, short.TypedDict.__name__)\n"
        "from inspect import *\n"
        "print(getmro is inspect.getmro, vars(short).get('TypedDict') is not None)\n"
    )
    assert run(script, switch=True).splitlines() == ["False True TypedDict", "True True"]


def test_annotations_are_those_of_inspect() -> None:
    """Of a class without loading the module; of all else, or by options, with it."""
    script = (
        "import inspect\n"
        "class A:\n    x: 'int'\nclass B(A):\n    pass\n"
        "print(inspect.get_annotations(A), inspect.get_annotations(B), 'unwrap' in vars(inspect))\n"
        "print(inspect.get_annotations(A, eval_str=True), 'unwrap' in vars(inspect))\n"
    )
    assert run(script).splitlines() == ["{'x': 'int'} {} False", "{'x': <class 'int'>} True"]


def test_threads_get_the_whole_module() -> None:
    script = (
        "import sys, inspect\n"
        "from concurrent.futures import ThreadPoolExecutor\n"
        "sys.setswitchinterval(1e-6)\n"
        "names = ['getmro', 'walktree', 'ismethod', 'getargs', 'trace', 'signature', 'Traceback', 'unwrap'] * 4\n"
        "with ThreadPoolExecutor(len(names)) as pool:\n"
        "    print(len(set(map(id, pool.map(lambda name: getattr(inspect, name), names)))))\n"
    )
    assert run(script) == "8"
