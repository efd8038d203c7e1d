"""k = auto: how far time has to be stretched so that this machine carries the scenario's packets.

How many packets a second the cores handle comes from the calibration's loop (`pcn.lab.calibrate`),
and how many a nominal second has from the scenario; and how many a switch can take in, which must
do for all that its links bring at once, or some are lost before they are counted.

The run itself checks whether the agents and switches kept pace, and has the last word.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Final

from pcn.experiments.data.plan import Plan
from pcn.lab.calibrate import ARRIVAL_COST, USABLE, at_once_bps, rounds_per_s

COST: Final = {"softswitch": 12.0, "engine": 12.0, "bmv2": 60.0}
"""What two agents and the switches need for a packet, over a round of the calibration's loop, by
target. Measured on two cores: 20 programs of the victim scenario took 40% of a core at k = 1000 and
4,150 packets a second, the dumbbell's 8 took 113% at k = 150 and 7,870; with BMv2 the dumbbell
needed k = 640."""


def choose(plan: Plan, target: str) -> float:
    """Returns a k for `plan` on this machine as it is now, in steps of 20. The run itself checks
    whether that was enough."""
    return stretch(plan, target, rounds_per_s(plan.frame_bytes))


def stretch(plan: Plan, target: str, rounds: Sequence[float]) -> float:
    """Returns the k, within the plan's limits, at which its packets take USABLE of `rounds` rounds
    a second (real), of each core; beyond these limits where a switch would lose what all its links
    bring at once."""
    assert plan.live
    bits = 8 * plan.frame_bytes
    k = plan.live.load_bps / bits * COST[target] / (USABLE * sum(rounds))
    least = at_once_bps(plan.topology) / bits * ARRIVAL_COST[target] / min(rounds)
    return math.ceil(max(least, min(plan.live.most_k, max(plan.live.least_k, k))) / 20) * 20.0
