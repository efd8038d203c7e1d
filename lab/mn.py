"""Every topology of the catalog for Mininet's own command, with our switches and the kernel's hosts:

    mn --custom lab/mn.py --topo dumbbell --switch pcn --controller none

`--topo dumbbell,5` has five pairs: what follows the name are the topology's first options.
"""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

try:
    from topologies.catalog import TOPOLOGIES
except ModuleNotFoundError:  # `mn` executes this file's text: neither the checkout nor __file__ is known to it
    sys.path.insert(0, str(Path(sys._getframe().f_code.co_filename).resolve().parent.parent))
    from topologies.catalog import TOPOLOGIES

from lab.mininet_switch import PcnSwitch
from topologies.mininet_topo import mininet_topo


def _topo(name: str, *options: float, **named: float) -> Any:
    return mininet_topo(TOPOLOGIES[name](*options, **named))


# What `mn --custom` looks for.
topos = {name: functools.partial(_topo, name) for name in TOPOLOGIES}
switches = {"pcn": PcnSwitch}
