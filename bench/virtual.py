"""How fast virtual time is: `make bench-virtual`.

One run, repeated, each time in a new process: packets of data through a switch's program
(traversals) a second of the run's CPU time, on one core; smallest, median, largest, and the
machine's load beside it, which has to be small for the figures to mean much. Each repetition runs
without prefetching, too: "prefetching x" is the median of their ratios. CPU time is given, too, of
what comes before a run: making the network, and adding a flow.

    incast   15 hosts send to one, k=4 fat-tree, 40 Gbit/s, PCN with T = 50 us, 1000 B
    clos     512 hosts, the paper's Clos at a load of 0.6: 51,200 flows, each host's one after the
             other to hosts at random, sizes Pareto with a mean of 50 KB
    few      the same network and load in 512 flows, one a host, each to the host half the network
             away
    short    clos, but one host's link has a delay of 1 ns instead of 5 us
    tenth    clos, but every tenth host's link has
    shorter  clos, but all hosts' links have
    near     clos, but all links have a delay of 1 us
    pods     4,096 hosts, the same Clos with 64 pods; flows as in clos
    wide     8,192 hosts, the same with 128 pods
    large    8,192 hosts, k=32 fat-tree, 10 Gbit/s; flows as in clos
"""

from __future__ import annotations

import argparse
import json
import os
import random
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from itertools import pairwise

from pcn.base import packed
from pcn.controller.programs import Program
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.softswitch.codegen.build import build_source
from pcn.softswitch.codegen.generate import generate
from pcn.softswitch.p4runtime.binding import bind
from pcn.softswitch.program.load import load_program
from pcn.topologies.clos import clos
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import FlowSpec, Topology
from pcn.virtualnet.switch import LoadedProgram

Flows = list[FlowSpec]
LOAD, HOST_BPS = 0.6, 10e9


def incast(seed: int) -> tuple[Topology, Flows]:
    """Has 15 long flows to h0."""
    topology = fat_tree(4)
    return topology, [FlowSpec(i, f"h{i}", "h0") for i in range(1, len(topology.hosts))]


def spread(topology: Topology, seed: int, per_host: int) -> tuple[Topology, Flows]:
    """Returns a number of flows of each host, one after the other."""
    random_ = random.Random(seed)
    names = [host.name for host in topology.hosts]
    flows: Flows = []
    for number, source in enumerate(names):
        start_s = random_.uniform(0, 50_000 * 8 / (LOAD * HOST_BPS))
        for _ in range(per_host):
            size = min(1_000_000, int(10_000 * random_.paretovariate(1.25)))
            target = random_.randrange(len(names) - 1)
            target += target >= number
            flows.append(
                FlowSpec(len(flows) + 1, source, names[target], start_s=start_s, size_bytes=size)
            )
            start_s += size * 8 / (LOAD * HOST_BPS)
    return topology, flows


def with_short_links(
    traffic: tuple[Topology, Flows], hosts: int, step: int = 1
) -> tuple[Topology, Flows]:
    """Returns the same with a delay of 1 ns at `hosts` hosts, of which each is `step` after the one
    before."""
    topology, flows = traffic
    near = {host.name for host in topology.hosts[: hosts * step : step]}
    links = [
        replace(link, delay_s=1e-9) if {link.a.node, link.b.node} & near else link
        for link in topology.links
    ]
    return replace(topology, links=tuple(links)), flows


def with_delay(traffic: tuple[Topology, Flows], delay_s: float) -> tuple[Topology, Flows]:
    """Returns the same with this delay of all links."""
    topology, flows = traffic
    return replace(
        topology, links=tuple(replace(link, delay_s=delay_s) for link in topology.links)
    ), flows


def few(seed: int) -> tuple[Topology, Flows]:
    """Returns a flow of each of 512 hosts, as fast as `spread` is on average."""
    topology = clos()
    names = [host.name for host in topology.hosts]
    half = len(names) // 2
    return topology, [
        FlowSpec(i + 1, name, names[(i + half) % len(names)], rate_bps=LOAD * HOST_BPS)
        for i, name in enumerate(names)
    ]


@dataclass(frozen=True)
class Scenario:
    """What is run for `duration_s` of simulated time. `make`: network and flows, from a seed."""

    make: Callable[[int], tuple[Topology, Flows]]
    duration_s: float
    repetitions: int = 5


SCENARIOS = {
    "incast": Scenario(incast, 0.1),
    "clos": Scenario(lambda seed: spread(clos(), seed, 100), 2e-3),
    "few": Scenario(few, 2e-3),
    "short": Scenario(lambda seed: with_short_links(spread(clos(), seed, 100), 1), 2e-3),
    "shorter": Scenario(lambda seed: with_short_links(spread(clos(), seed, 100), 512), 2e-3),
    "tenth": Scenario(lambda seed: with_short_links(spread(clos(), seed, 100), 51, 10), 2e-3),
    "near": Scenario(lambda seed: with_delay(spread(clos(), seed, 100), 1e-6), 2e-3),
    "pods": Scenario(lambda seed: spread(clos(pods=64), seed, 50), 1e-3, repetitions=1),
    "wide": Scenario(lambda seed: spread(clos(pods=128), seed, 50), 1e-3, repetitions=1),
    "large": Scenario(
        lambda seed: spread(fat_tree(32, rate_bps=HOST_BPS), seed, 50), 1e-3, repetitions=1
    ),
}


_FLOOR = """
static void floor_ingress(struct sw_instance *s, struct sw_inplace_packet *in_place) {
    const struct sw_entry *entry = sw_lookup(s->tables[%(routes)d], in_place->frame + 30, 4);
    in_place->priority = in_place->frame[15] >> 5;
    in_place->egress_spec = s->drop_port;
    if (entry != NULL && entry->action == %(multipath)d) {
        const uint8_t group[2] = {(uint8_t)(entry->args[1] >> 8), (uint8_t)entry->args[1]};
        entry = sw_lookup_exact(s->tables[%(groups)d], group, 2);
        uint32_t hash = in_place->frame[35];
        if (entry != NULL) in_place->egress_spec = (uint16_t)sw_resolve(
            s->profiles[0], (struct sw_call){entry->action, entry->args}, hash).args[0];
    } else if (entry != NULL) {
        in_place->egress_spec = (uint16_t)entry->args[1];
    }
}
static void floor_egress(struct sw_instance *s, struct sw_inplace_packet *in_place) { (void)s; (void)in_place; }
static const struct sw_inplace inplace = {floor_ingress, floor_egress};
"""  # noqa: E501


def floor() -> LoadedProgram:
    """Returns PCN's program with pipelines that only look up the route: the remaining cost is the
    engine's."""
    program = Program.compiled("pcn_native")
    json_text = packed.read_text(program.json)
    model = load_program(json_text)
    text = generate(model, inplace=True)
    tables, actions = (
        [thing.name.rpartition(".")[2] for thing in things]
        for things in (model.tables, model.actions)
    )
    numbers = {
        "routes": tables.index("ipv4_lpm"),
        "groups": tables.index("next_hop_group"),
        "multipath": actions.index("ipv4_multipath"),
    }
    match = re.search(r"static const struct sw_inplace inplace = .*?;", text)
    assert match is not None
    built = build_source(text.replace(match[0], _FLOOR % numbers))
    return LoadedProgram(program.schema, bind(program.schema.p4info, model), json_text, built)


@dataclass(frozen=True)
class Result:
    """Of one repetition. `start_s`: CPU time until there is a network, without flows; `flow_us`: to
    add one; `rate`: traversals of data packets a CPU second of the run, `cpu_s`; `wall_s`: that run
    by the wall's clock; `threads`: where that went; `most`: frames at once; `memory_mb`: the
    largest that the whole process was."""

    start_s: float
    flow_us: float
    rate: float
    cpu_s: float
    wall_s: float
    threads: str
    events: int
    most: int
    memory_mb: float


def measure(
    name: str,
    duration_s: float,
    empty: bool = False,
    prefetch: bool = True,
    threads: int = 1,
    scheme_name: str = "pcn",
    seed: int = 1,
) -> Result:
    """Returns one repetition; `empty` with the floor's program."""
    topology, flows = SCENARIOS[name].make(seed)
    scheme = find_scheme(scheme_name).configure(
        {"period_s": 50e-6, "w_min": 1 / 128} if scheme_name == "pcn" else {}
    )
    program = floor() if empty else None
    clock = [time.process_time()]
    with VirtualNetwork(
        topology, scheme, seed=seed, program=program, prefetch=prefetch, threads=threads
    ) as network:
        clock.append(time.process_time())
        network.add_flows((flow, None, None) for flow in flows)
        clock.append(time.process_time())
        began = time.perf_counter()
        network.run(until_s=duration_s)
        wall_s = time.perf_counter() - began
        clock.append(time.process_time())
        totals, account = network.totals(), str(network.threads())
    start_s, adding_s, took = (later - sooner for sooner, later in pairwise(clock))
    memory_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    return Result(
        start_s, adding_s / len(flows) * 1e6, totals.data_traversals / took, took, wall_s, account,
        totals.events,
        totals.packets_most, memory_mb,
    )  # fmt: skip


def measure_alone(
    name: str, duration_s: float, empty: bool, prefetch: bool, threads: int = 1, scheme: str = "pcn"
) -> Result:
    """Measures in a separate process: memory is that of one run alone."""
    words = ["--alone", json.dumps([name, duration_s, empty, prefetch, threads, scheme])]
    done = subprocess.run([sys.executable, __file__, *words], stdout=subprocess.PIPE, check=True)
    return Result(**json.loads(done.stdout))


def compare_threads(
    name: str, duration_s: float, repetitions: int, threads: int, scheme: str
) -> None:
    """Prints the wall's time of one thread over that of several, in turn."""
    ratios, last = [], ""
    for i in range(repetitions):
        pair = {
            n: measure_alone(name, duration_s, False, True, n, scheme)
            for n in ((1, threads), (threads, 1))[i % 2]
        }
        ratios.append(pair[1].wall_s / pair[threads].wall_s)
        last = pair[threads].threads
    print(
        f"{name}, {scheme}: {threads} threads x {min(ratios):.2f} / "
        f"{statistics.median(ratios):.2f} / {max(ratios):.2f} (smallest, median, largest of "
        f"{len(ratios)}); {last}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("scenarios", nargs="*", help=f"of {', '.join(SCENARIOS)} (default: all)")
    parser.add_argument(
        "--repetitions",
        type=int,
        help="runs whose median counts (default: 5; 1 of pods, wide and large)",
    )
    parser.add_argument("--duration", type=float, help="simulated seconds")
    parser.add_argument(
        "--floor", action="store_true", help="with an empty pipeline that has only the routes"
    )
    parser.add_argument(
        "--threads", type=int, help="number of threads to compare with one; prints nothing else"
    )
    parser.add_argument("--scheme", default="pcn", help="of --threads")
    parser.add_argument(
        "--alone", metavar="JSON", help="the arguments of one repetition; its result, as JSON"
    )
    arguments = parser.parse_args()
    if arguments.alone:
        print(json.dumps(asdict(measure(*json.loads(arguments.alone)))))
        return
    measure("incast", 1e-5, arguments.floor)  # compiles what isn't in the cache
    for name in arguments.scenarios or SCENARIOS:
        duration_s = arguments.duration or SCENARIOS[name].duration_s
        if arguments.threads:
            compare_threads(
                name, duration_s, arguments.repetitions or SCENARIOS[name].repetitions,
                arguments.threads,
                arguments.scheme,
            )  # fmt: skip
            continue
        load = os.getloadavg()[0]
        seen, ratios = [], []
        for _ in range(arguments.repetitions or SCENARIOS[name].repetitions):
            with_it, without = (
                measure_alone(name, duration_s, arguments.floor, prefetch)
                for prefetch in (True, False)
            )
            seen.append(with_it)
            ratios.append(with_it.rate / without.rate)
        rates = [result.rate / 1e6 for result in seen]
        last = seen[-1]
        print(
            f"{name}: start {statistics.median(result.start_s for result in seen):.2f} s, a flow "
            f"{statistics.median(result.flow_us for result in seen):.1f} us; {min(rates):.2f} / "
            f"{statistics.median(rates):.2f} / {max(rates):.2f} million traversals a second "
            f"(smallest, median, largest of {len(rates)}); {duration_s * 1e3:g} ms simulated in "
            f"{last.cpu_s:.2f} s, {last.events:,} events, {last.most:,} frames at once; "
            f"{max(result.memory_mb for result in seen):.0f} MB; prefetching x "
            f"{statistics.median(ratios):.2f}; load {load:.1f} on {os.cpu_count()} cores",
            flush=True,
        )


if __name__ == "__main__":
    main()
