"""`pcn workload`: distributions of flow sizes, by name and in files."""

from __future__ import annotations

from dataclasses import asdict
from pathlib import Path

import click

from pcn.commands.common import FilePath, print_json, print_table
from pcn.commands.output import note, output_options, say
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
@output_options
def list_workloads(as_json: bool) -> None:
    """List the distributions by name, with their means and sources.

    \b
    Examples:
      pcn workload list
    """
    from pcn.base.units import quantity_text
    from pcn.experiments.define.published_sizes import PUBLISHED

    rows = [
        (name, published.sizes.mean_bytes, published.source)
        for name, published in PUBLISHED.items()
    ]
    if as_json:
        print_json([dict(zip(("name", "mean_bytes", "source"), row, strict=True)) for row in rows])
        return
    print_table(
        "",
        ("workload", "mean", "what it is"),
        [(name, quantity_text("size", round(mean)), source) for name, mean, source in rows],
    )


@workload.command()
@click.argument("name", metavar="WORKLOAD|FILE", shell_complete=complete_workload)
@output_options
def show(name: str, as_json: bool) -> None:
    """Print a distribution as lines SIZE SHARE, which --workload reads: bytes, and percent of the
    flows up to it.

    \b
    Examples:
      pcn workload show GoogleRPC
    """
    from pcn.experiments.define.published_sizes import percentiles
    from pcn.experiments.traffic.spec import parse_spec, sizes

    distribution = sizes(parse_spec(workload=name))
    if as_json:
        sizes_up_to = [
            {"bytes": round(size), "share": share} for size, share in percentiles(distribution)
        ]
        print_json(
            {"name": distribution.name, "mean_bytes": distribution.mean_bytes, "sizes": sizes_up_to}
        )
        return
    say(f"# {distribution.name}: {distribution.mean_bytes:,.0f} bytes on average")
    for size, share in percentiles(distribution):
        say(f"{round(size)} {100 * share:.12g}")


@workload.command()
@click.argument("file", type=FilePath())
@output_options
def flows(file: Path, as_json: bool) -> None:
    """Print the flows of FILE, in whichever format --flows reads, as CSV, with FILE's names of
    hosts.

    \b
    Examples:
      pcn workload flows flow.txt > flows.csv
    """
    from pcn.experiments.traffic.flow_files.csv_file import written
    from pcn.experiments.traffic.flow_files.reading import notes, read_flows

    read = read_flows(file)
    if as_json:
        print_json([asdict(flow) for flow in read])
        return
    for line in written(read):
        say(line, nl=False)
    for remark in notes(file):
        note(remark)
