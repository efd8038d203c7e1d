"""The router's steps and frames are those that BMv2 1.15.5 had (router.json.xz, by compare.py
--record)."""

import json
import lzma
from pathlib import Path

import pytest
from traces.compare import PORTS, lines_of, shown

from pcn.controller.in_process import InProcessSwitch
from pcn.controller.programs import Program
from pcn.p4net.commands import Commands
from pcn.p4net.steps import carry_out
from pcn.softswitch.embed.library import build_runtime, load_library
from pcn.softswitch.embed.switch import EmbeddedSwitch, NativeSwitch, load
from pcn.softswitch.trace.decoder import Step
from pcn.softswitch.trace.lines import Lines
from pcn.softswitch.trace.tracer import Tracer

HERE = Path(__file__).resolve().parent
ROUTER = HERE.parents[1] / "examples/router"


@pytest.fixture(scope="module")
def replayed() -> tuple[list[str], list[str]]:
    """Steps and frames that leave, for the recorded frames."""
    program = Program("router", ROUTER / "router.json", ROUTER / "router.p4info.txtpb")
    log, lines = list[str](), Lines(trace=True)
    left = {port: [] for port in PORTS}

    def write(step: Step):
        log.extend(f"[0.0] [bmv2] [{level}] [thread 1] {text}" for level, text in lines.of(step))

    with NativeSwitch(load_library(build_runtime()), manual=True) as native:
        for port in PORTS:
            native.port_add(port, None)
        tracer = Tracer(native, [write], inside=True)
        switch = EmbeddedSwitch(native, tracer=tracer)
        switch.load(load(program, traced=True))
        plane = InProcessSwitch("router", switch)
        carry_out(
            plane, Commands(HERE / "router.commands").steps(plane.schema), lambda _queue: None
        )
        for frame in recorded()["frames"]:
            native.inject(1, bytes.fromhex(frame))
            for packet in native.departed():
                left[packet.port].append(packet.data)
        tracer.read()
    return lines_of("\n".join(log)), shown(left)


def recorded() -> dict[str, list[str]]:
    return json.loads(lzma.decompress((HERE / "router.json.xz").read_bytes()))


def test_steps_are_bmv2_s(replayed: tuple[list[str], list[str]]):
    assert replayed[0] == recorded()["steps"]


def test_frames_that_leave_are_bmv2_s(replayed: tuple[list[str], list[str]]):
    assert replayed[1] == recorded()["left"]
