"""How targets are started where a scheme asks for a packet generator."""

from __future__ import annotations

from pathlib import Path

import pytest

from controller.configure import packet_generator
from controller.constants import GENERATOR_PORT, index
from hosts.algorithms import find_scheme
from lab.launch import launch_spec
from lab.target import LaunchSpec, TargetError, target
from softswitch.options import Generator, parse
from topologies.star import star


def spec(**fields: float) -> LaunchSpec:
    topology = star(2)
    generator = packet_generator(topology, "s0", 500, find_scheme("qcn-os").configure(fields))
    return launch_spec(topology, "s0", 500, Path("grpc"), generator=generator)


def test_the_embedded_switch_is_told_on_its_command_line() -> None:
    def generator(spec: LaunchSpec) -> Generator | None:
        return parse(target("softswitch").command(spec)[3:]).generator

    assert generator(spec(keep_alive=2)) == Generator(GENERATOR_PORT, 60_000_000, (index(1), index(2), index(3)))
    assert generator(spec()) is None


def test_bmv2_has_none() -> None:
    with pytest.raises(TargetError, match=r"no packet generator: take --target softswitch, or .* keep_alive=1"):
        target("bmv2").command(spec(keep_alive=2))
