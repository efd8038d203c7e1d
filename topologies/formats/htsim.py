""".topo of htsim (ultraethernet/uet-htsim, fat_tree_topology.cpp): a fat-tree of two or three
tiers, tier by tier.

Nodes 1024            hosts
Tiers 3
Podsize 64            hosts a pod
Tier 0                ToRs; then 1, and 2 for cores
Downlink_speed_Gbps 100
Downlink_Latency_ns 1000
Radix_Down 8          ports down, and up
Radix_Up 8
Oversubscribed 1      ports down over ports up, of tiers that have an upper one
Bundle 1              parallel links down to each switch of the tier below
Queue_Down, Queue_Up, Switch_Latency_ns
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from pcn.base.errors import nearest
from pcn.topologies.formats.draft import MOST_HOSTS, MOST_LINKS, Draft, End
from pcn.topologies.formats.source import Format, FormatError, Line, Source
from pcn.topologies.model import MAX_PORT, Switch, Topology

_HEAD = {"nodes": "Nodes", "tiers": "Tiers", "podsize": "Podsize"}
_OF_TIER = {
    name.lower(): name
    for name in (
        *(
            "Downlink_speed_Gbps",
            "Downlink_Latency_ns",
            "Radix_Down",
            "Radix_Up",
            "Oversubscribed",
            "Bundle",
        ),
        *("Queue_Down", "Queue_Up", "Switch_Latency_ns"),
    )
}
_MOST = 2**31 - 1


@dataclass
class _Tier:
    """Values by lower-case name, and their lines."""

    line: int
    values: dict[str, int] = field(default_factory=dict)
    lines: dict[str, int] = field(default_factory=dict)


@dataclass
class _File:
    source: Source
    head: _Tier
    tiers: dict[int, _Tier]

    def of(self, tier: int, name: str, default: int | None = None, least: int = 1) -> int:
        """Returns a tier's value. Raises FormatError."""
        section = self.tiers[tier]
        value = section.values.get(name, default)
        if value is None:
            raise self.source.error(section.line, f"tier {tier} has no {_OF_TIER[name]}")
        if value < least:
            raise self.source.error(
                section.lines[name], f"{_OF_TIER[name]} {value}: at least {least}"
            )
        return value

    def fail(self, tier: int, name: str, text: str) -> FormatError:
        section = self.tiers[tier]
        return self.source.error(section.lines.get(name, section.line), text)


def read(source: Source, delay_s: float | None = None) -> Topology:
    """Returns the topology of a file. `delay_s`: of links of tiers without Downlink_Latency_ns.
    Raises FormatError."""
    file = _parsed(source)
    nodes, pod, tiers = (file.head.values[name] for name in ("nodes", "podsize", "tiers"))
    down = [file.of(tier, "radix_down") for tier in range(tiers)]
    up = [file.of(tier, "radix_up") for tier in range(tiers - 1)]
    bundle = [file.of(tier, "bundle", 1) for tier in range(tiers)]
    counts = _counts(file, nodes, pod if tiers == 3 else nodes, down, up, bundle)
    draft = Draft(source, delay_s=delay_s)
    for host in range(nodes):
        draft.host(file.head.line, f"h{host}")
    for tier, (letter, count) in enumerate(zip("tac" if tiers == 3 else "ta", counts, strict=True)):
        settings = Switch("", 0, latency_s=file.of(tier, "switch_latency_ns", 0, 0) / 1e9)
        for number in range(count):
            draft.switch(file.tiers[tier].line, f"{letter}{number}", settings=settings)
    _links(file, draft, counts, down, up, bundle)
    return draft.topology()


def _links(
    file: _File, draft: Draft, counts: list[int], down: list[int], up: list[int], bundle: list[int]
) -> None:
    """Each switch's ports: down first, then up."""

    def link(tier: int, lower: str, upper: str) -> None:
        rate_bps = file.of(tier, "downlink_speed_gbps") * 1e9
        delay_ns = file.tiers[tier].values.get("downlink_latency_ns", 0)
        draft.link(
            file.tiers[tier].line,
            End(lower),
            End(upper),
            rate_bps,
            delay_ns / 1e9 if delay_ns else None,
        )

    for host in range(len(draft.hosts)):
        link(0, f"h{host}", f"t{host // down[0]}")
    aggs = up[0] // bundle[1]  # of a pod
    tors = counts[0] * aggs // counts[1]
    for tor in range(counts[0]):
        for agg in range(aggs):
            for _ in range(bundle[1]):
                link(1, f"t{tor}", f"a{tor // tors * aggs + agg}")
    if len(counts) == 3:
        for agg in range(counts[1]):
            for place in range(up[1] // bundle[2]):
                for _ in range(bundle[2]):
                    link(2, f"a{agg}", f"c{agg % aggs + aggs * place}")


def _counts(
    file: _File, nodes: int, pod: int, down: list[int], up: list[int], bundle: list[int]
) -> list[int]:
    """Returns the switches of each tier. Raises FormatError where the numbers make no fat-tree."""
    if bundle[0] != 1:
        raise file.fail(0, "bundle", "Bundle of tier 0: a host has one link")
    if nodes > MOST_HOSTS:
        raise file.source.error(
            file.head.lines["nodes"], f"Nodes {nodes}: {MOST_HOSTS:,} are possible"
        )
    for tier, ports in enumerate(up):
        upper = tier + 1
        for radix, name, where in ((ports, "radix_up", tier), (down[upper], "radix_down", upper)):
            if radix % bundle[upper]:
                text = (
                    f"{_OF_TIER[name]} {radix} is no multiple of the Bundle of tier {upper}, "
                    f"{bundle[upper]}"
                )
                raise file.fail(where, name, text)
        oversubscribed = file.of(tier, "oversubscribed", 1)
        if down[tier] // ports != oversubscribed:
            text = (
                f"Oversubscribed {oversubscribed}: Radix_Down / Radix_Up is {down[tier]} / {ports}"
            )
            raise file.fail(tier, "oversubscribed", text)
    _check_hosts(file, nodes, pod, down, bundle)
    counts = [nodes // down[0]]
    for tier, ports in enumerate(up):
        upper = tier + 1
        counts.append(counts[tier] * ports // down[upper])
        if counts[-1] * down[upper] > MOST_LINKS:
            raise file.fail(upper, "radix_down", f"more than {MOST_LINKS:,} links")
    for tier, radix in enumerate(down):
        ports = radix + (up[tier] if tier < len(up) else 0)
        if ports > MAX_PORT:
            raise file.fail(tier, "radix_down", f"{ports} ports a switch: {MAX_PORT} are possible")
    return counts


def _check_hosts(file: _File, nodes: int, pod: int, down: list[int], bundle: list[int]) -> None:
    """Whether the radixes make as many hosts: a pod has each of its ToRs at each of its aggregation
    switches, and all pods are at each core. Raises FormatError."""
    hosts, parts = down[0], f"Radix_Down {down[0]} of tier 0"
    of_tiers = [("Podsize", pod), ("Nodes", nodes)] if len(down) == 3 else [("Nodes", nodes)]
    for tier, (name, value) in enumerate(of_tiers, start=1):
        hosts *= down[tier] // bundle[tier]
        parts += f" x {down[tier]} of tier {tier}" + (
            f" / Bundle {bundle[tier]}" if bundle[tier] > 1 else ""
        )
        if value != hosts:
            text = f"{name} {value}, but the radixes make {hosts} hosts: {parts}"
            raise file.source.error(file.head.lines[name.lower()], text)


def _parsed(source: Source) -> _File:
    head, tiers = _Tier(1), dict[int, _Tier]()
    current, known = head, _HEAD
    for line in source.lines():
        key = line.words[0].lower()
        if key.startswith("#"):
            continue
        value = _whole(source, line)
        if key == "tier":
            if value in tiers or value > 2:
                raise source.error(line.number, f"tier {value}: 0, 1 and 2 are possible, each once")
            current = tiers[value] = _Tier(line.number)
            known = _OF_TIER
            continue
        if key not in known:
            near = nearest(line.words[0], [*known.values(), "Tier"])
            raise source.error(line.number, f"no attribute {line.words[0]!r} here; {near}")
        if key in current.values:
            raise source.error(
                line.number, f"{known[key]} stands in line {current.lines[key]} already"
            )
        current.values[key], current.lines[key] = value, line.number
    for key, name in _HEAD.items():
        if head.values.get(key, 0) < 1:
            raise source.error(head.lines.get(key, 1), f"{name} is missing, or 0")
    wanted = head.values["tiers"]
    if wanted not in (2, 3) or set(tiers) != set(range(wanted)):
        raise source.error(
            head.lines["tiers"],
            f"Tiers {wanted}: 2 or 3 are possible, and each needs its `Tier` lines",
        )
    return _File(source, head, tiers)


def _whole(source: Source, line: Line) -> int:
    word = line.words[1] if len(line.words) == 2 else ""
    if not (word.isascii() and word.isdigit() and len(word) <= 10 and int(word) <= _MOST):
        number = re.match("[0-9]{1,10}", word)
        whole = f"{line.words[0]} {number[0]}, without a unit" if number else "Tiers 3"
        raise source.error(
            line.number,
            f"{' '.join(line.words)[:40]!r}: write a name and a whole number, as {whole}",
        )
    return int(word)


def _recognises(source: Source) -> bool:
    heads = [line.words[0].lower() for line in source.lines("#")][:3]
    return source.path.suffix == ".topo" or (bool(heads) and set(heads) <= {*_HEAD, "tier"})


FORMAT = Format(
    name="htsim",
    summary=".topo of htsim (uet-htsim)",
    read=read,
    recognises=_recognises,
    elsewhere={
        "rate_bps": "the file has each tier's rate, Downlink_speed_Gbps",
        "split_hosts": "each host of the file has one link",
    },
    fields={
        (
            "`Nodes`, `Tiers`, `Podsize`"
        ): "hosts `h0` ..., the switches `t0` (ToRs), `a0`, `c0` (cores) of 2 or 3 tiers",
        "`Downlink_speed_Gbps`": "rate of the links down from a tier",
        "`Downlink_Latency_ns`": "their delay; without it `--set delay_s=1us`, htsim's own default",
        (
            "`Radix_Down`, `Radix_Up`, `Bundle`"
        ): "ports and parallel links, wired as htsim does; numbers that make no "
        "fat-tree are refused",
        "`Oversubscribed`": "checked against the radixes",
        "`Queue_Down`, `Queue_Up`": "left out: PFC's thresholds decide (`--set xoff_bytes=...`)",
        "`Switch_Latency_ns`": "the switches' latency",
        "addresses": "assumed: 10.0.0.1 and so on, in order; files have none",
    },
)
