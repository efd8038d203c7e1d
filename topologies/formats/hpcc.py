"""topology.txt of HPCC's ns-3 simulation, and of what came of it (SIGCOMM'19: alibaba-edu's
repository).

    NODES SWITCHES LINKS
    the switches' numbers; all other nodes are hosts
    SRC DST RATE DELAY ERROR_RATE        of each link

Forks that count ToRs have four numbers in the first line. What follows the last link is a comment.
"""

from __future__ import annotations

from collections.abc import Iterator

from pcn.topologies.formats import ns3_units
from pcn.topologies.formats.draft import MOST_HOSTS, MOST_SWITCHES, Draft, End
from pcn.topologies.formats.source import Format, FormatError, Line, Source
from pcn.topologies.model import Topology

_HEAD = "NODES SWITCHES LINKS"
_LINK = "SRC DST RATE DELAY ERROR_RATE, as 0 320 100Gbps 1000ns 0"


def read(source: Source, split_hosts: int = 0) -> Topology:
    """Raises FormatError."""
    lines = source.lines()
    head = next(lines, None)
    if head is None:
        raise source.error(1, f"empty: the first line is {_HEAD}")
    if len(head.words) not in (3, 4):
        raise source.error(head.number, f"{len(head.words)} words: the first line is {_HEAD}")
    nodes, switches, links = (_count(source, head, head.words[place]) for place in (0, 1, -1))
    return network(source, lines, head.number, nodes, switches, links).topology(split_hosts)


def network(
    source: Source, lines: Iterator[Line], line: int, nodes: int, switches: int, links: int
) -> Draft:
    """Returns the network that follows a first line of these numbers. Raises FormatError."""
    if nodes - switches > MOST_HOSTS or switches > MOST_SWITCHES:
        raise source.error(
            line, f"{nodes} nodes: {MOST_HOSTS:,} hosts and {MOST_SWITCHES:,} switches are possible"
        )
    if switches > nodes:
        raise source.error(line, f"{switches} switches of {nodes} nodes: the first line is {_HEAD}")
    numbers = _switches(source, lines, nodes, switches)
    draft = Draft(source)
    names = [f"{'s' if number in numbers else 'h'}{number}" for number in range(nodes)]
    for number, name in enumerate(names):
        if number in numbers:
            draft.switch(numbers[number], name)
        else:
            draft.host(line, name)
    for row in lines:
        if len(draft.links) == links:
            break
        line = row.number
        if len(row.words) != 5:
            raise source.error(line, f"{len(row.words)} words: a link is {_LINK}")
        ends = [End(names[_node(source, row, word, nodes)]) for word in row.words[:2]]
        rate_bps, delay_s, errors = _numbers(source, row)
        if errors:
            raise source.error(line, f"error rate {row.words[4]}: links here lose nothing; write 0")
        draft.link(line, ends[0], ends[1], rate_bps, delay_s)
    if len(draft.links) < links:
        raise source.error(line, f"{len(draft.links)} links: the first line counts {links}")
    return draft


def _switches(source: Source, lines: Iterator[Line], nodes: int, switches: int) -> dict[int, int]:
    """Returns the lines of the switches, by number."""
    switch_lines: dict[int, int] = {}
    first = 0
    while len(switch_lines) < switches:
        row = next(lines, None)
        if row is None:
            raise FormatError(
                f"{source.path}: ends after {len(switch_lines)} of {switches} switches' numbers"
            )
        if switch_lines and not all(word.isdigit() for word in row.words):  # a link's line
            raise source.error(
                first, f"{len(switch_lines)} switches' numbers: the first line counts {switches}"
            )
        first = first or row.number
        for word in row.words:
            number = _node(source, row, word, nodes)
            if number in switch_lines:
                raise source.error(
                    row.number, f"switch {number} stands in line {switch_lines[number]} already"
                )
            switch_lines[number] = row.number
        if len(switch_lines) > switches:
            raise source.error(
                row.number,
                f"{len(switch_lines)} switches' numbers: the first line counts {switches}",
            )
    return switch_lines


def _count(source: Source, line: Line, word: str) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10):
        raise source.error(line.number, f"{word!r} is no number: the first line is {_HEAD}")
    return int(word)


def _node(source: Source, line: Line, word: str, nodes: int) -> int:
    if not (word.isascii() and word.isdigit() and len(word) < 10 and int(word) < nodes):
        raise source.error(line.number, f"no node {word!r}: nodes are numbered 0 to {nodes - 1}")
    return int(word)


def _numbers(source: Source, line: Line) -> tuple[float, float, float]:
    """Returns the rate, delay, error rate of a link."""
    try:
        rate_bps, delay_s, errors = (
            ns3_units.rate(line.words[2]),
            ns3_units.time(line.words[3]),
            float(line.words[4]),
        )
    except ValueError as error:
        raise source.error(line.number, f"{error}; a link is {_LINK}") from None
    if not rate_bps > 0:
        raise source.error(line.number, f"rate {line.words[2]}: must be above 0")
    return rate_bps, delay_s, errors


def write(topology: Topology) -> str:
    """Nodes are numbered as their names have it, where these are those of `read`, or else hosts
    first, in order."""
    numbers = numbered(topology)
    switches = " ".join(str(numbers[switch.name]) for switch in topology.switches)
    links = (
        f"{numbers[link.a.node]} {numbers[link.b.node]} {ns3_units.rate_text(link.rate_bps)} "
        f"{ns3_units.time_text(link.delay_s)} 0"
        for link in topology.links
    )
    head = f"{len(numbers)} {len(topology.switches)} {len(topology.links)}"
    return "\n".join([head, switches, *links, ""])


def numbered(topology: Topology) -> dict[str, int]:
    names = [host.name for host in topology.hosts] + [switch.name for switch in topology.switches]
    if all(name[1:].isdecimal() for name in names):
        numbers = {name: int(name[1:]) for name in names}
        order = sorted(names, key=numbers.__getitem__)
        if [numbers[name] for name in order] == list(range(len(names))):
            return numbers
    return {name: number for number, name in enumerate(names)}


def renumbered(topology: Topology) -> str:
    """Names a host that flow.txt has by another number than its name's, and a port that a reader of
    the file counts otherwise; empty: there is neither."""
    numbers, remarks = numbered(topology), []
    others = [host.name for host in topology.hosts if host.name != f"h{numbers[host.name]}"]
    if others:
        host = others[len(others) > 1]  # not node 0, whose number is as good as its name's
        remarks.append(
            f"hosts are numbered anew: {host} is node {numbers[host]}, so files of flows need new "
            "numbers"
        )
    following = dict.fromkeys(numbers, 0) | {switch.name: 1 for switch in topology.switches}
    for end in (end for link in topology.links for end in (link.a, link.b)):
        if end.port != following[end.node]:
            place = f"{end.node}:{following[end.node]}"
            remarks.append(f"ports are numbered anew, in the order of links: {end} becomes {place}")
            break
        following[end.node] += 1
    return "; ".join(remarks)


def _recognises(source: Source) -> bool:
    head = next(source.lines(), None)
    return (
        head is not None
        and len(head.words) in (3, 4)
        and all(word.isdigit() for word in head.words)
    )


ELSEWHERE = {
    "rate_bps": "the file has each link's rate, its third word",
    "delay_s": "the file has each link's delay, its fourth word",
}
FORMAT = Format(
    name="hpcc",
    summary="topology.txt of HPCC's ns-3 simulation and its forks, and of ASTRA-sim's ns-3 backend",
    read=read,
    write=write,
    suffix=".txt",
    recognises=_recognises,
    written_note=renumbered,
    elsewhere=ELSEWHERE,
    fields={
        (
            "first line"
        ): "counts of nodes, switches and links; of four numbers, as inet-tub's forks have them, "
        "the third "
        "is left out",
        (
            "second line"
        ): "numbers of the switches, named `s320`; all other nodes are hosts, named `h0`",
        ("`SRC DST`"): (
            "a link; ports count a node's links in the file's order, a switch's from 1, a host's "
            "from 0"
        ),
        "`RATE`": "each way; a bare number is in bit/s",
        "`DELAY`": "one way; a bare number is in seconds",
        "`ERROR_RATE`": "refused above 0",
        "lines behind the last link": "left out",
        "addresses": "assumed: 10.0.0.1 and so on, in order; files have none",
    },
)
