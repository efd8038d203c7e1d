"""Which member a packet selects: as the real BMv2 does, whose results are on record."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import grpc
import needs
import pytest
import selection
from p4rt_client import WAIT_S, Client
from p4rt_switch import PROGRAMS, Program, Switch, load

RECORD = PROGRAMS / "indirect.bmv2.json"  # "version": of simple_switch_grpc; "results": of selection.run


@pytest.fixture(scope="module")
def indirect() -> Program:
    return load(PROGRAMS / "indirect")


def results(port: int, program: Program) -> dict[str, list[list[int]]]:
    with Client(port) as client:
        client.arbitrate()
        client.set_pipeline(program.info, program.json)
        return selection.run(client, program.names)


def test_selects_as_bmv2_did(empty_switch: Switch, indirect: Program) -> None:
    found = results(empty_switch.port, indirect)
    recorded = json.loads(RECORD.read_text())["results"]
    assert {part: len(values) for part, values in found.items()} == {k: len(v) for k, v in recorded.items()}
    for part, values in found.items():
        assert values == recorded[part], part


@pytest.fixture
def bmv2(tmp_path: Path) -> Iterator[int]:
    """The real BMv2, without interfaces; the port of its server."""
    program = needs.program("simple_switch_grpc", needs.BMV2)
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    command = [program, "--no-p4", "--device-id", "1", "--thrift-port", "0", "--log-file", str(tmp_path / "log")]
    options = ["--grpc-server-addr", f"127.0.0.1:{port}", "--cpu-port", "255"]
    with subprocess.Popen([*command, "--", *options], stdout=subprocess.DEVNULL) as process:
        try:
            with grpc.insecure_channel(f"127.0.0.1:{port}") as channel:
                grpc.channel_ready_future(channel).result(WAIT_S)
            yield port
        finally:
            process.kill()


def test_the_record_is_what_bmv2_does(bmv2: int, indirect: Program) -> None:
    assert results(bmv2, indirect) == json.loads(RECORD.read_text())["results"]
