"""Coverage as Cobertura's XML (coverage-04.dtd), which code hosts and CI show."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from xml.sax.saxutils import quoteattr

from pcn.softswitch.coverage.lines import File, plain, total
from pcn.softswitch.coverage.source_files import SourceFiles


def xml(files: Mapping[str, File], sources: SourceFiles) -> str:
    """Returns a package with a class for each file. Names are relative to the current folder, where
    a file is below it, as code hosts take them."""
    lines_ran, lines_all = total(file.lines_found() for file in files.values())
    taken, sides = total(file.branches_found() for file in files.values())
    rates = f'line-rate="{_rate(lines_ran, lines_all)}" branch-rate="{_rate(taken, sides)}"'
    out = [
        '<?xml version="1.0" encoding="UTF-8"?>',
        '<!DOCTYPE coverage SYSTEM "http://cobertura.sourceforge.net/xml/coverage-04.dtd">',
        f'<coverage {rates} lines-covered="{lines_ran}" lines-valid="{lines_all}" '
        f'branches-covered="{taken}" branches-valid="{sides}" complexity="0" version="1" '
        'timestamp="0">',
        f"<sources><source>{_text(str(Path.cwd()))}</source></sources>",
        f'<packages><package name="p4" {rates} complexity="0"><classes>',
    ]
    for file in files.values():
        out += _class(file, sources)
    return "\n".join([*out, "</classes></package></packages>", "</coverage>", ""])


def _class(file: File, sources: SourceFiles) -> list[str]:
    path = sources.path(file.name)
    below = path is not None and path.is_relative_to(Path.cwd())
    name = os.path.relpath(path) if path is not None and below else str(path or file.name)
    rates = (
        f'line-rate="{_rate(*file.lines_found())}" branch-rate="{_rate(*file.branches_found())}"'
    )
    out = [
        f"<class name={_attribute(file.name)} filename={_attribute(name)} {rates} "
        'complexity="0"><methods>'
    ]
    for (line, function), count in sorted(file.functions.items()):
        rate = "1.0" if count else "0.0"
        out.append(
            f'<method name={_attribute(function)} signature="" line-rate="{rate}" '
            f'branch-rate="{rate}" complexity="0"><lines><line number="{line}" hits="{count}"/>'
            "</lines></method>"
        )
    out.append("</methods><lines>")
    sides_at = file.sides_by_line()
    for line, count in sorted(file.lines.items()):
        sides = sides_at.get(line)
        if not sides:
            out.append(f'<line number="{line}" hits="{count}" branch="false"/>')
            continue
        taken = sum(side > 0 for side in sides)
        out.append(
            f'<line number="{line}" hits="{count}" branch="true" '
            f'condition-coverage="{100 * taken // len(sides)}% ({taken}/{len(sides)})"/>'
        )
    return [*out, "</lines></class>"]


def _rate(part: int, whole: int) -> str:
    return f"{part / whole if whole else 1:.4f}"


def _attribute(text: str) -> str:
    return quoteattr(plain(text))


def _text(text: str) -> str:
    return plain(text).replace("&", "&amp;").replace("<", "&lt;")
