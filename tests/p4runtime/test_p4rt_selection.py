"""Which member a packet selects: as the real BMv2 does, whose results are on record."""

import json
import lzma
from collections.abc import Iterator

import needs
import p4rt_bmv2
import pytest
import selection
from p4rt_client import Client
from p4rt_switch import PROGRAMS, Program, Switch, load

# "version": of simple_switch_grpc; "results": of selection.run
RECORD = PROGRAMS / "indirect.bmv2.json.xz"


@pytest.fixture(scope="module")
def indirect() -> Program:
    return load(PROGRAMS / "indirect")


def recorded() -> dict[str, list[list[int]]]:
    """What BMv2 selected."""
    return json.loads(lzma.decompress(RECORD.read_bytes()))["results"]


def results(port: int, program: Program) -> dict[str, list[list[int]]]:
    with Client(port) as client:
        client.arbitrate()
        client.set_pipeline(program.info, program.json)
        return selection.run(client, program.names)


def test_selects_as_bmv2_did(empty_switch: Switch, indirect: Program):
    selected = results(empty_switch.port, indirect)
    expected = recorded()
    assert {part: len(values) for part, values in selected.items()} == {
        part: len(values) for part, values in expected.items()
    }
    for part, values in selected.items():
        assert values == expected[part], part


@pytest.fixture
def bmv2() -> Iterator[int]:
    """The port of the real BMv2's server."""
    with p4rt_bmv2.running(needs.program("simple_switch_grpc", needs.BMV2)) as (port, _):
        yield port


def test_the_record_is_what_bmv2_does(bmv2: int, indirect: Program):
    assert results(bmv2, indirect) == recorded()
