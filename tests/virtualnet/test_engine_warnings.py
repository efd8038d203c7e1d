"""The compiler warns of nothing in the engine, whichever parts it is built with."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from pcn.hosts.virtual.native import EXPLAIN, RDMA
from pcn.softswitch.cache.objects import compiler
from pcn.virtualnet.live import PART as LIVE
from pcn.virtualnet.native import CSRC, Part, engine_flags, engine_text

SCHEDULERS = sorted((Path(__file__).resolve().parents[2] / "examples/schedulers").glob("*.c"))


@pytest.mark.parametrize(
    "parts",
    [
        pytest.param((), id="alone"),
        pytest.param((RDMA, EXPLAIN), id="rdma, explain"),
        pytest.param((LIVE,), id="live"),
        *(
            pytest.param((Part(path, schedulers=(path.stem,)),), id=path.name)
            for path in SCHEDULERS
        ),
    ],
)
def test_engine_compiles_without_a_warning(parts: Sequence[Part]) -> None:
    options = [flag for flag in engine_flags(parts) if not flag.startswith("-l")]
    done = subprocess.run(
        [*compiler(), *options, f"-I{CSRC}", "-fsyntax-only", "-x", "c", "-"],
        input=engine_text(parts),
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stderr == ""
