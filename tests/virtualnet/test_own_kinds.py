"""The examples of docs/virtualnet.md: a scheduler, an endpoint, a flow control and a kind of node,
each a file."""

import ctypes
import re
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from test_timed_network import FRAME, line, loaded, relabelling, switching

from pcn.softswitch.native import NativeSwitch
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts
from pcn.virtualnet import TimedNetwork, native
from pcn.virtualnet.native import Part

PAGE = Path(__file__).resolve().parents[2] / "docs" / "virtualnet.md"


@pytest.fixture(scope="module")
def parts(tmp_path_factory) -> Iterator[list[Part]]:
    """The page's files, registered as on the page; the engine with them isn't optimised, which
    compiles sooner."""
    folder = tmp_path_factory.mktemp("kinds")
    section = PAGE.read_text().split("## Kinds of one's own")[1].split("\n## ")[0]
    files = re.findall(r"```c\n(/\* (\w+\.c) \*/\n.*?)```", section, re.DOTALL)
    for text, name in files:
        (folder / name).write_text(text)
    python = re.search(r"```python\n(.*?)```", section, re.DOTALL)
    names: dict[str, list[Part]] = {}
    exec(python[1], names)
    types = {int: ctypes.c_int64}
    page_parts = []
    for part in names["PARTS"]:
        signatures = {
            name: (types[result], [ctypes.c_uint32 for _ in arguments])
            for name, (result, arguments) in part.signatures.items()
        }
        page_parts.append(part._replace(source=folder / part.source, signatures=signatures))
    assert [part.source.name for part in page_parts] == [name for _, name in files]
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(native, "FLAGS", (*native.FLAGS, "-O0"))
        yield page_parts


@pytest.fixture
def switches() -> Iterator[dict[str, NativeSwitch]]:
    with ExitStack() as stack:
        programs = {"s0": relabelling(), "s1": switching()}
        loaded_ = {name: stack.enter_context(loaded(program)) for name, program in programs.items()}
        loaded_["s1"].table_add(0, b"\x88\xb5", None, 0, 0, 0, [2])
        yield loaded_


def numbers(network: TimedNetwork, host: str) -> list[int]:
    """The byte behind FRAME in each frame that has arrived."""
    return [frame.start[len(FRAME)] for frame in network.arrived(host)]


def test_scheduler_of_one_file_decides_the_order(
    parts: list[Part], switches: dict[str, NativeSwitch]
):
    with TimedNetwork(line(), switches, parts=parts) as network:
        network.set_scheduler("s0", "lifo")
        network.set_link("s0", 2, rate_bps=1e9)
        for number in range(4):
            network.send("h0", 0.0, FRAME + bytes([number]), length=1000)
        network.run(until_s=1e-3)
        assert numbers(network, "h1") == [0, 3, 2, 1]
        assert network.totals().packets == 0


def test_endpoint_of_one_file_answers(parts: list[Part], switches: dict[str, NativeSwitch]):
    """The switch sends everything to h1, so the echo has its own answers to answer: each takes 4
    us."""
    links = tuple(Link(Endpoint(f"h{i}", 0), Endpoint("s0", i + 1), 10e9, 1e-6) for i in range(2))
    star = Topology("star", make_hosts(["h0", "h1"]), (Switch("s0", 1),), links)
    endpoints = {"h0": ["source"], "h1": ["echo"]}
    with TimedNetwork(star, switches, endpoints=endpoints, parts=parts) as network:
        network.send("h0", 0.0, FRAME, length=1250)
        network.run(until_s=19e-6)
        assert network.link_stats("h1", 0).packets == 4
        assert network.totals().stray_frames == 0


def test_flow_control_of_one_file_stops_the_sender(
    parts: list[Part], switches: dict[str, NativeSwitch]
):
    with TimedNetwork(line(), switches, parts=parts) as network:
        network.call("vn_set_stop", network.link("h0", 0))
        network.set_link("s0", 2, rate_bps=1e9)
        for number in range(100):
            network.send("h0", 0.0, FRAME + bytes([number]), length=1250)
        network.run(until_s=0.01)
        assert numbers(network, "h1") == list(range(100))
        # What was under way when it passed 20,000 bytes: a frame, one more, 2 us of the line, and
        # the stop's own 48 ns.
        assert 20_000 < network.link_stats("h0", 0).held_max < 20_000 + 2 * 1250 + 2500 + 100
        assert network.link_stats("s0", 1).packets > 2


def test_node_of_one_file_passes_frames_on(parts: list[Part], switches: dict[str, NativeSwitch]):
    with TimedNetwork(
        line(), {"s1": switches["s1"]}, parts=parts, nodes={"s0": "repeater"}
    ) as network:
        switches["s1"].table_add(0, b"\x88\x99", None, 0, 0, 0, [2])
        for number in range(3):
            network.send("h0", 0.0, FRAME + bytes([number]), length=1250)
        network.run(until_s=1e-3)
        assert numbers(network, "h1") == [0, 1, 2]
        assert [frame.time_s for frame in network.arrived("h1")] == pytest.approx(
            [6e-6, 7e-6, 8e-6]
        )
