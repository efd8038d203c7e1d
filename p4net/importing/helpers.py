# ruff: noqa: N803
"""Stand-ins for Mininet's functions beside networks: util, log, cli."""

from __future__ import annotations

import functools
import sys
from typing import Any

from pcn.p4net.importing.networks import mac_of, natural
from pcn.p4net.importing.recorder import RECORDER


class CLI:
    """The command line of a network, which ends at once."""

    def __init__(self, *_arguments: Any, **_options: Any) -> None:
        RECORDER.save()

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return nothing


def nothing(*_arguments: Any, **_options: Any) -> str:
    """Returns no output."""
    return ""


def error(*texts: Any) -> None:
    """Prints an error of the script."""
    print(*texts, file=sys.stderr, end="")


def irange(start: int, end: int) -> range:
    """Returns a range with its end."""
    return range(start, end + 1)


def natural_sequence(names: Any) -> list[Any]:
    """Returns a key of names."""
    return [natural(name) for name in names]


def custom(cls: Any, **params: Any) -> Any:
    """Returns a class with these parameters."""
    return functools.partial(cls, **params)


def ip_text(number: int) -> str:
    """Returns an address of a number."""
    return ".".join(str(byte) for byte in number.to_bytes(4, "big"))


def ip_number(*octets: int) -> int:
    """Returns the number of an address."""
    return int.from_bytes(bytes(octets), "big")


def ip_add(number: int, prefixLen: int = 8, ipBaseNum: int = 0x0A000000) -> str:
    """Returns the address of a number in a network."""
    return ip_text(ipBaseNum + number)


def ip_parse(text: str) -> int:
    """Returns the number of an address, whose missing bytes are 0 before the last."""
    octets = [int(octet) for octet in text.split(".")]
    return ip_number(*octets[:-1], *[0] * (4 - len(octets)), octets[-1])


UTIL = {
    "CLI": CLI,
    "irange": irange,
    "natural": natural,
    "naturalSeq": natural_sequence,
    "custom": custom,
    "macColonHex": mac_of,
    "ipStr": ip_text,
    "ipNum": ip_number,
    "ipAdd": ip_add,
    "ipParse": ip_parse,
    "error": error,
    "numCores": lambda: 1,
    "errRun": lambda *_words, **_options: ("", "", 0),
    "waitListening": lambda *_words, **_options: True,
    **dict.fromkeys(
        (
            *("setLogLevel", "info", "output", "debug", "warn", "warning", "lg", "quietRun"),
            *("run", "dumpNodeConnections", "dumpNetConnections", "dumpPorts", "ensureRoot"),
            *("cleanup", "makeTerm", "makeTerms", "cleanUpScreens", "runX11", "fixLimits"),
            *("moveIntf", "pmonitor", "importlib_reload", "makeIntfPair"),
        ),
        nothing,
    ),
}
"""By the name that scripts import."""
