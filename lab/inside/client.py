"""What clients request of a network inside an engine beside its hosts' agents and its switches'
P4Runtime: its links, PFC frames, reroutes, how far it is. At a socket in the network's folder, as
agents have them."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn

from pcn.base.errors import LabError

if TYPE_CHECKING:
    from pcn.lab.journal import Record

SOCKET = "engine"
_LOOK_S = 0.05


class InsideError(LabError):
    """A network inside an engine that doesn't answer, or refuses."""


def no_interface(record: Record, node: str) -> NoReturn:
    """Raises InsideError."""
    raise InsideError(
        f"{node} is inside the engine of network {record.name}: it has no interface and no network "
        "namespace; `pcn up` without --inside makes them"
    )


def request(record: Record, command: str, **arguments: Any) -> Any:
    """Returns the engine's answer. Raises InsideError."""
    from pcn.hosts.client import AgentClient, AgentError  # late: no other network has an engine

    with AgentClient(Path(record.directory) / SOCKET) as client:
        try:
            return client.request(command, **arguments)
        except AgentError as error:
            raise InsideError(str(error)) from None


def reroute(record: Record, after_s: float) -> list[str]:
    """Returns the switches whose routes have changed, once that simulated time has passed. Raises
    InsideError."""
    number = request(record, "reroute", after_s=after_s)
    while True:
        done = request(record, "rerouted", number=number)
        if isinstance(done, str):
            raise InsideError(done)
        if done is not None:
            return [str(switch) for switch in done]
        # a request gets its answer at once; one to an engine that has ended raises
        time.sleep(_LOOK_S)
