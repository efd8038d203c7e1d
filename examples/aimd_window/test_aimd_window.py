from pathlib import Path

import pytest

from pcn import FlowSpec, VirtualNetwork, dumbbell, find_scheme
from pcn.hosts.algorithms.check import check
from pcn.topologies.star import star

FOLDER = Path(__file__).resolve().parent
WINDOW = f"{FOLDER}/aimd_window.py:AIMD_WINDOW"
PAGE = FOLDER.parents[1] / "docs" / "schemes.md"
LINE_BPS, DELAY_S, DATA, ACK = 10e9, 5e-6, 1058, 62
RTT_S = 4 * DELAY_S + 2 * (DATA + ACK) * 8 / LINE_BPS
"""Of two links each way, which serialise each frame."""
PACKETS = (1, 2, 3, 4, 5, 6, 8, 10, 12, 14, 16, 18, 20, 22, 24, 25, 26, 30, 50, 100)
"""Windows: RTT * C is 25.7 packets."""


def test_aimd_window_keeps_the_rules_in_python_and_in_c() -> None:
    assert [finding for finding in check(find_scheme(WINDOW)) if not finding.kept] == []


def test_page_shows_the_reaction_point_as_it_is_in_python_and_in_c() -> None:
    page = PAGE.read_text()
    python, c = ((FOLDER / f"aimd_window.{suffix}").read_text() for suffix in ("py", "c"))
    assert (
        python[
            python.index("class AimdWindowReactionPoint") : python.index("    def state")
        ].rstrip()
        in page
    )
    assert c[c.index("#include") :] in page


@pytest.mark.parametrize("packets", PACKETS)
@pytest.mark.parametrize("in_c", [False, True])
def test_throughput_is_a_window_a_round_trip_or_line_rate(packets: int, in_c: bool) -> None:
    scheme = find_scheme(WINDOW).configure({"window_bytes": packets * DATA})
    with VirtualNetwork(
        star(1, 1, rate_bps=LINE_BPS, delay_s=DELAY_S), scheme, in_c=in_c
    ) as network:
        flow = network.add_flow(FlowSpec(1, "h0", "r0"))
        network.run(until_s=10 * RTT_S)
        before = flow.stats().received_bytes
        network.run(until_s=1010 * RTT_S)
        throughput_bps = (flow.stats().received_bytes - before) * 8 / (1000 * RTT_S)
    assert throughput_bps == pytest.approx(min(LINE_BPS, packets * DATA * 8 / RTT_S), rel=1e-3)


def test_windows_share_a_bottleneck_and_hold_its_queue_near_k() -> None:
    """Four flows on a dumbbell: the same to the bit in C and in Python."""
    seen = []
    for in_c in (True, False):
        windows = list[tuple[int, float, float]]()
        with VirtualNetwork(
            topology := dumbbell(), find_scheme(WINDOW).configure(), in_c=in_c
        ) as network:
            network.on_rate = lambda flow, now_s, to=windows: to.append(
                (flow.spec.id, now_s, flow.rp.window_bytes)
            )  # type: ignore[misc]
            for flow in topology.flows:
                network.add_flow(flow)
            queue = network.sample(50e-6, [network.queue_bytes("s0", 4)], from_s=0.02)
            network.run(until_s=0.04)
            assert 10e3 < queue.values.mean() < 200e3
            assert network.totals().dropped == 0
            assert {flow.stats().window_bytes for flow in network.flows.values()} != {250e3}
            seen.append((network.totals().digest, windows))
    assert seen[0] == seen[1]
