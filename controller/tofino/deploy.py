"""A program and a lab's entries into a Tofino switch, over P4Runtime."""

from __future__ import annotations

import contextlib
from collections import Counter as Counts
from collections.abc import Callable
from dataclasses import dataclass

from controller.configure import SwitchPlan, entries
from controller.constants import CLASSES, index
from controller.control_plane import CloneSession, Counter, TableAction, TableEntry, TableMatch
from controller.errors import SwitchError
from controller.routes import Route
from controller.switch import SwitchClient
from controller.tofino import qcn, tcd
from controller.tofino.counters import of_frames
from controller.tofino.model import TofinoLab
from controller.tofino.package import Package

CONNECT_LIMIT_S = 10.0
# Errors come back one an entry, in metadata that gRPC limits to 8 KB.
_BATCH = 100


@dataclass(frozen=True)
class Cell:
    """A counter's cell: of a port and a class, or, in `dropped`, a reason. Bytes are those of frames without FCS."""

    counter: str
    port: int
    number: int
    value: Counter


@dataclass(frozen=True)
class Deployed:
    """The switch's state after deployment, as read from it. `entries`: by table."""

    entries: dict[str, int]
    counters: tuple[Cell, ...]


def plan(lab: TofinoLab) -> SwitchPlan:
    """Returns what the switch is programmed with. PFC is the traffic manager's: see `controller.tofino.buffers`."""
    return SwitchPlan(
        lab.switch,
        routes=tuple(
            Route(str(route.network.network_address), route.mac, route.port, route.network.prefixlen)
            for route in lab.routes
        ),
        pfc=(),
    )


def rest_entries(lab: TofinoLab) -> list[TableEntry]:
    """Returns how a pause of each port is known by its rest, and which classes PFC stops."""
    actions = {one.number: "set_rest" for one in lab.lossless} | {one.number: "goes_before" for one in lab.delaying}
    return [
        TableEntry(
            "rest_config",
            match=TableMatch({"port": port.number, "class": number}),
            action=TableAction(action, gap_ns=port.gap_ns),
        )
        for port in lab.ports
        for number, action in sorted(actions.items())
    ]


def sessions(lab: TofinoLab, package: Package) -> list[CloneSession]:
    """By which the program copies packets."""
    return qcn.sessions(lab) if package.name in qcn.PROGRAMS else []


def check(lab: TofinoLab, package: Package) -> list[TableEntry]:
    """Returns the entries, each encoded by the program's p4info. Raises SwitchError for what the program doesn't
    have."""
    if package.name in qcn.PROGRAMS:
        marking = qcn.entries(lab, package.name)
    else:
        marking = [*rest_entries(lab), *(tcd.entries(lab, lab.tcd) if package.name == "tcd" else [])]
    made = [*marking, *entries(plan(lab))]
    for entry in made:
        try:
            entry.encode(package.schema)
        except ValueError as error:
            raise SwitchError(f"{lab.switch}: program {package.name}: {entry}: {error}") from None
    for name, count in Counts(entry.table_id for entry in made).items():
        size = package.schema.tables[name].size
        if count > size:
            raise SwitchError(f"{lab.switch}: {count} entries for {name}, which holds {size} in program {package.name}")
    return made


def deploy(
    lab: TofinoLab, package: Package, address: str, election_id: int, progress: Callable[[str], None]
) -> Deployed:
    """Loads the program, which empties the switch's tables and stops its traffic meanwhile, and writes the entries.

    Raises SwitchError.
    """
    made = check(lab, package)
    progress(f"connecting to {address}")
    with contextlib.closing(_connect(lab, address)) as client:
        client.become_primary(election_id)
        progress(f"program {package.name}, {len(package.data) / 1e6:.1f} MB")
        client.set_pipeline(package)
        progress(f"{len(made)} entries")
        written: list[CloneSession | TableEntry] = [*sessions(lab, package), *made]
        for start in range(0, len(written), _BATCH):
            client.insert(written[start : start + _BATCH])
        return _read(lab, client)


def look(lab: TofinoLab, address: str) -> Deployed:
    """Returns what a switch holds that has its program already; nothing is changed. Raises SwitchError."""
    with contextlib.closing(_connect(lab, address)) as client:
        return _read(lab, client)


def _connect(lab: TofinoLab, address: str) -> SwitchClient:
    return SwitchClient.connect(lab.switch, address, lab.device, limit_s=CONNECT_LIMIT_S)


def _read(lab: TofinoLab, client: SwitchClient) -> Deployed:
    """Returns the entries that were written, and counters of the lab's ports. A counter is read whole: the chip copies
    it to memory at once."""
    written = [table for table in client.tables() if not client.schema.tables[table].is_const]
    held = {table: sum(not entry.is_default_action for entry in client.read_table(table)) for table in written}
    wanted = [index(port.number, number) for port in lab.ports for number in range(CLASSES)]
    cells = []
    for counter in client.counters():
        found, name = client.read_counters(counter), client.counter_name(counter)
        cells += [
            Cell(counter, *divmod(cell, CLASSES), of_frames(name, found[cell])) for cell in wanted if cell in found
        ]
    return Deployed(held, tuple(cells))
