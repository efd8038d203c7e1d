"""`pcn tables`, `pcn counters`, `pcn registers`: what a switch holds, by the names of its program."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import click

from pcn.commands.common import network_option, print_json, print_pace, print_table
from pcn.commands.output import output_options
from pcn.complete import complete_counter, complete_register, complete_switch, complete_table

if TYPE_CHECKING:
    from pcn.lab.attach import Attached


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
    from pcn.lab.attach import attach
    from pcn.present import assignments, entry

    with attach(network) as lab:
        client = lab.switches[switch]
        found = {
            table: [entry(client, made) for made in client.read_table(table)]
            for table in ([name] if name else client.tables())
        }
    if as_json:
        print_json(found)
        return
    for table, entries in found.items():
        rows = [
            ("default" if one["default"] else assignments(one["match"]), one["action"], assignments(one["parameters"]))
            for one in entries
        ]
        print_table(f"{switch} {table}: {len(rows)} entries", ("match", "action", "parameters"), rows)


@click.command()
@click.argument("switch", shell_complete=complete_switch)
@click.argument("name", required=False, shell_complete=complete_counter)
@click.option("--all", "every", is_flag=True, help="Show cells that are zero, too.")
@network_option
@output_options
def counters(switch: str, name: str | None, every: bool, network: str | None, as_json: bool) -> None:
    """Show counters of SWITCH.

    All, or the counter NAME: by port and class (`dropped`: by port and reason). in_discards and out_discards are the
    switch's own, not its program's: frames that it was too slow for, and frames that were to leave while the link was
    down or a queue full. Of PFC frames packets alone are counted.

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
        wanted = [one for one in ([name] if name else client.counters()) if one not in interface_counters.DISCARDS]
        found, _ = client.read_cells(wanted, ())
        rows: list[dict[str, Any]] = [
            {"counter": counter, **_place(cell), "packets": value.packets, "bytes": value.bytes}
            for counter, cells in found.items()
            for cell, value in sorted(cells.items())
            if value.packets or (every and cell in _cells(lab, switch))
        ]
        if name is None or name in interface_counters.DISCARDS:
            counted = interface_counters.read(client) or {}
            rows += [
                {"counter": counter, "port": port, "class": None, "packets": packets, "bytes": None}
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
        ("counter", "port", "class", "link", "packets", "bytes"),
        [
            (
                *(r["counter"], r["port"], "-" if r["class"] is None else r["class"], _link(lab, switch, r["port"])),
                *(r["packets"], r["bytes"] or "-"),
            )
            for r in rows
        ],
    )


@click.command()
@click.argument("switch", shell_complete=complete_switch)
@click.argument("name", required=False, shell_complete=complete_register)
@click.option("--all", "every", is_flag=True, help="Show cells that are zero, too.")
@network_option
@output_options
def registers(switch: str, name: str | None, every: bool, network: str | None, as_json: bool) -> None:
    """Show registers of SWITCH.

    All, or the register NAME: by port and class.

    \b
    Examples:
      pcn registers s0
      pcn registers s0 waiting_bytes
      pcn registers s0 pn --all --json
    """
    from pcn.lab.attach import attach

    with attach(network) as lab:
        client = lab.switches[switch]
        _, found = client.read_cells((), [name] if name else list(client.registers()))
        rows: list[dict[str, Any]] = [
            {"register": register, **_place(cell), "value": value}
            for register, cells in found.items()
            for cell, value in sorted(cells.items())
            if value or (every and cell in _cells(lab, switch))
        ]
        print_pace(lab.record, as_json)
    if as_json:
        print_json(rows)
        return
    print_table(
        f"{switch}: registers{'' if every else ' that are not zero'}",
        ("register", "port", "class", "link", "value"),
        [(r["register"], r["port"], r["class"], _link(lab, switch, r["port"]), r["value"]) for r in rows],
    )


def _place(cell: int) -> dict[str, int]:
    from pcn.controller.constants import CLASSES

    return {"port": cell // CLASSES, "class": cell % CLASSES}


def _cells(lab: Attached, switch: str) -> Sequence[int]:
    from pcn.controller.constants import CLASSES, index

    return [index(port, number) for port in lab.topology.ports(switch) for number in range(CLASSES)]


def _link(lab: Attached, switch: str, port: int) -> str:
    return lab.topology.link_name(switch, port) if port in lab.topology.ports(switch) else "-"
