"""Keep-alive by the packet generator of a live switch: an output that nothing leaves, and its
sender slows down."""

import os
import uuid

import pytest
from held import held
from waiting import wait_until

from pcn.controller.constants import index
from pcn.lab import flows
from pcn.lab.lab import Lab
from pcn.topologies.star import star

pytestmark = pytest.mark.root


def test_keep_alive_notifies_the_sender_of_a_stopped_output(tmp_path):
    topology = star(1, xoff_bytes=60e3)
    fields = {"scheme": "qcn-os-largest", "scheme_parameters": {"keep_alive": 2}, "dilation": 500}
    with Lab(
        topology, log_dir=tmp_path, name=f"k{os.getpid()}-{uuid.uuid4().hex[:8]}", **fields
    ) as lab:
        switch, agent = lab.switches["s0"], lab.agents["h0"]

        def notified() -> int:
            return switch.read_counter("notified", index(1)).packets

        with held(lab, "s0", 2):
            numbers = flows.start(topology, lab.agents, "h0", "r0")
            wait_until(lambda: switch.read_register("xoff_sent", index(1)) == 1, "the PAUSE to h0")
            before = notified()
            wait_until(lambda: notified() >= before + 5, "samples while nothing departs")
            wait_until(lambda: agent.flows()[0].rate_bps < 9e9, "h0 to slow down")
            assert switch.read_counter("transmitted", index(2)).packets == 0
        flows.stop(lab.agents, numbers)
