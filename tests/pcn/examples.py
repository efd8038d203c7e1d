"""What READMEs, docs/ and the help of commands print to be typed: commands, Python, and commands in
running text."""

import re
from collections.abc import Callable
from pathlib import Path

import click

from pcn import cli

ROOT = Path(__file__).resolve().parent.parent.parent
PAGES = (
    ROOT / "README.md",
    ROOT / "softswitch" / "README.md",
    *sorted((ROOT / "docs").rglob("*.md")),
)
PROGRAMS = (
    "pcn", "make", "mn", "echo", "export", "bash", "python", "python3", "pip", "sudo", "bfshell",
)  # fmt: skip
"""A block that begins with one of these, or with a script, is one of commands."""


def name(page: Path) -> str:
    """`topologies.md`, `notebook/switch.md` below docs/; elsewhere the path from the checkout."""
    docs = ROOT / "docs"
    return str(page.relative_to(docs if page.is_relative_to(docs) else ROOT))


def commands() -> dict[str, list[str]]:
    """Lines of the blocks of commands, by page, without comments; `.venv/bin/` is on the PATH."""
    by_page: dict[str, list[str]] = {}
    for page in PAGES:
        for block in blocks(page):
            lines = [
                re.split(r" +# ", line)[0].strip().removeprefix(".venv/bin/") for line in block
            ]
            if re.match(rf"({'|'.join(PROGRAMS)}|[\w-]+\.sh)( |$)", lines[0]):
                by_page.setdefault(name(page), []).extend(lines)
    return by_page


def blocks(page: Path) -> list[list[str]]:
    """Indented blocks, and what fences hold unless they name a language."""
    text = re.sub(r"^```\w+\n.*?^```$", "", page.read_text(), flags=re.MULTILINE | re.DOTALL)
    text = re.sub(
        r"^```\n(.*?)^```$",
        lambda fence: re.sub("(?m)^", "    ", fence[1]),
        text,
        flags=re.M | re.DOTALL,
    )
    indented = [[]]
    for line in text.splitlines():
        if line.startswith("    "):
            indented[-1].append(line)
        elif indented[-1]:
            indented.append([])
    return [block for block in indented if block]


def python() -> dict[str, str]:
    """Python's blocks, by page and number."""
    return {
        f"{name(page)}-{number}": block
        for page in PAGES
        for number, block in enumerate(
            re.findall(r"^```python\n(.*?)^```$", page.read_text(), re.M | re.DOTALL), 1
        )
    }


def files(block_name: str) -> dict[str, str]:
    """Files that the page of a block (`topologies.md-2`) names for saving: blocks that begin with
    `# NAME.py`."""
    page = block_name.rpartition("-")[0]
    return {
        match[1]: block
        for name, block in python().items()
        if name.rpartition("-")[0] == page and (match := re.match(r"# (\w+\.py)\n", block))
    }


def inline(program: str) -> list[str]:
    """Each `PROGRAM ...` in running text, also where it goes over a line's end."""
    mentions = (
        " ".join(code.split())
        for page in PAGES
        for code in re.findall(rf"`(?:\.venv/bin/)?({program} [^`]+)`", page.read_text())
    )
    return sorted(set(mentions))


def helps() -> dict[str, list[str]]:
    """Examples of each command's help, by the command."""
    examples: dict[str, list[str]] = {}

    def collect(words: str, command: click.Command):
        context = click.Context(command, info_name=words)
        if isinstance(command, click.Group):
            for name in command.list_commands(context):
                sub = command.get_command(context, name)
                assert sub is not None
                collect(f"{words} {name}", sub)
        # A comment follows after two spaces.
        lines = [line.strip() for line in (command.help or "").split("Examples:")[-1].splitlines()]
        examples[words] = [
            re.split(r" {2,}", line)[0] for line in lines if re.match(r"(pcn|echo) ", line)
        ]

    collect("pcn", cli.pcn)
    return examples


PRINTED = commands()
"""Of pages, with other programs' lines."""
OURS = {
    name: lines
    for name, all_lines in PRINTED.items()
    if (lines := [line for line in all_lines if re.match(r"pcn |echo .*\| pcn ", line)])
}
HELPS = helps()
LINES = [*HELPS.items(), *OURS.items()]
"""All that begin with pcn, by the command or the page that prints them."""
LIFE = re.compile(
    r"pcn (up|down|run|figure|sweep|compare|explain|topology|view|workload|p4 run|p4 coverage)\b"
)
"""They need no network that is up."""
LAB = re.compile(r"pcn (deploy|host)\b")
"""They need a lab's switch or NIC."""
IMPORT = re.compile(r"pcn p4 import\b")
"""They are of no root: tests/pcn/test_import_examples.py has them."""


def each_once(wanted: Callable[[str], object]) -> dict[str, list[str]]:
    """Returns the wanted lines of LINES, each where it is first shown: commands take a second, and
    many are shown twice."""
    seen: set[str] = set()
    first_shown = {}
    for name, lines in LINES:
        if new := [line for line in dict.fromkeys(lines) if wanted(line) and line not in seen]:
            first_shown[name] = new
            seen.update(new)
    return first_shown
