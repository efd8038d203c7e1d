"""Modules that a script imports and gets stand-ins for: Mininet, p4-utils, and those that P4
projects have beside them. Each has all names, since a script may import one from any."""

from __future__ import annotations

import importlib.abc
import importlib.machinery
import sys
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from pcn.p4net.importing import helpers, networks, nodes
from pcn.p4net.importing.network_api import NetworkAPI
from pcn.p4net.importing.recorder import RECORDER, Accepted

REPLACED = frozenset(
    ("mininet", "p4utils", "p4_mininet", "p4runtime_switch", "p4runtime_lib", "containernet")
)
"""Packages that a script never gets itself, installed or in its folder."""
ABSENT = frozenset(
    (
        *("bmv2", "stratum", "onos", "netstat", "psutil", "termcolor", "thrift", "bm_runtime"),
        *("sswitch_CLI", "runtime_CLI", "p4runtime_sh", "grpc", "p4"),
    )
)
"""Those that it gets a stand-in for where they aren't there: none of them makes a network."""
_CLASSES = (
    *(nodes.Node, nodes.Host, nodes.CPULimitedHost, nodes.Switch, nodes.P4Switch),
    *(nodes.Intf, nodes.TCIntf, nodes.Link, nodes.TCLink),
    *(networks.Topo, networks.SingleSwitchTopo, networks.SingleSwitchReversedTopo),
    *(networks.LinearTopo, networks.TreeTopo, networks.OVSSwitch, networks.Mininet, NetworkAPI),
)
_NAMES: dict[str, Any] = {
    **{cls.__name__: cls for cls in _CLASSES},
    "P4Host": nodes.P4Host,
    "OVSKernelSwitch": networks.OVSSwitch,
    "MinimalTopo": networks.SingleSwitchTopo,
    "Containernet": networks.Mininet,
    "P4Mininet": networks.Mininet,
    "VERSION": "2.3.0",
    **helpers.UTIL,
}


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds modules by the first part of their names."""

    def __init__(self, tops: frozenset[str]) -> None:
        self._tops = tops

    def find_spec(
        self, fullname: str, _path: Sequence[str] | None, _target: ModuleType | None = None
    ) -> importlib.machinery.ModuleSpec | None:
        if fullname.partition(".")[0] not in self._tops:
            return None
        return importlib.machinery.ModuleSpec(fullname, self, is_package=True)

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> ModuleType:
        return _StandIn(spec.name)

    def exec_module(self, module: ModuleType) -> None:
        module.__dict__.update(_NAMES)


class _StandIn(ModuleType):
    """A module that has any name."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        kind = _class_of(self.__name__, name)
        setattr(self, name, kind)
        return kind


class _Unknown:
    """An instance of a class that no stand-in has."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        pass

    def __getattr__(self, name: str) -> Accepted:
        if name.startswith("__"):
            raise AttributeError(name)
        return Accepted(f"{type(self).__name__}.{name}")


class _ControlPlane(_Unknown):
    """A connection to a switch, whose writes aren't recorded."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        RECORDER.leave_out("what control planes write", type(self).__name__)


def _class_of(module: str, name: str) -> Any:
    """Returns a stand-in by the name alone."""
    if not name[:1].isupper():
        return Accepted(name)
    p4 = module.startswith(("p4", "bmv2", "stratum")) or "P4" in name or "mv2" in name
    for endings, kind in (
        (("Switch", "Bridge"), nodes.P4Switch if p4 else networks.OVSSwitch),
        (("Host", "Docker", "Station", "Router", "NAT"), nodes.Host),
        (("Topo",), networks.Topo),
        (("TCLink", "TCULink"), nodes.TCLink),
        (("Link",), nodes.Link),
        (("TCIntf",), nodes.TCIntf),
        (("Intf",), nodes.Intf),
        (("CLI",), helpers.CLI),
        (("API", "Connection", "Client"), _ControlPlane),
    ):
        if name.endswith(endings):
            return type(name, (kind,), {})
    return type(name, (_Unknown,), {})


def install() -> None:
    """Puts the stand-ins before all modules, and those for what is absent behind them."""
    for name in [name for name in sys.modules if name.partition(".")[0] in REPLACED]:
        del sys.modules[name]
    sys.meta_path.insert(0, _Finder(REPLACED))
    sys.meta_path.append(_Finder(ABSENT))
