"""The switch's two kinds of shared object: the runtime, and a loaded program.
`pcn.softswitch.cache` makes and keeps them.

A program's object is kept by its C text, and found by the JSON that the text was made of: loading
the program and generating its C, which take longer than all else of a switch's start, are then left
out, and so are their modules.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from pcn.softswitch.cache.compiler_process import BuildError, LimitError
from pcn.softswitch.cache.objects import (
    COMMON_FLAGS,
    build,
    build_folder,
    cache_dir,
    compiler,
    digest,
    entry,
    find_folder,
    find_object,
    keep,
    link,
    read_intact,
)

if TYPE_CHECKING:
    from pcn.softswitch.program.model import Program

T = TypeVar("T")

__all__ = [
    "CSRC",
    "BuildError",
    "build_program",
    "build_runtime",
    "build_source",
    "cache_dir",
    "cached",
    "compiler",
    "read_program",
]

CODEGEN = Path(__file__).resolve().parent
CSRC = CODEGEN.parent / "csrc"
PROGRAM = CODEGEN.parent / "program"

RUNTIME_FLAGS = (*COMMON_FLAGS, "-pthread", "-lm")
# Numbers of a program's JSON that C would cut are errors, and so is a function that needs much of a
# thread's stack.
PROGRAM_FLAGS = (
    *COMMON_FLAGS,
    "-Werror=overflow",
    "-Werror=shift-count-overflow",
    "-Werror=frame-larger-than=524288",
)


def _generator() -> str:
    """Returns what decides about a program's C text and its compilation besides its JSON: loader,
    generator, headers."""
    folders = (PROGRAM, CODEGEN, CSRC)
    files = sorted(
        path for folder in folders for kind in ("*.py", "*.h") for path in folder.glob(kind)
    )
    return digest(files)


# Of the sources as this process found them: those that it will import, unless somebody changes them
# just then.
_GENERATOR = _generator()


def build_runtime(extra_flags: Sequence[str] = ()) -> Path:
    """Returns the runtime library, libsoftswitch: all of csrc/*.c."""
    return build_folder("libsoftswitch", CSRC, (*RUNTIME_FLAGS, *extra_flags))


def find_runtime() -> Path | None:
    """Returns the runtime library, if it needn't be compiled."""
    return find_folder("libsoftswitch", CSRC, RUNTIME_FLAGS)


def build_program(
    json_text: str,
    extra_flags: Sequence[str] = (),
    *,
    inplace: bool = False,
    traced: bool = False,
    covered: bool = False,
) -> Path:
    """Returns the shared object of a program; it exports `sw_program` (csrc/pipeline.h). `inplace`,
    `traced`, `covered`: see `generate`.

    Raises ProgramError if the switch cannot run it.
    """
    identity = f"{_GENERATOR} {inplace} {traced} {covered}\n{json_text}"
    key = "json", hashlib.sha256(identity.encode()).hexdigest(), (*PROGRAM_FLAGS, *extra_flags)
    if known := find_object(*key):
        return known
    # late: these are most of the switch's modules
    from pcn.softswitch.codegen.generate import (
        generate,
        largest_part,
    )
    from pcn.softswitch.program.errors import UnsupportedProgram
    from pcn.softswitch.program.load import load_program

    program = load_program(json_text)
    generated = generate(program, inplace=inplace, traced=traced, covered=covered)
    try:
        built = build_source(generated, extra_flags)
    except LimitError as error:
        message = f"{error}; of the program this is the largest part: make it smaller"
        raise UnsupportedProgram(message, largest_part(generated)) from None
    if _generator() == _GENERATOR:  # else the text may be that of older sources, or of newer ones
        link(entry(*key), built)
    return built


def read_program(json_text: str) -> tuple[Program, Callable[[], None]]:
    """Returns the program of BMv2's JSON, and what keeps it beside its shared object, to be called
    once it is built: a program that is refused leaves nothing. To read it anew takes eight times as
    long, for each switch of a network. Raises ProgramError."""

    def read() -> Program:
        from pcn.softswitch.program.load import load_program  # late, as above

        return load_program(json_text)

    return cached("program", json_text, read)


def cached(
    kind: str,
    source: str,
    make: Callable[[], T],
    version: Callable[[], str] = lambda: "",
    loaded_version: str = "",
) -> tuple[T, Callable[[], None]]:
    """Returns what `make` does of a program's text `source`, or what the cache keeps of an earlier
    call, and a function that keeps it there. Beside the program's loader `version` decides about
    it: of the sources now; `loaded_version`: of those that this process has."""
    import pickle  # late: a switch that compiles at its start needs none

    identity = f"{_GENERATOR} {loaded_version} {sys.implementation.cache_tag}\n{source}"
    name = f"{kind}-{hashlib.sha256(identity.encode()).hexdigest()[:32]}.pickle"
    with suppress(BuildError):  # as an installation with compiled objects needs no cache
        if (state := read_intact(cache_dir() / name)) is not None:
            known: T = pickle.loads(state)  # no other user writes there, as with objects
            return known, lambda: None
    value = make()

    @cache
    def keep_it() -> None:
        if _generator() == _GENERATOR and version() == loaded_version:
            with suppress(BuildError, RecursionError):  # the latter of expressions that are deep
                keep(cache_dir() / name, pickle.dumps(value))

    return value, keep_it


def build_source(text: str, extra_flags: Sequence[str] = ()) -> Path:
    """Returns the shared object of one C file that includes "pipeline.h"."""
    identity = hashlib.sha256(text.encode())
    for header in sorted(CSRC.glob("*.h")):
        identity.update(header.read_bytes())
    return build("program", [text], identity.hexdigest(), (*PROGRAM_FLAGS, *extra_flags), CSRC)
