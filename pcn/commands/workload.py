"""`pcn workload`: distributions of flow sizes, by name and in files."""

from __future__ import annotations

from pathlib import Path

import click

from pcn.commands.common import FilePath, json_option, print_json, print_table
from pcn.complete import complete_workload


@click.group()
def workload() -> None:
    """List distributions of flow sizes; print one.

    Every command takes a file of lines SIZE SHARE as a workload as well.

    \b
    Examples:
      pcn workload list
      pcn workload show WebSearch
      pcn workload flows flow.txt > flows.csv
    """


@workload.command("list")
@json_option
def list_workloads(as_json: bool) -> None:
    """List the distributions by name, with their means and sources.

    \b
    Examples:
      pcn workload list
    """
    from pcn.experiments.define.published_sizes import PUBLISHED
    from pcn.softswitch.units import quantity_text

    rows = [(name, one.sizes.mean_bytes, one.source) for name, one in PUBLISHED.items()]
    if as_json:
        print_json([dict(zip(("name", "mean_bytes", "source"), row, strict=True)) for row in rows])
        return
    print_table(
        "",
        ("workload", "mean", "what it is"),
        [(name, quantity_text("size", round(mean)), what) for name, mean, what in rows],
    )


@workload.command()
@click.argument("name", metavar="WORKLOAD|FILE", shell_complete=complete_workload)
def show(name: str) -> None:
    """Print a distribution as lines SIZE SHARE, which --workload reads: bytes, and percent of the flows up to it.

    \b
    Examples:
      pcn workload show GoogleRPC
    """
    from pcn.experiments.define.published_sizes import percentiles
    from pcn.experiments.traffic.spec import parse_spec, sizes

    found = sizes(parse_spec(workload=name))
    click.echo(f"# {found.name}: {found.mean_bytes:,.0f} bytes on average")
    for size, share in percentiles(found):
        click.echo(f"{round(size)} {100 * share:.12g}")


@workload.command()
@click.argument("file", type=FilePath())
def flows(file: Path) -> None:
    """Print the flows of FILE, in whichever format --flows reads, as CSV, with FILE's names of hosts.

    \b
    Examples:
      pcn workload flows flow.txt > flows.csv
    """
    from pcn.experiments.traffic.flow_files import notes, read_flows
    from pcn.experiments.traffic.flow_files.csv_file import written

    for line in written(read_flows(file)):
        click.echo(line, nl=False)
    for note in notes(file):
        click.echo(f"note: {note}", err=True)
