"""The topologies of this package, by name. `pcn.topologies.lookup` finds them, and others."""

from __future__ import annotations

from collections.abc import Callable

from pcn.topologies.clos import clos
from pcn.topologies.compact import compact
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.head_of_line import head_of_line
from pcn.topologies.model import Topology
from pcn.topologies.parking_lot import parking_lot
from pcn.topologies.star import star
from pcn.topologies.two_pods import two_pods

TOPOLOGIES: dict[str, Callable[..., Topology]] = {
    "dumbbell": dumbbell,
    "compact": compact,
    "parking-lot": parking_lot,
    "fat-tree": fat_tree,
    "clos": clos,
    "star": star,
    "head-of-line": head_of_line,
    "two-pods": two_pods,
}
