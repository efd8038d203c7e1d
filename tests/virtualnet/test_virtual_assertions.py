"""Invariants of the engine's parts: checked where the environment has PCN_ASSERTIONS, and not computed elsewhere."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
BREAKS = {
    "an event in the past": ("time/schedule.h", "context->now = 5; vn_at(context, 0, 4, VN_EV_RETURN, 0);"),
    "an event of an empty queue": ("time/events.h", "vn_pop(&(struct vn_event_queue){0});"),
    "a frame that overtakes another": (
        "time/schedule.h",
        "vn_channel_push(context, 0, 9, id); vn_channel_push(context, 0, 8, id);",
    ),
    "a packet of an empty queue": ("frames/packets.h", "vn_fifo_pop(context, &(struct vn_fifo){0});"),
    "a packet freed twice": (
        "frames/packets.h",
        "vn_packet_free(context, id); vn_packet_free(context, id);",
    ),
    "more released than held": (
        "links/gate.h",
        "vn_gate_departed(context, VN_FLOW_CONTROL_pfc, end, 3, 1);",
    ),
    "a class that PFC doesn't protect": ("links/pfc.h", "vn_pfc_hold(context, end, 5, 1);"),
    "a RESUME without a PAUSE": ("links/pfc.c", "vn_pfc_below_xon(context, end, 3);"),
    "a frame before the one ahead has left": (
        "links/link.h",
        "context->links[0].free_at = context->now + 1; vn_transmit(context, &context->links[0], id);",
    ),
    "a departure from an empty queue": (
        "switches/scheduler.h",
        "vn_scheduler_next(context, end, 3);",
    ),
    "a packet through a switch that it isn't at": (
        "switches/hop.c",
        "vn_packet_at(context, id)->in_link = 1; vn_hop_ingress(context, vn_near(context, end), 1, id);",
    ),
    "an endpoint's number beyond its own": (
        "hosts/endpoint.h",
        "vn_endpoint_at(context, 0, context->now, VN_EV_TIMER, VN_ENDPOINT_source, 1u << 24);",
    ),
    "an action of a host at another time": ("hosts/host.c", "vn_host_event(context, 0);"),
    "a sample twice at one time": ("door/sample.c", "vn_sample(context, 0); vn_sample(context, 0);"),
}
"""What a part forbids: the file that notices it, and C that does it in a network of h0, s0, s1 and r0."""
RUN = """
import ctypes, sys
from pathlib import Path
from networks import PFC_ONLY, chain
from lab.virtual import network as lab

signatures = {**lab.RDMA.signatures, "vn_break": (ctypes.c_int, [ctypes.c_uint32])}
lab.RDMA = lab.RDMA._replace(source=Path(sys.argv[1]), signatures=signatures)

with lab.VirtualNetwork(chain(), PFC_ONLY) as network:
    network.sample(1e-3, [network.link_bytes("h0", 0)])
    network.run(until_s=1e-6)
    network.call("vn_break", int(sys.argv[2]))
    print("went on")
"""


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The RDMA endpoint, and a function that breaks the invariant of this number."""
    cases = "\n".join(f"    case {number}: {{ {text} }} break;" for number, (_, text) in enumerate(BREAKS.values()))
    path = tmp_path_factory.mktemp("broken") / "broken.c"
    path.write_text(
        '#include "virtual/rdma.c"\n#include "switches/scheduler.h"\n'
        f"int vn_break(struct vn_context *context, uint32_t number)\n{{\n"
        "    struct vn_link *end = vn_end_of(context, 0);\n    uint32_t id = vn_packet_new(context);\n"
        f"    vn_packet_at(context, id)->bytes = 64;\n    switch (number) {{\n{cases}\n    }}\n"
        "    return 0;\n}\n"
    )
    return path


def broken(source: Path, what: str, assertions: str) -> subprocess.CompletedProcess[str]:
    paths = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    environment = {**os.environ, "PYTHONPATH": paths, "PCN_ASSERTIONS": assertions}
    words = [sys.executable, "-c", RUN, str(source), str(list(BREAKS).index(what))]
    return subprocess.run(words, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("what", BREAKS)
def test_broken_invariant_ends_the_process_and_names_itself(source: Path, what: str) -> None:
    done = broken(source, what, "1")
    assert done.returncode < 0, done.stderr
    assert f"virtualnet/csrc/{BREAKS[what][0]}:" in done.stderr
    assert done.stderr.endswith("doesn't hold\n")


def test_shipped_engine_computes_no_invariant(source: Path) -> None:
    done = broken(source, "a class that PFC doesn't protect", "")
    assert (done.returncode, done.stdout) == (0, "went on\n"), done.stderr
