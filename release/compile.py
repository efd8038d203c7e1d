"""Compiles all that a wheel's runs would: `python release/compile.py FOLDER`, with the wheel's sources on PYTHONPATH.

The objects have the names under which `pcn.softswitch.cache.objects` finds them in an installation, whose compiler
isn't in them. Users' own programs and schemes compile on their machines.
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path


def compile_into(folder: Path) -> None:
    """Writes the objects of the switch, its programs, hosts, the engine, and of schemes' RPs and NPs in C."""
    from pcn.hosts.algorithms.discovery import find_scheme, names
    from pcn.hosts.compiled import Ends
    from pcn.hosts.native import library
    from pcn.lab.virtual.native import engine
    from pcn.p4src.manifest import ROOT as SOURCES
    from pcn.softswitch.cache import objects
    from pcn.softswitch.codegen.build import build_program
    from pcn.virtualnet import native

    folder.mkdir(parents=True)
    (folder / objects.COMPILER).write_text(objects.compiler_version())
    objects.keep_in(folder)
    native.engine()
    engine()
    library()
    programs = [
        path.read_text() for path in (SOURCES / "p4src/compiled").glob("*.json") if path.name != "manifest.json"
    ]
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        for inplace in (False, True):
            list(pool.map(partial(build_program, inplace=inplace), programs))
    for name in names():
        ends = Ends(find_scheme(name).configure())
        ends.new_rp(10e9)
        ends.new_np()
    # A program is found by its JSON, the name of a link, whose target is found by its C text.
    for link in sorted(folder.glob("json-*.so")):
        content = link.read_bytes()
        link.unlink()
        link.write_bytes(content)
    for text in folder.glob("program-*.so"):
        text.unlink()


if __name__ == "__main__":
    compile_into(Path(sys.argv[1]))
