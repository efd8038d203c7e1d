"""`pcn tables`, `pcn counters`, `pcn registers`: what a switch holds, by the names of its
program."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any, TypeVar

import click

from pcn.commands.common import network_option, print_json, print_pace, print_table
from pcn.commands.output import output_options
from pcn.complete import complete_counter, complete_register, complete_switch, complete_table

if TYPE_CHECKING:
    from pcn.lab.attach import Attached

T = TypeVar("T")


@click.command()
@click.argument("switch", shell_complete=complete_switch)
@click.argument("name", required=False, shell_complete=complete_table)
@network_option
@output_options
def tables(switch: str, name: str | None, network: str | None, as_json: bool) -> None:
    """Show table entries of SWITCH.

    Of all tables, or of the table NAME.

    \b
    Examples:
      pcn tables s0
      pcn tables s0 ipv4_lpm
      pcn tables s0 pfc_config --json
    """
    from pcn.entry_text import assignments, entry
    from pcn.lab.attach import attach

    with attach(network) as lab:
        client = lab.switches[switch]
        by_table = {
            table: [entry(client, table_entry) for table_entry in client.read_table(table)]
            for table in ([name] if name else client.tables())
        }
    if as_json:
        print_json(by_table)
        return
    for table, entries in by_table.items():
        rows = [
            (
                "default" if entry["default"] else assignments(entry["match"]),
                entry["action"],
                assignments(entry["parameters"]),
            )
            for entry in entries
        ]
        print_table(
            f"{switch} {table}: {len(rows)} entries", ("match", "action", "parameters"), rows
        )


@click.command()
@click.argument("switch", shell_complete=complete_switch)
@click.argument("name", required=False, shell_complete=complete_counter)
@click.option("--all", "every", is_flag=True, help="Show cells that are zero, too.")
@network_option
@output_options
def counters(
    switch: str, name: str | None, every: bool, network: str | None, as_json: bool
) -> None:
    """Show counters of SWITCH.

    All, or the counter NAME: by port and class (`dropped`: by port and reason). in_discards and
    out_discards are the switch's own, not its program's: frames that it was too slow for, and
    frames that were to leave while the link was down or a queue full. Of PFC frames packets alone
    are counted.

    \b
    Examples:
      pcn counters s0
      pcn counters s0 marked
      pcn counters s1 pause_sent --all --json
    """
    from pcn.controller import interface_counters
    from pcn.lab.attach import attach

    with attach(network) as lab:
        client = lab.switches[switch]
        wanted = [
            counter
            for counter in ([name] if name else client.counters())
            if counter not in interface_counters.DISCARDS
        ]
        by_counter, _ = client.read_cells(wanted, ())
        ports = (None, *lab.topology.ports(switch))
        rows: list[dict[str, Any]] = [
            {"counter": counter, **place, "packets": value.packets, "bytes": value.bytes}
            for counter, cells in by_counter.items()
            for place, value in _placed(lab, switch, client.schema.counters[counter].size, cells)
            if value.packets or (every and place["port"] in ports)
        ]
        if name is None or name in interface_counters.DISCARDS:
            counted = interface_counters.read(client) or {}
            rows += [
                {
                    "counter": counter,
                    "index": None,
                    "port": port,
                    "class": None,
                    "packets": packets,
                    "bytes": None,
                }
                for counter in ([name] if name else interface_counters.DISCARDS)
                for port, counts in counted.items()
                if (packets := getattr(counts, counter)) or every
            ]
        print_pace(lab.record, as_json)
    if as_json:
        print_json(rows)
        return
    print_table(
        f"{switch}: counters{'' if every else ' that are not zero'}",
        ("counter", *_COLUMNS, "packets", "bytes"),
        [(r["counter"], *_shown(lab, switch, r), r["packets"], r["bytes"] or "-") for r in rows],
    )


@click.command()
@click.argument("switch", shell_complete=complete_switch)
@click.argument("name", required=False, shell_complete=complete_register)
@click.option("--all", "every", is_flag=True, help="Show cells that are zero, too.")
@network_option
@output_options
def registers(
    switch: str, name: str | None, every: bool, network: str | None, as_json: bool
) -> None:
    """Show registers of SWITCH.

    All, or the register NAME: by index, and by port and class where the program's registers are by
    these.

    \b
    Examples:
      pcn registers s0
      pcn registers s0 waiting_bytes
      pcn registers s0 pn --all --json
    """
    from pcn.lab.attach import attach

    with attach(network) as lab:
        client = lab.switches[switch]
        _, by_register = client.read_cells((), [name] if name else list(client.registers()))
        ports = (None, *lab.topology.ports(switch))
        rows: list[dict[str, Any]] = [
            {"register": register, **place, "value": value}
            for register, cells in by_register.items()
            for place, value in _placed(lab, switch, client.schema.registers[register].size, cells)
            if value or (every and place["port"] in ports)
        ]
        print_pace(lab.record, as_json)
    if as_json:
        print_json(rows)
        return
    print_table(
        f"{switch}: registers{'' if every else ' that are not zero'}",
        ("register", *_COLUMNS, "value"),
        [(r["register"], *_shown(lab, switch, r), r["value"]) for r in rows],
    )


_COLUMNS = ("index", "port", "class", "link")


def _placed(
    lab: Attached, switch: str, size: int, cells: Mapping[int, T]
) -> Iterator[tuple[dict[str, int | None], T]]:
    """Yields the cells in order, each with its index, and its port and class where the program is
    known to have one for each: the project's, and those that have its part with PFC's table."""
    from pcn.controller import pfc
    from pcn.controller.constants import CELLS, CLASSES, PORTS

    known = pfc.TABLE in lab.switches[switch].tables()
    classes = {CELLS: CLASSES, PORTS: 1}.get(size) if known else None
    for cell, value in sorted(cells.items()):
        port, number = (None, None) if classes is None else divmod(cell, classes)
        yield {"index": cell, "port": port, "class": number if classes == CLASSES else None}, value


def _shown(lab: Attached, switch: str, row: Mapping[str, Any]) -> tuple[object, ...]:
    """Returns the texts of `_COLUMNS`."""
    link = (
        lab.topology.link_name(switch, row["port"])
        if row["port"] in lab.topology.ports(switch)
        else "-"
    )
    return (*("-" if row[name] is None else row[name] for name in _COLUMNS[:3]), link)
