"""What this machine has of what PCN Lab uses, and the command that brings the rest."""

from __future__ import annotations

import base64
import csv
import hashlib
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib import metadata
from pathlib import Path

from pcn.base import packed
from pcn.p4src import manifest
from pcn.p4src.manifest import FOLDER, ROOT
from pcn.softswitch.cache.objects import BuildError, cache_dir, compiler, uses_shipped, writing
from pcn.topologies import extras


@dataclass(frozen=True)
class Check:
    """One thing: `needed` or not, there or not, what was found, and the command that brings it.
    `live`: virtual time and figures do without it."""

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
    _Tool(
        "setpriv", "ending what a dead run left", True, "apt-get install util-linux", ("--version",)
    ),
    _Tool("tshark", "tests of the wire formats", False, "apt-get install tshark", ("--version",)),
    _Tool(
        "chromium",
        "the report's test in a browser",
        False,
        "apt-get install chromium",
        ("--version",),
    ),
    _Tool(
        "p4c-bm2-ss",
        "changing the P4 programs",
        False,
        "package p4lang-p4c: https://github.com/p4lang/p4c#installing-packaged-versions-of-p4c",
        ("--version",),
    ),
    _Tool(
        "simple_switch_grpc",
        "TARGET=bmv2",
        False,
        "build it from https://github.com/p4lang/behavioral-model, with Thrift and PI",
        ("--version",),
    ),
)
_COMMAND_LIMIT_S = 10
# What our C sources include of a C library's headers, and of the kernel's.
_HEADERS = ("stdio.h", "pthread.h", "linux/if_packet.h")
_DATA = (
    "controller/tofino/ports.yaml",
    "docs/choices.md",
    "experiments/page/templates/report.html.j2",
    "softswitch/clock.proto",
    "softswitch/thrift/bmv2.thrift",
)
_NAMED = 3
_CHECKOUT = (ROOT / "pyproject.toml").is_file()
_PACKAGES_AGAIN = "make clean setup" if _CHECKOUT else "a virtual environment of pcn-lab's own"
_AGAIN = "git checkout ." if _CHECKOUT else "pipx install --force ., in a clone of the repository"


def checks() -> list[Check]:
    """Returns every check, in the order in which a user would mend things."""
    return [*_machine(), *_installation(), *_tools(), _bf_runtime(), *_packages(), *_kernel()]


def missing(checks: Iterable[Check]) -> list[str]:
    """Lists needed software that is missing. Without root, or without the extra of live networks,
    only virtual time counts."""
    live = os.geteuid() == 0 and extras.installed("live")
    return [
        check.name
        for check in checks
        if check.needed and not check.present and (live or not check.live)
    ]


def _machine() -> Iterator[Check]:
    version = ".".join(map(str, sys.version_info[:3]))
    yield Check(
        "Python",
        "everything",
        True,
        sys.version_info >= (3, 10),
        version,
        "apt-get install python3 (3.10 or later)",
    )
    yield Check(
        "Linux", "everything", True, sys.platform == "linux", platform.release(), "run it on Linux"
    )
    root = os.geteuid() == 0
    status = "yes" if root else f"uid {os.geteuid()}"
    yield Check("root", "live networks", True, root, status, "run it with sudo", live=True)
    ready = [_compiler(), _cache()]
    yield from ready
    if all(check.present or not check.needed for check in ready):
        yield _libraries()


def _compiler() -> Check:
    """Returns whether it makes what is loaded: a shared object, with the headers that our sources
    include. Where the installation has such objects, only users' programs and schemes need it."""
    command, required = compiler(), not uses_shipped()
    remedy = "apt-get install gcc libc6-dev linux-libc-dev"
    name, what_for = (
        command[0],
        "switch, hosts, virtual time" if required else "own P4 programs, schemes in C",
    )
    path = shutil.which(name)
    if path is None:
        return Check(name, what_for, required, False, "not found", remedy)
    source = (
        "".join(f"#include <{header}>\n" for header in _HEADERS)
        + "int answer(void) { return 0; }\n"
    )
    with tempfile.TemporaryDirectory() as directory:
        words = [
            *command,
            "-x",
            "c",
            "-",
            "-fPIC",
            "-shared",
            "-o",
            str(Path(directory) / "probe.so"),
        ]
        try:
            done = subprocess.run(
                words,
                input=source,
                capture_output=True,
                text=True,
                errors="replace",
                timeout=_COMMAND_LIMIT_S,
                check=False,
            )
        except (OSError, subprocess.TimeoutExpired) as error:
            return Check(name, what_for, required, False, f"doesn't run: {error}", remedy)
    if done.returncode != 0:
        message = next(
            (line for line in done.stderr.splitlines() if "error" in line),
            f"status {done.returncode}",
        )
        return Check(name, what_for, required, False, message.rpartition("error: ")[2], remedy)
    return Check(name, what_for, required, True, _version(path, ("--version",)), remedy)


def _cache() -> Check:
    try:
        folder = cache_dir()
        with writing(folder), tempfile.TemporaryFile(dir=folder):
            pass
    except BuildError as error:
        return Check("cache", "what is compiled", True, False, str(error), "set XDG_CACHE_HOME")
    return Check("cache", "what is compiled", True, True, str(folder))


def _libraries() -> Check:
    """Checks that C libraries are compiled, unless the cache has them, and loaded: then no source
    is missing, and no symbol."""
    name, what_for = "C libraries", "switch, hosts, virtual time"
    try:
        from pcn.hosts.native import library
        from pcn.hosts.virtual.native import engine
        from pcn.softswitch.embed.library import build_program

        library()
        engine()
        build_program(packed.read_text(ROOT / FOLDER / "pcn_native.json"))
    except (BuildError, OSError) as error:
        return Check(name, what_for, True, False, str(error), _AGAIN)
    except (
        Exception
    ) as error:  # a Python package that is missing, or that another has pushed to a version too old
        return Check(
            name, what_for, True, False, f"{type(error).__name__}: {error}", _PACKAGES_AGAIN
        )
    return Check(name, what_for, True, True, "they compile")


def _installation() -> Iterator[Check]:
    """Checks our files beside Python's modules."""
    wrong = {
        "not found": [name for name in _DATA if not (ROOT / name).is_file()],
        "not as installed": list(_changed()),
    }
    faults = "; ".join(f"{fault}: {_few(files)}" for fault, files in wrong.items() if files)
    yield Check("files", "everything", True, not faults, faults or str(ROOT), _AGAIN)
    yield _programs()


def _changed() -> Iterator[str]:
    """Yields the files of ours that aren't what pip wrote, by its RECORD: since Python 3.12
    `metadata.files` leaves out what is gone."""
    try:
        installed = metadata.distribution(extras.PROJECT)
    except metadata.PackageNotFoundError:
        return
    for name, digest, _ in csv.reader((installed.read_text("RECORD") or "").splitlines()):
        algorithm, _, value = digest.partition("=")
        if not value or ".." in Path(name).parts:
            continue
        path = Path(str(installed.locate_file(name)))
        actual = hashlib.new(algorithm, path.read_bytes()).digest() if path.is_file() else b""
        if base64.urlsafe_b64encode(actual).rstrip(b"=").decode() != value:
            yield name


def _programs() -> Check:
    name, what_for = "P4 programs", "switches"
    try:
        folders = (ROOT / FOLDER, ROOT / FOLDER / "tna")
        programs = [
            program
            for folder in folders
            for program in manifest.manifest(folder)["programs"].values()
        ]
        present = {path for folder in folders for path in packed.files(folder, "")}
    except OSError as error:
        return Check(name, what_for, True, False, f"{error.filename}: {error.strerror}", _AGAIN)
    outputs = [
        program["outputs"]
        for program in programs
        if next(iter(program["outputs"])).startswith(FOLDER)
    ]
    gone = [path for paths in outputs for path in paths if ROOT / path not in present]
    status = (
        f"not found: {_few(gone)}"
        if gone
        else manifest.stale() or f"{len(outputs)}, of their sources"
    )
    return Check(name, what_for, True, not gone, status, _AGAIN)


def _few(files: list[str]) -> str:
    more = f" and {len(files) - _NAMED} more" if len(files) > _NAMED else ""
    return ", ".join(files[:_NAMED]) + more


def _tools() -> Iterator[Check]:
    for tool in _TOOLS:
        path = _where(tool.name)
        status = "not found" if path is None else _version(path, tool.version) or path
        yield Check(
            tool.name,
            tool.what_for,
            tool.needed,
            path is not None,
            status,
            tool.remedy,
            live=tool.needed,
        )


def _bf_runtime() -> Check:
    """Returns whether the messages of a lab's SDE load."""
    from pcn.controller.errors import SwitchError
    from pcn.controller.tofino import bfrt_messages

    name, what_for = "BF Runtime", "pcn deploy --bfrt"
    try:
        path = bfrt_messages.load().__file__ or ""
    except SwitchError as error:
        return Check(name, what_for, False, False, "not found", str(error))
    return Check(name, what_for, False, True, path)


def _where(tool: str) -> str | None:
    """Returns a tool's path: on PATH, or in root's folders, which an ordinary user's PATH leaves
    out; None: it is missing."""
    return shutil.which(tool) or (
        None if os.geteuid() == 0 else shutil.which(tool, path="/usr/sbin:/sbin")
    )


def _version(path: str, arguments: tuple[str, ...]) -> str:
    if not arguments:
        return ""
    try:
        done = subprocess.run(
            [path, *arguments],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_COMMAND_LIMIT_S,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"{path}, which doesn't run: {error}"
    lines = [line.strip() for line in (done.stdout or done.stderr).splitlines() if line.strip()]
    number = re.search(r"\d+(\.\d+)+[-+.\w]*", " ".join(lines))
    return number.group() if number else (lines or [path])[0][:40]


def _packages() -> Iterator[Check]:
    """Yields what pyproject.toml requires, and its extras: live networks need theirs."""
    try:
        lines = metadata.requires(extras.PROJECT) or []
    except metadata.PackageNotFoundError:
        status = "not installed: a source tree, whose packages are unknown"
        yield Check(
            extras.PROJECT, "everything", True, False, status, "make setup" if _CHECKOUT else _AGAIN
        )
        return
    for line in lines:
        package, extra = re.split(r"[^\w-]", line)[0], re.search(r"extra == ['\"](.+?)['\"]", line)
        if extra and extra[1] not in extras.MODULES:  # for work on the project
            continue
        live = extra is not None and extra[1] == "live"
        what_for = f"extra {extra[1]}" if extra else "everything"
        remedy = "make setup" if _CHECKOUT else extras.remedy(extra[1]) if extra else _AGAIN
        try:
            status, present = metadata.version(package), True
        except metadata.PackageNotFoundError:
            status, present = "not found", False
        yield Check(package, what_for, live or extra is None, present, status, remedy, live=live)


def _kernel() -> Iterator[Check]:
    """Yields what is tried in a throw-away namespace, which ends with the command."""
    if os.geteuid() != 0 or shutil.which("unshare") is None or shutil.which("ip") is None:
        return
    probes: tuple[tuple[str, str, bool, str, str], ...] = (
        (
            "network namespaces",
            "every node",
            True,
            "true",
            "a kernel with CONFIG_NET_NS; in a container: --cap-add SYS_ADMIN",
        ),
        (
            "veth",
            "every link",
            True,
            "ip link add d0 type veth peer name d1",
            "modprobe veth (CONFIG_VETH); in a container: --cap-add NET_ADMIN",
        ),
        (
            "netem",
            "link delay with TARGET=bmv2",
            False,
            "ip link add d0 type veth peer name d1 && tc qdisc add dev d0 root netem delay 1ms",
            (
                "modprobe sch_netem (package linux-modules-extra on Ubuntu); without it the hosts' "
                "agents delay for BMv2"
            ),
        ),
    )
    for name, what_for, needed, command, remedy in probes:
        done = subprocess.run(
            ["unshare", "-n", "sh", "-c", command],
            capture_output=True,
            text=True,
            errors="replace",
            timeout=_COMMAND_LIMIT_S,
            check=False,
        )
        message = (done.stderr.strip().splitlines() or [f"status {done.returncode}"])[-1]
        present = done.returncode == 0
        yield Check(
            name, what_for, needed, present, "yes" if present else message, remedy, live=needed
        )
    yield _raw_socket()


def _raw_socket() -> Check:
    import socket

    try:
        socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0).close()
    except OSError as error:
        return Check(
            "raw sockets",
            "agents, switches",
            True,
            False,
            str(error),
            "capability CAP_NET_RAW",
            live=True,
        )
    return Check("raw sockets", "agents, switches", True, True, "yes", live=True)
