"""NSCC and RCCC with spraying and trimming against uet-htsim, the Ultra Ethernet Consortium's
simulator, on the same flows.

    compare.py FOLDER SCENARIO...    FOLDER: htsim/sim/datacenter of ultraethernet/uet-htsim, with
                                     htsim_uec built
    compare.py --scheme rccc ...     RCCC, there as `-receiver_cc_only` has it (default: nscc)
    compare.py --only same ...       one of the two configurations alone
    compare.py --ours SCENARIO       one of ours alone, as JSON
    compare.py --others SCENARIO     DCTCP, and NSCC on lossless and on lossy networks, beside it

Both print when each flow's sender has its last acknowledgement. The settings are htsim's own:
frames of 4,150 bytes, links of 1 us, queues of a bandwidth-delay product that trim to 64 bytes,
marks from 0.2 of one on and all above 0.8, 64 entropies, the network's empty round trip by its
longest path. By `default` either does what it does without more options. In `same` both do the
same work: htsim acknowledges each packet (its default is one of 16 KiB) and avoids marked paths by
its bitmap alone, as here (its default sends again by paths that were good, too); here a full queue
trims by a coin the packet that comes or the last one that waits, and what ports to hosts trim is no
path's fault, as there.

`permutation`, `incast` and FLOWS-SIZE-NETWORK are this file's own, on leaf-spine networks of 32
hosts, which htsim reads from files: a permutation, 31 to 1, or each host to all others, 1, 4 or 8
of its flows at a time, the first ones 1 or 2 us apart; SIZE a flow; as many uplinks as hosts, with
100, 400 or 800 Gbit/s or frames of 9,000 bytes, or 4 hosts an uplink (4to1). The others are htsim's
connection matrices. Exit code 1: with the same configuration a mean differs by more than 2% (an
in-cast's 5%), or a 99% by more than 3%.
"""

import argparse
import json
import math
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, astuple, dataclass, replace
from functools import partial
from pathlib import Path
from random import Random
from typing import Any

import numpy as np

HERE = Path(__file__).resolve().parent
sys.path[:0] = [path for path in (str(HERE), str(HERE.parents[1])) if path not in sys.path]

from pcn.experiments.traffic.flow_files.reading import read_flows  # noqa: E402
from pcn.hosts import wire  # noqa: E402
from pcn.hosts.algorithms import Configured, find_scheme  # noqa: E402
from pcn.hosts.paths import Paths  # noqa: E402
from pcn.hosts.reliability import Reliability, Repeats  # noqa: E402
from pcn.hosts.virtual import VirtualNetwork  # noqa: E402
from pcn.softswitch.trimming import LAST_HOP_DSCP, Trimming  # noqa: E402
from pcn.topologies.clos import clos  # noqa: E402
from pcn.topologies.fat_tree import fat_tree  # noqa: E402
from pcn.topologies.flow_order import in_order  # noqa: E402
from pcn.topologies.model import Endpoint, FlowSpec, Topology  # noqa: E402

FRAME, ACK, DELAY_S = 4150, 64, 1e-6
MEAN_BOUND, INCAST_BOUND, P99_BOUND = 0.02, 0.05, 0.03
ULTRA_ETHERNET = {"nscc": (), "rccc": ("-receiver_cc_only", "-force_disable_oversubscribed_cc")}
"""With htsim's options."""
CONFIGURATIONS = {"default": (), "same": ("-sack_threshold", "1", "-load_balancing_algo", "bitmap")}
"""With htsim's options: how many bytes an acknowledgement waits for, and how paths are chosen."""
COIN_PERCENT = 50
"""htsim's, of a full queue."""
LOSSY, LOSSLESS = 1, 3
"""Classes."""
LEAVES, HOSTS, UPLINKS = 4, 8, 2
"""Of `permutation` and `incast`: four hosts an uplink."""


def leaf_spine_file(leaves: int = LEAVES, uplinks: int = UPLINKS, gbps: int = 100) -> str:
    """htsim's text of `leaf_spine`."""
    return f"""\
Nodes {leaves * HOSTS}
Tiers 2
Podsize {leaves * HOSTS}
Tier 0
Downlink_speed_Gbps {gbps}
Radix_Down {HOSTS}
Radix_Up {uplinks}
Downlink_Latency_ns 1000
Switch_Latency_ns 0
Oversubscribed {HOSTS // uplinks}
Tier 1
Downlink_speed_Gbps {gbps}
Radix_Down {leaves}
Downlink_Latency_ns 1000
Switch_Latency_ns 0
"""


def leaf_spine(
    leaves: int = LEAVES, uplinks: int = UPLINKS, gbps: int = 100, frame: int = FRAME
) -> Topology:
    rate_bps = gbps * 1e9
    return clos(
        1, leaves, uplinks, HOSTS, rate_bps, rate_bps, DELAY_S, strands=1, spines=0, mtu_bytes=frame
    )


def permutation(size: int) -> str:
    """Of the hosts: `size` from each, to another each."""
    hosts = list(range(LEAVES * HOSTS))
    Random(1).shuffle(hosts)
    pairs = zip(hosts, [*hosts[1:], hosts[0]], strict=True)
    return _matrix([f"{src}->{dst} start 0 size {size}" for src, dst in pairs])


def incast(size: int) -> str:
    """`size` from each host to the first."""
    return _matrix([f"{src}->0 start 0 size {size}" for src in range(1, LEAVES * HOSTS)])


def all_to_all(hosts: int, at_a_time: int, size: int, apart_us: int = 0) -> str:
    """Each host to all others, in rotated order, `at_a_time` of its flows at once: the next one
    starts when the sender has the last acknowledgement of the one before; 0: all at once. The first
    ones start `apart_us` apart: where several are ready for their first frames, their turns follow
    the order of events there, the flows' numbers here, and 32 hosts in step keep it to the end."""
    lines: list[str] = []
    triggers: list[str] = []
    for src in range(hosts):
        targets = [(src + step) % hosts for step in range(1, hosts)]
        chains = at_a_time or len(targets)
        for chain in range(chains):
            start = f"start {chain * apart_us}"
            for dst in targets[chain::chains]:
                number = len(lines) + 1
                lines.append(f"{src}->{dst} id {number} {start} size {size}")
                if dst != targets[chain::chains][-1]:
                    lines[-1] += f" send_done_trigger {number}"
                    triggers.append(f"trigger id {number} oneshot")
                    start = f"trigger {number}"
    return _matrix(lines, triggers, hosts)


def _matrix(lines: Sequence[str], triggers: Sequence[str] = (), hosts: int = LEAVES * HOSTS) -> str:
    head = [f"Nodes {hosts}", f"Connections {len(lines)}"]
    if triggers:
        head.append(f"Triggers {len(triggers)}")
    return "\n".join([*head, *lines, *triggers, ""])


@dataclass(frozen=True)
class Scenario:
    """`flows`: the text of a connection matrix, or the name of htsim's. `hops`: links of the
    longest path. `file`: the text of htsim's topology, where it isn't its own fat tree. `frame`: a
    data packet's bytes. `incast`: whether all flows have one receiver."""

    make: Callable[[], Topology]
    flows: Callable[[], str] | str
    hops: int
    options: tuple[str, ...] = ()
    file: str | None = None
    frame: int = FRAME
    incast: bool = False


def _fat_tree(k: int, rate_bps: float = 100e9) -> Callable[[], Topology]:
    return lambda: fat_tree(k, rate_bps, DELAY_S, mtu_bytes=FRAME)


FLOWS = {"permutation": permutation, "incast": incast}
AT_A_TIME = (1, 4, 8)
SIZES = {"200KB": 200_000, "2MB": 2_000_000}
LEAF_SPINES = {
    "100G": (HOSTS, 100, FRAME),
    "400G": (HOSTS, 400, FRAME),
    "800G": (HOSTS, 800, FRAME),
    "9000B": (HOSTS, 100, 9000),
    "4to1": (UPLINKS, 100, FRAME),
}
"""Uplinks, Gbit/s, frames' bytes."""
APART_US = {"9000B": 2, "800G": 2}
"""Of a host's first flows, by network, where it isn't 1: there they still meet at the NIC, and the
99% of four at a time differs by 7 and 3%."""


def _leaf_spine(
    flows: Callable[[], str] | str,
    network: str = "4to1",
    leaves: int = LEAVES,
    incast: bool = False,
) -> Scenario:
    uplinks, gbps, frame = LEAF_SPINES[network]
    return Scenario(
        partial(leaf_spine, leaves, uplinks, gbps, frame),
        flows,
        4,
        ("-linkspeed", str(1000 * gbps), "-mtu", str(frame)),
        leaf_spine_file(leaves, uplinks, gbps),
        frame,
        incast,
    )


SCENARIOS = {
    "permutation": _leaf_spine(partial(permutation, 2_000_000)),
    "incast": _leaf_spine(partial(incast, 300_000), incast=True),
    **{
        f"{kind}-{size}-{network}": _leaf_spine(
            partial(flows, SIZES[size]), network, incast=kind == "incast"
        )
        for network in LEAF_SPINES
        for kind, flows in FLOWS.items()
        for size in SIZES
    },
    **{
        f"alltoall-by-{at_a_time}-{size}-{network}": _leaf_spine(
            partial(all_to_all, LEAVES * HOSTS, at_a_time, SIZES[size], APART_US.get(network, 1)),
            network,
        )
        for network in LEAF_SPINES
        for at_a_time in AT_A_TIME
        for size in SIZES
    },
    # all of a host's flows at once
    "alltoall-64": _leaf_spine(partial(all_to_all, 64, 0, 100_000), "100G", 8),
    "perm-32": _leaf_spine("perm_32n_32c_2MB.cm"),
    "incast-127": Scenario(_fat_tree(8), "incast_128.cm", 6, incast=True),
    "perm-1024-200G": Scenario(
        _fat_tree(16, 200e9), "perm_1024n_1024c_0u_2000000b.cm", 6, ("-linkspeed", "200000")
    ),
    "perm-1024": Scenario(_fat_tree(16), "perm_1024n_1024c_0u_2000000b.cm", 6),
    "alltoall-16": Scenario(
        _fat_tree(4), "alltoall_serial_16n.cm", 6
    ),  # each host to all others, one after the other
    "perm-8192": Scenario(_fat_tree(32), "perm_8192n_8192c_2MB.cm", 6),
    # starts within 16 us, drawn
    **{
        f"incast-8192-{senders}-16us": Scenario(
            _fat_tree(32), f"incast/gen_random_incast_8192n_{senders}c_16us_2Ms.cm", 6, incast=True
        )
        for senders in (8, 64, 128)
    },
}


@dataclass(frozen=True)
class Result:
    """`mean_us`, `p99_us` and `max_us`: when senders have their last acknowledgement."""

    mean_us: float
    p99_us: float
    max_us: float
    flows: int
    trimmed: int
    cpu_s: float
    memory_gb: float
    timeouts: int = 0


def _scheme(name: str, frame: int, rate_bps: float, rtt_s: float) -> Configured:
    bdp = rate_bps * rtt_s / 8
    if name in ULTRA_ETHERNET:
        credit = {"maxwnd_bytes": 1.5 * bdp} if name == "rccc" else {}
        return find_scheme(name).configure({"network_rtt_s": rtt_s, "frame_bytes": frame, **credit})
    windows = {"init_window_bytes": 1.5 * bdp, "max_window_bytes": 1.5 * bdp}
    return find_scheme(name).configure({"k_bytes": 0.2 * bdp, "frame_bytes": frame, **windows})


def network(
    scenario: Scenario,
    flows: Sequence[FlowSpec],
    seed: int,
    scheme: str,
    queues: str,
    configuration: str = "default",
) -> VirtualNetwork:
    """`queues`: "trim"; "drop", five bandwidth-delay products and no trimming; "lossless".
    `configuration`: of CONFIGURATIONS."""
    topology = scenario.make()
    rate_bps = topology.links[0].rate_bps
    frame = scenario.frame
    rtt_s = scenario.hops * (2 * DELAY_S + (frame + ACK) * 8 / rate_bps)
    depth = math.ceil(rate_bps * rtt_s / 8 / frame)
    number = LOSSLESS if queues == "lossless" else LOSSY
    reliability = {
        number: Reliability(Repeats.SELECTIVE, 200e-6 if number == LOSSY else 0.1, reordering_s=1)
    }
    simulation = VirtualNetwork(
        topology,
        _scheme(scheme, frame, rate_bps, rtt_s),
        payload_bytes=frame - wire.data_bytes(0, credit=scheme == "rccc"),
        seed=seed,
        reliability=reliability,
        paths=Paths("packet"),
    )
    same = configuration == "same"
    hosts = {host.name for host in topology.hosts}
    ends = [(link.a, link.b) for link in topology.links]
    to_hosts = {near for pair in ends for near, far in (pair, pair[::-1]) if far.node in hosts}
    for switch in topology.switches:
        for port in topology.ports(switch.name):
            if queues == "drop":
                simulation.set_queue(switch.name, port, LOSSY, depth=5 * depth)
            elif queues == "trim":
                simulation.set_queue(switch.name, port, LOSSY, depth=depth)
                last = same and Endpoint(switch.name, port) in to_hosts
                trimming = Trimming(
                    weight=frame // 64,
                    tail_percent=COIN_PERCENT if same else 0,
                    dscp_value=LAST_HOP_DSCP if last else Trimming().dscp_value,
                )
                simulation.set_trimming(switch.name, port, [LOSSY], trimming, depth=8000, seed=seed)
    for flow in in_order(flows):
        simulation.add_flow(replace(flow, traffic_class=number))
    return simulation


def ours(
    name: str,
    folder: Path | None,
    seed: int = 1,
    scheme: str = "nscc",
    queues: str = "trim",
    configuration: str = "default",
) -> Result:
    """Runs a scenario in this process. Its memory is this process's."""
    import resource

    scenario = SCENARIOS[name]
    with tempfile.TemporaryDirectory() as scratch:
        flows = read_flows(_matrix_file(scenario, folder, Path(scratch)), scenario.make())
    begun = time.process_time()
    with network(scenario, flows, seed, scheme, queues, configuration) as simulation:
        simulation.run(until_s=0.2, finish=True)
        simulation.run(until_s=simulation.now_s + 1e-3)
        stats = [flow.stats() for flow in simulation.flows.values()]
        ended = [stat.ended_s * 1e6 for stat in stats if stat.ended_s is not None]
        repeated, timeouts = (
            sum(stat.repeated_packets for stat in stats),
            sum(stat.timeouts for stat in stats),
        )
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1e6
    cpu = time.process_time() - begun
    return _result(ended, repeated, cpu, memory, timeouts)


def _result(
    ended_us: Sequence[float], repeated: int, cpu_s: float, memory_gb: float, timeouts: int = 0
) -> Result:
    p99_us = float(np.percentile(ended_us, 99))
    mean_us = sum(ended_us) / len(ended_us)
    flows = len(ended_us)
    return Result(mean_us, p99_us, max(ended_us), flows, repeated, cpu_s, memory_gb, timeouts)


def _matrix_file(scenario: Scenario, folder: Path | None, scratch: Path) -> Path:
    if isinstance(scenario.flows, str):
        if folder is None:
            raise SystemExit(f"{scenario.flows}: give the folder of htsim that has it")
        return folder / "connection_matrices" / scenario.flows
    file = scratch / "flows.cm"
    file.write_text(scenario.flows())
    return file


def htsim(
    name: str, folder: Path, seed: int = 1, scheme: str = "nscc", configuration: str = "default"
) -> Result:
    scenario = SCENARIOS[name]
    with tempfile.TemporaryDirectory() as scratch:
        command = [
            str(folder / "htsim_uec"),
            "-tm",
            str(_matrix_file(scenario, folder, Path(scratch))),
        ]
        command += [
            "-end", "1000000", "-seed", str(seed), "-o", f"{scratch}/log", *scenario.options,
        ]  # fmt: skip
        command += [*ULTRA_ETHERNET[scheme], *CONFIGURATIONS[configuration]]
        if scenario.file is not None:
            file = Path(scratch) / "network.topo"
            file.write_text(scenario.file)
            command += ["-topo", str(file)]
        text, usage = _measured(command)
    ended = [float(time_us) for time_us in re.findall(r" finished at ([\d.]+)", text)]
    if not ended:
        raise SystemExit(f"{command[0]} ended no flow:\n{text[-2000:]}")
    trimmed = re.search(r"NACKs: (\d+)", text)
    cpu = usage.ru_utime + usage.ru_stime
    return _result(ended, int(trimmed[1]) if trimmed else 0, cpu, usage.ru_maxrss / 1e6)


def _measured(command: Sequence[str]) -> tuple[str, Any]:
    """What a command prints, and what it used."""
    with tempfile.TemporaryFile("w+") as output, tempfile.TemporaryDirectory() as folder:
        child = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, cwd=folder)
        _, status, usage = os.wait4(child.pid, 0)
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if child.returncode != 0:
        raise SystemExit(f"{' '.join(command)} ended with {child.returncode}:\n{text[-2000:]}")
    return text, usage


def _mean(results: Sequence[Result]) -> Result:
    mean_us, p99_us, max_us, flows, trimmed, cpu_s, memory_gb, timeouts = (
        sum(values) / len(results)
        for values in zip(*(astuple(result) for result in results), strict=True)
    )
    whole = round(flows), round(trimmed)
    return Result(mean_us, p99_us, max_us, *whole, cpu_s, memory_gb, round(timeouts))


def _row(label: str, result: Result) -> str:
    return (
        f"{label:18} {result.mean_us:10.1f} {result.p99_us:10.1f} {result.max_us:10.1f} "
        f"{result.flows:6d} "
        f"{result.trimmed:8d} {result.timeouts:8d} {result.cpu_s:8.2f} {result.memory_gb:8.2f}"
    )


def _compare(
    name: str, folder: Path, seeds: Sequence[int], scheme: str, configuration: str
) -> bool:
    """Runs both with a configuration, and prints what came out. Returns whether they are within the
    bounds."""
    theirs = [htsim(name, folder, seed, scheme, configuration) for seed in seeds]
    print(_row(f"  htsim, {configuration}", _mean(theirs)), flush=True)
    command = [sys.executable, str(Path(__file__)), "--scheme", scheme, "--only", configuration]
    command += ["--ours", name, str(folder), "--seed"]
    mine = [Result(**json.loads(_measured([*command, str(seed)])[0])) for seed in seeds]
    print(_row(f"  ours, {configuration}", _mean(mine)), flush=True)
    mean, p99, largest = (
        _difference([getattr(result, of) for result in mine], [getattr(r, of) for r in theirs])
        for of in ("mean_us", "p99_us", "max_us")
    )
    words = [
        f"{label} {of[0]:+.1%}" + (f" +- {of[1]:.1%}" if len(seeds) > 1 else "")
        for label, of in (("mean", mean), ("99%", p99), ("max", largest))
    ]
    bound = INCAST_BOUND if SCENARIOS[name].incast else MEAN_BOUND
    near = abs(mean[0]) <= bound and abs(p99[0]) <= P99_BOUND
    print(f"  {', '.join(words)}: {'within' if near else 'BEYOND'} the bounds", flush=True)
    return near


def _difference(mine: Sequence[float], theirs: Sequence[float]) -> tuple[float, float]:
    """Returns by how much the mean of the first is more than that of the second, as a share of it,
    and the half of its 95% interval over seeds, which are independent; 0 with one."""
    shares = [
        1.96 * float(np.std(values, ddof=1)) / math.sqrt(len(values)) / float(np.mean(values))
        if len(values) > 1
        else 0.0
        for values in (mine, theirs)
    ]
    return float(np.mean(mine)) / float(np.mean(theirs)) - 1, math.hypot(*shares)


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("words", nargs="+", metavar="[FOLDER] SCENARIO", help=", ".join(SCENARIOS))
    parser.add_argument("--scheme", choices=ULTRA_ETHERNET, default="nscc")
    parser.add_argument("--ours", action="store_true")
    parser.add_argument("--others", action="store_true")
    parser.add_argument(
        "--only", choices=CONFIGURATIONS, help="a configuration (default: one after the other)"
    )
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--seeds", type=int, default=1, metavar="N", help="means over N seeds (default: 1)"
    )
    args = parser.parse_args()
    names = [word for word in args.words if word in SCENARIOS]
    folder = next((Path(word).resolve() for word in args.words if word not in SCENARIOS), None)
    if args.ours:
        configuration = args.only or "default"
        result = ours(names[0], folder, args.seed, args.scheme, configuration=configuration)
        print(json.dumps(asdict(result)))
        return 0
    print(
        f"{'':18} {'mean us':>10} {'99% us':>10} {'max us':>10} {'flows':>6} {'repeated':>8} "
        f"{'timeouts':>8} "
        f"{'CPU s':>8} {'GB':>8}"
    )
    failed = False
    for name in names:
        print(name)
        if args.others:
            for scheme, queues in (
                ("dctcp", "trim"),
                ("nscc", "lossless"),
                ("dctcp", "lossless"),
                ("nscc", "drop"),
                ("dctcp", "drop"),
            ):
                print(
                    _row(f"  {scheme} {queues}", ours(name, folder, args.seed, scheme, queues)),
                    flush=True,
                )
            continue
        if folder is None:
            parser.error("give htsim's folder, or --ours")
        seeds = range(args.seed, args.seed + args.seeds)
        for configuration in [args.only] if args.only else CONFIGURATIONS:
            near = _compare(name, folder, seeds, args.scheme, configuration)
            failed |= not near and configuration == "same"
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
