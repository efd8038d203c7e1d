"""Scripts that tests of `pcn p4 import` write: each runs as another user than root, in a folder
that this user may write to."""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from pcn.cli import run
from pcn.p4net.network import P4Network
from pcn.p4net.tutorials import read

NOBODY = "65534"
MININET = """
from mininet.cli import CLI
from mininet.link import Intf, TCLink
from mininet.net import Mininet
from mininet.topo import Topo
from p4_mininet import P4Host, P4Switch
"""
PAIR = (
    MININET
    + """
net = Mininet(host=P4Host, switch=P4Switch, controller=None)
s1 = net.addSwitch("s1", json_path="router.json", thrift_port=9090)
h1, h2 = net.addHost("h1"), net.addHost("h2")
net.addLink(h1, s1)
net.addLink(h2, s1)
"""
)
"""Two hosts at a switch, not started."""


class Scripts:
    """A folder with the router's program, in which scripts are imported."""

    def __init__(self, folder: Path, capsys: pytest.CaptureFixture[str]):
        self.folder, self._capsys = folder, capsys

    def write(self, text: str, name: str = "network.py") -> Path:
        path = self.folder / name
        path.write_text(text)
        path.chmod(0o644)
        return path

    def imported(self, text: str, *words: str, wanted: int = 0) -> tuple[str, str]:
        """Stdout and stderr of the command for a script."""
        script = self.write(text)
        code = run(["p4", "import", str(script), str(self.folder / "net.json"), *words])
        printed = self._capsys.readouterr()
        assert code == wanted, printed.err
        return printed.out, printed.err

    def network(self, text: str, *words: str) -> P4Network:
        """The network that `pcn p4 run` reads of what a script becomes."""
        self.imported(text, *words)
        return read(self.folder / "net.json", self.folder)

    def refused(self, text: str, *words: str) -> str:
        """The one line by which a script is refused."""
        out, errors = self.imported(text, *words, wanted=1)
        assert out == ""
        line = errors.splitlines()[-1]
        assert line.startswith("pcn: ")
        assert "Traceback" not in errors
        assert not (self.folder / "net.json").exists()
        return line


def as_user(monkeypatch: pytest.MonkeyPatch):
    """Where tests are root's, the command is that of a user who called sudo."""
    if os.geteuid() == 0:
        monkeypatch.setenv("SUDO_UID", NOBODY)
        monkeypatch.setenv("SUDO_GID", NOBODY)


def links(network: P4Network) -> list[tuple[str, float, float]]:
    """Ends, rates in Mbit/s (0: unlimited) and delays in ms of links."""
    return sorted(
        (
            f"{link.a.node}:{link.a.port}-{link.b.node}:{link.b.port}",
            0.0 if link in network.unlimited else link.rate_bps / 1e6,
            link.delay_s * 1e3,
        )
        for link in network.topology.links
    )


def commands(network: P4Network) -> dict[str, Sequence[Any]]:
    """Of hosts."""
    return {host.name: network.host(host.name).commands for host in network.topology.hosts}
