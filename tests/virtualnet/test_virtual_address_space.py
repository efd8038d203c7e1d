"""A run where address space is limited (ulimit -v): the same results in less of it, or the reason
and the way out."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).resolve().parent
RUN = """
import os, resource, sys
from networks import PFC_ONLY, chain
from pcn.topologies.model import FlowSpec
from pcn.hosts.virtual import VirtualNetwork
from pcn.virtualnet import VirtualError

with VirtualNetwork(chain(), PFC_ONLY) as network:  # all that is loaded later is there
    pass
for words in sys.argv[1:]:
    if os.fork():
        assert os.wait()[1] == 0
        continue
    more, delay_s = words.split(",")
    if int(more):
        most = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize() + int(more)
        resource.setrlimit(resource.RLIMIT_AS, (most, most))
    try:
        with VirtualNetwork(chain(delay_s=float(delay_s)), PFC_ONLY) as network:
            network.add_flow(FlowSpec(1, "h0", "r0"))
            network.run(until_s=0.1 if float(delay_s) > 1e-3 else 1e-3)
            print(network.totals().digest, flush=True)
    except VirtualError as error:
        print(error, flush=True)
    os._exit(0)
"""
FITS = [0, 3 << 30, 1 << 30, 200 << 20]


@pytest.fixture(scope="module")
def runs() -> dict[tuple[int, float], str]:
    """What a run comes to, by the bytes of address space that it may have beside Python and the
    libraries, 0: no limit, and by links' delay. Each is a process."""
    wanted = [
        *((room_bytes, 1e-6) for room_bytes in (*FITS, 16 << 20)),
        *((room_bytes, 20e-3) for room_bytes in (0, 80 << 20)),
    ]
    words = [sys.executable, "-c", RUN, *(f"{more},{delay_s}" for more, delay_s in wanted)]
    paths = os.pathsep.join([str(HERE), str(HERE.parents[1])])
    done = subprocess.run(
        words, env={**os.environ, "PYTHONPATH": paths}, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return dict(zip(wanted, done.stdout.splitlines(), strict=True))


def test_run_in_limited_address_space_has_the_same_digest(runs: dict[tuple[int, float], str]):
    (digest,) = {runs[more_bytes, 1e-6] for more_bytes in FITS}
    assert digest.isdecimal()


def test_run_names_what_has_no_address_space(runs: dict[tuple[int, float], str]):
    expected = "no address space for links: Cannot allocate memory; raise its limit (ulimit -v)"
    assert runs[16 << 20, 1e-6] == expected


def test_run_names_the_limit_when_packets_do_not_fit(runs: dict[tuple[int, float], str]):
    """Links with a delay of 20 ms hold 23,000 packets each: without a limit they fit."""
    assert runs[0, 20e-3].isdecimal()
    expected = (
        r".* us: more than \d+ packets are inside the network; raise the limit of address space "
        r"\(ulimit -v\)"
    )
    assert re.fullmatch(expected, runs[80 << 20, 20e-3])
