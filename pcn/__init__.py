"""PCN Lab for Python: the names that programs need, from whichever room they are. `pcn.cli` is the
`pcn` command.

    from pcn import Lab, VirtualNetwork, attach, dumbbell, find_scheme

A name is loaded when it is first used: the command starts without Mininet, gRPC and NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    __version__: str

    from pcn.base.errors import LabError as LabError
    from pcn.controller import settings as settings
    from pcn.controller.constants import index as index
    from pcn.controller.control_plane import (
        TableAction as TableAction,
        TableEntry as TableEntry,
        TableMatch as TableMatch,
    )
    from pcn.controller.marking_contract import Setting as Setting
    from pcn.controller.programs import Program as Program
    from pcn.controller.switch import SwitchClient as SwitchClient
    from pcn.experiments.results.run_result import RunResult as RunResult
    from pcn.experiments.run.progress import RunProgress as RunProgress
    from pcn.experiments.runner import run as run
    from pcn.hosts.algorithms import (
        Ack as Ack,
        Cnm as Cnm,
        Cnp as Cnp,
        Loss as Loss,
        Mark as Mark,
        NetworkFacts as NetworkFacts,
        NotificationPoint as NotificationPoint,
        ReactionPoint as ReactionPoint,
        Rule as Rule,
        Scheme as Scheme,
        Window as Window,
        find_scheme as find_scheme,
    )
    from pcn.hosts.algorithms.parameters import Parameters as Parameters, parameter as parameter
    from pcn.hosts.paths import Paths as Paths
    from pcn.hosts.reliability import Reliability as Reliability, Repeats as Repeats
    from pcn.hosts.virtual import VirtualNetwork as VirtualNetwork
    from pcn.lab import flows as flows, links as links, logs as logs, supervisor as supervisor
    from pcn.lab.attach import attach as attach
    from pcn.lab.capture import capture as capture
    from pcn.lab.lab import Lab as Lab
    from pcn.lab.nic_host import NicHost as NicHost
    from pcn.lab.observe import Observer as Observer
    from pcn.lab.pause import pause as pause, resume as resume
    from pcn.softswitch.clock import ManualClock as ManualClock
    from pcn.topologies.clos import clos as clos
    from pcn.topologies.compact import compact as compact
    from pcn.topologies.dumbbell import dumbbell as dumbbell
    from pcn.topologies.fat_tree import fat_tree as fat_tree
    from pcn.topologies.lookup import find_topology as find_topology
    from pcn.topologies.model import (
        Endpoint as Endpoint,
        FlowSpec as FlowSpec,
        Host as Host,
        Link as Link,
        Switch as Switch,
        Topology as Topology,
        make_hosts as make_hosts,
    )
    from pcn.topologies.parking_lot import parking_lot as parking_lot

_ALGORITHMS = (
    "Ack Cnm Cnp Loss Mark NetworkFacts NotificationPoint ReactionPoint Rule Scheme Window "
    "find_scheme"
)
_HOME = {
    "pcn.controller": "settings",
    "pcn.controller.constants": "index",
    "pcn.controller.control_plane": "TableAction TableEntry TableMatch",
    "pcn.controller.marking_contract": "Setting",
    "pcn.controller.programs": "Program",
    "pcn.controller.switch": "SwitchClient",
    "pcn.experiments.results.run_result": "RunResult",
    "pcn.experiments.run.progress": "RunProgress",
    "pcn.experiments.runner": "run",
    "pcn.hosts.algorithms": _ALGORITHMS,
    "pcn.hosts.algorithms.parameters": "Parameters parameter",
    "pcn.hosts.paths": "Paths",
    "pcn.hosts.reliability": "Reliability Repeats",
    "pcn.lab": "flows links logs supervisor",
    "pcn.lab.attach": "attach",
    "pcn.lab.capture": "capture",
    "pcn.lab.lab": "Lab",
    "pcn.lab.nic_host": "NicHost",
    "pcn.lab.observe": "Observer",
    "pcn.lab.pause": "pause resume",
    "pcn.softswitch.clock": "ManualClock",
    "pcn.topologies.clos": "clos",
    "pcn.topologies.compact": "compact",
    "pcn.topologies.dumbbell": "dumbbell",
    "pcn.base.errors": "LabError",
    "pcn.topologies.fat_tree": "fat_tree",
    "pcn.topologies.lookup": "find_topology",
    "pcn.topologies.model": "Endpoint FlowSpec Host Link Switch Topology make_hosts",
    "pcn.topologies.parking_lot": "parking_lot",
    "pcn.hosts.virtual": "VirtualNetwork",
}
_MODULES = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted(_MODULES)


def home(name: str) -> str:
    """Returns the module that a public name is from."""
    return _MODULES[name]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from pcn.topologies.extras import version

        return version()
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_MODULES[name])
    return (
        getattr(module, name)
        if hasattr(module, name)
        else importlib.import_module(f"{_MODULES[name]}.{name}")
    )


def __dir__() -> list[str]:
    return [*globals(), "__version__", *_MODULES]
