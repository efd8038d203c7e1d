"""One network that several processes share: which has which nodes, and what they exchange.

Each process builds the network with all nodes' numbers and the state of its part, and makes the
same calls. The engine exchanges what crosses a cut (csrc/time/parts.c); a `Transport` carries it.
"""

from __future__ import annotations

import ctypes
import pickle
from collections.abc import Iterable, Sequence
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from pcn.topologies.model import Topology
from pcn.virtualnet import native
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.times import picoseconds


class Transport(Protocol):
    """What carries letters between the processes of one run. Each calls `exchange` equally often,
    in the same order."""

    number: int
    """Of this process, from 0."""
    n: int
    """Processes of the run."""

    def exchange(self, letters: Sequence[memoryview]) -> list[bytes]:
        """Sends `letters[i]` to process i, and returns what each of the others sent, by process;
        this one's own place is empty, in both. Raises OtherProcessError where another one has given
        up, or is lost."""

    def give_up(self, why: str) -> None:
        """Ends the exchanges of all: those that wait for this process get the reason."""


class OtherProcessError(VirtualError):
    """Another process of the run has given up; the message has its reason."""


def partition(
    topology: Topology, n: int, library: ctypes.CDLL | None = None
) -> npt.NDArray[np.uint32]:
    """Returns by node, switches first, which of `n` parts it belongs to: each has a like share of
    what links can carry in every tier from hosts up, racks and pods together (csrc/time/phases.c).
    `library`: an engine; None: the plain one. Raises VirtualError where there are fewer parts, as
    where short links join all nodes."""
    library = library or native.engine()
    handle = library.vn_create(True, False, 1, 0)
    if not handle:
        raise VirtualError("out of memory for a network")

    def check(code: int) -> int:
        if code < 0:
            raise VirtualError(f"{topology.name}: {library.vn_error(handle).decode()}")
        return code

    try:
        nodes = {
            switch.name: check(library.vn_add_elsewhere(handle)) for switch in topology.switches
        }
        for host in topology.hosts:
            nodes[host.name] = check(library.vn_add_host(handle, bytes(4)))
        for link in topology.links:
            a, b = link.a, link.b
            check(
                library.vn_add_link(
                    handle, nodes[a.node], a.port, nodes[b.node], b.port, round(link.rate_bps),
                    picoseconds(link.delay_s),
                )
            )  # fmt: skip
        owners = np.zeros(len(nodes), np.uint32)
        check(library.vn_partition_of(handle, n, owners.ctypes.data))
    finally:
        library.vn_destroy(handle)
    return owners


def _names(topology: Topology) -> list[str]:
    """Returns those of nodes, in the engine's order."""
    return [*(switch.name for switch in topology.switches), *(host.name for host in topology.hosts)]


def gather(transport: Transport, value: object, everywhere: bool = False) -> list[Any]:
    """Returns the values of all processes, by process, in process 0 or `everywhere`; else
    nothing."""
    letter = memoryview(pickle.dumps(value, pickle.HIGHEST_PROTOCOL))
    letters = [
        letter if i != transport.number and (everywhere or i == 0) else letter[:0]
        for i in range(transport.n)
    ]
    answers = transport.exchange(letters)
    if transport.number and not everywhere:
        return []
    return [
        value if i == transport.number else pickle.loads(answer) for i, answer in enumerate(answers)
    ]


class Part:
    """This process's part of a network, and its talk with the others. `of` makes it."""

    def __init__(
        self, topology: Topology, transport: Transport, owners: npt.NDArray[np.uint32]
    ) -> None:
        self.transport = transport
        self.number, self.n = transport.number, transport.n
        self.owners = owners
        self.error: BaseException | None = None
        """What an exchange has raised, whose run has failed for it."""
        self._owner: dict[str, int] = dict(zip(_names(topology), owners.tolist(), strict=True))
        self._letters: list[bytes] = []
        self.callback = native.Exchanging(self._exchange)
        """The engine holds no reference."""

    @classmethod
    def of(cls, topology: Topology, transport: Transport, library: ctypes.CDLL) -> Part:
        """Returns the part of this process, one of as many as `transport` has. Raises VirtualError
        where the network can't be split so."""
        owners = partition(topology, transport.n, library)
        part = cls(topology, transport, owners)
        without = set(range(part.n)) - {part.owner(switch.name) for switch in topology.switches}
        if without:
            raise VirtualError(
                f"{topology.name}: of its {len(topology.switches)} switches process "
                f"{min(without)} of {part.n} would have none: run it in fewer processes"
            )
        return part

    def owner(self, node: str) -> int:
        """Returns the number of the process that has the node."""
        return self._owner[node]

    def holds(self, node: str) -> bool:
        return self._owner[node] == self.number

    def own_places(self, owners: Iterable[int | None]) -> list[int]:
        """Returns the places of what is this process's, None: in part."""
        return [place for place, owner in enumerate(owners) if owner in (None, self.number)]

    # ---- what all processes call ----

    def gather(self, value: object) -> list[Any]:
        """Returns the values of all processes, by process, in process 0; nothing in others."""
        return gather(self.transport, value)

    def shared(self, value: object) -> list[Any]:
        """Returns the values of all processes, by process."""
        return gather(self.transport, value, everywhere=True)

    def _exchange(self, n: int, out: Any, into: Any) -> int:
        """Is called by the engine. What it raises, the run does, and no more is exchanged: a part
        that has given up reports it once, and answers nothing."""
        if self.error is not None:
            return 1
        try:
            letters = [
                memoryview((ctypes.c_char * out[i].bytes).from_address(out[i].at)).cast("B")
                if out[i].bytes
                else memoryview(b"")
                for i in range(n)
            ]
            self._letters = self.transport.exchange(letters)
            for i, letter in enumerate(self._letters):
                into[i].at = ctypes.cast(ctypes.c_char_p(letter), ctypes.c_void_p).value
                into[i].bytes = len(letter)
        except BaseException as error:  # ctypes would print it, and go on
            self.error = error
            return 1
        return 0
