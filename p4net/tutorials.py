"""Networks of p4lang/tutorials: topology.json and what it names, unchanged; those of p4-utils and
p4app in its form.

    {"hosts": {"h1": {"ip": "10.0.1.1/24", "mac": "08:00:00:00:01:11",
                      "commands": ["route add ...", "arp ..."]}},
     "switches": {"s1": {"runtime_json": "s1-runtime.json", "cli_input": "s1-commands.txt",
                         "program": "build/basic.json", "cpu_port": 510}},
     "links": [["h1", "s1-p1"], ["s1-p2", "s2-p2", LATENCY, BANDWIDTH]]}

Paths in it are relative to the exercise's folder, in which its Makefile runs, or, where nothing is
there, to one of those above it. Device ids count from 0, as there.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

from pcn.base import inputs
from pcn.p4net import values
from pcn.p4net.commands import Commands
from pcn.p4net.errors import P4NetError
from pcn.p4net.network import P4Host, P4Network, P4Switch
from pcn.p4net.programs import Programs, is_file
from pcn.p4net.runtime_json import Alike, RuntimeJson
from pcn.p4net.steps import Entries
from pcn.p4net.text_proto import TextProto
from pcn.topologies import naming
from pcn.topologies.formats import FormatError, Source, p4_utils
from pcn.topologies.formats.known import EXERCISES, FORMATS
from pcn.topologies.tree import Node, optional

RATE_BPS = 10e9
"""Of links without a bandwidth, in virtual time."""
_MOST_FILES, _MOST_BYTES = 64, 4 * 2**20
"""Of a folder, among which its network is searched."""
_USUAL = ("topology.json", "p4app.json")
_FORMS = "p4lang/tutorials' topology.json, p4app.json"
_MOST_ABOVE = 4
"""Folders above a network's, in which the files that it names are searched."""
_MOST_NOTES = 20
"""On keys that are left out: a file may have thousands of names."""
_ASSIGNED = re.compile(r"^[ \t]*(TOPO|DEFAULT_PROG)[ \t]*:?=[ \t]*(\S+)[ \t]*$", re.MULTILINE)


def read_exercise(
    place: Path, program: Path | None = None, rate_bps: float = RATE_BPS
) -> P4Network:
    """Returns the network of an exercise's folder, or of a topology.json. `program`: x.p4 or
    x.json, which goes before one of the folder with this name. Raises LabError."""
    if not place.is_dir():
        return read(place, place.parent, program, "", rate_bps)
    settings = _makefile(place)
    topology = place / settings["TOPO"] if "TOPO" in settings else _network_file(place)
    if not is_file(topology):
        name = settings.get("TOPO", topology.name)
        raise P4NetError(f"{place}: no {name:.200}: name the network's file instead of its folder")
    return read(topology, place, program, Path(settings.get("DEFAULT_PROG", "")).stem, rate_bps)


def _network_file(folder: Path) -> Path:
    """Finds the file of the network in a folder, by its content: topology.json or p4app.json, else
    the only one. A topology.json that p4-utils has written stands behind the p4app.json that it was
    written from."""
    authored, written = list[Path](), list[Path]()
    for path in sorted(folder.glob("*.json"))[:_MOST_FILES]:
        try:
            source = Source.of(path, _MOST_BYTES)
            if path.name in _USUAL and source.document is None:
                return path
        except FormatError:
            if path.name in _USUAL:
                return path  # whose fault is the reason
            continue
        if _form(source):
            (written if p4_utils.is_generated(source) else authored).append(path)
    for known in (authored, written):
        usual = [path for path in known if path.name in _USUAL]
        if usual or len(known) == 1:
            return (usual or known)[-1]
        if known:
            names = ", ".join(path.name for path in known)
            raise P4NetError(
                f"{folder}: {names} are networks: name the file of one instead of its folder"
            )
    if is_file(folder / "topology.json"):
        return folder / "topology.json"  # whose fault is the reason
    raise P4NetError(
        f"{folder}: no topology.json: name the network's file instead of its folder ({_FORMS})"
    )


def _form(source: Source) -> str:
    """Returns the format of a P4 network's file; empty: it is none."""
    return next((name for name in EXERCISES if FORMATS[name].recognises(source)), "")


def _makefile(folder: Path) -> dict[str, str]:
    """Returns the names that an exercise's Makefile sets: of the topology, and of the default
    program."""
    path = folder / "Makefile"
    return dict(_ASSIGNED.findall(inputs.read_text(path, "replace"))) if is_file(path) else {}


class _Switch(NamedTuple):
    program: str | None
    runtime: str | None
    commands: str | None
    inline: tuple[tuple[int, str], ...]
    p4runtime: str | None
    cpu_port: int
    settings: dict[str, Any]


def read(
    path: Path,
    folder: Path,
    program: Path | None = None,
    default: str = "",
    rate_bps: float = RATE_BPS,
) -> P4Network:
    """Returns the network of a topology.json, with the name of `folder`, to which its paths are
    relative. Raises LabError."""
    source = Source.of(path)
    source = EXERCISES[_form(source) or "p4lang"](source)
    topology = FORMATS["p4lang"].read(source)
    strange = dict[str, str]()
    switches, hosts, stated = source.read(partial(_read_parts, strange))
    links = [
        replace(
            link,
            delay_s=link.delay_s if has_delay else 0.0,
            rate_bps=link.rate_bps if has_rate else rate_bps,
        )
        for link, (has_delay, has_rate) in zip(topology.links, stated, strict=True)
    ]
    topology = replace(
        topology,
        links=tuple(links),
        name=naming.network_name(folder.resolve().name),
        switches=tuple(
            replace(switch, device_id=number) for number, switch in enumerate(topology.switches)
        ),
    )
    notes = [f"{path}: left out: {fault}" for fault in islice(strange.values(), _MOST_NOTES)]
    if (above := _folder_above(folder, switches)) is not None:
        folder = above
        default = default or Path(_makefile(above).get("DEFAULT_PROG", "")).stem
        notes.append(f"{path}: its files are those in {above}")
    programs, alike = Programs(folder, program, default), Alike()
    read_switches = {
        name: _switch(switch, path, folder, programs, alike) for name, switch in switches.items()
    }
    return P4Network(
        topology,
        read_switches,
        hosts,
        frozenset(link for link, (_, has_rate) in zip(links, stated, strict=True) if not has_rate),
        (*notes, *programs.notes),
    )


def _folder_above(folder: Path, switches: Mapping[str, _Switch]) -> Path | None:
    """Returns the folder above a network's own to which its paths are relative: the nearest that
    has the first of its files, where its own has none. A file names its entries so where a
    repository's Makefile runs at its top."""
    named = [
        name
        for switch in switches.values()
        for name in (switch.runtime, switch.commands, switch.p4runtime)
        if name
    ]
    if not named or any(is_file(folder / name) for name in named):
        return None
    above = folder.absolute().parents[:_MOST_ABOVE]
    return next((place for place in above if is_file(place / named[0])), None)


def _read_parts(
    strange: dict[str, str], node: Node
) -> tuple[dict[str, _Switch], dict[str, P4Host], tuple[tuple[bool, bool], ...]]:
    parts = {
        name: part
        for name in ("switches", "hosts", "links")
        if (part := node.get(name)) is not None
    }
    return (
        parts["switches"].entries(str, partial(_read_switch, strange)),
        parts["hosts"].entries(str, partial(_read_host, strange)),
        parts["links"].elements(_has_delay_and_rate),
    )


def _has_delay_and_rate(link: Node) -> tuple[bool, bool]:
    """Returns whether a link has a latency, and a bandwidth."""
    words = link.elements(lambda word: word)
    delay, rate = (len(words) > at and not words[at].is_nothing for at in (2, 3))
    return delay, rate


def _whole(least: int, most: int) -> Callable[[Node], int]:
    return lambda node: node.value(lambda text: values.whole(text, least, most))


_SWITCH = {
    "program": optional(Node.text),
    "runtime_json": optional(Node.text),
    "cli_input": optional(Node.text),
    "commands": optional(
        lambda node: node.elements(lambda command: (command.line, command.text())), ()
    ),
    "p4runtime_entries": optional(Node.text),
    "cpu_port": optional(_whole(0, 510), 0),
    "priority_queues": optional(_whole(1, 8)),
    "queue_depth": optional(_whole(1, 2**24)),
    "queue_rate": optional(_whole(0, 2**32 - 1)),
}


_HOST = {
    "ip": optional(Node.text, ""),
    "mac": optional(Node.text, ""),
    "commands": optional(lambda commands: commands.elements(Node.text, least=0), ()),
}


def _read_switch(strange: dict[str, str], node: Node) -> _Switch:
    fields = node.fields(_SWITCH, strange)
    settings = {
        name: fields[name]
        for name in ("priority_queues", "queue_depth", "queue_rate")
        if fields[name]
    }
    entries = (
        fields["runtime_json"],
        fields["cli_input"],
        fields["commands"],
        fields["p4runtime_entries"],
    )
    return _Switch(fields["program"], *entries, fields["cpu_port"], settings)


def _read_host(strange: dict[str, str], node: Node) -> P4Host:
    fields = node.fields(_HOST, strange)
    _, slash, prefix = fields["ip"].partition("/")
    try:
        length = values.whole(prefix, 0, 32) if slash else P4Host.prefix
    except ValueError as error:
        raise node.fail(f"ip {fields['ip']!r}: {error}") from None
    return P4Host(length, fields["commands"])


def _switch(
    switch: _Switch, path: Path, folder: Path, programs: Programs, alike: Alike
) -> P4Switch:
    entries: list[Entries] = []
    if switch.commands:
        entries.append(Commands(folder / switch.commands))
    if switch.inline:
        entries.append(Commands(path, switch.inline))
    runtime = RuntimeJson(folder / switch.runtime, alike) if switch.runtime else None
    if runtime is not None:
        entries.append(runtime)
    if switch.p4runtime:
        entries.append(TextProto(folder / switch.p4runtime))
    named = (runtime.program if runtime is not None else None) or switch.program
    program = programs.named(named) if named else programs.of_default()
    return P4Switch(program, tuple(entries), switch.cpu_port, **switch.settings)
