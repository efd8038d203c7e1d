"""The topologies of this package, by name. `topologies.found` finds them, and others."""

from __future__ import annotations

from collections.abc import Callable

from topologies.clos import clos
from topologies.compact import compact
from topologies.dumbbell import dumbbell
from topologies.fat_tree import fat_tree
from topologies.head_of_line import head_of_line
from topologies.model import Topology
from topologies.parking_lot import parking_lot
from topologies.star import star
from topologies.two_pods import two_pods

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
