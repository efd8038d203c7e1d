"""A record as the tutorials' topology.json, whose paths are relative to the file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pcn.p4net.errors import P4NetError
from pcn.p4net.importing.record import LinkRecord, NetworkRecord, SwitchRecord
from pcn.p4net.programs import BUILD, is_file
from pcn.topologies.formats import FormatError, Source
from pcn.topologies.formats.known import FORMATS


@dataclass
class NetworkFile:
    """A network's file, and what it doesn't have."""

    text: str
    hosts: int
    switches: int
    links: int
    left_out: dict[str, list[str]] = field(default_factory=dict)
    missing: list[str] = field(default_factory=list)
    """Files that it names and that aren't there."""


def network_file(record: NetworkRecord, script: Path, out: Path) -> NetworkFile:
    """Returns the file of a script's network. Raises P4NetError for a network that `pcn p4` can't
    run."""
    further = _further_links(record, script)
    names = {host.name for host in record.hosts}
    paths = _Paths(script, out)
    document = {
        "hosts": {
            host.name: {
                **({"ip": host.ip} if host.ip else {}),
                **({"mac": host.mac} if host.mac else {}),
                **({"commands": host.commands} if host.commands else {}),
            }
            for host in record.hosts
        },
        "switches": {switch.name: _switch(switch, paths) for switch in record.switches},
        "links": [_link(link, names) for link in record.links],
    }
    text = json.dumps(document, indent=2) + "\n"
    try:
        FORMATS["p4lang"].read(Source(out, text))
    except FormatError as error:
        raise P4NetError(
            f"{script}: its network isn't one that `pcn p4` can run: {error}"
        ) from None
    left_out = dict(record.left_out)
    if further:
        left_out["addresses at further links of hosts"] = further
    if plain := [
        f"{switch.name} ({switch.kind})" for switch in record.switches if not switch.program
    ]:
        left_out["programs of switches, which a script doesn't name"] = plain
    return NetworkFile(
        text, len(record.hosts), len(record.switches), len(record.links), left_out, paths.missing
    )


def _further_links(record: NetworkRecord, script: Path) -> list[str]:
    """Returns hosts that have more than the one link by which they send. Raises P4NetError for a
    network without hosts or switches, and for a host without a link."""
    if not record.switches or not record.hosts:
        raise P4NetError(
            f"{script}: the network has {len(record.hosts)} hosts and {len(record.switches)} "
            "switches: one of each is the least"
        )
    further = list[str]()
    for host in record.hosts:
        ends = [link.ends for link in record.links if host.name in link.ends]
        far = [name for names in ends for name in names if name != host.name]
        if not far:
            raise P4NetError(f"{script}: {host.name} has no link: in `pcn p4` a host has one")
        if len(far) > 1:
            further.append(f"{host.name}: {', '.join(far[1:])}")
    return further


def _switch(switch: SwitchRecord, paths: _Paths) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    if switch.program:
        settings["program"] = paths.program(switch.name, switch.program)
    if switch.runtime_json:
        settings["runtime_json"] = paths.of(switch.name, switch.runtime_json)
    if switch.command_file:
        settings["cli_input"] = paths.of(switch.name, switch.command_file)
    if switch.commands:
        settings["commands"] = switch.commands
    if 0 < switch.cpu_port <= 510:
        settings["cpu_port"] = switch.cpu_port
    if 1 < switch.priority_queues <= 8:
        settings["priority_queues"] = switch.priority_queues
    return settings


def _link(link: LinkRecord, hosts: set[str]) -> list[Any]:
    ends: list[Any] = [
        name if name in hosts else f"{name}-p{port}"
        for name, port in zip(link.ends, link.ports, strict=True)
    ]
    if link.ends[1] in hosts and link.ends[0] not in hosts:
        ends.reverse()
    if link.rate_mbps is None:
        return [*ends, link.delay] if link.delay else ends
    rate = link.rate_mbps
    return [*ends, link.delay or 0, int(rate) if rate.is_integer() else rate]


@dataclass
class _Paths:
    """Files that a script names, relative to the folder of the network's file."""

    script: Path
    out: Path
    missing: list[str] = field(default_factory=list)

    def of(self, switch: str, name: str) -> str:
        """Returns the path of a file: from the current folder, the script's, or, of another
        machine, by its name there."""
        path = self._existing(name)
        if path is None:
            self.missing.append(f"{switch}: {name}")
            path = Path(name) if Path(name).is_absolute() else self._folders()[0] / name
        return self._relative(path)

    def program(self, switch: str, name: str) -> str:
        """Returns the path of a program; its source, where it isn't compiled."""
        if self._existing(name) is None and name.endswith(".json"):
            stem = Path(name).stem
            source = Path(name).with_suffix(".p4")
            for place in (str(source), f"{stem}.p4", f"p4src/{stem}.p4", f"{BUILD}/{stem}.json"):
                if (path := self._existing(place)) is not None:
                    return self._relative(path)
        return self.of(switch, name)

    def _folders(self) -> list[Path]:
        return [Path.cwd(), self.script.absolute().parent]

    def _existing(self, name: str) -> Path | None:
        places = [Path(name)] if Path(name).is_absolute() else []
        places += [folder / name for folder in self._folders() if not Path(name).is_absolute()]
        if Path(name).is_absolute():
            places += [folder / Path(name).name for folder in self._folders()]
        return next((place for place in places if is_file(place)), None)

    def _relative(self, path: Path) -> str:
        return os.path.relpath(path, self.out.absolute().parent)
