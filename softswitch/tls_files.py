"""The files of P4Runtime's TLS: which the command line names, and what is in them."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple, TypeAlias

from pcn.base import inputs
from pcn.softswitch.errors import OptionError

TlsFiles: TypeAlias = tuple[Path, Path, Path | None]
"""Certificate, key, the authority of clients' certificates."""


class Tls(NamedTuple):
    """PEM contents. With `client_ca`, clients need a certificate that it signed."""

    certificate: bytes
    key: bytes
    client_ca: bytes | None = None


def load(files: TlsFiles) -> Tls:
    """Returns what the server needs of them. Raises OptionError."""
    certificate, key, authority = files
    return Tls(_read(certificate), _read(key), None if authority is None else _read(authority))


def named(args: argparse.Namespace) -> TlsFiles | None:
    """Returns the files of a command line's options; None: no TLS. Raises OptionError."""
    if not args.grpc_server_ssl:
        if args.grpc_server_cert or args.grpc_server_key or args.grpc_server_cacert:
            raise OptionError("--grpc-server-cert, -key and -cacert need --grpc-server-ssl")
        if args.grpc_server_with_client_auth:
            raise OptionError("--grpc-server-with-client-auth needs --grpc-server-ssl")
        return None
    if not (args.grpc_server_cert and args.grpc_server_key):
        raise OptionError("--grpc-server-ssl needs --grpc-server-cert and --grpc-server-key")
    if args.grpc_server_with_client_auth and not args.grpc_server_cacert:
        raise OptionError("--grpc-server-with-client-auth needs --grpc-server-cacert")
    if args.grpc_server_cacert and not args.grpc_server_with_client_auth:
        raise OptionError(
            "--grpc-server-cacert needs --grpc-server-with-client-auth: without it every client is "
            "accepted"
        )
    return args.grpc_server_cert, args.grpc_server_key, args.grpc_server_cacert


def _read(path: Path) -> bytes:
    try:
        return inputs.read_bytes(path)
    except OSError as error:
        raise OptionError(f"cannot read {path}: {error.strerror}") from error
