"""What the stand-ins record while a script runs: networks, what their file lacks, and when a
network has started."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, Protocol

from pcn.p4net.importing.record import NetworkRecord

MOST_LEFT_OUT = 1000
"""Texts of a kind; more are counted alone."""


class Network(Protocol):
    """A network of a script."""

    def record(self) -> NetworkRecord:
        """Returns what it has by now."""


class EndedError(BaseException):
    """The script is over: it would only wait."""


class Recorder:
    """`report` gets the record of the script's network whenever it may be complete: the child may
    be killed at any time."""

    def __init__(self) -> None:
        self.networks: list[Network] = []
        self.started: Network | None = None
        self.left_out: dict[str, list[str]] = {}
        self.tables: list[TableCommands] = []
        self.report: Callable[[NetworkRecord], None] = lambda _record: None

    def leave_out(self, kind: str, text: str) -> None:
        """Notes what the network's file can't have."""
        texts = self.left_out.setdefault(kind, [])
        if len(texts) < MOST_LEFT_OUT and text not in texts:
            texts.append(text)

    def start(self, network: Network) -> None:
        """Notes that a network is up."""
        if self.started is not None and self.started is not network:
            self.leave_out("earlier networks of the script", type(self.started).__name__)
        self.started = network
        self.save()

    def save(self) -> None:
        """Reports the network: that which started last, or else was built last."""
        network = self.started or (self.networks[-1] if self.networks else None)
        if network is not None:
            record = network.record()
            for commands in self.tables:
                self._give(record, commands)
            record.left_out = {kind: list(texts) for kind, texts in self.left_out.items()}
            self.report(record)

    def _give(self, record: NetworkRecord, commands: TableCommands) -> None:
        """Gives a switch its commands: by its name, its Thrift port, or as the only one."""
        switches = record.switches
        fitting = [switch for switch in switches if switch.name == commands.switch]
        fitting = fitting or [switch for switch in switches if switch.thrift_port == commands.port]
        fitting = fitting or (switches if len(switches) == 1 else [])
        if not fitting:
            self.leave_out("commands for switches that aren't there", f"port {commands.port}")
            return
        switch, lines = fitting[0], commands.lines
        if commands.path and (switch.command_file or switch.commands):
            try:  # by the script's user, and behind what went before
                text = Path(commands.path).read_text("utf-8", "replace")
            except OSError as error:
                self.leave_out("command files", f"{commands.path}: {error.strerror}")
                return
            lines = [line for line in text.splitlines() if line.strip()]
        elif commands.path:
            switch.command_file = commands.path
        switch.commands += lines


class TableCommands:
    """Commands that the script gives a switch by simple_switch_CLI: a file's, or lines."""

    def __init__(self, switch: str, port: int, path: str = "", text: str = "") -> None:
        self.switch, self.port, self.path = switch, port, path
        """The switch by its name, or else by its Thrift port."""
        self.lines = [line.strip() for line in text.splitlines() if line.strip()]


RECORDER = Recorder()
"""Of this process."""


class Accepted:
    """What a script gets for an attribute that no stand-in has: it may be called, and is empty."""

    def __init__(self, name: str) -> None:
        self.accepted_name = name

    def __call__(self, *_arguments: Any, **_options: Any) -> Accepted:
        return Accepted(self.accepted_name)

    def __getattr__(self, name: str) -> Accepted:
        if name.startswith("__"):
            raise AttributeError(name)
        return Accepted(f"{self.accepted_name}.{name}")

    def __iter__(self) -> Any:
        return iter(())

    def __len__(self) -> int:
        return 0

    def __bool__(self) -> bool:
        return False

    def __str__(self) -> str:
        return ""

    def __enter__(self) -> Accepted:
        return self

    def __exit__(self, *_reason: object) -> None:
        pass
