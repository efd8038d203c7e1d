"""The switch of p4rt_switch.py with programs/bench.p4, its controller, its clock, and its interface
on Thrift."""

import ctypes
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from p4rt_client import Client, Names
from p4rt_switch import PROGRAMS, Program, Switch, load, running_switch
from p4rt_thrift import Bmv2

from pcn.softswitch.clock import ManualClock
from pcn.softswitch.codegen.build import build_runtime
from pcn.softswitch.native import load_library

# some share its messages and target
sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "judges/p4runtime"))


@pytest.fixture(scope="session")
def library() -> ctypes.CDLL:
    return load_library(build_runtime())


@pytest.fixture(scope="session")
def program() -> Program:
    """programs/bench.p4."""
    return load(PROGRAMS / "bench")


@pytest.fixture
def empty_switch(library: ctypes.CDLL) -> Iterator[Switch]:
    """A switch without a program."""
    with running_switch(library) as switch:
        yield switch


@pytest.fixture
def switch(empty_switch: Switch, program: Program) -> Switch:
    """A switch that runs programs/bench.p4 and has no controller."""
    with Client(empty_switch.port) as client:
        client.arbitrate()
        client.set_pipeline(program.info, program.json)
        client.leave()
    return empty_switch


@pytest.fixture
def client(switch: Switch) -> Iterator[Client]:
    """The primary controller of `switch`."""
    with Client(switch.port, election_id=2) as client:
        client.arbitrate()
        yield client


@pytest.fixture
def manual_switch(library: ctypes.CDLL) -> Iterator[Switch]:
    """A switch without a program whose time stands."""
    with running_switch(library, manual=True) as switch:
        yield switch


@pytest.fixture
def clock(manual_switch: Switch) -> Iterator[ManualClock]:
    with ManualClock(f"127.0.0.1:{manual_switch.port}") as clock:
        yield clock


@pytest.fixture
def names(program: Program) -> Names:
    return program.names


@pytest.fixture(scope="module")
def bmv2() -> Iterator[Bmv2]:
    """A switch process with programs/bench.p4 and BMv2's runtime interface."""
    switch = Bmv2(str(PROGRAMS / "bench.json"))
    yield switch
    switch.close()


@pytest.fixture
def standard(bmv2: Bmv2):
    """The first service of `bmv2`, with the state of the start."""
    client = bmv2.standard()
    client.bm_reset_state()
    return client
