"""One port's queue against queueing theory: M/D/1 and M/M/1 at several loads, by a P4 network in
virtual time.

    queues.py --packets 50000000    each kind and load: waiting time and queue, and their distance
                                    from the closed form

Frames arrive as a Poisson process by a link that is 1,000 times as fast as the port. Their lengths
are equal (M/D/1), or exponentially distributed (M/M/1). Exit code 1: a mean differs from the closed
form by more than 1 %.
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE), str(HERE.parents[1])) if path not in sys.path]

from pcn.controller.control_plane import TableAction, TableEntry, TableMatch  # noqa: E402
from pcn.controller.programs import Program  # noqa: E402
from pcn.p4net.network import P4Network, P4Switch  # noqa: E402
from pcn.p4net.packets import udp  # noqa: E402
from pcn.p4net.virtual import VirtualP4  # noqa: E402
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts  # noqa: E402

ROUTER = HERE.parents[1] / "examples/router/router.json"
PORT_BPS = 8e9  # a nanosecond a byte
FAST_BPS = 1000 * PORT_BPS
MEAN_BYTES, LEAST_BYTES, MOST_BYTES = 4000, 42, 65535
LOADS = (0.3, 0.6, 0.9)
KINDS = ("M/D/1", "M/M/1")
CHUNK = 2_000_000
BOUND = 0.01
SERVICES = 17
"""From one sample of the queue to the next."""


class Means(NamedTuple):
    """Mean waiting time, in services, and mean number of packets that wait."""

    wait: float
    queue: float


def closed_form(kind: str, load: float) -> Means:
    """Pollaczek and Khinchine: half as much for equal lengths as for exponential ones. The queue is
    Little's."""
    wait = load / (1 - load) / (2 if kind == "M/D/1" else 1)
    return Means(wait, load * wait)


def standard_error(load: float, packets: int) -> float:
    """Of the mean wait of successive packets of M/M/1, in services (Whitt 1989, after Daley); that
    of M/D/1 is less."""
    return float(np.sqrt(load * (2 + 5 * load - 4 * load**2 + load**3) / (1 - load) ** 4 / packets))


def network() -> P4Network:
    """h0 - s0 - h1, the last link at PORT_BPS; no link has a delay."""
    links = (
        Link(Endpoint("h0", 0), Endpoint("s0", 1), FAST_BPS, 0.0),
        Link(Endpoint("s0", 2), Endpoint("h1", 0), PORT_BPS, 0.0),
    )
    topology = Topology("port", make_hosts(["h0", "h1"]), (Switch("s0", 1),), links)
    program = Program("router", ROUTER, ROUTER.with_name("router.p4info.txtpb"))
    return P4Network(topology, {"s0": P4Switch(program, queue_depth=65534)})


def open_network() -> VirtualP4:
    opened = VirtualP4(network(), frame_bytes=None)
    target = opened.topology.host("h1")
    forward = TableAction("forward", dst_addr=target.mac, port=2)
    opened.switches["s0"].insert(
        [TableEntry("routes", match=TableMatch(dst_addr=f"{target.ip}/32"), action=forward)]
    )
    return opened


def lengths(kind: str, count: int, draw: np.random.Generator) -> npt.NDArray[np.int64]:
    """Of frames: all of the mean length, or exponentially distributed ones, in whole bytes."""
    if kind == "M/D/1":
        return np.full(count, MEAN_BYTES)
    return np.clip(np.rint(draw.exponential(MEAN_BYTES, count)), LEAST_BYTES, MOST_BYTES).astype(
        np.int64
    )


def arrivals(
    load: float, count: int, draw: np.random.Generator, from_s: float = 0.0
) -> npt.NDArray[np.float64]:
    """Times of a Poisson process that loads the port so."""
    mean = MEAN_BYTES * 8 / PORT_BPS / load
    return from_s + np.cumsum(draw.exponential(mean, count))


def measure(kind: str, load: float, packets: int, seed: int = 1) -> Means:
    """The means of a run with this number of packets."""
    draw, service_s = np.random.default_rng(seed), MEAN_BYTES * 8 / PORT_BPS
    with open_network() as network:
        network.count_alone("h1")
        frame = udp(network.value, "h0", "h1")
        queue = network.sample(SERVICES * service_s, [network.queue_packets("s0", 2, 0)])
        left, sent_bytes, last_s = packets, 0, 0.0
        while left:
            count = min(left, CHUNK)
            times, sizes = arrivals(load, count, draw, last_s), lengths(kind, count, draw)
            network.send_all("h0", times, [frame], lengths=sizes)
            last_s, sent_bytes, left = float(times[-1]), sent_bytes + int(sizes.sum()), left - count
            network.run(until_s=last_s)
        until_s = network.now_s
        network.run(until_s=until_s + 10)
        received = network.arrivals("h1")
        assert received.frames == packets
        assert network.tail_drops("s0", 2) == (0,) * 8
        own_s = sent_bytes / packets * 8 * (1 / PORT_BPS + 1 / FAST_BPS)
        waiting = queue.values[queue.times_s <= until_s, 0]
        return Means((received.mean_delay_s - own_s) / service_s, float(waiting.mean()))


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--packets", type=int, default=50_000_000, help="of each kind and load (default: 50000000)"
    )
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    worst = 0.0
    print("kind   load   wait: theory  measured   queue: theory  measured   differs by")
    for kind in KINDS:
        for load in LOADS:
            theory, measured = closed_form(kind, load), measure(kind, load, args.packets, args.seed)
            off = max(
                abs(got / expected - 1) for got, expected in zip(measured, theory, strict=True)
            )
            worst = max(worst, off)
            numbers = (
                f"{theory.wait:12.4f} {measured.wait:9.4f} {theory.queue:15.4f} "
                f"{measured.queue:9.4f}"
            )
            print(f"{kind}  {load:4.1f} {numbers} {off:11.2%}", flush=True)
    return int(worst > BOUND)


if __name__ == "__main__":
    sys.exit(main())
