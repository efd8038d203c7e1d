"""A network that really doesn't keep pace."""

import os
import uuid

import pytest
from waiting import wait_until

from pcn.cli import run as pcn
from pcn.lab import flows
from pcn.lab.lab import Lab
from pcn.lab.observe import Observer
from pcn.lab.pace import Pacing
from pcn.topologies.dumbbell import dumbbell

pytestmark = pytest.mark.root


def test_overloaded_network_reports_late_nodes(tmp_path, capsys):
    """Time isn't stretched: a million packets a second, which no host sends. Every look reports it
    until the flow ends."""
    name = f"a{os.getpid()}-{uuid.uuid4().hex[:8]}"
    topology = dumbbell(pairs=1)
    with Lab(topology, log_dir=tmp_path, name=name, dilation=1, role="up") as lab:
        pacing, observer = Pacing(lab.record), Observer(lab)
        flows.start(topology, lab.agents, "h0", "r0")
        wait_until(
            lambda: (
                (report := pacing.overload()) is not None
                and "h0" in {node.node for node in report.nodes}
            ),
            "h0",
        )
        report = pacing.overload()
        assert report.k > 1
        now = observer.look()
        assert now.overload is not None
        assert [flow.kept_pace for flow in now.flows] == [False]
        lines = (
            "status", f"flow list -n {name}", f"counters s0 -n {name}", f"watch --once -n {name}",
        )  # fmt: skip
        for line in lines:  # no new processes: the network takes all cores for as long as they run
            assert pcn(line.split()) == 0, line
            assert "NOT IN PACE" in capsys.readouterr().out, line
        flows.stop(lab.agents)
        wait_until(lambda: pacing.overload() is None, "nodes that keep pace again")
        observer.look()
        wait_until(
            lambda: all(port.kept_pace for port in observer.look().ports),
            "ports whose switches keep pace",
        )
        assert observer.look().overload is None
