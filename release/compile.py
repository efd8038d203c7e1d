"""Compiles all that a wheel's runs would: `python release/compile.py FOLDER`, with the wheel's
sources on PYTHONPATH; without FOLDER, into the installation whose Python runs it.

The objects have the names under which `pcn.softswitch.cache.objects` finds them in an installation,
whose compiler isn't in them. Users' own programs and schemes compile on their machines. Nothing is
loaded: the compiler may make objects for another processor.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path


def compile_into(folder: Path | None) -> None:
    """Writes the objects of the switch, its programs, hosts, the engine, and of schemes' RPs and
    NPs in C."""
    from pcn.base import packed
    from pcn.hosts.algorithms.discovery import find_scheme, names
    from pcn.hosts.compiled import Ends
    from pcn.hosts.native import library_path
    from pcn.hosts.virtual.native import parts
    from pcn.p4src.manifest import ROOT as SOURCES
    from pcn.softswitch.cache import objects
    from pcn.softswitch.codegen.build import build_program, build_runtime
    from pcn.virtualnet.native import engine_path

    folder = folder or objects.SHIPPED
    folder.mkdir(parents=True)
    # further lines have folders of this machine
    version, _, _ = objects.compiler_version().partition("\n")
    (folder / objects.COMPILER).write_text(f"{version}\n")
    objects.keep_in(folder)
    build_runtime()
    engine_path()
    engine_path(parts())
    engine_path(parts(explain=True))
    library_path()
    programs = [
        packed.read_text(path)
        for path in packed.files(SOURCES / "p4src/compiled")
        if path.name != "manifest.json"
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for inplace in (False, True):
            list(pool.map(partial(build_program, inplace=inplace), programs))
    for name in names():
        list(Ends(find_scheme(name).configure()).paths(10e9))
    # A program is found by its JSON, the name of a link, whose target is found by its C text.
    for link in sorted(folder.glob("json-*.so")):
        content = link.read_bytes()
        link.unlink()
        link.write_bytes(content)
    for text in folder.glob("program-*.so"):
        text.unlink()


if __name__ == "__main__":
    compile_into(Path(sys.argv[1]) if sys.argv[1:] else None)
