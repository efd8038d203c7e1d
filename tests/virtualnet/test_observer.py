"""An engine without an observer has no trace of the calls; one with "explain" gives the same
results."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pcn.hosts.native import CSRC as HOST_CSRC
from pcn.hosts.virtual.native import parts
from pcn.softswitch.cache import objects
from pcn.softswitch.embed.library import CSRC as SWITCH_CSRC
from pcn.virtualnet import native

CALL = re.compile(r"^(?!VN_ALWAYS).*\bvn_observe(?:rs)?_\w+\(.*\);$", re.MULTILINE)
UNIT = f'{native.counts_in_c()}\n#include "engine.c"\n#include "virtual/rdma.c"\n'


def machine_code(engine: Path, hosts: Path, folder: Path, *options: str) -> bytes:
    """Returns the object file of an engine with RDMA, of the sources in two folders."""
    folder.mkdir()
    (folder / "unit.c").write_text(UNIT)
    flags = [flag for flag in objects.COMMON_FLAGS if flag != "-shared"]
    places = [f"-I{engine}", f"-I{hosts}", f"-I{SWITCH_CSRC}"]
    command = [
        *objects.compiler(), *flags, *places, "-DVN_MORE_ENDPOINTS(X)=X(rdma)", *options, "-c",
        "unit.c",
    ]  # fmt: skip
    subprocess.run(command, cwd=folder, check=True)
    return (folder / "unit.o").read_bytes()


def test_an_engine_without_observer_has_the_code_of_one_without_calls(tmp_path):
    without = {}
    for source in (native.CSRC, HOST_CSRC):
        without[source] = tmp_path / source.parent.name
        shutil.copytree(source, without[source])
    removed = 0
    for path in (path for folder in without.values() for path in folder.rglob("*.[ch]")):
        if path.name == "observer.h" or path.name.startswith("explain"):
            continue
        text, n = CALL.subn("", path.read_text())
        path.write_text(text)
        removed += n
    assert removed == 22
    assert not [
        path for path in without[native.CSRC].rglob("*.c") if "vn_observe_" in path.read_text()
    ]
    code = machine_code(native.CSRC, HOST_CSRC, tmp_path / "with")
    assert code == machine_code(without[native.CSRC], without[HOST_CSRC], tmp_path / "without")
    assert b"explain" not in code


@pytest.mark.parametrize(("explain", "n"), [(False, 0), (True, 1)])
def test_engine_of_parts_has_the_observer_that_they_name(explain, n):
    symbols = subprocess.run(
        ["nm", "-D", native.engine_path(parts(explain))], capture_output=True, text=True, check=True
    ).stdout
    assert len(re.findall(r" T vn_explained$", symbols, re.MULTILINE)) == n
