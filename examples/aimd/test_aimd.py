from pathlib import Path

from pcn import Cnp, Mark, VirtualNetwork, dumbbell, find_scheme
from pcn.hosts.algorithms.check import check

AIMD = f"{Path(__file__).with_name('aimd.py')}:AIMD"


def test_it_keeps_the_rules() -> None:
    assert [finding for finding in check(find_scheme(AIMD)) if not finding.kept] == []


def test_up_by_steps_down_by_a_part() -> None:
    rp = find_scheme(AIMD).configure({"step_bps": 100e6, "cut": 0.5}).new_rp(10e9)
    for mark, rate_bps in ((Mark.CE, 5e9), (Mark.CE, 2.5e9), (Mark.NONE, 2.6e9)):
        rp.on_cnp(Cnp(mark), 0.0)
        assert rp.rate_bps == rate_bps


def test_it_holds_the_queue_near_k_without_pause() -> None:
    with VirtualNetwork(
        topology := dumbbell(), find_scheme(AIMD).configure({"k_bytes": 100e3})
    ) as network:
        for flow in topology.flows:
            network.add_flow(flow)
        queue = network.sample(50e-6, [network.queue_bytes("s0", 4)], from_s=0.1)
        network.run(until_s=0.2)
        assert 30e3 < queue.values.mean() < 200e3
        assert network.totals().dropped == 0
