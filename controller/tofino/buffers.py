"""PFC, buffers and queues of a Tofino's traffic manager, which P4Runtime doesn't reach and Stratum
leaves without PFC.

`settings` lists what is written, by the driver's own names of tables and fields. Two ways carry it
there, and read all of it back: BF Runtime (`pcn.controller.tofino.bfrt`), and `pfc_script`, a
script for the driver's shell (bfrt_python).
"""

from __future__ import annotations

import pprint
from collections import Counter as Counts
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from pcn.controller.constants import CLASSES
from pcn.controller.tofino.chips import Chip
from pcn.controller.tofino.model import FCS_BYTES, Port, TofinoLab

Value: TypeAlias = "bool | int | str | list[int]"

# Resuming is a distance below the limit; the chip counts it in eights of cells.
_HYSTERESIS_CELLS = 8
_SLOW_LANE_BPS = 10_000_000_000
_FIRST_GROUP = 1  # of a pipe; the driver takes 0 for "no group"
_INGRESS_POOL, _EGRESS_POOL, _HEADROOM_POOL = "IG_APP_POOL_1", "EG_APP_POOL_0", "IG_SKID_POOL"
_PRIORITY_NAMES = {0: "LOW"}
"""The driver takes "0" as well, but reads it back so."""
FIXED = ("mode_rx",)
"""Fields that some releases of the driver only read. Both chips obey received PFC whatever they
hold."""
PORT_TABLE = "$PORT"
PLACES = "port.cfg"
"""The traffic manager's table that has the places of a port's queues."""


@dataclass(frozen=True)
class Setting:
    """Data of one entry. `queue`: a port and a class; the entry is that of their queue, whose place
    `PLACES` has. `action`: which one, where the table's data depends on it. `pipe`: None where the
    table is of the whole chip. `frees`: keys of the table's entries that go first, unless this
    entry is there already with all its data."""

    table: str
    keys: Mapping[str, int | str]
    data: Mapping[str, Value]
    action: str = ""
    adds: bool = False
    pipe: int | None = None
    queue: tuple[int, int] | None = field(default=None)
    frees: tuple[Mapping[str, int | str], ...] = ()


def settings(lab: TofinoLab) -> list[Setting]:
    """Returns what the traffic manager and the ports are to hold, in the order in which it is
    written."""
    return [*_pools(lab), *_ports(lab), *_groups(lab), *_queues(lab)]


def port_settings(lab: TofinoLab) -> list[Setting]:
    """Returns the ports themselves, which Stratum's chassis configuration adds, and over BF Runtime
    its client. A lane that is a separate port is in the way of a wider one: on a model the driver
    begins with such ports."""
    return [
        Setting(
            PORT_TABLE,
            {"$DEV_PORT": port.number},
            {
                "$SPEED": f"BF_SPEED_{port.speed_bps // 10**9}G",
                "$FEC": _fec(port),
                "$AUTO_NEGOTIATION": "PM_AN_FORCE_ENABLE"
                if port.autoneg
                else "PM_AN_FORCE_DISABLE",
                "$TX_MTU": lab.mtu + FCS_BYTES,
                "$RX_MTU": lab.mtu + FCS_BYTES,
                "$PORT_ENABLE": True,
            },
            adds=True,
            frees=tuple({"$DEV_PORT": port.number + lane} for lane in range(len(port.lanes))),
        )
        for port in lab.ports
    ]


def _fec(port: Port) -> str:
    """Returns the code of the port's speed: lanes of 10 Gbit/s have FireCode, others Reed-Solomon;
    of the driver's two names for each the one that it reads back."""
    if not port.fec:
        return "BF_FEC_TYP_NONE"
    return (
        "BF_FEC_TYP_FC"
        if port.speed_bps // len(port.lanes) == _SLOW_LANE_BPS
        else "BF_FEC_TYP_REED_SOLOMON"
    )


def _pools(lab: TofinoLab) -> Iterator[Setting]:
    """Yields separate pools, so that lossless classes don't compete with others."""
    many = len(lab.lossless)
    size = many * sum(lab.chip.cells(port.pfc.xoff_bytes) for port in lab.ports)
    headroom = many * sum(lab.chip.cells(port.pfc.headroom_bytes) for port in lab.ports)
    yield Setting(lab.chip.table("pool.cfg"), {"pool": _INGRESS_POOL}, {"size_cells": size})
    yield Setting(lab.chip.table("pool.cfg"), {"pool": _HEADROOM_POOL}, {"size_cells": headroom})
    for traffic_class in lab.lossless:
        keys: dict[str, int | str] = {"pool": _INGRESS_POOL, "cos": traffic_class.number}
        yield Setting(lab.chip.table("pool.app_pfc"), keys, {"pfc_limit_cells": size})


def _ports(lab: TofinoLab) -> Iterator[Setting]:
    """Yields PFC frames at the MAC, sent and obeyed, and the headroom of each port."""
    enabled = sum(1 << traffic_class.number for traffic_class in lab.lossless)
    for port in lab.ports:
        keys = {"dev_port": port.number}
        obeyed = enabled if lab.chip.obeys_by_class else (1 << CLASSES) - 1
        maps: dict[str, Value] = {"$TX_PFC_EN_MAP": enabled, "$RX_PFC_EN_MAP": obeyed}
        yield Setting(PORT_TABLE, {"$DEV_PORT": port.number}, maps)
        modes: dict[str, Value] = {
            "mode_tx": "PFC",
            "mode_rx": "PFC",
            "cos_to_icos": list(range(CLASSES)),
        }
        yield Setting(lab.chip.table("port.flowcontrol"), keys, modes)
        headroom = len(lab.lossless) * lab.chip.cells(port.pfc.headroom_bytes)
        yield Setting(lab.chip.table("port.buffer"), keys, {"skid_limit_cells": headroom})


def _groups(lab: TofinoLab) -> Iterator[Setting]:
    """Yields what came in at a port, by class."""
    there: Counts[int] = Counts()
    for port in lab.ports:
        for traffic_class in lab.lossless:
            data: dict[str, Value] = {
                "dev_port": port.number,
                "pfc_enable": True,
                "pfc_skid_max_cells": lab.chip.cells(port.pfc.headroom_bytes),
                "guaranteed_cells": 0,
                "hysteresis_cells": _resume_cells(
                    lab.chip, port.pfc.xoff_bytes - port.pfc.xon_bytes
                ),
                "pool_id": _INGRESS_POOL,
                "pool_max_cells": lab.chip.cells(port.pfc.xoff_bytes),
                "dynamic_baf": "DISABLE",
                f"icos_{traffic_class.number}": True,
            }
            keys = {"ppg_id": _FIRST_GROUP + there[port.pipe]}
            there[port.pipe] += 1
            yield Setting(
                lab.chip.table("ppg.cfg"), keys, data, action="dev_port", adds=True, pipe=port.pipe
            )


def _queues(lab: TofinoLab) -> Iterator[Setting]:
    """Yields what waits to leave: the program gives a packet's class as its queue."""
    for port in lab.ports:
        for traffic_class in lab.classes:
            place, priority = (
                (port.number, traffic_class.number),
                _PRIORITY_NAMES.get(traffic_class.priority, str(traffic_class.priority)),
            )
            served: dict[str, Value] = {"min_priority": priority, "max_priority": priority}
            yield Setting(
                lab.chip.table("queue.sched_cfg"), {}, served, pipe=port.pipe, queue=place
            )
            if traffic_class.lossless:
                yield Setting(
                    lab.chip.table("queue.cfg"),
                    {},
                    {"pfc_cos": traffic_class.number},
                    pipe=port.pipe,
                    queue=place,
                )
                # PFC bounds it where it came in; nothing is dropped here.
                buffer: dict[str, Value] = {"tail_drop_enable": False, "pool_id": _EGRESS_POOL}
                yield Setting(
                    lab.chip.table("queue.buffer"),
                    {},
                    buffer,
                    action="shared_pool",
                    pipe=port.pipe,
                    queue=place,
                )


def _resume_cells(chip: Chip, size: int) -> int:
    return -(-chip.cells(size) // _HYSTERESIS_CELLS) * _HYSTERESIS_CELLS


_SCRIPT = """\
# PFC, buffers and queues of the switch "{switch}". Written by `pcn deploy`: change ports.yaml and write it again.
# To be run in the driver's shell each time a program was loaded: that brings the traffic manager back to its defaults.
#
#     bfshell -b $PWD/pfc.py

# Table, action, whether it adds an entry, pipe, port and class of the queue, keys, data. Cells have {cell} bytes.
SETTINGS = {settings}
FIXED = {fixed!r}  # fields that some releases of the driver only read; the chip obeys received PFC whatever they hold

written = []
for table, action, adds, pipe, queue, keys, data in SETTINGS:
    node = bfrt
    for part in ("port.port" if table == "$PORT" else table).split("."):
        node = getattr(node, part)
    key = {{}}
    for name in keys:
        key[name.lstrip("$")] = keys[name]
    if pipe is not None:
        key["pipe"] = pipe
    if queue:
        place = bfrt.{tables}.tm.{places}.get(dev_port=queue[0], print_ents=False).data
        key["pg_id"], key["pg_queue"] = place[b"pg_id"], place[b"egress_qid_queues"][queue[1]]
    fields = dict(key)
    for name in data:
        fields[name.lstrip("$")] = data[name]
    getattr(node, ("add" if adds else "mod") + ("_with_" + action if action else ""))(**fields)
    written.append((table, node, key, data))
bfrt.complete_operations()

count = lost = 0
for table, node, key, data in written:
    found = getattr(node.get(print_ents=False, **key), "data", {{}})
    for name in data:
        count += 1
        held = found.get(name.encode())
        if isinstance(held, bytes):
            held = held.decode()
        if held != data[name]:
            lost += name not in FIXED
            print("{{}} {{}}: {{}} is {{!r}}, {{!r}} was written; {{}}".format(
                table, key, name, held, data[name], "this does no harm" if name in FIXED else "PFC WON'T WORK"))
if lost:
    raise RuntimeError("{{}} of {{}} fields don't hold what was written".format(lost, count))
print("PFC of classes {lossless} at {ports} ports: {{}} fields were written and read back".format(count))
"""  # noqa: E501


def pfc_script(lab: TofinoLab) -> str:
    """Returns the script's text."""
    rows = [
        (
            setting.table,
            setting.action,
            setting.adds,
            setting.pipe,
            setting.queue,
            setting.keys,
            setting.data,
        )
        for setting in settings(lab)
    ]
    return _SCRIPT.format(
        switch=lab.switch,
        cell=lab.chip.cell_bytes,
        tables=lab.chip.tables,
        places=PLACES,
        settings=pprint.pformat(rows, width=120, compact=True, sort_dicts=False),
        fixed=FIXED,
        lossless=[traffic_class.number for traffic_class in lab.lossless],
        ports=len(lab.ports),
    )
