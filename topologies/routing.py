"""By which ports nodes reach hosts: in a network, or in the rest of it while links are down."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING

from pcn.base import ipv4
from pcn.topologies.paths import Block, Paths, Place, Ways, blocks

if TYPE_CHECKING:
    from pcn.topologies.host import Host
    from pcn.topologies.link import Endpoint


class Routing:
    """`peers`: what is at the far end of each port of each node, ports in order."""

    def __init__(
        self, hosts: Mapping[str, Host], peers: Mapping[str, Mapping[int, Endpoint]]
    ) -> None:
        self._hosts = hosts
        self.paths = Paths(hosts, peers)

    @cached_property
    def blocks(self) -> tuple[Block, ...]:
        """All hosts, by prefixes of their addresses that lie at one place each, in order."""
        return tuple(
            blocks(
                (ipv4.number(host.ip), self.paths.place(name), host)
                for name, host in self._hosts.items()
            )
        )

    def ways(self, switch: str) -> dict[Place, Ways]:
        """Returns how a switch reaches each place that it isn't of, and can reach."""
        return {
            place: ways
            for ways in self.paths.ways(switch)
            for place in self.paths.named(ways.places)
        }

    @cached_property
    def networks(self) -> Sequence[int]:
        """Those of all blocks, in order."""
        return [block.network for block in self.blocks]

    @cached_property
    def prefixes(self) -> Sequence[int]:
        """Those of all blocks, in order."""
        return [block.prefix for block in self.blocks]

    def blocks_at(self, node: str) -> Sequence[int]:
        """Returns the numbers of the blocks whose hosts hang off a node, in order."""
        return self._blocks_at.get(node, ())

    def runs(self, places: int) -> Iterator[tuple[int, int]]:
        """Yields the blocks of a set of places, by as few ranges of their numbers as there are: the
        first one's, and the one behind the last one's."""
        blocks = places if self._in_order else self._blocks_of(places)
        start = 0
        while blocks:
            gap = (blocks & -blocks).bit_length() - 1
            blocks >>= gap
            length = (~blocks & (blocks + 1)).bit_length() - 1
            yield start + gap, start + gap + length
            start += gap + length
            blocks >>= length

    @cached_property
    def _blocks_at(self) -> Mapping[str, Sequence[int]]:
        at: dict[str, list[int]] = {}
        for number, block in enumerate(self.blocks):
            for node in block.place:
                at.setdefault(node, []).append(number)
        return at

    @cached_property
    def _bits(self) -> list[int]:
        """Of each block, the set of its place alone."""
        return [self.paths.bit_of(block.place) for block in self.blocks]

    @cached_property
    def _in_order(self) -> bool:
        """Whether each place has one block, and a place's number is its block's."""
        return all(bit == 1 << number for number, bit in enumerate(self._bits))

    def _blocks_of(self, places: int) -> int:
        """Returns the set of the blocks of a set of places, which many switches share."""
        if (blocks := self._known_blocks.get(places)) is None:
            blocks = sum(1 << number for number, bit in enumerate(self._bits) if bit & places)
            self._known_blocks[places] = blocks
        return blocks

    @cached_property
    def _known_blocks(self) -> dict[int, int]:
        return {}

    def next_hops(self, node: str, host: str) -> tuple[int, ...]:
        """Returns the ports of a node on a shortest path to a host, in order; none if there is
        none."""
        return self.paths.next_hops(node, host)
