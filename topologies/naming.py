"""Names of nodes and networks, as people write them, and what Linux calls a node's interfaces."""

from __future__ import annotations

import re
import zlib

MAX_INTERFACE_NAME = 15
"""Linux refuses longer interface names (IFNAMSIZ - 1)."""
LONGEST_NAME = 48
"""A node's sockets are files below /run/pcn-lab, and a socket's path has 107 characters at most."""
_NODE = re.compile(rf"(?=.{{1,{LONGEST_NAME}}}\Z)[A-Za-z0-9]([A-Za-z0-9_-]*[A-Za-z0-9])?\Z")
_NETWORK = re.compile(r"[a-z][a-z0-9_-]*\Z")
_DIGITS = "0123456789abcdefghijklmnopqrstuv"
_SHORT = 5
"""Characters that stand for a name that is too long."""


def node_fault(name: str) -> str:
    """Returns what is wrong with a node's name, in a line; empty if nothing is."""
    if _NODE.match(name):
        return ""
    return (
        f"node name {name!r}: up to {LONGEST_NAME} letters, digits, - and _, a letter or a digit "
        "first and last"
    )


def network_fault(name: str) -> str:
    """Returns what is wrong with a network's name, in a line; empty if nothing is."""
    return (
        ""
        if _NETWORK.match(name)
        else f"topology name {name!r}: lower-case letters, digits, - and _ only"
    )


def network_name(text: str) -> str:
    """Returns a network's name that is as near to a text as can be."""
    name = re.sub(r"[^a-z0-9_-]+", "-", text.lower()).strip("-_")[:32]
    return name if _NETWORK.match(name) else f"net-{name}".rstrip("-_")[:32]


def interface(node: str, port: int) -> str:
    """Returns the name of a port's interface: NODE-ethPORT, or, where that is too long, the node's
    first letters, five characters of its name's CRC-32, and -ethPORT."""
    suffix = f"-eth{port}"
    room = MAX_INTERFACE_NAME - len(suffix)
    if len(node) <= room:
        return node + suffix
    crc = zlib.crc32(node.encode())
    return (
        node[: room - _SHORT]
        + "".join(_DIGITS[crc >> 5 * place & 31] for place in range(_SHORT))
        + suffix
    )
