"""The formats of topologies' files: by name, and by what a file has."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

from pcn.topologies import entry_points
from pcn.topologies.formats import (
    astra,
    containerlab,
    graphml,
    hpcc,
    htsim,
    node_link,
    p4_utils,
    p4app,
    p4lang,
    pcn,
    simai,
)
from pcn.topologies.formats.source import Format, FormatError, Source

FORMATS: dict[str, Format] = {
    format_.name: format_
    for format_ in (
        pcn.FORMAT,
        pcn.JSON_FORMAT,
        hpcc.FORMAT,
        simai.FORMAT,
        astra.FORMAT,
        htsim.FORMAT,
        p4lang.FORMAT,
        p4_utils.FORMAT,
        p4app.FORMAT,
        containerlab.FORMAT,
        graphml.FORMAT,
        node_link.FORMAT,
    )
}


KIND = "topology-format"
"""Of entry points of installed packages, each a `Format` of its name."""


def installed() -> Iterator[Format]:
    """Yields installed packages' formats. Raises FormatError for one that can't be loaded."""
    for point in entry_points.installed(KIND):
        yield entry_points.loaded(KIND, point, Format, FormatError)


def _named(name: str) -> Format | None:
    if name in FORMATS:
        return FORMATS[name]
    point = entry_points.find(KIND, name)
    return None if point is None else entry_points.loaded(KIND, point, Format, FormatError)


EXERCISES: dict[str, Callable[[Source], Source]] = {
    "p4lang": p4lang.exercise,
    "p4-utils": p4_utils.exercise,
    "p4app": p4app.exercise,
}
"""Formats of P4 networks, with what puts a file into the form of p4lang/tutorials."""


def split(reference: str) -> tuple[str, Path] | None:
    """Returns the format's name, empty where none is given, and the path of a reference
    `FORMAT:FILE` or `FILE`; None of what names no file."""
    name, colon, file = reference.partition(":")
    if colon and file and (name in FORMATS or entry_points.find(KIND, name)):
        return name, Path(file)
    path = Path(reference)
    return ("", path) if path.suffix or "/" in reference or path.is_file() else None


def format_of(source: Source, name: str = "") -> Format:
    """Returns the format of a file, by its name, or by its content. Raises FormatError."""
    if format_ := _named(name) if name else None:
        return format_
    matches = [format_ for format_ in FORMATS.values() if format_.recognises(source)]
    # looked for where it matters alone: to list what is installed takes longer than a file
    matches = matches or [format_ for format_ in installed() if format_.recognises(source)]
    if len(matches) == 1:
        return matches[0]
    if not matches and source.path.suffix in (".json", ".yaml", ".yml"):
        _ = source.document  # what is wrong with it
    names = ", ".join(format_.name for format_ in matches or FORMATS.values())
    fault = "may be in several formats" if matches else "is in no format that is recognised"
    first = (matches or [hpcc.FORMAT])[0].name
    raise FormatError(
        f"{source.path} {fault}: write which, as {first}:{source.path.name}; choose from {names}"
    )


def writer(reference: str) -> tuple[Format, Path]:
    """Returns the format, with a writer, and the path that a reference names to be written. Raises
    FormatError."""
    name, path = split(reference) or ("", Path(reference))
    every = [*FORMATS.values(), *(() if name in FORMATS else installed())]
    able = {format_.name: format_ for format_ in every if format_.write}
    if name:
        chosen = [able[name]] if name in able else []
    else:
        fitting = sorted(
            len(format_.suffix) for format_ in able.values() if path.name.endswith(format_.suffix)
        )
        chosen = [
            format_
            for format_ in able.values()
            if path.name.endswith(format_.suffix) and len(format_.suffix) == fitting[-1]
        ]
    if len(chosen) != 1:
        written = ", ".join(able)
        if name:
            raise FormatError(f"{reference}: {name} is only read; written are {written}")
        raise FormatError(
            f"{reference}: write the format before the file, as hpcc:{path.name}; written are "
            f"{written}"
        )
    return chosen[0], path
