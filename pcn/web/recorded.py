"""A kept run for the live page: served by `pcn.web.show`, or as one file that opens without a
server."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pcn.rates import rate_unit
from pcn.topologies.model import Endpoint, Topology
from pcn.topologies.picture.load import STEPS
from pcn.topologies.picture.svg import STYLE, svg
from pcn.web.history import History, Item

STATIC = Path(__file__).resolve().parent / "static"


def described(topology: Topology, *, scheme: bool = True, **about: Any) -> dict[str, Any]:
    """Returns what the page needs of a network before its first frame; `about` is what its title
    shows. `scheme`: its hosts run one; without, it is any P4 network, whose rates are in Mbit/s."""
    ports = [
        Endpoint(switch.name, port)
        for switch in topology.switches
        for port in topology.ports(switch.name)
    ]
    return {
        "name": topology.name,
        **about,
        "scheme": scheme,
        "rate_unit": rate_unit(scheme),
        "svg": svg(topology, styled=False),
        "steps": STEPS,
        "ports": [
            {
                "port": str(port),
                "link": topology.link_name(port.node, port.port),
                "peer": str(topology.peer(port.node, port.port)),
                "rate_bps": topology.link_at(port.node, port.port).rate_bps,
            }
            for port in ports
        ],
        "hosts": [host.name for host in topology.hosts],
    }


def recorded(place: Path) -> History:
    """Returns the frames of the run that a folder keeps. Raises LabError."""
    from pcn.experiments.define.looks import label
    from pcn.experiments.results.stored_run import read_run
    from pcn.web.members import members
    from pcn.web.packed import packed

    run, history = read_run(place), History()
    stretched = f", time stretched {run.k:g} times" if run.k != 1 else ""
    name = f"{run.scenario}: {label(run.scheme)} on {run.topology.name}"
    title = f"{name}, {run.clock} clock{stretched}"
    about = described(run.topology, title=title, network=None, live=False, control=False)
    names = {host.name for host in run.topology.hosts}
    nodes = frozenset(names | {switch.name for switch in run.topology.switches})
    history.begin({**about, "members": members(place, nodes)})
    history.add_packed(packed(run.columns()))
    history.over("the end of the recording")
    return history


def one_file(history: History) -> str:
    """Returns the page with its scripts, styles and frames inside."""

    def style(match: re.Match[str]) -> str:
        return f"<style>\n{STYLE if match[1] == 'network.css' else _text(match[1])}\n</style>"

    def script(match: re.Match[str]) -> str:
        return f"<script>\n{_text(match[1])}\n</script>"

    frames = ",\n".join(
        f"[{item.number},{json.dumps(item.kind)},{item.text}]" for item in _items(history)
    )
    frames = frames.replace("<", "\\u003c")  # no text in there ends the element
    page = re.sub(r'<link rel="stylesheet" href="static/([^"]+)">', style, _text("page.html"))
    page, scripts = (
        re.sub(r"<script .*</script>\n", "", page),
        re.findall(r'<script src="static/[^"]+" .*</script>', page),
    )
    inside = "\n".join(
        re.sub(r'<script src="static/([^"]+)" .*</script>', script, tag) for tag in scripts
    )
    data = f'<script type="application/json" id="recorded">[{frames}]</script>'
    return page.replace("</body>", f"{data}\n{inside}\n</body>")


def _items(history: History) -> Iterator[Item]:
    number = 0
    while items := history.after(number):
        yield from items
        number = items[-1].number


def _text(name: str) -> str:
    return (STATIC / name).read_text(encoding="utf-8")
