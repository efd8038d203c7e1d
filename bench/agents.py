"""What packets cost the agents, on a veth pair between two network namespaces. Needs root. Not a
test.

    .venv/bin/python bench/agents.py [--seconds 3] [--flows 1] [--scheme pcn] [PACKETS_PER_S ...]

One agent sends to the other at each rate in turn. `us` are of CPU (user, system, and what the
kernel does meanwhile) a packet; `kept` is what was sent of what the rate allows; `late` the most
that a frame left after it was due.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
sys.path[:0] = [str(TESTS), str(TESTS / "hosts")]

from agent_pair import Pair  # type: ignore[import-not-found]  # noqa: E402

FRAME_BITS = 8464
DILATION = 400.0


def measure(rate: float, seconds: float, flows: int, options: list[str]) -> None:
    with tempfile.TemporaryDirectory() as folder:
        pair = Pair(Path(folder))
        try:
            pair.up()
            began = time.monotonic()
            line = str(rate * FRAME_BITS * DILATION)
            pair.start_agents("--line-rate", line, "--dilation", str(DILATION), *options)
            ready_s = time.monotonic() - began
            for flow in range(flows):
                pair.start_flow(flow)
            time.sleep(0.5)
            for client in pair.clients:
                client.reset()
            time.sleep(seconds)
            sender, receiver = (client.stats() for client in pair.clients)
        finally:
            pair.down()
    packets = sum(flow.packets for flow in receiver.received)
    allowed = rate * receiver.elapsed_real_s
    sent_us, received_us = (1e6 * agent.cpu_s / packets for agent in (sender, receiver))
    print(
        f"{rate:9,.0f} {packets / allowed:7.1%} {sent_us:9.1f} {received_us:9.1f} "
        f"{sender.late_real_s * 1e3:9.2f} {receiver.socket_drops:6d} {ready_s:7.2f}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seconds", type=float, default=3.0)
    parser.add_argument("--flows", type=int, default=1)
    parser.add_argument("--scheme", default="pcn")
    parser.add_argument(
        "rates", nargs="*", type=float, default=[500, 1000, 3000, 10000, 30000, 100000]
    )
    arguments = parser.parse_args()
    print("packets/s    kept   send us   recv us   late ms  drops ready s")
    for rate in arguments.rates:
        measure(rate, arguments.seconds, arguments.flows, ["--scheme", arguments.scheme])


if __name__ == "__main__":
    main()
