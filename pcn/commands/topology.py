"""`pcn topology`: lists, checks, draws and converts networks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pcn.commands.common import assignments, print_json, print_table, write_file
from pcn.commands.output import note, output_options, say
from pcn.complete import complete_topology, complete_topology_option

if TYPE_CHECKING:
    from pcn.topologies.lookup import Blueprint
    from pcn.topologies.model import Topology

set_option = click.option(
    "--set",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_topology_option,
    help="Option of the topology, e.g. rate_bps=10G.",
)


@click.group()
def topology() -> None:
    """List networks; check, draw and convert one.

    Every command takes FILE.py:NAME as a topology as well, a FILE of a format in `pcn topology
    formats`, and FORMAT:FILE.

    \b
    Examples:
      pcn topology list
      pcn topology check clos --set pods=2
      pcn topology convert clos net.yaml --set pods=2
    """


@topology.command("list")
@output_options
def list_topologies(as_json: bool) -> None:
    """List the topologies there are, installed packages' included.

    \b
    Examples:
      pcn topology list
    """
    from pcn.base.errors import LabError
    from pcn.topologies.lookup import find_topology, names

    rows = []
    for name in names():
        try:
            blueprint = find_topology(name)
            rows.append((name, ", ".join(blueprint.options), blueprint.summary))
        except LabError as error:  # of a package: others are listed all the same
            rows.append((name, "", f"can't be loaded: {error}"))
    if as_json:
        print_json([dict(zip(("name", "options", "summary"), row, strict=True)) for row in rows])
        return
    print_table("", ("topology", "what it is"), [(name, summary) for name, _, summary in rows])


@topology.command()
@click.argument("reference", metavar="TOPOLOGY", shell_complete=complete_topology)
@set_option
@output_options
def check(reference: str, options: tuple[str, ...], as_json: bool) -> None:
    """Build TOPOLOGY, check that all hosts reach each other, and print what it consists of.

    Notes name all that a run in virtual time would refuse, with frames of the topology's mtu_bytes,
    and all that a live network would.

    \b
    Examples:
      pcn topology check fat-tree --set k=6
      pcn topology check parking-lot --json
    """
    from pcn.lab.launch import virtual_alone
    from pcn.topologies import headroom
    from pcn.topologies.lookup import find_topology
    from pcn.topologies.suspect_values import unusual

    built = find_topology(reference).build(assignments(options, "rate_bps=10G"))
    properties = facts(built)
    refused = list(headroom.faults(built, built.number("mtu_bytes")))
    remarks = [*unusual(built), *(f"runs refuse it: {line}" for line in refused)]
    for remark in [*remarks, *(f"not live: {line}" for _, line in virtual_alone(built))]:
        note(remark)
    if as_json:
        print_json(properties)
        return
    rows = [
        (name, text)
        for name, value in properties.items()
        for text in (value if isinstance(value, list) else [value])
    ]
    print_table("", ("", "of the topology"), rows)


@topology.command()
@click.argument("reference", metavar="TOPOLOGY", shell_complete=complete_topology)
@click.argument("out", metavar="[FORMAT:]OUT")
@click.option(
    "--sonic",
    "sonic",
    multiple=True,
    metavar="[SWITCH=]FILE",
    help=(
        "A SONiC switch's config_db.json, for SWITCH (default: for all): buffers, PFC, ECN, "
        "weights, rates."
    ),
)
@click.option(
    "--leave-out",
    "leave_out",
    default="",
    metavar="LIST",
    help=(
        "Parts of these files that are missing here, without which they are read: headroom-pool, "
        "egress."
    ),
)
@set_option
@output_options
def convert(
    reference: str,
    out: str,
    sonic: tuple[str, ...],
    leave_out: str,
    options: tuple[str, ...],
    as_json: bool,
) -> None:
    """Write TOPOLOGY to the file OUT, in the format of its suffix or in FORMAT.

    \b
    Examples:
      pcn topology convert star net.yaml --set senders=8
      pcn topology convert topology.txt net.graphml
      pcn topology convert net.yaml hpcc:topology2.txt
      pcn topology convert star net.yaml --sonic config_db.json
    """
    from pcn.topologies.formats import sonic as config_db
    from pcn.topologies.formats.known import writer
    from pcn.topologies.lookup import find_topology

    if leave_out and not sonic:
        raise click.UsageError("--leave-out is for files of --sonic")
    form, path = writer(out)
    blueprint, values = find_topology(reference), assignments(options, "rate_bps=10G")
    built = blueprint.build(values)
    configs: dict[str, config_db.SonicSwitch] = {}
    for text in sonic:
        name, equals, file = text.rpartition("=")
        config = config_db.read(
            Path(file), [part.strip() for part in leave_out.split(",") if part.strip()]
        )
        configs |= dict.fromkeys(
            [name] if equals else [switch.name for switch in built.switches], config
        )
    equipped = config_db.apply(built, configs)
    _require_rates(blueprint, values, built, equipped)
    built = equipped
    assert form.write is not None
    write_file(path, form.write(built).encode())
    if as_json:
        print_json({"file": str(path), "format": form.name, **_counts(built)})
    else:
        say(
            f"{path}: {', '.join(f'{count} {kind}' for kind, count in _counts(built).items())}, as "
            f"{form.name}"
        )
    for remark in filter(None, (form.written_note(built), form.left_out(built))):
        note(remark)


@topology.command()
@click.argument("reference", metavar="TOPOLOGY", shell_complete=complete_topology)
@click.argument("out", metavar="OUT")
@set_option
@output_options
def draw(reference: str, out: str, options: tuple[str, ...], as_json: bool) -> None:
    """Draw TOPOLOGY to the file OUT: .svg, .png, .html or .dot.

    By tiers: hosts below, switches by their distance to the next host. Of more than 64 hosts, those
    of a rack are one box.

    \b
    Examples:
      pcn topology draw clos clos.svg
      pcn topology draw topology.txt network.html
    """
    from pcn.topologies.lookup import find_topology
    from pcn.topologies.picture import drawn

    path = Path(out)
    built = find_topology(reference).build(assignments(options, "rate_bps=10G"))
    write_file(path, drawn(built, path.suffix))
    if as_json:
        print_json({"file": str(path), **_counts(built)})
    else:
        say(f"{path}: {len(built.hosts)} hosts, {len(built.switches)} switches")


def _counts(built: Topology) -> dict[str, int]:
    return {"hosts": len(built.hosts), "switches": len(built.switches), "links": len(built.links)}


@topology.command("formats")
@output_options
def list_formats(as_json: bool) -> None:
    """List the formats of files that are read, and whether they are written.

    \b
    Examples:
      pcn topology formats
    """
    from pcn.topologies.formats.known import FORMATS, installed

    rows = [
        (format_.name, format_.summary, format_.suffix if format_.write else "")
        for format_ in (*FORMATS.values(), *installed())
    ]
    if as_json:
        print_json([dict(zip(("name", "summary", "written_to"), row, strict=True)) for row in rows])
        return
    print_table("", ("format", "files", "written to"), rows)


def _require_rates(
    blueprint: Blueprint, values: Mapping[str, str], built: Topology, equipped: Topology
) -> None:
    """Raises TopologyError where a link has another rate than an option gave it: a switch's file
    would win without a word."""
    from pcn.base.units import quantity, quantity_text
    from pcn.topologies.lookup import kind_of_option
    from pcn.topologies.model import TopologyError

    pairs = [
        (a, b) for a, b in zip(built.links, equipped.links, strict=True) if a.rate_bps != b.rate_bps
    ]
    for option, value in values.items() if pairs else ():
        if kind_of_option(option, None) != "rate":
            continue
        doubled = blueprint.build({**values, option: 2 * quantity("rate", value)})
        ends = {
            link.a
            for link, doubled_link in zip(built.links, doubled.links, strict=True)
            if link != doubled_link
        }
        for link, equipped_link in pairs:
            if link.a in ends:
                rate = quantity_text("rate", equipped_link.rate_bps)
                raise TopologyError(
                    f"{option}={value}: link {link.a} - {link.b} has {rate} by the config_db's "
                    "speed: give that rate, or take speed out of the file"
                )


def facts(built: Topology) -> dict[str, Any]:
    """Returns what a topology consists of, as texts and counts by name. Raises TopologyError where
    a host doesn't reach another one."""
    from pcn.base.units import quantity_text

    kinds = Counter((link.rate_bps, link.delay_s) for link in built.links)
    return {
        "name": built.name,
        "hosts": len(built.hosts),
        "switches": len(built.switches),
        "links": [
            f"{count} of {quantity_text('rate', rate)}, {quantity_text('time', delay)} each way"
            for (rate, delay), count in sorted(kinds.items())
        ],
        "most ports": max((len(built.ports(switch.name)) for switch in built.switches), default=0),
        "longest round trip": quantity_text("time", built.max_rtt_s()),
        "flow control": built.flow_control,
        "flows": len(built.flows),
    }
