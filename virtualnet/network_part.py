"""What each part of a TimedNetwork uses of it."""

from __future__ import annotations

import ctypes
from collections.abc import Callable

from pcn.topologies.model import Endpoint, Topology


class NetworkPart:
    """A part of a TimedNetwork, which has these. `_links` and `_nodes`: the engine's numbers.
    `_alive` returns the engine's network for a call that reads, `_changing` for one that changes
    it, whose result `_check` turns into an error."""

    topology: Topology
    _library: ctypes.CDLL
    _links: dict[Endpoint, int]
    _nodes: dict[str, int]
    _alive: Callable[[], int]
    _changing: Callable[[], int]
    _check: Callable[[int], int]
