"""The agent's local socket: JSON lines, one request and one answer each. Who opens the socket
commands the agent, so only its own user may (mode 0600).

    {"cmd": "stop", "flow": 1}  ->  {"ok": true, "result": null}
    {"cmd": "stats"}            ->  {"ok": true, "result": {...}}
    {"cmd": "fly"}              ->  {"ok": false, "error": "..."}

`pcn.hosts.client` is the Python face; the commands and their fields stand in `pcn.hosts.agent`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import socket
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pcn.base import owner_only
from pcn.base.address import AddressError, check_path

_MOST_BYTES = 1 << 20
_MOST_CLIENTS = 64


class ControlError(Exception):
    """The socket can't be made."""


class CommandError(ValueError):
    """A request that isn't understood or can't be done."""


class ControlServer:
    """Listens on a Unix socket and removes its file at the end. Never blocks but to write an
    answer.

    `serve` when `poll` has something to read.
    """

    def __init__(self, path: Path, handle: Callable[[Mapping[str, Any]], Any]) -> None:
        """`handle` does a request and returns its result, for JSON; what it raises becomes an
        answer. Raises ControlError."""
        self.path = path
        self._handle = handle
        self._clients: dict[int, tuple[socket.socket, bytearray]] = {}
        self._listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        try:
            check_path(path)
            _remove_stale(path)
            with owner_only.unshared():
                self._listener.bind(str(path))
            self._listener.listen(16)
        except (OSError, AddressError, ControlError) as error:
            self._listener.close()
            if isinstance(error, ControlError):
                raise
            if isinstance(error, AddressError):
                raise ControlError(f"control socket {error}") from None
            raise ControlError(f"control socket {path}: {error.strerror or error}") from error
        self._listener.setblocking(False)
        self.poll = select.epoll()
        self.poll.register(self._listener, select.EPOLLIN)

    def __enter__(self) -> ControlServer:
        return self

    def __exit__(self, *_: object) -> None:
        for client, _data in self._clients.values():
            client.close()
        self._listener.close()
        self.poll.close()
        with contextlib.suppress(FileNotFoundError):
            self.path.unlink()

    def serve(self) -> None:
        """Handles connections, requests and disconnections."""
        for fileno, _ in self.poll.poll(0):
            if fileno == self._listener.fileno():
                # nobody waits any more, or no descriptor is left
                with contextlib.suppress(OSError):
                    self._accept()
            elif fileno in self._clients and not self._read(*self._clients[fileno]):
                self._clients.pop(fileno)[0].close()  # leaves `poll` by this

    def _accept(self) -> None:
        client, _ = self._listener.accept()
        if len(self._clients) == _MOST_CLIENTS:
            client.close()
            return
        client.settimeout(1.0)
        self._clients[client.fileno()] = (client, bytearray())
        self.poll.register(client, select.EPOLLIN)

    def _read(self, client: socket.socket, data: bytearray) -> bool:
        """Returns whether the client stays."""
        try:
            received = client.recv(65536)
            if not received:
                return False
            data += received
            while b"\n" in data:
                line, _, rest = bytes(data).partition(b"\n")
                data[:] = rest
                client.sendall(self._answer(line).encode() + b"\n")
        except OSError:
            return False
        return len(data) <= _MOST_BYTES

    def _answer(self, line: bytes) -> str:
        """Returns the answer to a request as JSON. No request ends the agent."""
        try:
            request = json.loads(line)
            if not isinstance(request, dict):
                raise CommandError("a request is a JSON object on one line")
            return json.dumps({"ok": True, "result": self._handle(request)})
        except ValueError as error:
            text = str(error)
        except Exception as error:
            text = f"{type(error).__name__}: {error}"
        return json.dumps({"ok": False, "error": text})


def _remove_stale(path: Path) -> None:
    """Removes a socket without a listener. Raises ControlError if a process listens."""
    if not path.is_socket():
        if path.exists():
            raise ControlError(f"control socket {path}: a file of that name is no socket")
        return
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as probe:
        try:
            probe.connect(os.fspath(path))
        except ConnectionRefusedError:
            path.unlink()
            return
    raise ControlError(f"control socket {path}: an agent listens there already")
