"""P4 programs as switches load them: those of p4src/compiled by name, and files from outside."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING

from pcn.base import packed
from pcn.base.errors import LabError
from pcn.base.packed import NATIVE
from pcn.controller.errors import UnknownNameError
from pcn.controller.schema import schema_of
from pcn.softswitch import p4c
from pcn.softswitch.p4c import NATIVE_FLAGS

if TYPE_CHECKING:
    from pcn.base.p4rt.p4i import P4Info
    from pcn.controller.p4info import Schema

_P4SRC = Path(__file__).resolve().parent.parent / "p4src"
COMPILED = _P4SRC / "compiled"
_PARTS = _P4SRC / "v1model"
"""Where a program from outside finds the parts that it includes."""
_RANDOM = "modify_field_rng_uniform"
"""The primitive that random() is in p4c's JSON."""


class ProgramError(LabError):
    """A user's program lacks the form that a target needs, or can't be compiled."""


@lru_cache(maxsize=16)
def _p4info(text: str) -> P4Info:
    """Parses a p4info, which takes longer than all else that a run does before its switches are
    there."""
    from google.protobuf import text_format

    from pcn.base.p4rt import p4i

    return text_format.Parse(text, p4i.P4Info())


P4INFO_ENDS = (".p4info.txtpb", ".p4.p4info.txtpb", ".p4info.txt", ".p4.p4info.txt")
"""How p4c's users call the p4info beside x.json."""


@dataclass(frozen=True)
class Program:
    """What p4c wrote for one program. `p4info` None: it is made of the JSON."""

    name: str
    json: Path
    p4info: Path | None

    @staticmethod
    def compiled(name: str) -> Program:
        """Returns one of p4src/compiled. Raises UnknownNameError with the names there are."""
        p4info = COMPILED / f"{name}{P4INFO_ENDS[0]}"
        if not name.isidentifier() or not packed.is_file(p4info):
            known = packed.files(COMPILED, P4INFO_ENDS[0])
            raise UnknownNameError("program", name, [path.name.partition(".")[0] for path in known])
        return Program(name, COMPILED / f"{name}.json", p4info)

    @staticmethod
    def find(program: str, *, native: bool = False) -> Program:
        """Returns one of p4src/compiled by name, a .p4 file (p4c compiles it), or the .json that
        p4c made of one, with its p4info, if it lies beside it. `native`: for a target that pauses
        queues by itself; of x.json that is x_native.json.

        Raises LabError: UnknownNameError, ProgramError.
        """
        path, suffix = Path(program), NATIVE if native else ""
        if path.suffix not in (".p4", ".json"):
            return Program.compiled(program + suffix)
        if not packed.is_file(path):
            raise ProgramError(f"no program {path}")
        if path.suffix == ".p4":
            try:
                return Program(
                    path.stem + suffix, *p4c.compiled(path, NATIVE_FLAGS if native else (), _PARTS)
                )
            except p4c.P4Error as error:
                raise ProgramError(str(error)) from None
        stem = path.name.removesuffix(".json") + suffix
        json = path.with_name(f"{stem}.json")
        if not packed.is_file(json):
            how = f" (p4c's flag for it: {' '.join(NATIVE_FLAGS)})" if native else ""
            raise ProgramError(f"beside {path} there must be {json.name}{how}; or name its .p4")
        beside = (path.with_name(f"{stem}{end}") for end in P4INFO_ENDS)
        return Program(stem, json, next(filter(packed.is_file, beside), None))

    def __bytes__(self) -> bytes:
        """Returns what a switch loads. Raises ProgramError."""
        return _read(self.json)

    @cached_property
    def draws(self) -> bool:
        """Whether it calls v1model's random()."""
        return f'"{_RANDOM}"'.encode() in _read(self.json)

    @cached_property
    def schema(self) -> Schema:
        """What its p4info describes. Raises ProgramError where that is none, or describes what
        can't be."""
        try:
            return schema_of(
                self._p4info() if self.p4info is None else _read_p4info(self.p4info), self
            )
        except ValueError as error:
            raise ProgramError(f"{self.p4info or self.json}: {error}") from None

    def _p4info(self) -> P4Info:
        """Returns one that is made of the JSON. Raises ProgramError, ValueError."""
        from pcn.softswitch.embed.p4info import of_json

        return of_json(_read(self.json).decode())


def _read(path: Path) -> bytes:
    """Returns a program's file. Raises ProgramError."""
    try:
        return packed.read_bytes(path)
    except OSError as error:
        raise ProgramError(f"{path}: {error.strerror}") from None


def _read_p4info(path: Path) -> P4Info:
    """Reads a p4info. Raises ProgramError."""
    from google.protobuf import text_format

    try:
        return _p4info(_read(path).decode())
    except (
        text_format.ParseError,
        ValueError,
        RecursionError,
    ) as error:  # a number too large, no UTF-8
        raise ProgramError(f"{path}: no p4info: {error}") from None
