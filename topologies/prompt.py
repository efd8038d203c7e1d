"""Mininet's own prompt on a network that another process holds.

with Prompt(record) as prompt:
    prompt.run()                      # until the user leaves it
    prompt.execute("s1 ip link\\nnet")  # or lines of it

Its nodes are shells in the namespaces that are there, its links the veths between them. Leaving it ends the shells and
nothing else.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from collections.abc import Sequence
from functools import partial
from typing import Any

from mininet.cli import CLI
from mininet.link import Link as MininetLink
from mininet.log import lg, setLogLevel
from mininet.net import Mininet
from mininet.node import Node

from topologies.errors import LabError
from topologies.mininet_topo import mininet_topo
from topologies.process import end_children
from topologies.record import Record
from topologies.serialise import from_dict


class _Node(Node):  # type: ignore[misc]
    """A shell in a namespace that is there."""

    portBase = 1  # noqa: N815

    def __init__(self, name: str, record: Record, **params: Any) -> None:
        self._namespace = record.nodes[name].shell.pid
        super().__init__(name, **{**params, "inNamespace": True})

    def startShell(self, mnopts: str | None = None) -> None:  # noqa: N802
        # mnexec closes descriptors and joins the namespace; while `inNamespace` is set, Mininet adds "n" for a new one.
        self.inNamespace = False
        try:
            super().startShell(f"-ca{self._namespace}")
        finally:
            self.inNamespace = True

    def _popen(self, cmd: Sequence[str], **params: Any) -> subprocess.Popen[bytes]:
        guarded = ["setpriv", "--pdeathsig", "KILL", *cmd]
        popen: subprocess.Popen[bytes] = super()._popen(guarded, start_new_session=True, **params)
        return popen

    def config(self, **_params: object) -> dict[str, str]:
        """It is configured."""
        return {}

    def start(self, _controllers: object) -> None:
        """Its program runs."""

    def stop(self, deleteIntfs: bool = False) -> None:  # noqa: N803
        """Its program stays, and so do its interfaces."""


class _Link(MininetLink):  # type: ignore[misc]
    """A veth pair that is there."""

    @classmethod
    def makeIntfPair(cls, *_arguments: object, **_named: object) -> None:  # noqa: N802
        """Both ends exist."""


class _Script(CLI):  # type: ignore[misc]
    """Lines that nobody watches: a word that means nothing ends them, and is no success."""

    def default(self, line: str) -> None:
        word = line.split()[0]
        if word not in self.mn:
            raise LabError(f"no command or node {word!r}: `pcn mn help` lists the commands, `pcn mn nodes` the nodes")
        super().default(line)


class Prompt:
    """A context manager. `net` is Mininet's network, for what its Python interface can do."""

    def __init__(self, record: Record) -> None:
        setLogLevel("output")
        for handler in lg.handlers:
            handler.setStream(sys.stdout)
        Mininet.inited = True  # see topologies.nodes.LabNet
        node = partial(_Node, record=record)
        topo = mininet_topo(from_dict(record.topology))
        self.net = Mininet(topo=topo, switch=node, host=node, link=_Link, controller=None, build=False)

    def __enter__(self) -> Prompt:
        try:
            self.net.buildFromTopo(self.net.topo)
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        nodes = self.net.nameToNode.values()
        end_children([node.shell for node in nodes if node.shell], grace_s=0)  # a shell ignores SIGTERM
        for node in nodes:
            node.cleanup()

    def run(self) -> None:
        """The prompt, until the user leaves it."""
        CLI(self.net)

    def execute(self, lines: str) -> None:
        """Executes lines as if they had been typed. Raises LabError for one that isn't a command."""
        with tempfile.NamedTemporaryFile("w", prefix="pcn-mn-") as script:
            script.write(lines)
            script.flush()
            _Script(self.net, script=script.name)
