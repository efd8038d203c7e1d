"""Mininet's own prompt on a network that another process holds.

with Prompt(record) as prompt:
    prompt.run()                      # until the user leaves it
    prompt.execute("s1 ip link\\nnet")  # or lines of it

Its nodes are shells in the namespaces that are there, its links the veths between them. Making them changes neither,
and leaving it ends the shells and nothing else.
"""

from __future__ import annotations

import logging
import os
import subprocess
import sys
from collections.abc import Sequence
from functools import partial
from typing import Any, NoReturn

from mininet.cli import CLI
from mininet.link import Intf
from mininet.link import Link as MininetLink
from mininet.log import lg, output, setLogLevel
from mininet.net import Mininet
from mininet.node import Node

from lab.attach import Attached
from lab.journal import BY_MININET, Record
from lab.links import running_interfaces, set_link
from lab.process import end_children
from topologies.errors import LabError
from topologies.mininet_topo import mininet_topo


class _Node(Node):  # type: ignore[misc]
    """A shell in a namespace that is there."""

    portBase = 1  # noqa: N815

    def __init__(self, name: str, record: Record, **params: Any) -> None:
        self.record = record
        shell = record.nodes[name].shell
        if not shell.alive():  # Mininet would wait for ever for a prompt from there
            raise LabError(
                f"the shell that holds {name}'s namespace has ended (`mn -c` ends them all, and so does an `mn` that "
                f"fails): `pcn down {record.name}`, then up again"
            )
        self._namespace = shell.pid
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


class _Intf(Intf):  # type: ignore[misc]
    """An interface that is there, as it is."""

    def config(self, **_params: object) -> dict[str, str]:
        """Mininet's would set it up, among other things."""
        return {}

    def status(self) -> str:
        """OK: frames can leave by it."""
        said: str = super().status()
        running = running_interfaces(self.node.record, self.node.name, [self.name])
        return said if said != "OK" or self.name in running else "DOWN"


class _Link(MininetLink):  # type: ignore[misc]
    """A veth pair that is there."""

    def __init__(self, *arguments: Any, **named: Any) -> None:
        super().__init__(*arguments, **{**named, "intf": _Intf})

    @classmethod
    def makeIntfPair(cls, *_arguments: object, **_named: object) -> None:  # noqa: N802
        """Both ends exist."""


class _Net(Mininet):  # type: ignore[misc]
    """Mininet's network of what is there."""

    def __init__(self, lab: Attached) -> None:
        self._lab = lab
        node = partial(_Node, record=lab.record)
        topo = mininet_topo(lab.topology)
        super().__init__(topo=topo, switch=node, host=node, link=_Link, controller=None, build=False)

    def configLinkStatus(self, src: str, dst: str, status: str) -> None:  # noqa: N802
        """As `pcn link`: Mininet would set a host's interface down, which its agent doesn't survive."""
        set_link(self._lab, src, dst, status == "up")


# What Mininet's commands need and these networks don't have, and the way out.
_NO_KERNEL_HOSTS = (
    "a host's kernel has no IP address here, the agent speaks for it; `pcn flow start` and `pcn flow stats` measure, "
    "and `mn --custom lab/mn.py --topo dumbbell --switch pcn --controller none` has the kernel's hosts"
)
_CANNOT = {
    **dict.fromkeys(("pingall", "pingallfull", "pingpair", "pingpairfull", "iperf", "iperfudp"), _NO_KERNEL_HOSTS),
    "dpctl": "these switches speak P4Runtime, not OpenFlow; `pcn tables`, `pcn counters`, `pcn registers` read them",
    "switch": "the network's own process holds its switches; `pcn link NODE NODE down` takes links away",
}


class _Typed(CLI):  # type: ignore[misc]
    """The prompt. An impossible command is reported in a line."""

    def onecmd(self, line: str) -> Any:
        try:
            return self._do(line)
        except LabError as error:
            output(f"*** {error}\n")
            return None

    def _do(self, line: str) -> Any:
        word = next(iter(line.split()), "")
        if word in _CANNOT:
            raise LabError(f"{word}: {_CANNOT[word]}")
        return super().onecmd(line)


class _Script(_Typed):
    """Lines of a script: an impossible command, or an unknown word, ends them, with failure."""

    def onecmd(self, line: str) -> Any:
        return self._do(line)

    def default(self, line: str) -> None:
        word = line.split()[0]
        if word not in self.mn:
            raise LabError(f"no command or node {word!r}: `pcn mn help` lists the commands, `pcn mn nodes` the nodes")
        super().default(line)


class Prompt:
    """A context manager. `net` is Mininet's network, for what its Python interface can do."""

    def __init__(self, record: Record) -> None:
        if record.role == BY_MININET:
            raise LabError(f"{record.name} is Mininet's own: its prompt is where `mn` runs, process {record.owner.pid}")
        setLogLevel("output")
        for handler in lg.handlers:
            handler.setStream(sys.stdout)
            handler.handleError = _raise
        Mininet.inited = True  # see lab.nodes.LabNet
        self.net = _Net(Attached(record))

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
        _Typed(self.net)

    def execute(self, lines: str) -> None:
        """Executes lines as if they had been typed. Raises LabError for one that isn't a command, or can't be done
        here; BrokenPipeError when the output is closed."""
        script = _Script(self.net, script=os.devnull)
        for line in lines.splitlines():
            script.onecmd(line)


def _raise(_record: logging.LogRecord) -> NoReturn:
    """Mininet prints by a logger, which would write a traceback for each word after the output was closed."""
    error = sys.exc_info()[1]
    assert error is not None
    raise error
