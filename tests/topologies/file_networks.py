"""Networks for tests: drawn, and of files."""

import random
from pathlib import Path

from hypothesis import strategies as st

from pcn.topologies.formats import Source
from pcn.topologies.formats.known import format_of
from pcn.topologies.model import Endpoint, Link, Switch, Topology, make_hosts

FILES = Path(__file__).parent / "files"


def read(name: str, text: str, **options: float) -> Topology:
    source = Source(Path(name), text)
    return format_of(source).read(source, **options)


def astra(*values: str) -> str:
    return "".join(
        f"{name}: {value}\n"
        for name, value in zip(
            ("topology", "npus_count", "bandwidth", "latency"), values, strict=True
        )
    )


@st.composite
def connected_topologies(draw: st.DrawFn) -> Topology:
    """Random switch graphs (a tree and some more links), hosts spread over them."""
    n_switches = draw(st.integers(1, 8))
    n_hosts = draw(st.integers(1, 8))
    rng = random.Random(draw(st.integers(0, 2**32)))
    ports = [0] * n_switches

    def end(switch: int) -> Endpoint:
        ports[switch] += 1
        return Endpoint(f"s{switch}", ports[switch])

    pairs = [(rng.randrange(i), i) for i in range(1, n_switches)]
    if n_switches > 1:
        pairs += [tuple(rng.sample(range(n_switches), 2)) for _ in range(draw(st.integers(0, 6)))]
    links = [Link(end(a), end(b), 10e9, rng.random() * 1e-5) for a, b in pairs]
    hosts = make_hosts([f"h{i}" for i in range(n_hosts)])
    links += [
        Link(Endpoint(host.name, 0), end(rng.randrange(n_switches)), 10e9, 1e-6) for host in hosts
    ]
    switches = tuple(Switch(f"s{i}", i + 1) for i in range(n_switches))
    return Topology("random", hosts, switches, tuple(links))
