"""The commands of BMv2's CLI beside ours: names, numbers of arguments, and values by width.

    python judges/commands/grammar.py BEHAVIORAL_MODEL

BEHAVIORAL_MODEL is a clone of p4lang/behavioral-model. Its runtime_CLI.py and sswitch_CLI.py are
read, not run: each command is a method `do_NAME`, whose help text has its arguments and whose calls
of `exactly_n_args` and `at_least_n_args` their number. Of values, `parse_param` is run by itself on
any texts, beside `pcn.p4net.values.number`.
"""

import ast
import ipaddress
import random
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from pcn.p4net import values
from pcn.p4net.commands.file import COMMANDS

SOURCES = {
    "tools/runtime_CLI.py": "RuntimeAPI",
    "targets/simple_switch/sswitch_CLI.py": "SimpleSwitchAPI",
}
LEFT_OUT = {
    "shell": "of a terminal",
    "greet": "of a terminal",
    "EOF": "of a terminal",
    "load_new_config_file": "a network's file names each switch's program",
    "swap_configs": "a network's file names each switch's program",
    "reset_state": "a switch starts without state",
    "mc_set_lag_membership": "no LAGs: P4Runtime has none",
    "set_crc16_parameters": "hashes have their usual parameters",
    "set_crc32_parameters": "hashes have their usual parameters",
    "set_toeplitz_hash_key": "no Toeplitz hash",
}
"""Commands that are refused by name, and why."""
OURS = {
    "table_indirect_modify": "P4Runtime's, beside table_indirect_add",
    "table_indirect_modify_with_group": "P4Runtime's, beside table_indirect_add_with_group",
}
"""Commands that BMv2 lacks."""
COUNTS = {
    "meter_set_rates": "BMv2 counts the rates by the program's meter, which has two",
    "meter_array_set_rates": "BMv2 counts the rates by the program's meter, which has two",
}
"""Commands whose number of arguments BMv2 checks elsewhere."""
_ZEROS_FIRST = re.compile(r"(^|\.)0[0-9]|(^|:)0[0-9a-fA-F]{2}")
WIDTHS = (1, 8, 9, 16, 32, 48, 64, 128, 256)


@dataclass(frozen=True)
class Bmv2Command:
    """`least` and `most`: of arguments, None where the method leaves that to another."""

    name: str
    help_text: str
    least: int | None
    most: int | None


def commands(clone: Path) -> list[Bmv2Command]:
    """Returns the commands of both CLIs."""
    return [
        _command(method)
        for source, class_name in SOURCES.items()
        for part in ast.parse((clone / source).read_text()).body
        if isinstance(part, ast.ClassDef) and part.name == class_name
        for method in part.body
        if isinstance(method, ast.FunctionDef) and method.name.startswith("do_")
    ]


def _command(method: ast.FunctionDef) -> Bmv2Command:
    least: list[int] = []
    most: list[int] = []
    for call in ast.walk(method):
        if not (isinstance(call, ast.Call) and isinstance(call.func, ast.Attribute)):
            continue
        if call.func.attr not in ("exactly_n_args", "at_least_n_args"):
            continue
        count = ast.literal_eval(call.args[1])
        (least if call.func.attr == "at_least_n_args" else most).append(count)
    name = method.name.removeprefix("do_")
    text = ast.get_docstring(method) or ""
    if least:
        return Bmv2Command(name, text, least[0], most[0] if most else None)
    return Bmv2Command(name, text, most[0] if most else None, most[0] if most else None)


def differences(known: list[Bmv2Command]) -> Iterator[str]:
    """Yields a line for each command that is otherwise here, without a reason above."""
    names = {command.name for command in known}
    for command in known:
        ours = COMMANDS.get(command.name)
        if ours is None:
            if command.name not in LEFT_OUT:
                yield f"{command.name}: missing here ({command.help_text})"
            continue
        if command.name in LEFT_OUT:
            yield f"{command.name}: is there, and among those left out"
        if command.name in COUNTS:
            continue
        if command.least is not None and ours.least != command.least:
            yield f"{command.name}: {command.least} arguments at least, here {ours.least}"
        exact = command.least == command.most
        if command.most is not None and ours.most != command.most:
            yield f"{command.name}: {command.most} arguments at most, here {ours.most}"
        optional = command.help_text.count("[")
        if not exact and command.least is not None and ours.most is not None and not optional:
            yield f"{command.name}: any number of arguments, here {ours.most} at most"
    yield from (f"{name}: BMv2 has none such" for name in sorted({*COMMANDS} - names - {*OURS}))
    yield from (f"{name}: left out here, and gone there" for name in sorted({*LEFT_OUT} - names))


Parser = Callable[[str, int], int | None]


def parser(clone: Path) -> Parser:
    """Returns BMv2's reading of a value of some bits; None: it refuses the text."""
    wanted = ("parse_param", "int_to_bytes")
    parts = [
        part
        for part in ast.parse((clone / "tools/runtime_CLI.py").read_text()).body
        if (
            isinstance(part, ast.FunctionDef)
            and (part.name in wanted or part.name.endswith("Addr_to_bytes"))
        )
        or (
            isinstance(part, ast.ClassDef)
            and (part.name.startswith("UIn_") or part.name == "CLI_FormatExploreError")
        )
    ]
    scope: dict[str, object] = {}
    exec(compile(ast.Module(parts, []), "runtime_CLI.py", "exec"), scope)
    parse_param = scope["parse_param"]
    assert callable(parse_param)

    def read(text: str, width: int) -> int | None:
        try:
            return int.from_bytes(bytes(parse_param(text, width)), "big")
        except Exception:
            return None  # a byte of 256, too: its CLI ends with a traceback

    return read


def texts(seed: int, count: int) -> Iterator[tuple[str, int]]:
    """Yields values as people write them, whole or with one letter changed, and widths."""
    draw = random.Random(seed)
    for _ in range(count):
        width = draw.choice(WIDTHS)
        value = draw.getrandbits(draw.choice((1, width, width + 1, width + 8)))
        forms = [str(value), hex(value), bin(value), f"0X{value:X}"]
        forms.append(str(ipaddress.IPv4Address(value % 2**32)))
        forms.append(":".join(f"{value >> 8 * i & 255:02x}" for i in range(6)))
        forms.append(str(ipaddress.IPv6Address(value % 2**128)))
        text = draw.choice(forms)
        if draw.random() < 0.3:
            at = draw.randrange(len(text) + 1)
            text = text[:at] + draw.choice("0123456789abcdefxX.:-_") + text[at + 1 :]
        yield text, width


def value_difference(bmv2: Parser, text: str, width: int) -> str:
    """Returns what differs about a value; empty: nothing, or what `EXPLAINED` has."""
    theirs = bmv2(text, width)
    try:
        ours = values.number(text, width)
    except ValueError:
        ours = None
    if theirs == ours or _explained(text, width, theirs, ours):
        return ""
    return f"{text!r} of {width} bits: BMv2 has {theirs}, here it is {ours}"


def _explained(text: str, width: int, theirs: int | None, ours) -> bool:
    """BMv2 takes values of as many bytes as a field has, beyond its bits; takes
    what else Python's int() takes (_, +, 0o), -1 as 0, and bytes of an address with zeros before
    them, which others read as octal. Here a number may have such zeros, and a MAC may have -."""
    if theirs is not None and ours is None:
        return (
            theirs >= 1 << width
            or any(sign in text for sign in "_+-oO")
            or _ZEROS_FIRST.search(text) is not None
        )
    if theirs is None and ours is not None:
        return text[:1] == "0" or "-" in text
    return False


def main() -> int:
    clone = Path(sys.argv[1])
    known = commands(clone)
    lines = list(differences(known))
    read = parser(clone)
    drawn = list(texts(1, 100_000))
    lines += filter(None, (value_difference(read, text, width) for text, width in drawn))
    for line in lines[:50]:
        print(line)
    print(
        f"{len(known)} commands of BMv2, {len(LEFT_OUT)} left out by name; {len(drawn):,} values; "
        f"{len(lines)} differences"
    )
    return bool(lines)


if __name__ == "__main__":
    sys.exit(main())
