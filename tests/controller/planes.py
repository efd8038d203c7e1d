"""A switch by each kind of control plane, over P4Runtime and in this process, and what its links
would carry."""

import sys
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

from pcn.controller.control_plane import ControlPlane
from pcn.controller.in_process import InProcessSwitch
from pcn.controller.programs import Program
from pcn.controller.switch import SwitchClient
from pcn.softswitch.codegen.build import build_runtime
from pcn.softswitch.embed.switch import EmbeddedSwitch
from pcn.softswitch.native import NativeSwitch, load_library

P4RUNTIME = Path(__file__).resolve().parents[1] / "p4runtime"
sys.path.insert(0, str(P4RUNTIME))

from p4rt_switch import CPU_PORT, running_switch  # noqa: E402

KINDS = ("p4runtime", "in process")
BENCH = Program(
    "bench", P4RUNTIME / "programs/bench.json", P4RUNTIME / "programs/bench.p4info.txtpb"
)


@dataclass(frozen=True)
class Plane:
    """A control plane, and its switch, which has the ports 1 and 2, without interfaces, and whose
    clock stands."""

    control: ControlPlane
    native: NativeSwitch


def opened(
    stack: ExitStack, kind: str, program: Program | None = None, *, cpu_port: int = CPU_PORT
) -> Plane:
    """A switch, whose primary controller we are, with this program."""
    library = load_library(build_runtime())
    plane: Plane
    if kind == "p4runtime":
        running = stack.enter_context(running_switch(library, cpu_port, manual=True))
        client = stack.enter_context(SwitchClient.connect("s0", f"127.0.0.1:{running.port}", 1))
        client.become_primary()
        plane = Plane(client, running.native)
    else:
        native = NativeSwitch(library, cpu_port=cpu_port, manual=True)
        for port in (1, 2):
            native.port_add(port, None)
        plane = Plane(
            stack.enter_context(InProcessSwitch("s0", EmbeddedSwitch(native, cpu_port))), native
        )
    if program is not None:
        plane.control.set_pipeline(program)
    return plane
