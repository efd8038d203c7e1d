"""Finding the program that a network's file means: a compiled one by name, or its source."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from pcn.base import packed
from pcn.controller.programs import Program, ProgramError
from pcn.p4net.errors import P4NetError
from pcn.softswitch import p4c

BUILD = "build"
"""Where the tutorials' Makefile puts p4c's output."""
_MOST_SOURCES, _MOST_BYTES = 64, 2**20
"""Of a folder, among which its program is searched, and of each of them."""
_MAIN = b"V1Switch"
"""In a program, but not in the files that it includes."""


@dataclass
class Programs:
    """Programs of an exercise's folder. `chosen`: what the user names, x.p4 or x.json, which goes
    before one of the folder with the same name, and is the default. Where a program that a file
    names is missing, the chosen one runs, or the only one of the folder, with a note."""

    folder: Path
    chosen: Path | None = None
    default: str = ""
    """The stem of the program of switches that name none; empty: the folder's only one."""
    notes: list[str] = field(default_factory=list)
    _programs: dict[str, Program] = field(default_factory=dict)

    def named(self, program: str) -> Program:
        """Finds the program that a file calls build/x.json, or x.p4. Raises P4NetError."""
        if program not in self._programs:
            path = self.folder / program
            if path.suffix == ".p4":
                places = [path.with_suffix(".json"), self.folder / f"{path.stem}.json"]
                places.append(self.folder / BUILD / f"{path.stem}.json")
                compiled = next(filter(packed.is_file, places), places[-1])
                self._programs[program] = self._find(path.stem, compiled, path)
            else:
                stem = path.name.removesuffix(".json")
                self._programs[program] = self._find(stem, path, self.folder / f"{stem}.p4")
        return self._programs[program]

    def of_default(self) -> Program:
        """Finds the program of switches that name none. Raises P4NetError."""
        if self.chosen is not None:
            return self.named(f"{BUILD}/{self.chosen.stem}.json")
        stem = self.default
        if not stem:
            stems = sorted(path.stem for path in self.folder.glob("*.p4"))
            if len(stems) > 1:
                stems = [path.stem for path in _mains(self.folder)] or stems
            stems = stems or sorted(path.stem for path in (self.folder / BUILD).glob("*.json"))
            if len(stems) != 1:
                reason = f"{', '.join(stems)} are there" if stems else "there is none"
                raise P4NetError(
                    f"{self.folder}: name the switches' program with --program FILE.p4 ({reason})"
                )
            stem = stems[0]
        return self.named(f"{BUILD}/{stem}.json")

    def _find(self, stem: str, compiled: Path, source: Path) -> Program:
        if self.chosen is not None and self.chosen.stem == stem:
            return _read(self.chosen)
        if is_file(source) and _has_compiler():
            return _read(source)
        if packed.is_file(compiled):
            return _read(compiled)
        if is_file(source):
            raise P4NetError(
                f"{source} isn't compiled: install p4c (package p4lang-p4c, "
                f"github.com/p4lang/p4c), or compile it elsewhere into {compiled}"
            )
        fault = f"neither {compiled} nor {source} exists"
        if self.chosen is not None:
            self.notes.append(f"{fault}: {self.chosen} runs instead")
            return _read(self.chosen)
        if (only := self._only(source)) is None:
            raise P4NetError(f"{fault}: name the program with --program FILE.p4")
        program = self.named(str(only.absolute()))
        self.notes.append(f"{fault}: {only}, the only program there, runs instead")
        return program

    def _only(self, source: Path) -> Path | None:
        """Returns the only program of the folder in which a missing source would be, or else of
        the network's folder."""
        for folder in (source.parent, self.folder):
            if len(programs := _mains(folder)) == 1:
                return programs[0]
        return None


def _mains(folder: Path) -> list[Path]:
    """Returns the sources of a folder that are programs, and not what programs include."""
    return [path for path in sorted(folder.glob("*.p4"))[:_MOST_SOURCES] if _is_main(path)]


def _is_main(path: Path) -> bool:
    try:
        with path.open("rb") as source:
            return _MAIN in source.read(_MOST_BYTES)
    except OSError:
        return False


def is_file(path: Path) -> bool:
    """Returns whether a file is there, of any name: `Path.is_file` raises OSError for one that is
    too long."""
    try:
        return path.is_file()
    except OSError:
        return False


def _has_compiler() -> bool:
    try:
        p4c.find_compiler()
    except p4c.P4Error:
        return False
    return True


def _read(path: Path) -> Program:
    """Returns a program of a file, x.p4 or x.json."""
    if path.suffix != ".json" and is_file(path) and not _has_compiler():
        raise P4NetError(
            f"{path} isn't compiled: put {p4c.COMPILER} on the PATH, or name the .json that p4c "
            "made"
        )
    try:
        return Program.find(str(path))
    except ProgramError as error:
        raise P4NetError(str(error)) from None
