"""Table entries of TCD and its RED on Tofino: the tables of p4src/tna/tcd_port.p4 and
red_ecn.p4."""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise

from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.marking.tcd_port import max_ton_s
from pcn.controller.tofino.chips import MOST_CELLS, Chip
from pcn.controller.tofino.model import Tcd, TofinoLab

STEPS = 16
"""In which the probability rises from K_min to K_max."""
_CURVE = 1  # all ports mark alike
_DRAWS = 1 << 32
_FRAMES = 2  # a queue of so many is gone
_PRIORITY = 1  # ranges don't overlap


@dataclass(frozen=True)
class Step:
    """Of RED's curve: queues from `low` to `high` cells. `draws` of 2^32 mark."""

    low: int
    high: int
    draws: int


def curve(tcd: Tcd, chip: Chip, steps: int = STEPS) -> list[Step]:
    """Returns RED in steps (SIGCOMM'15, eq. 5): each has the line's probability at its middle;
    above K_max all mark."""
    first, last = tcd.k_min_bytes // chip.cell_bytes + 1, tcd.k_max_bytes // chip.cell_bytes
    bounds = [first + (last + 1 - first) * step // steps for step in range(steps + 1)]
    curve_steps = []
    for low, after in pairwise(bounds):
        excess = (low + after - 1) / 2 * chip.cell_bytes - tcd.k_min_bytes
        if low < after:
            share = excess / (tcd.k_max_bytes - tcd.k_min_bytes)
            curve_steps.append(Step(low, after - 1, round(tcd.p_max * share * _DRAWS)))
    curve_steps.append(Step(last + 1, MOST_CELLS, _DRAWS))
    return [step for step in curve_steps if step.draws]


def entries(lab: TofinoLab, tcd: Tcd) -> list[TableEntry]:
    """Returns the entries of `tcd_config`, `red_config` and `red_curves` for all ports. max(Ton)
    follows docs/tcd.md, with a port's own XOFF and XON in place of its neighbour's."""
    table_entries = []
    for port in lab.ports:
        span = port.pfc.xoff_bytes - port.pfc.xon_bytes
        on_s = max_ton_s(port.speed_bps, tcd.delay_s, span, lab.mtu, tcd.epsilon)
        states = TableAction(
            "set_tcd",
            max_ton_ns=math.ceil(on_s * 1e9),
            empty_cells=_FRAMES * lab.chip.cells(lab.mtu),
            looks=tcd.looks,
        )
        match = TableMatch(port=port.number)
        table_entries.append(TableEntry("tcd_config", match=match, action=states))
        table_entries.append(
            TableEntry("red_config", match=match, action=TableAction("set_red", curve=_CURVE))
        )
    for step in curve(tcd, lab.chip):
        match = TableMatch(curve=_CURVE, queue_cells=f"{step.low}...{step.high}")
        action = TableAction("set_probability", last_draw=step.draws - 1)
        table_entries.append(
            TableEntry("red_curves", match=match, action=action, priority=_PRIORITY)
        )
    return table_entries
