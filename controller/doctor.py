"""What this machine has of what PCN Lab uses, and the command that brings the rest."""

from __future__ import annotations

import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass


@dataclass(frozen=True)
class Check:
    """One thing: `needed` or not, there or not, what was found, and the command that brings it."""

    name: str
    what_for: str
    needed: bool
    present: bool
    found: str
    remedy: str = ""


@dataclass(frozen=True)
class _Tool:
    name: str
    what_for: str
    needed: bool
    remedy: str
    version: tuple[str, ...] = ()


_TOOLS = (
    _Tool("mnexec", "Mininet's namespaces", True, "apt-get install mininet"),
    _Tool("ip", "interfaces", True, "apt-get install iproute2", ("-V",)),
    _Tool("ethtool", "switching offloads off", True, "apt-get install ethtool", ("--version",)),
    _Tool("setpriv", "ending what a dead run left", True, "apt-get install util-linux", ("--version",)),
    _Tool("tshark", "tests of the wire formats", False, "apt-get install tshark", ("--version",)),
    _Tool("chromium", "the report's test in a browser", False, "apt-get install chromium", ("--version",)),
    _Tool(
        "p4c-bm2-ss", "changing the P4 programs", False, "build it from https://github.com/p4lang/p4c", ("--version",)
    ),
    _Tool(
        "simple_switch_grpc",
        "TARGET=bmv2",
        False,
        "build it from https://github.com/p4lang/behavioral-model, with Thrift and PI",
        ("--version",),
    ),
)
_PACKAGES = (
    "mininet",
    "finsy",
    "grpcio",
    "protobuf",
    "click",
    "rich",
    "numpy",
    "matplotlib",
    "pyarrow",
    "pyyaml",
    "jinja2",
    "thriftpy2",
)
_COMMAND_LIMIT_S = 10


def checks() -> list[Check]:
    """Every check, in the order in which a user would mend things."""
    return [*_machine(), *_tools(), *_packages(), *_kernel()]


def _machine() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check(
        "Python", "everything", True, sys.version_info >= (3, 10), version, "apt-get install python3 (3.10 or later)"
    )
    yield Check("Linux", "network namespaces", True, sys.platform == "linux", sys.platform, "run it on Linux")
    root = os.geteuid() == 0
    yield Check("root", "network namespaces", True, root, "yes" if root else f"uid {os.geteuid()}", "run it with sudo")
    compiler = os.environ.get("CC", "cc").split()[0]
    yield _tool(_Tool(compiler, "the embedded switch", True, "apt-get install gcc libc6-dev", ("--version",)))


def _tools() -> Iterator[Check]:
    return map(_tool, _TOOLS)


def _tool(tool: _Tool) -> Check:
    path = shutil.which(tool.name)
    if path is None:
        return Check(tool.name, tool.what_for, tool.needed, False, "not found", tool.remedy)
    return Check(tool.name, tool.what_for, tool.needed, True, _version(path, tool.version) or path, tool.remedy)


def _version(path: str, arguments: tuple[str, ...]) -> str:
    if not arguments:
        return ""
    try:
        done = subprocess.run([path, *arguments], capture_output=True, text=True, timeout=_COMMAND_LIMIT_S, check=False)
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{path}, which doesn't run: {error}"
    lines = [line.strip() for line in (done.stdout or done.stderr).splitlines() if line.strip()]
    number = re.search(r"\d+(\.\d+)+[-+.\w]*", " ".join(lines))
    return number.group() if number else (lines or [path])[0][:40]


def _packages() -> Iterator[Check]:
    for package in _PACKAGES:
        try:
            version = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            yield Check(package, "Python package", True, False, "not found", "make setup")
        else:
            yield Check(package, "Python package", True, True, version, "make setup")


def _kernel() -> Iterator[Check]:
    """Tried in a throw-away namespace, which ends with the command."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None:
        return
    probes: tuple[tuple[str, str, bool, str, str], ...] = (
        ("network namespaces", "every node", True, "true", "a kernel with CONFIG_NET_NS; in a container: --privileged"),
        ("veth", "every link", True, "ip link add d0 type veth peer name d1", "modprobe veth (CONFIG_VETH)"),
        (
            "netem",
            "link delay with TARGET=bmv2",
            False,
            "ip link add d0 type veth peer name d1 && tc qdisc add dev d0 root netem delay 1ms",
            "modprobe sch_netem (package linux-modules-extra on Ubuntu); without it BMv2 runs without link delay",
        ),
    )
    for name, what_for, needed, command, remedy in probes:
        done = subprocess.run(
            ["unshare", "-n", "sh", "-c", command],
            capture_output=True,
            text=True,
            timeout=_COMMAND_LIMIT_S,
            check=False,
        )
        said = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        yield Check(name, what_for, needed, done.returncode == 0, "yes" if done.returncode == 0 else said, remedy)
    yield _raw_socket()


def _raw_socket() -> Check:
    import socket

    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except OSError as error:
        return Check("raw sockets", "agents, switches", True, False, str(error), "capability CAP_NET_RAW")
    return Check("raw sockets", "agents, switches", True, True, "yes")
