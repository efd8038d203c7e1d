"""Traced programs: their steps have names, and they do with packets what untraced ones do."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from hypothesis import given, strategies as st

from pcn.base import packed
from pcn.softswitch.codegen.build import CSRC, build_program, build_runtime
from pcn.softswitch.codegen.generate import generate
from pcn.softswitch.native import NativeSwitch, load_library
from pcn.softswitch.program.load import load_program
from pcn.softswitch.trace import tracer
from pcn.softswitch.trace.decoder import KINDS, Step
from pcn.softswitch.trace.lines import Lines

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = (
    ROOT / "examples/router/router.json",
    ROOT / "p4src/compiled/pcn.json",
    ROOT / "p4src/compiled/qcn.json",
)


@contextmanager
def switch(
    path: Path, taken: list[Step] | None = None, most_bytes: int | None = None
) -> Iterator[tuple[NativeSwitch, Callable[[], object]]]:
    """A switch that runs the program, traced if `taken` takes its steps, and what reads those there
    are."""
    text = packed.read_text(path)
    with NativeSwitch(load_library(build_runtime()), manual=True) as native:
        for port in (1, 2, 3):
            native.port_add(port, None)
        read = lambda: None  # noqa: E731
        if taken is not None and most_bytes is None:
            reader = tracer.Tracer(native, [taken.append], inside=True)
            reader.loading(text)
            read = reader.read
        elif most_bytes is not None:
            native.trace(most_bytes)
        native.load(build_program(text, traced=taken is not None))
        yield native, read
        read()


def test_decoder_names_every_kind_of_step():
    text = (CSRC / "pipeline.h").read_text()
    numbers = {
        name.lower(): int(number) for name, number in re.findall(r"SW_TRACE_(\w+) = (\d+),", text)
    }
    names = {"key": "key", "parser_step": "statement", "loaded": None}
    assert [names.get(name, name) for name, _ in sorted(numbers.items(), key=lambda item: item[1])][
        1:
    ] == list(KINDS)
    assert sorted(numbers.values()) == list(range(len(KINDS) + 1))


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
@pytest.mark.parametrize("inplace", [False, True])
def test_untraced_program_has_nothing_of_a_trace(path, inplace):
    program = load_program(packed.read_text(path))
    assert "trace" not in generate(program, inplace=inplace).lower().replace("retrace", "")
    assert "sw_trace(" in generate(program, inplace=inplace, traced=True)


_HEADERS = st.sampled_from(
    [
        b"",
        bytes.fromhex("ffffffffffff0000000000010800"),
        bytes.fromhex(
            "ffffffffffff00000000000108004500002e000040004011254f0a0001010a0003030010001200"
        ),
        bytes.fromhex("0180c200000100000000000188080101000100ff"),
    ]
)


@pytest.mark.parametrize("path", PROGRAMS, ids=lambda path: path.stem)
def test_traced_program_does_what_the_untraced_does(path):
    steps: list[Step] = []

    @given(
        frames=st.lists(
            st.builds(bytes.__add__, _HEADERS, st.binary(max_size=120)), min_size=1, max_size=4
        )
    )
    def same(frames: list[bytes]):
        steps.clear()
        left = []
        for native in (untraced, traced):
            for frame in frames:
                native.inject(1, frame)
            native.advance(10**9)
            left.append(native.departed())
        read()
        assert left[0] == left[1]
        assert (
            next(step for step in steps if step.kind == "received").fields["frame"]
            == frames[0].hex()
        )
        lines = Lines(trace=True)
        assert all(text for step in steps for _, text in lines.of(step))
        begun = [step.fields["begins"] for step in steps if step.kind == "stage"]
        assert begun == [True, False] * (len(begun) // 2), (
            "each stage ends before the next one begins"
        )

    with switch(path) as (untraced, _), switch(path, steps) as (traced, read):
        same()


def test_steps_without_room_are_lost_and_counted():
    steps: list[Step] = []
    with switch(PROGRAMS[0], steps, most_bytes=300) as (native, _):
        native.inject(1, bytes(60))
        data, lost = native.take_trace(0)
        assert 0 < len(data) <= 300
        assert lost > 0
        assert native.take_trace(0) == (b"", 0)


def test_steps_are_all_there_where_the_mover_reads(monkeypatch):
    """More than the buffer takes at once."""
    monkeypatch.setattr(tracer, "MOST_BYTES", 1 << 17)
    steps: list[Step] = []
    with switch(PROGRAMS[0], steps) as (native, _):
        for number in range(2000):
            native.inject(1, number.to_bytes(60, "big"))
    assert [step.packet for step in steps if step.kind == "received"] == list(range(1, 2001))
