"""PCN Lab for Python: the names that programs need, from whichever room they are. `pcn.cli` is the `pcn` command.

    from pcn import Lab, VirtualNetwork, attach, dumbbell, find_scheme

A name is loaded when it is first used: the command starts without Mininet, gRPC and NumPy.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from controller import settings as settings
    from controller.constants import index as index
    from controller.control_plane import TableAction as TableAction
    from controller.control_plane import TableEntry as TableEntry
    from controller.control_plane import TableMatch as TableMatch
    from controller.marking_contract import Setting as Setting
    from controller.programs import Program as Program
    from controller.switch import SwitchClient as SwitchClient
    from experiments.runner import run as run
    from hosts.algorithms import Ack as Ack
    from hosts.algorithms import Cnm as Cnm
    from hosts.algorithms import Cnp as Cnp
    from hosts.algorithms import Loss as Loss
    from hosts.algorithms import Mark as Mark
    from hosts.algorithms import NetworkFacts as NetworkFacts
    from hosts.algorithms import NotificationPoint as NotificationPoint
    from hosts.algorithms import ReactionPoint as ReactionPoint
    from hosts.algorithms import Scheme as Scheme
    from hosts.algorithms import Window as Window
    from hosts.algorithms import find_scheme as find_scheme
    from hosts.algorithms.parameters import Parameters as Parameters
    from hosts.algorithms.parameters import parameter as parameter
    from hosts.paths import Paths as Paths
    from hosts.reliability import Reliability as Reliability
    from hosts.reliability import Repeats as Repeats
    from lab import flows as flows
    from lab import links as links
    from lab import logs as logs
    from lab import supervisor as supervisor
    from lab.attach import attach as attach
    from lab.capture import capture as capture
    from lab.lab import Lab as Lab
    from lab.nic_host import NicHost as NicHost
    from lab.observe import Observer as Observer
    from lab.pause import pause as pause
    from lab.pause import resume as resume
    from lab.virtual import VirtualNetwork as VirtualNetwork
    from softswitch.clock import ManualClock as ManualClock
    from topologies.clos import clos as clos
    from topologies.compact import compact as compact
    from topologies.dumbbell import dumbbell as dumbbell
    from topologies.errors import LabError as LabError
    from topologies.fat_tree import fat_tree as fat_tree
    from topologies.found import find_topology as find_topology
    from topologies.model import Endpoint as Endpoint
    from topologies.model import FlowSpec as FlowSpec
    from topologies.model import Host as Host
    from topologies.model import Link as Link
    from topologies.model import Switch as Switch
    from topologies.model import Topology as Topology
    from topologies.model import make_hosts as make_hosts
    from topologies.parking_lot import parking_lot as parking_lot

_ALGORITHMS = "Ack Cnm Cnp Loss Mark NetworkFacts NotificationPoint ReactionPoint Scheme Window find_scheme"
_HOME = {
    "controller": "settings",
    "controller.constants": "index",
    "controller.control_plane": "TableAction TableEntry TableMatch",
    "controller.marking_contract": "Setting",
    "controller.programs": "Program",
    "controller.switch": "SwitchClient",
    "experiments.runner": "run",
    "hosts.algorithms": _ALGORITHMS,
    "hosts.algorithms.parameters": "Parameters parameter",
    "hosts.paths": "Paths",
    "hosts.reliability": "Reliability Repeats",
    "lab": "flows links logs supervisor",
    "lab.attach": "attach",
    "lab.capture": "capture",
    "lab.lab": "Lab",
    "lab.nic_host": "NicHost",
    "lab.observe": "Observer",
    "lab.pause": "pause resume",
    "softswitch.clock": "ManualClock",
    "topologies.clos": "clos",
    "topologies.compact": "compact",
    "topologies.dumbbell": "dumbbell",
    "topologies.errors": "LabError",
    "topologies.fat_tree": "fat_tree",
    "topologies.found": "find_topology",
    "topologies.model": "Endpoint FlowSpec Host Link Switch Topology make_hosts",
    "topologies.parking_lot": "parking_lot",
    "lab.virtual": "VirtualNetwork",
}
_MODULES = {name: module for module, names in _HOME.items() for name in names.split()}

__all__ = sorted(_MODULES)


def home(name: str) -> str:
    """Returns the module that a public name is from."""
    return _MODULES[name]


def __getattr__(name: str) -> Any:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    module = importlib.import_module(_MODULES[name])
    return getattr(module, name) if hasattr(module, name) else importlib.import_module(f"{_MODULES[name]}.{name}")


def __dir__() -> list[str]:
    return [*globals(), *_MODULES]
