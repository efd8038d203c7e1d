"""A small programmed network, for tests of what can be done with one: a folder whose tests use it
imports this in its conftest.py."""

import os
import uuid
from collections.abc import Callable, Iterator

import needs
import pytest
from waiting import wait_until

from pcn.lab import flows
from pcn.lab.lab import Lab
from pcn.topologies.dumbbell import dumbbell

TOGETHER = "softswitch, both switches in one process"


@pytest.fixture(scope="module", params=[*needs.TARGETS, TOGETHER])
def dcqcn_lab(request, tmp_path_factory) -> Iterator[Lab]:
    """h0 - s0 - s1 - r0, of each target: s0:1 is h0's, s1:1 r0's, s0:2 and s1:2 the link
    between."""
    with Lab(
        dumbbell(pairs=1),
        log_dir=tmp_path_factory.mktemp("logs"),
        name=f"a{os.getpid()}-{uuid.uuid4().hex[:8]}",
        target=needs.target(request.param.partition(",")[0]),
        processes=request.param != TOGETHER,
        dilation=500,
        scheme="dcqcn",
    ) as lab:
        yield lab


LONGEST_DELAY_S = 0.3e-3  # nominal: more than a packet takes through empty queues
StartFlow = Callable[[float], int]


@pytest.fixture
def start_flow(dcqcn_lab: Lab) -> Iterator[StartFlow]:
    """Starts flows from h0 to r0 of at most a rate. After the test they end, and nothing is on its
    way any more."""
    numbers: list[int] = []

    def start(rate_bps: float) -> int:
        numbers.extend(
            flows.start(dcqcn_lab.topology, dcqcn_lab.agents, "h0", "r0", rate_bps=rate_bps)
        )
        return numbers[-1]

    yield start
    flows.stop(dcqcn_lab.agents, numbers)
    sender = dcqcn_lab.agents["h0"]
    stopped_s = sender.stats().now_s
    wait_until(
        lambda: sender.stats().now_s > stopped_s + LONGEST_DELAY_S, "what an agent delays, on BMv2"
    )
    switches = dcqcn_lab.switches.values()
    wait_until(
        lambda: (
            not any(sum(switch.read_registers("waiting_packets").values()) for switch in switches)
        ),
        "the drain",
    )
