"""examples/router: its compiled form is its source's, and its network forwards as its files say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import needs
import pytest
from exercise import EXAMPLE

from p4net import sending
from p4net.tutorials import find
from p4net.virtual import VirtualP4
from softswitch import p4c


def without_places(value: Any) -> Any:
    """p4c's output without places in the source, and without how it was called."""
    if isinstance(value, dict):
        gone = ("source_info", "program", "__meta__")
        return {key: without_places(one) for key, one in value.items() if key not in gone}
    return [without_places(one) for one in value] if isinstance(value, list) else value


def test_compiled_program_is_the_source_s(tmp_path: Path) -> None:
    needs.program(p4c.COMPILER, needs.P4C)
    made, info = tmp_path / "router.json", tmp_path / "router.p4info.txtpb"
    p4c.run(p4c.find_compiler(), str(EXAMPLE / "router.p4"), (), EXAMPLE, made, info)
    kept = EXAMPLE / "build"
    assert info.read_text() == (kept / "router.p4.p4info.txtpb").read_text()
    old, new = (without_places(json.loads(path.read_text())) for path in (kept / "router.json", made))
    assert old == new


@pytest.mark.parametrize("queues", ["one", "nodes"])
def test_each_host_reaches_each_other(queues: str) -> None:
    with VirtualP4(find(EXAMPLE), queues=queues) as made:  # type: ignore[arg-type]
        sending.each_to_each(made)
        made.run(until_s=1.0)
        assert {host.name: len(made.arrived(host.name)) for host in made.topology.hosts} == {"h1": 2, "h2": 2, "h3": 2}
        assert made.switches["s2"].read_register("threshold", 0) == 20
