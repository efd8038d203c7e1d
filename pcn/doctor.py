"""What this machine has of what PCN Lab uses, and the command that brings the rest."""

from __future__ import annotations

import importlib.metadata
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

from controller import compiled
from controller.compiled import ROOT
from softswitch.codegen.compiling import compiler


@dataclass(frozen=True)
class Check:
    """One thing: `needed` or not, there or not, what was found, and the command that brings it. `live`: virtual time
    and figures do without it."""

    name: str
    what_for: str
    needed: bool
    present: bool
    found: str
    remedy: str = ""
    live: bool = False


@dataclass(frozen=True)
class _Tool:
    """`needed`: by networks that are live. Virtual time needs the compiler alone."""

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
_CHECKOUT = "install from a checkout, which stays there: pip install -e ."
# What the C parts include; of a C library's, and of the kernel's headers.
_HEADERS = ("stdio.h", "pthread.h", "linux/if_packet.h")
_C_PARTS = ("softswitch", "hosts", "virtualnet")


def checks() -> list[Check]:
    """Every check, in the order in which a user would mend things."""
    return [*_machine(), *_checkout(), *_tools(), *_packages(), *_kernel()]


def missing(found: Iterable[Check]) -> list[str]:
    """What is needed and isn't there. A user who isn't root may have virtual time alone: then that counts."""
    root = os.geteuid() == 0
    return [check.name for check in found if check.needed and not check.present and (root or not check.live)]


def _machine() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check(
        "Python", "everything", True, sys.version_info >= (3, 10), version, "apt-get install python3 (3.10 or later)"
    )
    yield Check("Linux", "everything", True, sys.platform == "linux", platform.release(), "run it on Linux")
    root = os.geteuid() == 0
    found = "yes" if root else f"uid {os.geteuid()}"
    yield Check("root", "live networks", True, root, found, "run it with sudo", live=True)
    yield _compiler()


def _compiler() -> Check:
    """Whether it makes what is loaded: a shared object, with the headers that our sources include."""
    command = compiler()
    remedy = "apt-get install gcc libc6-dev linux-libc-dev"
    name, what_for = command[0], "switch, hosts, virtual time"
    path = shutil.which(name)
    if path is None:
        return Check(name, what_for, True, False, "not found", remedy)
    source = "".join(f"#include <{header}>\n" for header in _HEADERS) + "int answer(void) { return 0; }\n"
    with tempfile.TemporaryDirectory() as directory:
        words = [*command, "-x", "c", "-", "-fPIC", "-shared", "-o", str(Path(directory) / "probe.so")]
        try:
            done = subprocess.run(
                words, input=source, capture_output=True, text=True, timeout=_COMMAND_LIMIT_S, check=False
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return Check(name, what_for, True, False, f"doesn't run: {error}", remedy)
    if done.returncode != 0:
        said = next((line for line in done.stderr.splitlines() if "error" in line), f"status {done.returncode}")
        return Check(name, what_for, True, False, said.rpartition("error: ")[2], remedy)
    return Check(name, what_for, True, True, _version(path, ("--version",)), remedy)


def _checkout() -> Iterator[Check]:
    """What pip doesn't copy: the C sources, which are compiled where they are used, and the compiled P4 programs."""
    counts = {part: len(list((ROOT / part / "csrc").glob("*.c"))) for part in _C_PARTS}
    without = [part for part, count in counts.items() if not count]
    nowhere = ", ".join(str(ROOT / part / "csrc") for part in without)
    found = f"none in {nowhere}" if without else f"{sum(counts.values())} files"
    yield Check("C sources", "switch, hosts, virtual time", True, not without, found, _CHECKOUT)
    try:
        programs = compiled.manifest()["programs"]
    except OSError as error:
        yield Check("P4 programs", "switches", True, False, f"{error.filename}: {error.strerror}", _CHECKOUT)
        return
    gone = [path for program in programs.values() for path in program["outputs"] if not (ROOT / path).is_file()]
    found = f"not found: {', '.join(gone)}" if gone else compiled.stale() or f"{len(programs)}, of their sources"
    yield Check("P4 programs", "switches", True, not gone, found, "make p4, or git checkout p4src/compiled")


def _tools() -> Iterator[Check]:
    for tool in _TOOLS:
        path = shutil.which(tool.name)
        found = "not found" if path is None else _version(path, tool.version) or path
        yield Check(tool.name, tool.what_for, tool.needed, path is not None, found, tool.remedy, live=tool.needed)


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
        present = done.returncode == 0
        yield Check(name, what_for, needed, present, "yes" if present else said, remedy, live=needed)
    yield _raw_socket()


def _raw_socket() -> Check:
    import socket

    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except OSError as error:
        return Check("raw sockets", "agents, switches", True, False, str(error), "capability CAP_NET_RAW", live=True)
    return Check("raw sockets", "agents, switches", True, True, "yes", live=True)
