"""What a script's network is, as the child hands it to the process that writes the file: plain
values of JSON."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any


class RecordError(Exception):
    """A record that isn't of this shape."""


@dataclass
class HostRecord:
    name: str
    ip: str
    """With its prefix."""
    mac: str
    commands: list[str] = field(default_factory=list)
    """Those that give it routes and neighbours."""


@dataclass
class SwitchRecord:
    name: str
    kind: str
    """The name of its class."""
    program: str = ""
    command_file: str = ""
    commands: list[str] = field(default_factory=list)
    """Those that follow the file's."""
    runtime_json: str = ""
    thrift_port: int = 0
    cpu_port: int = 0
    priority_queues: int = 0


@dataclass
class LinkRecord:
    ends: list[str]
    ports: list[int]
    delay: str = ""
    """With its unit; empty: none."""
    rate_mbps: float | None = None


@dataclass
class NetworkRecord:
    hosts: list[HostRecord]
    switches: list[SwitchRecord]
    links: list[LinkRecord]
    left_out: dict[str, list[str]] = field(default_factory=dict)
    """What the file doesn't have, by kind."""

    def document(self) -> dict[str, Any]:
        """Returns it as values of JSON."""
        return asdict(self)

    @classmethod
    def of_document(cls, document: Mapping[str, Any]) -> NetworkRecord:
        """Raises RecordError."""
        try:
            record = cls(
                [HostRecord(**host) for host in document["hosts"]],
                [SwitchRecord(**switch) for switch in document["switches"]],
                [LinkRecord(**link) for link in document["links"]],
                {str(kind): list(texts) for kind, texts in document["left_out"].items()},
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise RecordError(str(error)) from None
        return record
