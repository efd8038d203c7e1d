"""Every topology of the catalog for Mininet's own command, with our switches and the kernel's
hosts:

    mn --custom lab/mn.py --topo dumbbell --switch pcn --controller none

`--topo dumbbell,5` has five pairs: what follows the name are the topology's first options, or
NAME=VALUE. `--topo file,star.py:star` is a topology from a file, as `find_topology` reads it.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

try:
    from pcn.topologies.lookup import find_topology, names
except (
    ModuleNotFoundError
):  # `mn` executes this file's text: neither the checkout nor __file__ is known to it
    _root = Path(sys._getframe().f_code.co_filename).resolve().parent.parent
    sys.path.insert(0, str(_root.parent if (_root / "__init__.py").exists() else _root))
    from pcn.topologies.lookup import find_topology, names

from pcn.lab.launch import require_kernel_hosts
from pcn.lab.mininet_switch import PcnSwitch
from pcn.topologies.mininet_topo import mininet_topo


def _topo(reference: str, *options: float | str, **named: float | str) -> Any:
    blueprint = find_topology(reference)
    topology = blueprint.build({**dict(zip(blueprint.options, options, strict=False)), **named})
    require_kernel_hosts(topology)
    return mininet_topo(topology)


# What `mn --custom` looks for.
topos = {"file": _topo, **{name: functools.partial(_topo, name) for name in names()}}
switches = {"pcn": PcnSwitch}
