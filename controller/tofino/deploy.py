"""A program and a lab's entries into a Tofino switch, over P4Runtime."""

from __future__ import annotations

import contextlib
from collections.abc import Callable
from dataclasses import dataclass

from controller.configure import Route, SwitchPlan, entries
from controller.lab import CLASSES, index
from controller.switch import Counter, SwitchClient, TableEntry
from controller.tofino.model import TofinoLab
from controller.tofino.package import Package

CONNECT_LIMIT_S = 10.0


@dataclass(frozen=True)
class Cell:
    """A counter's cell: of a port and a class, or, in `dropped`, a reason."""

    counter: str
    port: int
    number: int
    value: Counter


@dataclass(frozen=True)
class Deployed:
    """What the switch holds now, as it tells. `entries`: by table."""

    entries: dict[str, int]
    counters: tuple[Cell, ...]


def plan(lab: TofinoLab) -> SwitchPlan:
    """What the switch is programmed with. PFC is the traffic manager's: see `controller.tofino.buffers`."""
    return SwitchPlan(
        lab.switch,
        routes=tuple(
            Route(str(route.network.network_address), route.mac, route.port, route.network.prefixlen)
            for route in lab.routes
        ),
        pfc=(),
    )


def check(lab: TofinoLab, package: Package) -> list[TableEntry]:
    """The entries, each encoded by the program's p4info: what it doesn't have is refused here. Raises SwitchError."""
    made = entries(plan(lab))
    for entry in made:
        entry.encode(package.schema)
    return made


def deploy(
    lab: TofinoLab, package: Package, address: str, election_id: int, progress: Callable[[str], None]
) -> Deployed:
    """Loads the program, which empties the switch's tables and stops its traffic meanwhile, and writes the entries.

    Raises SwitchError.
    """
    made = check(lab, package)
    progress(f"connecting to {address}")
    client = SwitchClient.connect(lab.switch, address, lab.device, limit_s=CONNECT_LIMIT_S)
    with contextlib.closing(client):
        client.become_primary(election_id)
        progress(f"program {package.name}, {len(package.data) / 1e6:.1f} MB")
        client.set_pipeline(package)
        progress(f"{len(made)} entries")
        client.insert(made)
        return read(lab, client)


def read(lab: TofinoLab, client: SwitchClient) -> Deployed:
    """Entries and counters of the lab's ports. A counter is read whole: the chip copies it to memory at once."""
    held = {table: sum(not entry.is_default_action for entry in client.read_table(table)) for table in client.tables()}
    wanted = [index(port.number, number) for port in lab.ports for number in range(CLASSES)]
    cells = []
    for counter in client.counters():
        found = client.read_counters(counter)
        cells += [Cell(counter, *divmod(cell, CLASSES), found[cell]) for cell in wanted if cell in found]
    return Deployed(held, tuple(cells))
