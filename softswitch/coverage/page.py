"""Coverage as a page: what packets ran through, by program and by line of the source. One file,
which needs no other."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from html import escape
from typing import Final

from pcn.softswitch.coverage.counts import Covered, Point
from pcn.softswitch.coverage.lines import File, by_file, located, plain
from pcn.softswitch.coverage.source_files import SourceFiles

_STYLE: Final = """
:root { --ink: #16202b; --muted: #5a6673; --grid: #e3e8ee; --link: #0072b2; --card: #fff;
  --page: #f4f6f9; --good: #00714f; --fair: #8a5a00; --bad: #b3261e; --ran: #e2f4ec;
  --part: #fdf1d8; --missed: #fbe4e2; }
@media screen and (prefers-color-scheme: dark) { :root { --ink: #e8edf2; --muted: #9aa7b4;
  --grid: #2a3440; --link: #4aa8e0; --card: #131a22; --page: #0b1016; --good: #4bd6a8;
  --fair: #f0b65a; --bad: #ff8a80; --ran: #10302a; --part: #3a2e12; --missed: #421d1b; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink);
  font: 16px/1.55 system-ui, "Segoe UI", "Liberation Sans", "DejaVu Sans", sans-serif; }
main { max-width: 1280px; margin: 0 auto; padding: 28px 20px 60px; }
h1 { font-size: 1.8rem; line-height: 1.2; margin: 0; } h2 { font-size: 1.25rem; margin: 0 0 10px; }
h3 { font-size: 1rem; margin: 18px 0 6px; } header p { color: var(--muted); margin: 4px 0 0; }
section { background: var(--card); border: 1px solid var(--grid); border-radius: 12px;
  padding: 20px 22px; margin-top: 20px; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .925rem; }
th, td { text-align: left; padding: 5px 14px 5px 0; border-bottom: 1px solid var(--grid);
  vertical-align: top; overflow-wrap: anywhere; }
th { color: var(--muted); font-weight: 600; white-space: nowrap; }
td.number, th.number { text-align: right; white-space: nowrap; }
tr.missed td:last-child { color: var(--bad); font-weight: 650; }
a { color: var(--link); }
.all { color: var(--good); } .some { color: var(--fair); }
.source { font: 13px/1.5 "Liberation Mono", "DejaVu Sans Mono", monospace; }
.source td { border: 0; padding: 0 10px 0 0; white-space: pre; overflow-wrap: normal; }
.source td:first-child, .source td:nth-child(2) { text-align: right; color: var(--muted);
  user-select: none; }
.source td:nth-child(3) { color: var(--muted); }
.source tr.ran { background: var(--ran); } .source tr.part { background: var(--part); }
.source tr.missed { background: var(--missed); } .source tr.missed td { color: inherit;
  font-weight: inherit; }
.source tr:target { outline: 2px solid var(--link); }
summary { cursor: pointer; font-weight: 600; }
@media print { * { print-color-adjust: exact; } section { border: 0; padding: 8px 0; } }
"""
_TABLES: Final = (
    ("Parser states", ("state",)),
    ("Transitions", ("transition",)),
    ("Tables", ("hit", "miss")),
    ("Entries of the source", ("entry",)),
    ("Actions", ("action",)),
    ("Branches", ("true", "false")),
    ("Checksums", ("verified", "wrong", "unverified", "updated", "not updated")),
)


def html(programs: Sequence[Covered], sources: SourceFiles) -> str:
    """Returns the page of programs."""
    files = by_file(programs, sources)
    names = ", ".join(dict.fromkeys(program.program for program in programs))
    out = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        '<meta name="color-scheme" content="light dark">',
        f'<title>Coverage of {_text(names)}</title>\n<link rel="icon" href="data:,">',
        f"<style>{_STYLE}</style>\n</head>\n<body>\n<main>",
        f"<header><h1>Coverage</h1><p>{_text(names)}: what packets ran through.</p></header>",
        *_summary(files),
        *(line for program in programs for line in _program(program, sources)),
        *(line for file in files.values() for line in _source(file, sources)),
        "</main>\n</body>\n</html>\n",
    ]
    return "\n".join(out)


def _summary(files: dict[str, File]) -> Iterable[str]:
    yield '<section><h2>Files</h2><div class="scroll" tabindex="0"><table><thead><tr><th>file</th>'
    yield '<th class="number">lines</th><th class="number">of</th>'
    yield '<th class="number">sides of branches</th><th class="number">of</th></tr></thead><tbody>'
    for file in files.values():
        cells = "".join(
            f'<td class="number {"all" if ran == whole else "some"}">{ran}</td>'
            f'<td class="number">{whole}</td>'
            for ran, whole in (file.lines_found(), file.branches_found())
        )
        yield f'<tr><td><a href="#{_anchor(file.name)}">{_text(file.name)}</a></td>{cells}</tr>'
    yield "</tbody></table></div></section>"


def _program(program: Covered, sources: SourceFiles) -> Iterable[str]:
    points = located(program, sources)
    counted = [point for _, kinds in _TABLES for point in points if point.kind in kinds]
    reached = sum(point.reached for point in counted)
    yield f"<section><h2>{_text(program.program)}</h2>"
    yield f"<p>{reached} of {len(counted)} reached, by counts of packets.</p>"
    for title, kinds in _TABLES:
        of_kind = [point for point in points if point.kind in kinds]
        if not of_kind:
            continue
        missing = sum(not point.reached for point in of_kind)
        yield f"<details{' open' if missing else ''}><summary>{title}: "
        yield f"{len(of_kind) - missing} of {len(of_kind)}</summary>"
        yield '<div class="scroll" tabindex="0"><table><tbody>'
        for point in of_kind:
            words = " ".join(part for part in _words(point) if part)
            yield f"<tr{'' if point.reached else ' class=missed'}><td>{_text(words)}</td>"
            yield f'<td>{_place(point)}</td><td class="number">{point.packets}</td></tr>'
        yield "</tbody></table></div></details>"
    yield "</section>"


def _words(point: Point) -> tuple[str, ...]:
    if point.kind in ("state", "transition", "entry", "action"):
        return point.name, point.text
    if point.kind in ("hit", "miss"):
        return point.name, point.kind, f"({point.text})" if point.text else ""
    return point.text or point.name, f"is {point.kind}"


def _source(file: File, sources: SourceFiles) -> Iterable[str]:
    text = sources.text(file.name)
    yield f'<section id="{_anchor(file.name)}"><h2>{_text(file.name)}</h2>'
    if text is None:
        yield "<p>Its source isn't here.</p>"
        lines = dict.fromkeys(sorted(file.lines), "")
    else:
        lines = dict(enumerate(text.split("\n"), start=1))
    by_line: defaultdict[int, list[str]] = defaultdict(list)
    for (line, branch), sides in file.branches.items():
        by_line[line] += [f"{branch}: {side} {count}" for side, count in sides.items()]
    sides_at = file.sides_by_line()
    yield '<div class="scroll" tabindex="0"><table class="source"><tbody>'
    for number, content in lines.items():
        count = file.lines.get(number)
        kind = (
            ""
            if count is None
            else "missed"
            if not count
            else "part"
            if not all(sides_at.get(number, ()))
            else "ran"
        )
        title = f' title="{_text(chr(10).join(by_line[number]))}"' if number in by_line else ""
        yield (
            f'<tr id="{_anchor(file.name)}-{number}" class="{kind}"{title}><td>{number}</td>'
            f"<td>{'' if count is None else count}</td><td>{_sides(sides_at.get(number, []))}</td>"
            f"<td>{_text(content)}</td></tr>"
        )
    yield "</tbody></table></div></section>"


def _sides(counts: Sequence[int]) -> str:
    """Returns how many sides of a line's branches were taken, of how many."""
    return f"{sum(count > 0 for count in counts)}/{len(counts)}" if counts else ""


def _place(point: Point) -> str:
    if not point.file:
        return ""
    return f'<a href="#{_anchor(point.file)}-{point.line}">{_text(point.file)}:{point.line}</a>'


def _anchor(name: str) -> str:
    return "f-" + "".join(c if c.isascii() and c.isalnum() else f"_{ord(c):x}_" for c in name)


def _text(text: str) -> str:
    return escape(plain(text.replace("\t", "    ")) if "\n" not in text else text)
