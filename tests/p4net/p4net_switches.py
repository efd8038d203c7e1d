"""Switches with the programs of the P4Runtime tests, in this process, for what files write into
them."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from planes import KINDS, opened

from pcn.controller.control_plane import ControlPlane
from pcn.controller.programs import Program
from pcn.p4net.errors import P4NetError
from pcn.p4net.steps import Entries, Queue, carry_out

PROGRAMS = Path(__file__).resolve().parents[1] / "p4runtime/programs"
BENCH = Program("bench", PROGRAMS / "bench.json", PROGRAMS / "bench.p4info.txtpb")
IDLE = Program("idle", PROGRAMS / "idle.json", PROGRAMS / "idle.p4info.txtpb")
INDIRECT = Program("indirect", PROGRAMS / "indirect.json", PROGRAMS / "indirect.p4info.txtpb")
VALUE_SETS = Program("valuesets", PROGRAMS / "valuesets.json", PROGRAMS / "valuesets.p4info.txtpb")


@contextmanager
def switch(program: Program = BENCH, kind: str = KINDS[1]) -> Iterator[ControlPlane]:
    with ExitStack() as stack:
        yield opened(stack, kind, program).control


def written(control: ControlPlane, entries: Entries) -> list[str]:
    """Writes entries. Returns what they read."""
    return carry_out(control, entries.steps(control.schema), refuse)


def error_of(work: Callable[[], object]) -> str:
    """The text of the P4NetError that it raises; empty: it raises none."""
    try:
        work()
    except P4NetError as error:
        return str(error)
    return ""


def refuse(queue: Queue):
    raise AssertionError(f"{queue}: no queue is set here")
