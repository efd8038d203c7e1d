"""No module needs one that needs it, in any import: not by way of others, for types alone, or late,
inside a function."""

import ast
from pathlib import Path

from test_layers import ROOT, names, rows


def modules() -> dict[str, Path]:
    paths = [path for package in rows() for path in (ROOT / package).rglob("*.py")]
    by_name = {
        ".".join(path.relative_to(ROOT).with_suffix("").parts): path
        for path in paths
        if not any((ROOT / part).is_symlink() for part in folders(path))
    }
    return {name.removesuffix(".__init__"): path for name, path in by_name.items()}


def folders(path: Path) -> list[Path]:
    """The folders of a file, from the top down; pcn/ has links to the others."""
    return [folder for folder in path.relative_to(ROOT).parents if folder != Path()]


def needs(name: str, path: Path, known: set[str]) -> set[str]:
    """The modules that a module imports, anywhere in it."""
    text = path.read_text(encoding="utf-8")
    parts = name.split(".") if path.name == "__init__.py" else name.split(".")[:-1]
    relative = {
        ".".join([*parts[: len(parts) - node.level + 1], *filter(None, [node.module]), alias.name])
        for node in ast.walk(ast.parse(text))
        if isinstance(node, ast.ImportFrom) and node.level
        for alias in node.names
    }
    imports = {*names(text), *relative}
    return {
        imported if imported in known else imported.rpartition(".")[0] for imported in imports
    } & (known - {name})


def circles(arrows: dict[str, set[str]]) -> list[list[str]]:
    """The groups of modules each of which needs all others of its group, in order."""
    # what needs nothing that is left is in no circle, and there is little that isn't so
    while leaves := {name for name, further in arrows.items() if not further & arrows.keys()}:
        arrows = {name: further for name, further in arrows.items() if name not in leaves}
    arrows = {name: further & arrows.keys() for name, further in arrows.items()}
    reached = {name: {name} for name in arrows}
    changed = True
    while changed:
        changed = False
        for name, further in arrows.items():
            everything = reached[name].union(*map(reached.__getitem__, further))
            changed |= everything != reached[name]
            reached[name] = everything
    groups = {
        tuple(sorted(further for further in reached[name] if name in reached[further]))
        for name in arrows
    }
    return sorted(list(group) for group in groups if len(group) > 1)


def test_no_module_is_in_a_circle():
    known = modules()
    assert circles({name: needs(name, path, set(known)) for name, path in known.items()}) == []


def test_a_circle_is_found_through_others():
    arrows = {"a": {"b"}, "b": {"c"}, "c": {"a"}, "d": {"a"}, "e": {"f"}, "f": {"e"}}
    assert circles(arrows) == [["a", "b", "c"], ["e", "f"]]
