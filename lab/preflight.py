"""Whether a network can be started on this machine: root, programs, names that are free."""

from __future__ import annotations

import os
import shutil
import subprocess

from pcn.lab import journal as records
from pcn.lab.launch import NetworkError, require_live
from pcn.lab.target import Target
from pcn.topologies import extras
from pcn.topologies.model import Topology


def require_root_and_mininet() -> None:
    """Raises NetworkError, with the way out, where a network can't be made at all."""
    if os.geteuid() != 0:
        raise NetworkError("making network namespaces needs root: run it with sudo, or as root")
    extras.require("live")
    for tool, package in (
        ("mnexec", "mininet"),
        ("ip", "iproute2"),
        ("ethtool", "ethtool"),
        ("setpriv", "util-linux"),
    ):
        if shutil.which(tool) is None:
            raise NetworkError(
                f"{tool} is missing: `apt-get install {package}` brings it; `pcn doctor` checks "
                "the rest"
            )
    # Mininet waits without a limit for the prompt of a node's shell, also of one that can't start.
    trial = subprocess.run(
        ["mnexec", "-n", "ip", "link", "set", "lo", "up"],
        capture_output=True,
        text=True,
        errors="replace",
        timeout=20,
        check=False,
    )
    if trial.returncode != 0:
        reason = trial.stderr.strip() or "nothing"
        raise NetworkError(
            f"this system refuses network namespaces ({reason}): a container needs --cap-add "
            "NET_ADMIN --cap-add SYS_ADMIN"
        )


def require_startable(topology: Topology, target: Target, name: str | None = None) -> None:
    """Raises what entering the `Network` would, as far as that shows before anything is made."""
    require_live(topology, target.name)
    require_root_and_mininet()
    target.require()
    require_free(name or topology.name)
    _check_interfaces(topology)


def require_free(name: str) -> None:
    """Raises NameInUseError where a network of this name is up, and RunDirError where this user may
    have none."""
    if records.is_held(name):
        raise records.NameInUseError(records.in_use_message(name))


def _check_interfaces(topology: Topology) -> None:
    """One of our names in the root namespace is another Mininet network's: captures would show the
    wrong one."""
    from pcn.lab.nodes import root_interfaces

    ours = {end.interface for link in topology.links for end in (link.a, link.b)}
    for name in sorted(ours & root_interfaces()):
        raise records.NameInUseError(
            f"interface {name} exists already, from another network with the same node names: end "
            f"that one, or remove the interface with `ip link delete {name}`"
        )
