"""Structures that Python and C share have one layout: where they differ, C writes beyond Python's
memory."""

import ctypes
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

import pcn.hosts.explain_log
import pcn.hosts.virtual.native
import pcn.softswitch.native_types
import pcn.virtualnet.native
from pcn.softswitch.cache.objects import compiler

ROOT = Path(__file__).resolve().parents[1]
MODULES = {
    pcn.softswitch.native_types: ("switch.h", "trim.h", "front.h"),
    pcn.virtualnet.native: ("virtualnet.h", "trim.h"),
    pcn.hosts.virtual.native: ("virtual/api.h",),
    pcn.hosts.explain_log: ("virtual/explain.h",),
}
"""Modules with structures, each named in its docstring, and the headers that have them."""


def structures(module: ModuleType) -> list[type[ctypes.Structure]]:
    return [
        var
        for var in vars(module).values()
        if isinstance(var, type)
        and issubclass(var, ctypes.Structure)
        and var.__module__ == module.__name__
    ]


@pytest.mark.parametrize("module", MODULES, ids=lambda module: module.__name__)
def test_structures_have_the_layout_of_c(module, tmp_path):
    records = structures(module)
    assert records
    lines = [pcn.virtualnet.native.counts_in_c()]
    lines += [f'#include "{header}"' for header in MODULES[module]]
    for record in records:
        name = (record.__doc__ or "").rstrip(".")
        assert name.startswith("struct "), record
        places = {field[0]: getattr(record, field[0]) for field in record._fields_}
        lines.append(f'_Static_assert(sizeof({name}) == {ctypes.sizeof(record)}, "{name}");')
        lines += [
            (
                f"_Static_assert(__builtin_offsetof({name}, {field}) == {place.offset}, "
                f'"{name}.{field}");'
            )
            for field, place in places.items()
        ]
    source = tmp_path / "records.c"
    source.write_text("\n".join(lines) + "\n")
    folders = [f"-I{ROOT / folder / 'csrc'}" for folder in ("softswitch", "hosts", "virtualnet")]
    done = subprocess.run(
        [*compiler(), "-fsyntax-only", *folders, str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
