"""The switch's two kinds of shared object: the runtime, and a loaded program. `compiling` makes and keeps them."""

from __future__ import annotations

import hashlib
import tempfile
from collections.abc import Sequence
from pathlib import Path

from softswitch.codegen.compiling import COMMON_FLAGS, BuildError, build, build_folder, cache_dir, compiler
from softswitch.codegen.generate import generate
from softswitch.program.model import Program

__all__ = [
    "CSRC",
    "BuildError",
    "build_program",
    "build_runtime",
    "build_source",
    "cache_dir",
    "compiler",
]

CSRC = Path(__file__).resolve().parent.parent / "csrc"

RUNTIME_FLAGS = (*COMMON_FLAGS, "-pthread", "-lm")
PROGRAM_FLAGS = COMMON_FLAGS


def build_runtime(extra_flags: Sequence[str] = ()) -> Path:
    """The runtime library, libsoftswitch: all of csrc/*.c."""
    return build_folder("libsoftswitch", CSRC, (*RUNTIME_FLAGS, *extra_flags))


def build_program(program: Program, extra_flags: Sequence[str] = (), *, inplace: bool = False) -> Path:
    """The shared object of a loaded program; it exports `sw_program` (csrc/pipeline.h). `inplace`: see `generate`."""
    return build_source(generate(program, inplace=inplace), extra_flags)


def build_source(text: str, extra_flags: Sequence[str] = ()) -> Path:
    """The shared object of one C file that includes "pipeline.h"."""
    identity = hashlib.sha256(text.encode())
    for header in sorted(CSRC.glob("*.h")):
        identity.update(header.read_bytes())
    with tempfile.TemporaryDirectory(prefix="pcn-lab-") as scratch:
        source = Path(scratch) / "program.c"
        source.write_text(text, encoding="utf-8")
        return build("program", [source], identity.hexdigest(), (*PROGRAM_FLAGS, *extra_flags), CSRC)
