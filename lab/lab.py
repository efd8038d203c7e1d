"""A network that is up and programmed: what experiments and the command line work with.

with Lab(dumbbell(), log_dir=Path("logs"), dilation=400) as lab:
    lab.agents["h0"].start(...)
    lab.switches["s0"].read_register("waiting_bytes", index(port=4, traffic_class=3))
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any

from pcn.base import signals
from pcn.controller.configure import SwitchPlan, plan, program_switch, require_tables
from pcn.controller.programs import Program
from pcn.controller.switch import SwitchClient
from pcn.lab.journal import Record
from pcn.lab.network import Network
from pcn.topologies.model import Topology

if TYPE_CHECKING:
    from pcn.hosts.client import AgentClient


class Lab:
    """A `Network` (its arguments), with the scheme's program in every switch, and a primary
    controller's connection to each."""

    def __init__(self, topology: Topology, **network: Any) -> None:
        self.topology = topology
        self.plans: dict[str, SwitchPlan] = {}
        self.switches: dict[str, SwitchClient] = {}
        self.agents: Mapping[str, AgentClient] = {}
        self._progress: Callable[[str], None] = network.get("progress", lambda _text: None)
        self.network = Network(topology, **network)
        self.program = Program.find(self.network.configured.scheme.program)
        require_tables(self.program, self.network.configured.scheme)
        # Before anything is started: a topology that can't be programmed fails here.
        for switch in topology.switches:
            self.plans[switch.name] = plan(
                topology,
                switch.name,
                self.network.dilation,
                self.network.configured,
                self.network.tick_ns,
            )
        self._stack = contextlib.ExitStack()

    def __enter__(self) -> Lab:
        try:
            self._stack.enter_context(self.network)
            self._program()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def stop(self) -> None:
        with signals.deferred():
            self._stack.close()
            self.switches.clear()

    @property
    def record(self) -> Record:
        return self.network.record

    def primary(self, name: str) -> SwitchClient:
        """Returns a switch by name, to write to."""
        return self.switches[name]

    def _program(self) -> None:
        self._progress("programs and routes")
        for name, running in self.network.switches.items():
            client = SwitchClient.connect(
                name, running.address, running.device_id, self.network.target.registers(running.pid)
            )
            self._stack.callback(client.close)
            client.become_primary()
            client.set_pipeline(self.program)
            program_switch(client, self.plans[name])
            self.switches[name] = client
        self.agents = {name: host.agent for name, host in self.network.hosts.items()}
        epoch = time.monotonic()
        for agent in self.agents.values():
            agent.set_epoch(epoch)
        record = self.network.record
        record.program = self.network.configured.scheme.program
        record.state = "up"
        record.save()
