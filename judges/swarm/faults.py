"""Faults of a network, by name, as scenarios have them: those of its entries, and those of one in
virtual time."""

from collections.abc import Callable, Iterable, Mapping
from functools import cache
from typing import Any

from pcn.controller.configure import SwitchPlan, clone_sessions, entries, plan
from pcn.controller.control_plane import ControlPlane, Entry
from pcn.controller.routes import group_entry, route_entry
from pcn.hosts.virtual import VirtualNetwork


class EntryFaults:
    """A switch loses its entries, and has them again. `plan`: what the switch of a name is
    programmed with. `forgets`: that has been there."""

    def __init__(self, switches: Mapping[str, ControlPlane], plan: Callable[[str], SwitchPlan]):
        self._switches = switches
        self._plan = plan
        self._gone: dict[str, list[Entry]] = {}
        self.forgets = False

    def happen(self, method: str, arguments: Iterable[Any]):
        getattr(self, method)(*arguments)

    def forget_routes(self, name: str):
        self._forget(
            name,
            [
                *map(group_entry, self._plan(name).groups),
                *map(route_entry, self._plan(name).routes),
            ],
        )

    def forget_all(self, name: str):
        self._forget(name, [*clone_sessions(self._plan(name)), *entries(self._plan(name))])

    def restore(self, name: str):
        self._switches[name].insert(self._gone.pop(name, []))

    def restore_all(self):
        for name in list(self._gone):
            self.restore(name)

    def _forget(self, name: str, forgotten: list[Entry]):
        """Those that refer to others go first."""
        self.restore(name)
        self.forgets = True
        self._gone[name] = forgotten
        self._switches[name].delete(reversed(forgotten))


class Faults(EntryFaults):
    """What can happen to a network in virtual time. `delays_pause`: a fault was there by which
    senders may exceed their headroom."""

    def __init__(self, network: VirtualNetwork):
        super().__init__(
            network.switches, cache(lambda name: plan(network.topology, name, 1.0, network.scheme))
        )
        self._network = network
        self.delays_pause = False

    def end(self):
        """All is whole again."""
        for link in self._network.topology.links:
            self.link_as_it_was(link.a.node, link.a.port)
            for end in (link.a, link.b):
                for frames in ("flow control", "notifications", "data"):
                    self._network.disturb(end.node, end.port, frames)
        self.restore_all()

    def link_down(self, node: str, port: int):
        self.delays_pause = True  # a PAUSE can't leave
        self._network.set_link(node, port, up=False)

    def link_rate(self, node: str, port: int, factor: float):
        rate_bps = self._network.topology.link_at(node, port).rate_bps
        self._network.set_link(node, port, rate_bps=rate_bps * factor)

    def link_as_it_was(self, node: str, port: int):
        self._network.set_link(
            node, port, rate_bps=self._network.topology.link_at(node, port).rate_bps, up=True
        )

    def disturb(
        self, node: str, port: int, frames, lose: int, repeat: int, late: int, late_s: float
    ):
        if self._network.topology.flow_control == "credits" and frames == "notifications":
            repeat = late = 0  # refused there
        self.delays_pause |= frames == "flow control" and lose + late > 0
        self._network.disturb(
            node, port, frames, lose=lose, repeat=repeat, late=late, late_s=late_s
        )

    def stop_flow(self, number: int):
        if number in self._network.flows:
            self._network.stop_flow(number)
