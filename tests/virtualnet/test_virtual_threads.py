"""One run on several threads: the same run as on one, whatever is seen of it; and threads that end
with it."""

import json
import os
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from networks import PCN, PFC_ONLY, all_link_stats, flow_stats, mesh, tree, with_flows
from test_virtual_callbacks import PERIOD_S, Np, Rp, scheme_of
from waiting import wait_until

from pcn import cli
from pcn.hosts.algorithms import Cnp, Mark, find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import FlowSpec, Topology
from pcn.virtualnet import CallbackError, VirtualError, threads

THREADS = (3, 8)
"""Not a divisor of the nodes; more than some networks have groups."""


def tasks() -> int:
    """Threads of this process."""
    return sum(1 for _ in Path("/proc/self/task").iterdir())


def short_at(topology: Topology, names: set[str]) -> Topology:
    """With links of 1 ns at these nodes: they are one group with what they lead to."""
    return replace(
        topology,
        links=tuple(
            replace(link, delay_s=1e-9) if {link.a.node, link.b.node} & names else link
            for link in topology.links
        ),
    )


NETWORKS = {
    "fat tree": lambda: fat_tree(4),
    "odd ring": lambda: mesh(5, [(i, (i + 1) % 5) for i in range(5)], [2e-6]),
    "all to all": lambda: mesh(4, [(i, j) for i in range(4) for j in range(i)], [1e-6, 3e-6]),
    "groups": lambda: short_at(fat_tree(4), {"h0", "h5", "h6"}),
    "one group": lambda: short_at(mesh(3, [(0, 1), (1, 2)], [1e-6]), {"s0", "s1"}),
}


def everything(topology: Topology, scheme: str, number: int, folder: Path) -> dict[str, Any]:
    """All that can be seen of a run, in the order in which it was."""
    configured = find_scheme(scheme)
    names = [host.name for host in topology.hosts]
    calls: list[tuple[Any, ...]] = []
    link = topology.links[-1]
    with VirtualNetwork(topology, configured.configure(), threads=number) as network:
        log = network.log_pfc()
        network.log_paths()
        network.measure_latency()
        network.on_rate = lambda flow, now_s: calls.append((flow.spec.id, now_s, flow.rp.rate_bps))
        network.on_window = lambda flow, now_s, window, cnp: calls.append(
            (flow.spec.id, now_s, window, cnp)
        )
        for end in (link.a, link.b):
            network.capture(end.node, end.port, folder / f"{number}.{end.node}.pcap")
        flows = [
            FlowSpec(i, name, names[0], size_bytes=300_000, group="all")
            for i, name in enumerate(names)
            if i
        ]
        flows.append(
            FlowSpec(
                99, names[0], names[-1], after=(1, 2), start_s=1e-6, size_bytes=20_000, group="all"
            )
        )
        with_flows(network, flows)
        samples = network.sample(
            5e-6, [network.link_bytes(link.a.node, link.a.port), network.flow_rate(1)]
        )
        network.disturb(link.a.node, link.a.port, "data", lose=50)
        network.at(100e-6, lambda: calls.append(("at", network.now_s)))
        network.run(until_s=200e-6)
        network.run(until_s=600e-6, finish=True)
        pfc = log.read()
        seen = {
            "totals": replace(network.totals(), packets_most=0),
            "flows": flow_stats(network),
            "links": all_link_stats(network),
            "samples": (samples.times_s.tolist(), samples.values.tolist()),
            "calls": calls,
            "pfc": (
                pfc.times_s.tolist(), pfc.which.tolist(), pfc.classes.tolist(),
                pfc.kinds.tolist(),
            ),
            "paths": network.paths(),
            "latency": network.latency(0).counts.tolist(),
        }  # fmt: skip
    seen["captures"] = [
        (folder / f"{number}.{end.node}.pcap").read_bytes() for end in (link.a, link.b)
    ]
    return seen


@pytest.mark.parametrize(
    ("name", "scheme"), [*((name, "pcn") for name in NETWORKS), ("fat tree", "dcqcn")]
)
def test_threads_give_the_run_of_one(name, scheme, tmp_path):
    topology = NETWORKS[name]()
    reference = everything(topology, scheme, 1, tmp_path)
    assert reference["calls"]
    assert scheme == "dcqcn" or any(isinstance(call[-1], Cnp) for call in reference["calls"])
    for number in THREADS:
        assert everything(topology, scheme, number, tmp_path) == reference


def test_threads_end_with_the_network():
    before = tasks()
    with VirtualNetwork(fat_tree(4), PFC_ONLY, threads=4) as network:
        network.add_flow(FlowSpec(1, "h0", "h9"))
        network.run(until_s=20e-6)
        assert tasks() == before + 3
    wait_until(lambda: tasks() == before)


class _Raises(Np):
    def __init__(self, at: int):
        super().__init__(Cnp(Mark.CE, 1e9))
        self.at = at

    def on_window(self, window) -> Cnp | None:
        answer = super().on_window(window)
        if len(self.windows) == self.at:
            raise ValueError(f"window {self.at}")
        return answer


def test_threads_report_the_error_of_one():
    """Several NPs raise in one pass: that of the first host is the run's, and all threads end."""
    before = tasks()
    seen = []
    for number in (1, *THREADS):
        nps: list[_Raises] = []

        def np(nps: list[_Raises] = nps) -> _Raises:
            nps.append(_Raises(3))
            return nps[-1]

        with VirtualNetwork(fat_tree(4), scheme_of(Rp, np), threads=number) as network:
            with_flows(network, [FlowSpec(i, f"h{i}", f"h{15 - i}") for i in range(8)])
            with pytest.raises(CallbackError) as raised:
                network.run(until_s=20 * PERIOD_S)
            seen.append((str(raised.value), network.now_s, [len(point.windows) for point in nps]))
            with pytest.raises(VirtualError, match="can't go on"):
                network.run(until_s=1.0)
    assert seen == [seen[0]] * len(seen)
    wait_until(lambda: tasks() == before)


@pytest.mark.parametrize("number", [1, *THREADS])
def test_interrupted_run_of_threads_goes_on_as_if_it_had_not_been(number):
    """Ctrl-C comes in a callback, while the other threads wait."""

    def outcome(interrupted: bool) -> tuple[object, ...]:
        calls: list[float] = []
        interrupts = 0

        def on_window(flow, now_s: float, window, cnp):
            calls.append(now_s)
            if interrupted and len(calls) == 20:
                signal.raise_signal(signal.SIGINT)

        with VirtualNetwork(fat_tree(4), PCN, threads=number) as network:
            with_flows(network, [FlowSpec(i, f"h{i}", f"h{15 - i}") for i in range(8)])
            network.on_window = on_window
            while network.now_s < 0.5e-3:
                try:
                    network.run(until_s=0.5e-3)
                except KeyboardInterrupt:
                    interrupts += 1
            assert interrupts == interrupted
            return calls, flow_stats(network)

    before = tasks()
    assert outcome(interrupted=True) == outcome(interrupted=False)
    wait_until(lambda: tasks() == before)


def test_interrupted_command_ends_its_threads(tmp_path):
    """One line, Ctrl-C's exit code, no process and no file."""
    words = [
        "run", "dumbbell", "--clock", "virtual", "--threads", "2", "--set", "duration=10s", "-q",
    ]  # fmt: skip
    process = subprocess.Popen(
        [
            sys.executable, "-c", "from pcn.cli import main; main()", *words, "--out",
            tmp_path / "out",
        ],
        env={**os.environ, "OPENBLAS_NUM_THREADS": "1"},
        stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, start_new_session=True,
    )  # fmt: skip

    def threads_run() -> bool:
        assert process.poll() is None
        return len(list(Path(f"/proc/{process.pid}/task").iterdir())) > 1

    wait_until(threads_run)
    process.send_signal(signal.SIGINT)
    _, err = process.communicate()
    assert (process.returncode, err.strip()) == (128 + signal.SIGINT, "pcn: interrupted")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)
    assert list(tmp_path.rglob("*")) == []


def test_threads_find_the_deadlock_of_one():
    """Of a ring of switches, that five threads share."""
    outcomes = []
    before = tasks()
    for number in (1, *THREADS):
        topology = mesh(5, [(i, (i + 1) % 5) for i in range(5)], [1e-6])
        topology = replace(
            topology, parameters={**topology.parameters, "xoff_bytes": 20e3, "xon_bytes": 18e3}
        )
        with VirtualNetwork(topology, PFC_ONLY, threads=number) as network:
            with_flows(network, [FlowSpec(i, f"h{i}", f"h{(i + 2) % 5}") for i in range(5)])
            network.run(until_s=2e-3)
            outcomes.append((network.deadlock(), network.totals().digest))
    assert outcomes[0][0] is not None
    assert outcomes == [outcomes[0]] * len(outcomes)
    wait_until(lambda: tasks() == before)


def test_threads_report_the_engine_s_error_of_one():
    """Limits are exceeded at several switches: the first one's is the run's."""
    seen = []
    for number in (1, *THREADS):
        topology = fat_tree(4)
        with VirtualNetwork(topology, PFC_ONLY, threads=number) as network:
            with_flows(network, [FlowSpec(i, f"h{i}", "h0") for i in range(1, 16)])
            for switch in topology.switches:
                for port in topology.ports(switch.name):
                    network.protect(
                        switch.name, port, xoff_bytes=20_000, xon_bytes=10_000, quanta=1,
                        refresh_s=1.0, classes=255,
                        mac=bytes(6),
                    )  # fmt: skip
            with pytest.raises(VirtualError) as raised:
                network.run(until_s=5e-3)
            seen.append((str(raised.value), network.totals().events))
    assert "more than XOFF" in seen[0][0]
    assert seen == [seen[0]] * len(seen)


def test_forked_process_goes_on_without_the_threads():
    """The network goes on there and is closed, and goes on here."""
    with VirtualNetwork(tree(3), PCN, threads=2) as network:
        with_flows(network, [FlowSpec(i, f"h{i}", "r0", size_bytes=100_000) for i in range(3)])
        network.run(until_s=20e-6)
        child = os.fork()
        if child == 0:
            network.run(until_s=200e-6)
            digest = network.totals().digest
            network.close()
            os._exit(digest % 251)
        _, status = os.waitpid(child, 0)
        network.run(until_s=200e-6)
        assert os.waitstatus_to_exitcode(status) == network.totals().digest % 251


def test_auto_takes_one_thread_for_sixteen_hosts(monkeypatch):
    monkeypatch.setattr(threads, "cores", lambda: 8)
    monkeypatch.delenv(threads.VARIABLE, raising=False)
    assert [threads.threads_for(fat_tree(k)) for k in (4, 8, 12)] == [1, 4, 8]
    monkeypatch.setenv(threads.VARIABLE, threads.shared(3)[threads.VARIABLE])
    assert [threads.threads_for(fat_tree(k)) for k in (4, 8, 12)] == [1, 2, 2]
    monkeypatch.setenv(threads.VARIABLE, "5")
    assert threads.threads_for(fat_tree(4)) == 5
    assert threads.shared(3) == {threads.VARIABLE: "5"}


@pytest.mark.parametrize(
    "text", ["0", "65", "many", "-1", "", "auto:", "auto:x", "auto:0", "5:3", "9" * 5000]
)
def test_environment_of_no_number_is_refused(text, monkeypatch):
    monkeypatch.setenv(threads.VARIABLE, text)
    with pytest.raises(VirtualError, match="a number from 1 to 64, auto, or auto:N"):
        threads.threads_for(fat_tree(4))


def pcn(*words: str | Path) -> Result:
    return CliRunner().invoke(cli.pcn, [str(word) for word in words])


def test_command_gives_the_same_files_with_any_number_of_threads(tmp_path, monkeypatch):
    """Without the account of how it ran."""
    monkeypatch.setenv(threads.VARIABLE, "auto")  # what the command sets ends with the test
    seen = []
    for number in (1, 2):
        out = tmp_path / str(number)
        words = ["run", "dumbbell", "--clock", "virtual", "--set", "duration=3ms", "-q"]
        assert pcn(*words, "--threads", str(number), "--out", out).exit_code == 0
        summary = json.loads((out / "summary.json").read_text())
        assert len([note for note in summary.pop("notes") if "threads" in note]) == number - 1
        del summary["wall_s"], summary["provenance"]["command"]
        seen.append((summary, {path.name: path.read_bytes() for path in out.glob("*.parquet")}))
    assert seen[0] == seen[1]
    assert seen[0][1]


def test_sweep_refuses_more_threads_than_cores(monkeypatch):
    monkeypatch.setenv(threads.VARIABLE, "auto")
    monkeypatch.setattr(threads, "cores", lambda: 4)
    refused = pcn("sweep", "fig5", "--jobs", "3", "--threads", "2")
    assert refused.exit_code != 0
    assert "3 parallel runs of 2 threads: this process has 4 cores" in str(refused.exception)


def test_more_threads_than_nodes_are_one_a_node():
    def run(number: int) -> int:
        with VirtualNetwork(tree(1), PFC_ONLY, threads=number) as network:
            with_flows(network, [FlowSpec(1, "h0", "r0")])
            network.run(until_s=50e-6)
            return network.totals().digest

    assert run(60) == run(1)
