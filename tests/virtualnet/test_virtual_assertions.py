"""Invariants of the engine's parts: checked where the environment has PCN_ASSERTIONS, and not
computed elsewhere."""

import ctypes
import faulthandler
import os
import tempfile
import traceback
from pathlib import Path

import pytest
from networks import PFC_ONLY, chain

from pcn.hosts.virtual import VirtualNetwork, network
from pcn.hosts.virtual.native import RDMA
from pcn.virtualnet import native

BREAKS = {
    "an event in the past": "time/schedule.h",
    "an event of an empty queue": "time/events.h",
    "a frame that overtakes another": "time/schedule.h",
    "a packet of an empty queue": "frames/packets.h",
    "a packet freed twice": "frames/packets.h",
    "more released than held": "links/gate.h",
    "a class that PFC doesn't protect": "links/pfc.h",
    "a RESUME without a PAUSE": "links/pfc.c",
    "a frame before the one ahead has left": "links/link.h",
    "a departure from an empty queue": "switches/scheduler.h",
    "a packet through a switch that it isn't at": "switches/hop.c",
    "an endpoint's number beyond its own": "hosts/endpoint.h",
    "an action of a host at another time": "hosts/host.c",
    "a sample twice at one time": "api/sample.c",
}
"""What a part forbids, in the order of broken.c, which does it: the file that notices it."""
_BROKEN = RDMA._replace(
    source=Path(__file__).with_name("broken.c"),
    includes=(*RDMA.includes, RDMA.source.parent),
    signatures={**RDMA.signatures, "vn_break": (ctypes.c_int, [ctypes.c_uint32])},
)


def end_of_broken(breach: str, assertions: str) -> tuple[int, str]:
    """The exit code and the standard error of a process, forked from this one, that does what a
    part forbids."""
    with tempfile.TemporaryFile("w+") as temporary_file:
        child = os.fork()
        if child == 0:
            try:
                faulthandler.disable()
                os.dup2(temporary_file.fileno(), 2)
                os.environ[native.ASSERTIONS] = assertions
                network.parts = lambda explain: (_BROKEN,)
                with VirtualNetwork(chain(), PFC_ONLY) as broken:
                    broken.sample(1e-3, [broken.link_bytes("h0", 0)])
                    broken.run(until_s=1e-6)
                    broken.call("vn_break", list(BREAKS).index(breach))
                    os._exit(0)
            except BaseException:
                temporary_file.write(traceback.format_exc())
                temporary_file.flush()
                os._exit(1)
        _, status = os.waitpid(child, 0)
        temporary_file.seek(0)
        return os.waitstatus_to_exitcode(status), temporary_file.read()


@pytest.mark.parametrize("breach", BREAKS)
def test_broken_invariant_ends_the_process_and_names_itself(breach):
    code, stderr = end_of_broken(breach, "1")
    assert code < 0, stderr
    assert f"virtualnet/csrc/{BREAKS[breach]}:" in stderr
    assert stderr.endswith("doesn't hold\n")


def test_shipped_engine_computes_no_invariant():
    code, stderr = end_of_broken("a class that PFC doesn't protect", "")
    assert code == 0, stderr
