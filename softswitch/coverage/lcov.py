"""Coverage as lcov's tracefile (geninfo(1)), which genhtml and many editors show."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from pcn.softswitch.coverage.lines import File, plain
from pcn.softswitch.coverage.source_files import SourceFiles


def tracefile(files: Mapping[str, File], sources: SourceFiles) -> str:
    """Returns the lines, branches and functions (parser states, actions, tables) of files, by the
    paths where they are, or by p4c's names of them."""
    lines = ["TN:"]
    for file in files.values():
        lines.append(f"SF:{plain(str(sources.path(file.name) or file.name))}")
        names = Counter(name for _, name in file.functions)
        functions = {
            _function(name, line if names[name] > 1 else None): (line, count)
            for (line, name), count in sorted(file.functions.items())
        }
        lines += [f"FN:{line},{name}" for name, (line, _) in functions.items()]
        lines += [f"FNDA:{count},{name}" for name, (_, count) in functions.items()]
        lines += [
            f"FNF:{len(functions)}",
            f"FNH:{sum(count > 0 for _, count in functions.values())}",
        ]
        for block, ((line, _), sides) in enumerate(sorted(file.branches.items())):
            ran = any(sides.values())
            lines += [
                f"BRDA:{line},{block},{number},{count if ran else '-'}"
                for number, count in enumerate(sides.values())
            ]
        taken, sides_of_all = file.branches_found()
        lines += [f"BRF:{sides_of_all}", f"BRH:{taken}"]
        lines += [f"DA:{line},{count}" for line, count in sorted(file.lines.items())]
        ran_lines, all_lines = file.lines_found()
        lines += [f"LF:{all_lines}", f"LH:{ran_lines}", "end_of_record"]
    return "\n".join(lines) + "\n"


def _function(name: str, line: int | None) -> str:
    """Returns a function's name; with its line, where a file has several of the name."""
    text = plain(name).replace(",", "?")
    return text if line is None else f"{text} at {line}"
