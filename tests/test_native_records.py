"""Structures and numbers that Python and C share are the same in both: where they differ, C writes
beyond Python's memory."""

import ctypes
import subprocess
from pathlib import Path
from types import ModuleType

import pytest

import pcn.hosts.explain_log
import pcn.hosts.virtual.native
import pcn.softswitch.native_types
import pcn.virtualnet.native
from pcn.base import frames
from pcn.hosts import memory_link, paths, structures as agents, wire
from pcn.hosts.compiled import np as notification, rp as reaction
from pcn.softswitch import native, native_state, options, pace
from pcn.softswitch.cache.objects import compiler
from pcn.softswitch.codegen import calculations, controls, inplace, statements
from pcn.softswitch.program import limits

ROOT = Path(__file__).resolve().parents[1]
MODULES = {
    pcn.softswitch.native_types: ("switch.h", "trim.h", "front.h"),
    pcn.virtualnet.native: ("virtualnet.h", "trim.h"),
    pcn.hosts.virtual.native: ("virtual/api.h",),
    pcn.hosts.explain_log: ("virtual/explain.h",),
}
"""Modules with structures, each named in its docstring, and the headers that have them."""

NUMBERS = {
    "NP_OWN_DOUBLES": notification._OWN_DOUBLES,
    "PATHS_MOST": paths.MOST,
    "RP_MOST_HOPS": reaction._MOST_HOPS,
    "RP_OWN_DOUBLES": reaction._OWN_DOUBLES,
    "SW_GROUP": native_state.REFER_GROUP,
    "SW_INPLACE_DEPTH": inplace.DEPTH,
    "SW_TABLE_MAX_KEY": limits.KEY_BYTES,
    "WIRE_MAX_FRAME": frames.MAX_FRAME,
    "sizeof(struct sw_channel)": memory_link.CHANNEL_BYTES,
    **{
        f"{prefix}{name}": getattr(module, name)
        for module, prefix, names in (
            (agents, "", "EVENT_FRAME_BYTES LOOP_MOST_PORTS PSN_MEMORY"),
            (calculations, "SW_", "SHORT_CRC32"),
            (controls, "SW_", "ENTRY_WORDS"),
            (frames, "SW_", "MAX_FRAME"),
            (inplace, "SW_", "BRIDGED_BYTES"),
            (native, "SW_", "ERROR_BYTES PRIORITIES"),
            (options, "SW_", "LEAST_PERIOD_NS"),
            (pace, "SW_PACE_", "HOLD_NS LEAST WINDOW_NS"),
            (pcn.virtualnet.native, "VN_", "CLASSES MOST_THREADS NO_QUEUE PACE_BUCKETS"),
            (statements, "SW_", "DROP_PORT"),
            (wire, "WIRE_", "TELEMETRY_BYTES"),
        )
        for name in names.split()
    },
}
"""Python's, each by C's expression."""


def compile_lines(folder: Path, lines: list[str]):
    source = folder / "shared.c"
    source.write_text("\n".join(lines) + "\n")
    folders = [f"-I{ROOT / folder / 'csrc'}" for folder in ("softswitch", "hosts", "virtualnet")]
    done = subprocess.run(
        [*compiler(), "-fsyntax-only", *folders, str(source)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


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
    compile_lines(tmp_path, lines)


def test_numbers_are_those_of_c(tmp_path):
    headers = "base channel generator links/link loop notification_point pace packet paths pipeline"
    headers += " reaction_point switch table virtualnet wire"
    lines = [pcn.virtualnet.native.counts_in_c()]
    lines += [f'#include "{name}.h"' for name in headers.split()]
    lines += [f'_Static_assert({name} == {value}, "{name}");' for name, value in NUMBERS.items()]
    compile_lines(tmp_path, lines)
