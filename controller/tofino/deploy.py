"""A program and a lab's entries into a Tofino switch: over P4Runtime, which Stratum has, or over BF
Runtime, which the driver has."""

from __future__ import annotations

import contextlib
import time
from collections import Counter as Counts
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from pcn.controller.configure import SwitchPlan, entries
from pcn.controller.constants import CLASSES, index
from pcn.controller.control_plane import (
    CloneSession,
    ControlPlane,
    Counter,
    TableAction,
    TableEntry,
    TableMatch,
)
from pcn.controller.errors import SwitchError
from pcn.controller.routes import Route
from pcn.controller.switch import SwitchClient
from pcn.controller.tofino import qcn, tcd
from pcn.controller.tofino.bfrt import BfRuntimeSwitch
from pcn.controller.tofino.buffers import port_settings, settings
from pcn.controller.tofino.counters import of_frames
from pcn.controller.tofino.model import TofinoLab
from pcn.controller.tofino.package import Package
from pcn.controller.tofino.read_back import compare

CONNECT_LIMIT_S = 10.0
# Errors come back one an entry, in metadata that gRPC limits to 8 KB.
_BATCH = 100
MOST_ENTRIES = 1 << 20


@dataclass(frozen=True)
class Cell:
    """A counter's cell: of a port and a class, or, in `dropped`, a reason. Bytes are those of
    frames without FCS."""

    counter: str
    port: int
    number: int
    value: Counter


@dataclass(frozen=True)
class Deployed:
    """The switch's state after deployment, as read from it. `entries`: by table. Over BF Runtime,
    `settings`: fields of ports, PFC, buffers and queues that were written and read back; `ignored`:
    what the driver holds instead, of those that do no harm."""

    entries: dict[str, int]
    counters: tuple[Cell, ...]
    settings: int = 0
    ignored: tuple[str, ...] = ()


def plan(lab: TofinoLab) -> SwitchPlan:
    """Returns what the switch is programmed with. PFC is the traffic manager's: see
    `pcn.controller.tofino.buffers`."""
    return SwitchPlan(
        lab.switch,
        routes=tuple(
            Route(
                str(route.network.network_address), route.mac, route.port, route.network.prefixlen
            )
            for route in lab.routes
        ),
        pfc=(),
    )


def rest_entries(lab: TofinoLab) -> list[TableEntry]:
    """Returns how a pause of each port is known by its rest, and which classes PFC stops."""
    actions = {traffic_class.number: "set_rest" for traffic_class in lab.lossless} | {
        traffic_class.number: "goes_before" for traffic_class in lab.delaying
    }
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
    """Returns the sessions by which the program copies packets."""
    return qcn.sessions(lab) if package.name in qcn.PROGRAMS else []


def check(lab: TofinoLab, package: Package) -> list[TableEntry]:
    """Returns the entries, each encoded by the program's p4info. Raises SwitchError for what the
    program doesn't have."""
    if package.name in qcn.PROGRAMS:
        marking = qcn.entries(lab, package.name)
    else:
        marking = [
            *rest_entries(lab),
            *(tcd.entries(lab, lab.tcd) if package.name == "tcd" else []),
        ]
    table_entries = [*marking, *entries(plan(lab))]
    for entry in table_entries:
        try:
            entry.encode(package.schema)
        except ValueError as error:
            raise SwitchError(f"{lab.switch}: program {package.name}: {entry}: {error}") from None
    for name, count in Counts(entry.table_id for entry in table_entries).items():
        size = package.schema.tables[name].size
        if count > size:
            raise SwitchError(
                f"{lab.switch}: {count} entries for {name}, which holds {size} in program "
                f"{package.name}"
            )
    return table_entries


def deploy(
    lab: TofinoLab,
    package: Package,
    address: str,
    election_id: int,
    progress: Callable[[str], None],
) -> Deployed:
    """Loads the program over P4Runtime, which empties the switch's tables and stops its traffic
    meanwhile, and writes the entries.

    Raises SwitchError.
    """
    table_entries = check(lab, package)
    progress(f"connecting to {address}")
    with contextlib.closing(_connect(lab, address)) as client:
        client.become_primary(election_id)
        _program(lab, package, table_entries, client, progress, _BATCH)
        return _read(lab, client)


def deploy_bfrt(
    lab: TofinoLab, package: Package, address: str, progress: Callable[[str], None]
) -> Deployed:
    """Does the same over BF Runtime, and sets up ports, PFC, buffers and queues, which loading
    brought back to their defaults. The entries go in one call, for which the driver may take
    minutes.

    Raises SwitchError.
    """
    table_entries = check(lab, package)
    progress(f"connecting to {address}")
    with BfRuntimeSwitch.connect(
        lab.switch, address, progress=progress, limit_s=CONNECT_LIMIT_S
    ) as client:
        _program(lab, package, table_entries, client, progress, MOST_ENTRIES)
        wanted = [*port_settings(lab), *settings(lab)]
        progress(f"{len(wanted)} settings of ports, PFC, buffers and queues")
        ignored = client.apply(wanted)
        return replace(
            _read(lab, client, _cells(lab)),
            settings=sum(len(setting.data) for setting in wanted),
            ignored=tuple(ignored),
        )


def look(lab: TofinoLab, address: str) -> Deployed:
    """Returns what a switch holds that has its program already; nothing is changed. Raises
    SwitchError."""
    with contextlib.closing(_connect(lab, address)) as client:
        return _read(lab, client)


def look_bfrt(lab: TofinoLab, address: str) -> Deployed:
    """Does the same over BF Runtime."""
    with BfRuntimeSwitch.connect(lab.switch, address, limit_s=CONNECT_LIMIT_S) as client:
        return _read(lab, client, _cells(lab))


def _program(
    lab: TofinoLab,
    package: Package,
    table_entries: Sequence[TableEntry],
    client: ControlPlane,
    progress: Callable[[str], None],
    batch: int,
) -> None:
    """Loads, writes `batch` entries a call, and reads all of them back."""
    progress(f"program {package.name}, {len(package.data) / 1e6:.1f} MB")
    began = time.monotonic()
    client.set_pipeline(package)
    progress(f"loaded in {time.monotonic() - began:.2f} s; {len(table_entries)} entries")
    written: list[CloneSession | TableEntry] = [*sessions(lab, package), *table_entries]
    began = time.monotonic()
    for start in range(0, len(written), batch):
        client.insert(written[start : start + batch])
    progress(f"written in {time.monotonic() - began:.2f} s; reading them back")
    compare(client, written)


def _connect(lab: TofinoLab, address: str) -> SwitchClient:
    return SwitchClient.connect(lab.switch, address, lab.device, limit_s=CONNECT_LIMIT_S)


def _cells(lab: TofinoLab) -> list[int]:
    """Returns the indices of the lab's ports and their classes."""
    return [index(port.number, number) for port in lab.ports for number in range(CLASSES)]


def _read(lab: TofinoLab, client: ControlPlane, indices: Sequence[int] | None = None) -> Deployed:
    """Returns the entries that were written, and counters of the lab's ports. Over P4Runtime a
    counter is read whole: the chip copies it to memory at once. BF Runtime fetches `indices` from
    the chip, each by itself."""
    written = [table for table in client.tables() if not client.schema.tables[table].is_const]
    held = {
        table: sum(not entry.is_default_action for entry in client.read_table(table))
        for table in written
    }
    cells = []
    for counter in client.counters():
        counts, name = client.read_counters(counter, indices), client.counter_name(counter)
        cells += [
            Cell(counter, *divmod(cell, CLASSES), of_frames(name, counts[cell]))
            for cell in _cells(lab)
            if cell in counts
        ]
    return Deployed(held, tuple(cells))
