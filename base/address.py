"""Addresses as gRPC writes them (HOST:PORT, unix:PATH), paths of Unix sockets, and a client's
channel to an address."""

from __future__ import annotations

import ipaddress
import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import grpc

PATH_BYTES = 107
"""The longest path of a Unix socket (unix(7): 108 bytes with the final zero)."""


class AddressError(ValueError):
    """Nothing can listen at the address; the message has the reason and the way out."""


def check_path(path: str | os.PathLike[str]) -> None:
    """Raises AddressError where a Unix socket can't have this path."""
    if (length := len(os.fsencode(path))) > PATH_BYTES:
        raise AddressError(
            f"{os.fspath(path)}: a path of {length} bytes; a Unix socket's has at most "
            f"{PATH_BYTES}: give one that is shorter, or relative to the current folder"
        )


def check(address: str) -> None:
    """Raises AddressError for a Unix socket whose path or name is too long."""
    scheme, _, path = address.partition(":")
    if scheme in ("unix", "unix-abstract"):
        check_path(path.removeprefix("//"))


def is_local(address: str) -> bool:
    """Returns whether only this machine's users can reach an address."""
    scheme, _, rest = address.partition(":")
    if scheme in ("unix", "unix-abstract"):
        return True
    if scheme in ("ipv4", "ipv6", "dns"):
        address = rest.lstrip("/")
    host = address.rpartition(":")[0].strip("[]")
    if host == "localhost":
        return True
    try:
        ip_address = ipaddress.ip_address(host.partition("%")[0])
    except ValueError:
        return False
    return (getattr(ip_address, "ipv4_mapped", None) or ip_address).is_loopback


def channel(
    address: str,
    options: Sequence[tuple[str, int]] = (),
    credentials: grpc.ChannelCredentials | None = None,
) -> grpc.Channel:
    """Returns a client's channel, with `credentials` over TLS. An address of this machine is
    reached without the proxy that `http_proxy` and the like name: gRPC would go by it even to
    127.0.0.1. Raises AddressError."""
    import grpc

    check(address)
    if is_local(address):
        options = [*options, ("grpc.enable_http_proxy", 0)]
    if credentials is None:
        return grpc.insecure_channel(address, options)
    return grpc.secure_channel(address, credentials, options)
