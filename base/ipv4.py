"""IPv4 addresses as numbers and back, for networks of many: `ipaddress` takes ten times as long."""

from __future__ import annotations

import ipaddress
from socket import AF_INET, inet_ntop, inet_pton


def octets(text: str) -> bytes:
    """Returns the four bytes of an address. Raises ValueError, as `ipaddress` does."""
    try:
        return inet_pton(AF_INET, text)
    except (OSError, ValueError):
        return ipaddress.IPv4Address(text).packed  # it has the words for what is wrong


def number(text: str) -> int:
    """Returns an address as a number. Raises ValueError, as `ipaddress` does."""
    return int.from_bytes(octets(text), "big")


def text(number: int) -> str:
    """Returns an address of 32 bits as text."""
    return inet_ntop(AF_INET, number.to_bytes(4, "big"))
