"""Python face of an agent's control socket."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pcn.base.address import AddressError, check_path

from .stats import AgentStats, SentFlow


class AgentError(Exception):
    """The agent can't be reached, or refuses the request; the text is its answer."""


class AgentClient:
    """Commands an agent. A context manager; one connection, made at the first command.

    Rates and times are nominal, but `at` and `epoch`, which are readings of `time.monotonic()`.
    Every method raises AgentError.
    """

    def __init__(self, path: Path | str, timeout_s: float = 10.0) -> None:
        self.path = Path(path)
        self._timeout_s = timeout_s
        self._socket: socket.socket | None = None
        self._received = b""
        self._ahead: str | None = None

    def __enter__(self) -> AgentClient:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        if self._socket is not None:
            self._socket.close()
            self._socket = None
        self._received = b""
        self._ahead = None

    def start(
        self,
        flow: int,
        dst_ip: str,
        dst_mac: str,
        *,
        size_bytes: int | None = None,
        duration_s: float | None = None,
        rate_bps: float | None = None,
        payload_bytes: int = 1000,
        dscp: int | None = None,
        at: float | None = None,
    ) -> None:
        """Starts a flow (24 bit number) now or `at` a time, until its size or duration is reached
        or `stop` comes.

        `rate_bps` limits it beside the scheme. `size_bytes` is payload.
        """
        optional = {
            "size_bytes": size_bytes,
            "duration_s": duration_s,
            "rate_bps": rate_bps,
            "dscp": dscp,
            "at": at,
        }
        options = {name: value for name, value in optional.items() if value is not None}
        self._ask(
            "start",
            flow=flow,
            dst_ip=dst_ip,
            dst_mac=dst_mac,
            payload_bytes=payload_bytes,
            **options,
        )

    def stop(self, flow: int) -> None:
        """The flow sends nothing more; its statistics stay."""
        self._ask("stop", flow=flow)

    def set_routes(
        self, usual: Mapping[str, Sequence[int]], now: Mapping[str, Sequence[int]]
    ) -> None:
        """Frames to these IP addresses leave by one of these ports: `usual` with all links, `now`
        with those up."""
        self._ask(
            "routes",
            usual={ip: list(ports) for ip, ports in usual.items()},
            now={ip: list(ports) for ip, ports in now.items()},
        )

    def flows(self) -> tuple[SentFlow, ...]:
        """Returns the flows that the host sends or sent."""
        return tuple(SentFlow(**flow) for flow in self._ask("list"))

    def stats(self) -> AgentStats:
        """Returns everything that the agent counts."""
        answer = self._ask("stats")
        try:
            return AgentStats.from_json(answer)
        except (TypeError, KeyError) as error:
            raise AgentError(f"{self.path}: the agent is of another version: {error}") from error

    def set_epoch(self, epoch: float) -> None:
        """Reports and the log count from this reading of `time.monotonic()`."""
        self._ask("clock", epoch=epoch)

    def reset(self) -> None:
        """Forgets flows that ended and all that was received."""
        self._ask("reset")

    def shutdown(self) -> None:
        """The agent ends."""
        self._ask("shutdown")
        self.close()

    def request(self, command: str, **arguments: Any) -> Any:
        """Returns the answer to a command that this class has no method for."""
        return self._ask(command, **arguments)

    def ahead(self, command: str) -> None:
        """Sends `stats` or `list` ahead of the call that reads the answer: many agents then work on
        theirs at once."""
        if self._ahead is None:
            self._send(command, {})
            self._ahead = command

    def _ask(self, command: str, **arguments: Any) -> Any:
        ahead, self._ahead = self._ahead, None
        if ahead is not None and (ahead != command or arguments):
            self._answer(ahead)
            ahead = None
        if ahead is None:
            self._send(command, arguments)
        answer = self._answer(command)
        if not answer["ok"]:
            raise AgentError(answer["error"])
        return answer["result"]

    def _send(self, command: str, arguments: dict[str, Any]) -> None:
        with self._errors(command):
            if self._socket is None:
                check_path(self.path)
                connection = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
                connection.settimeout(self._timeout_s)
                try:
                    connection.connect(str(self.path))
                except BaseException:
                    connection.close()
                    raise
                self._socket = connection
            self._socket.sendall(json.dumps({"cmd": command, **arguments}).encode() + b"\n")

    def _answer(self, command: str) -> Any:
        with self._errors(command):
            assert self._socket is not None
            while b"\n" not in self._received:
                data = self._socket.recv(1 << 20)
                if not data:
                    raise ConnectionError("it closed the connection")
                self._received += data
        line, _, self._received = self._received.partition(b"\n")
        return json.loads(line)

    @contextlib.contextmanager
    def _errors(self, command: str) -> Iterator[None]:
        try:
            yield
        except (OSError, AddressError) as error:
            self.close()
            raise AgentError(
                f"no answer from the agent at {self.path} to {command!r}: {error}"
            ) from error
