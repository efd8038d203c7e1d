"""Faults of a network in virtual time, by name, as scenarios have them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from controller.configure import SwitchPlan, clone_sessions, entries, plan
from controller.routes import group_entry, route_entry
from controller.switch import CloneSession, TableEntry
from virtualnet import VirtualNetwork


class Faults:
    """What can happen to a network. What has been there: `delays_pause`, a fault by which senders may exceed their
    headroom; `forgets`, a switch without its entries."""

    def __init__(self, network: VirtualNetwork) -> None:
        self._network = network
        self._plans: dict[str, SwitchPlan] = {}
        self._gone: dict[str, list[TableEntry | CloneSession]] = {}
        self.delays_pause = self.forgets = False

    def happen(self, what: str, arguments: Iterable[Any]) -> None:
        getattr(self, what)(*arguments)

    def end(self) -> None:
        """All is whole again."""
        for link in self._network.topology.links:
            self.link_as_it_was(link.a.node, link.a.port)
            for end in (link.a, link.b):
                for frames in ("flow control", "notifications", "data"):
                    self._network.disturb(end.node, end.port, frames)  # type: ignore[arg-type]
        for name in list(self._gone):
            self.restore(name)

    def link_down(self, node: str, port: int) -> None:
        self.delays_pause = True  # a PAUSE can't leave
        self._network.set_link(node, port, up=False)

    def link_rate(self, node: str, port: int, factor: float) -> None:
        rate_bps = self._network.topology.link_at(node, port).rate_bps
        self._network.set_link(node, port, rate_bps=rate_bps * factor)

    def link_as_it_was(self, node: str, port: int) -> None:
        self._network.set_link(node, port, rate_bps=self._network.topology.link_at(node, port).rate_bps, up=True)

    def disturb(self, node: str, port: int, frames: Any, lose: int, repeat: int, late: int, late_s: float) -> None:
        if self._network.topology.flow_control == "credits" and frames == "notifications":
            repeat = late = 0  # refused there
        self.delays_pause |= frames == "flow control" and lose + late > 0
        self._network.disturb(node, port, frames, lose=lose, repeat=repeat, late=late, late_s=late_s)

    def forget_routes(self, name: str) -> None:
        self._forget(name, [*map(group_entry, self._plan(name).groups), *map(route_entry, self._plan(name).routes)])

    def forget_all(self, name: str) -> None:
        self._forget(name, [*clone_sessions(self._plan(name)), *entries(self._plan(name))])

    def restore(self, name: str) -> None:
        self._network.switches[name].insert(self._gone.pop(name, []))

    def stop_flow(self, number: int) -> None:
        if number in self._network.flows:
            self._network.stop_flow(number)

    def _plan(self, name: str) -> SwitchPlan:
        if name not in self._plans:
            self._plans[name] = plan(self._network.topology, name, 1.0, self._network.scheme)
        return self._plans[name]

    def _forget(self, name: str, what: list[TableEntry | CloneSession]) -> None:
        """Those that refer to others go first."""
        self.restore(name)
        self.forgets = True
        self._gone[name] = what
        self._network.switches[name].delete(reversed(what))
