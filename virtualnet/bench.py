"""How fast virtual time is: `make bench-virtual`.

One run, repeated: packets of data through a switch's program (traversals) a second of CPU time of this process, on one
core; smallest, median, largest, and the machine's load beside it, which has to be small for the figures to mean much.

    incast   15 hosts send to one, k=4 fat-tree, 40 Gb/s, PCN with T = 50 us, 1000 B
    clos     512 hosts, the paper's Clos, each with flow after flow to hosts at random, sizes Pareto with a mean of
             50 KB
"""

from __future__ import annotations

import argparse
import os
import random
import re
import resource
import statistics
import time
from collections.abc import Callable

from controller.switch import Program
from hosts.algorithms import find_scheme
from softswitch.codegen.build import build_source
from softswitch.codegen.generate import generate
from softswitch.p4runtime.binding import bind
from softswitch.program import load_program
from topologies.clos import clos
from topologies.fat_tree import fat_tree
from topologies.model import FlowSpec, Topology
from virtualnet.network import VirtualNetwork
from virtualnet.switch import LoadedProgram

Flows = list[FlowSpec]
LOAD = 0.6


def incast(seed: int) -> tuple[Topology, Flows]:
    """15 long flows to h0."""
    topology = fat_tree(4)
    return topology, [FlowSpec(i, f"h{i}", "h0") for i in range(1, len(topology.hosts))]


def spread(seed: int) -> tuple[Topology, Flows]:
    """100 flows of each of 512 hosts: 51,200 in all."""
    topology, random_ = clos(), random.Random(seed)
    names = [host.name for host in topology.hosts]
    flows: Flows = []
    for source in names:
        start_s = random_.uniform(0, 50_000 * 8 / (LOAD * 10e9))
        for _ in range(100):
            size = min(1_000_000, int(10_000 * random_.paretovariate(1.25)))
            target = random_.choice([name for name in names if name != source])
            flows.append(FlowSpec(len(flows) + 1, source, target, start_s=start_s, size_bytes=size))
            start_s += size * 8 / (LOAD * 10e9)
    return topology, flows


SCENARIOS: dict[str, tuple[Callable[[int], tuple[Topology, Flows]], float]] = {
    "incast": (incast, 0.1),
    "clos": (spread, 5e-3),
}


_FLOOR = """
static void floor_ingress(struct sw_instance *s, struct sw_hop *hop) {
    const struct sw_entry *entry = sw_lookup(s->tables[%d], hop->frame + 30);
    hop->egress_spec = entry == NULL ? s->drop_port : (uint16_t)entry->args[%d];
    hop->priority = hop->frame[15] >> 5;
}
static void floor_egress(struct sw_instance *s, struct sw_hop *hop) { (void)s; (void)hop; }
static const struct sw_inplace inplace = {floor_ingress, floor_egress, inplace_prepare};
"""


def floor() -> LoadedProgram:
    """PCN's program with halves that do nothing but look up the route: what is left is the engine's own cost."""
    program = Program.compiled("pcn_native")
    model = load_program(program.json.read_text(encoding="utf-8"))
    text = generate(model, inplace=True)
    table = next(i for i, t in enumerate(model.tables) if t.name.endswith("ipv4_lpm"))
    forward = next(a for a in model.actions if a.name.endswith("ipv4_forward"))
    port = [parameter.name for parameter in forward.parameters].index("port")
    own = re.search(r"static const struct sw_inplace inplace = .*?;", text)
    assert own is not None
    built = build_source(text.replace(own[0], _FLOOR % (table, port)))
    return LoadedProgram(program.schema, bind(program.schema.p4info, model), built)


def measure(
    name: str, duration_s: float, seed: int = 1, program: LoadedProgram | None = None
) -> tuple[float, int, int, float]:
    """Traversals of data packets a CPU second, events, the most frames at once, and the CPU seconds."""
    make, _ = SCENARIOS[name]
    topology, flows = make(seed)
    scheme = find_scheme("pcn").configure({"period_s": 50e-6, "w_min": 1 / 128})
    with VirtualNetwork(topology, scheme, seed=seed, program=program) as network:
        for flow in flows:
            network.add_flow(flow)
        begun = time.process_time()
        network.run(until_s=duration_s)
        took = time.process_time() - begun
        totals = network.totals()
    return totals.data_traversals / took, totals.events, totals.packets_most, took


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("scenarios", nargs="*", help=f"of {', '.join(SCENARIOS)}; all of them unless given")
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--duration", type=float, help="simulated seconds")
    parser.add_argument("--floor", action="store_true", help="with an empty pipeline that knows the routes alone")
    arguments = parser.parse_args()
    program = floor() if arguments.floor else None
    for name in arguments.scenarios or SCENARIOS:
        duration_s = arguments.duration or SCENARIOS[name][1]
        measure(name, duration_s / 100, program=program)  # compiles what isn't in the cache
        load = os.getloadavg()[0]
        seen = [measure(name, duration_s, program=program) for _ in range(arguments.repetitions)]
        rates = [rate / 1e6 for rate, *_ in seen]
        _, events, most, took = seen[-1]
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
        print(
            f"{name}: {min(rates):.2f} / {statistics.median(rates):.2f} / {max(rates):.2f} million traversals a second "
            f"(smallest, median, largest of {len(rates)}); {duration_s * 1e3:g} ms simulated in {took:.2f} s, "
            f"{events:,} events, {most:,} frames at once; {memory:.0f} MB; load {load:.1f} on {os.cpu_count()} cores"
        )


if __name__ == "__main__":
    main()
