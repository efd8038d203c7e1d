"""The live runner: a plan on Mininet, with real switches and agents, in stretched time."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from itertools import islice
from pathlib import Path

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import FlowRecord, LinkRecord, PortRecord, Recording
from pcn.experiments.data.series import Series
from pcn.experiments.run.agentlogs import read_logs
from pcn.experiments.run.pace import TooFastError, carried_share, how_it_fell_behind
from pcn.experiments.run.progress import RunProgress
from pcn.experiments.run.sampler import MARKS, Clock, Sampler
from pcn.experiments.run.versions import versions
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.client import AgentClient, AgentError
from pcn.hosts.stats import MOST_FLOWS, AgentStats, ReceivedFlow, SentFlow
from pcn.hosts.wire import data_dscp
from pcn.lab import control_frames, journal as records
from pcn.lab.lab import Lab
from pcn.lab.pace import Pacing

_STATS_EVERY_REAL_S = 1.0
"""Between two looks at whether the agents keep pace, which judge windows of a second."""
_LEAST_EVERY_REAL_S = 1e-3
"""Between two readings of the switches, which take the processor from them."""
_HEAD_START_REAL_S, _FLOW_REAL_S = 0.3, 3e-3
"""From the commands to the start of the first flow, and more for each flow: its agent must have its
command by then."""
_QUIET_S = 5.0
"""Real time without any change after which a network won't ever be drained."""
_STILL_S = 60.0
"""Real time in which nothing arrives: what is under way then stands still."""
_NAMED = 5
"""How many of the cells that aren't back at 0 a note names."""


def run_live(plan: Plan, target: str, k: float, logs: Path, progress: RunProgress) -> Recording:
    """Runs `plan` and returns what was recorded. The programs' logs stay in `logs`. A network that
    is up is left alone: this one then gets another name.

    Raises LabError where the network can't be made or a part of it fails, and its subclass
    TooFastError when this machine can't carry this k. Nothing is left behind in any case.
    """
    started = time.monotonic()
    name = records.free_name(plan.topology.name)
    if name != plan.topology.name:
        progress.note(f"a network named {plan.topology.name} is up already: this run's is {name}")
    lab = Lab(
        plan.topology,
        name=name,
        target=target,
        dilation=k,
        scheme=plan.scheme,
        scheme_parameters=plan.scheme_parameters,
        port_parameters=plan.port_parameters,
        seed=plan.seed,
        trace_s=plan.sampling.flows_s,
        log_dir=logs,
        progress=lambda text: progress.stage(f"Network: {text}"),
    )
    with lab, agent_errors({host.name: logs / f"{host.name}.log" for host in plan.topology.hosts}):
        if priority := lab.network.features.get("priority"):
            progress.note(priority)
        run = _Run(plan, lab, k, progress)
        run.start()
        run.sample()
        ended_s = run.clock.now()
        left = run.drain()
        stats = run.read_agents()
        host_logs = [logs / Path(host.log).name for host in lab.network.hosts.values()]
        lost = control_frames.lost(lab)
        notes = [
            *_notes(lab.network.features),
            *run.late_nodes(),
            *(f"Lost on the way: {loss}." for loss in lost),
        ]
        notes += [f"{line}." for stat in stats.values() for line in stat.refused()]
        notes += _left(left)
    series = run.sampler.series
    read_logs(host_logs, plan.topology, series)
    run.check_switches()
    flows = tuple(_flow_records(plan, stats))
    return Recording(
        series=series,
        flows=flows,
        links={
            name: _link(series, name, plan, run.sampler.pauses[name])
            for name in series.entities("pause")
        },
        ports={
            name: _port(series, name, plan.topology.link_at(*_endpoint(name)).rate_bps)
            for name in series.entities("transmitted_packets")
        },
        left_inside=left,
        k=k,
        start_s=plan.start_s,
        duration_s=_end_s(flows, ended_s) if plan.until_complete else plan.duration_s,
        wall_s=time.monotonic() - started,
        versions=versions(lab.network.configured.scheme),
        notes=(*notes, _pace_note(stats)),
        lost_control=sum(loss.lost for loss in lost),
    )


class _Run:
    """One run on a network that is up."""

    def __init__(self, plan: Plan, lab: Lab, k: float, progress: RunProgress) -> None:
        self._plan = plan
        self._agents: Mapping[str, AgentClient] = lab.agents
        self._logs = {name: host.log for name, host in lab.network.hosts.items()}
        self._progress = progress
        self._pacing = Pacing(lab.record)
        self._behind: set[str] = set()
        head_start_s = _HEAD_START_REAL_S + _FLOW_REAL_S * len(plan.topology.flows)
        self.clock = Clock(time.monotonic() + head_start_s - plan.start_s * k, k)
        points = find_scheme(plan.scheme).marking
        self.sampler = Sampler(
            plan.topology, lab.switches, plan.sampling.queues, self.clock, points
        )
        self._last_start_s = max(flow.start_s for flow in plan.topology.flows)
        self._complete, self._arrived, self._moved = False, 0, time.monotonic()

    def start(self) -> None:
        """Sends every agent the start of time, and its flows."""
        for agent in self._agents.values():
            agent.set_epoch(self.clock.epoch)
        for flow in self._plan.topology.flows:
            to = self._plan.topology.host(flow.dst)
            lasts_s = None if self._plan.until_complete else self._plan.duration_s - flow.start_s
            self._agents[flow.src].start(
                flow.id,
                dst_ip=to.ip,
                dst_mac=to.mac,
                size_bytes=flow.size_bytes,
                rate_bps=flow.rate_bps,
                duration_s=flow.duration_s or lasts_s,
                payload_bytes=self._plan.payload_bytes,
                dscp=data_dscp(flow.traffic_class, flow.colour),
                at=self.clock.real(flow.start_s),
            )
        self.sampler.counters()

    def sample(self) -> None:
        """Samples until the run's time is over, or all flows have arrived, and sees to it that the
        agents keep pace."""
        start, end, sampling = self._plan.start_s, self._plan.duration_s, self._plan.sampling
        length = (
            "until all flows have arrived"
            if self._plan.until_complete
            else f"{(end - start) * 1e3:.4g} ms"
        )
        self._progress.stage(f"Run: {length}, stretched {self.clock.k:g} times")
        every = {
            "queues": max(sampling.queues_s, _LEAST_EVERY_REAL_S / self.clock.k),
            "counters": max(sampling.counters_s, _LEAST_EVERY_REAL_S / self.clock.k),
            "stats": _STATS_EVERY_REAL_S / self.clock.k,
        }
        due = dict.fromkeys(every, start)
        seen = ""
        while not self._complete if self._plan.until_complete else min(due.values()) <= end:
            kind = min(due, key=lambda name: due[name])
            self._wait(due[kind])
            if kind == "queues":
                waiting = self.sampler.queues()
                now = max(self.clock.now(), start)
                seen = f"{now * 1e3:.1f} ms, queue {waiting / 1e3:.0f} KB"
            elif kind == "counters":
                self.sampler.counters()
            else:
                self._look(self.read_agents())
                self._behind |= self._pacing.behind_since_last()
            due[kind] = max(due[kind] + every[kind], self.clock.now())
            self._progress.advance(min((self.clock.now() - start) / (end - start), 1.0), seen)
        self.sampler.counters()

    def _look(self, stats: Mapping[str, AgentStats]) -> None:
        """Of a run until all flows have arrived: whether they have, or nothing has arrived for
        _STILL_S."""
        received = [flow for stat in stats.values() for flow in stat.received]
        arrived = sum(flow.packets for flow in received)
        now = time.monotonic()
        if arrived > self._arrived or self.clock.now() < self._last_start_s:
            self._arrived, self._moved = arrived, now
        whole = sum(flow.complete_s is not None for flow in received)
        self._complete = whole == len(self._plan.topology.flows) or now - self._moved > _STILL_S

    def drain(self) -> dict[str, int]:
        """Waits until all that was sent has arrived and nothing is inside a switch,
        acknowledgements included, which come after the last packet; gives up when nothing changes
        any more. Returns what is inside, as the sampler's."""
        self._progress.stage("Drain: waiting for the last packets")
        last: object = None
        quiet_since = time.monotonic()
        while True:
            stats = self.read_agents()
            sent = sum(flow.packets for stat in stats.values() for flow in stat.sent)
            received = sum(
                flow.packets - flow.duplicates for stat in stats.values() for flow in stat.received
            )
            sending = any(
                flow.state in ("waiting", "sending")
                for stat in stats.values()
                for flow in stat.sent
            )
            arrived = not sending and received == sent
            left = self.sampler.inside() if arrived else {}  # all cells: no reading for each poll
            if arrived and not left:
                return left
            now = (sent, received, left)
            if now != last:
                last, quiet_since = now, time.monotonic()
            elif time.monotonic() - quiet_since > _QUIET_S:
                return left if arrived else self.sampler.inside()
            self.sampler.queues()
            self._wait(self.clock.now() + self._plan.sampling.queues_s)

    def check_switches(self) -> None:
        """Raises TooFastError when a port, with packets waiting, sent less than its rate."""
        series = self.sampler.series
        assert self._plan.live
        for end in self._plan.sampling.queues:
            share = carried_share(
                series.get(str(end), "waiting_packets"),
                series.get(str(end), "tx_paused"),
                series.get(str(end), "transmitted_bytes"),
                self._plan.topology.link_at(end.node, end.port).rate_bps,
            )
            if share is not None and share < self._plan.live.kept_share:
                cause = (
                    f"the switch {end.node} sent {share:.0%} of its rate while packets waited at "
                    f"{end}"
                )
                raise TooFastError(self.clock.k, cause)

    def read_agents(self) -> dict[str, AgentStats]:
        """Reads all statistics. Raises TooFastError when an agent fell behind, OSError when its log
        has no room, ExperimentError when a flow failed or was forgotten."""
        stats: dict[str, AgentStats] = {}
        for name, agent in self._agents.items():
            agent_stats = stats[name] = agent.stats()
            if agent_stats.log_errno:
                raise OSError(
                    agent_stats.log_errno, os.strerror(agent_stats.log_errno), str(self._logs[name])
                )
            check_flows(agent_stats)
            if how := how_it_fell_behind(name, agent_stats, self._plan, self.clock.k):
                raise TooFastError(self.clock.k, how)
            if agent_stats.socket_drops:
                cause = (
                    f"the agent of {name} was too slow to receive {agent_stats.socket_drops} "
                    "packets"
                )
                raise TooFastError(self.clock.k, cause)
        return stats

    def late_nodes(self) -> list[str]:
        """Returns a note about nodes that were behind while the run was sampled; none if all kept
        pace."""
        return (
            [f"Not in pace for a part of the run: {', '.join(sorted(self._behind))}."]
            if self._behind
            else []
        )

    def _wait(self, nominal_s: float) -> None:
        # samples are due at times of the run, whatever happens in between
        time.sleep(max(0.0, self.clock.real(nominal_s) - time.monotonic()))


def _left(left: Mapping[str, int]) -> Iterator[str]:
    """Yields a note of what is inside switches after the drain, if anything is."""
    if left:
        named = ", ".join(f"{cell} is {value:,}" for cell, value in islice(left.items(), _NAMED))
        more = f", and {len(left) - _NAMED} more" if len(left) > _NAMED else ""
        yield f"Not back at 0 after the drain: {named}{more}."


def check_flows(agent: AgentStats) -> None:
    """Raises ExperimentError when a flow failed, or was forgotten before it was counted."""
    if failed := next(agent.failed(), None):
        raise ExperimentError(failed)
    if agent.forgotten_sent or agent.forgotten_received:
        raise ExperimentError(
            f"{agent.name} has more flows than the {MOST_FLOWS} that a host keeps: take fewer"
        )


@contextmanager
def agent_errors(logs: Mapping[str, Path]) -> Iterator[None]:
    """Raises an agent's failure in the block as ExperimentError, with the last line that each
    host's agent wrote to stderr, as a failed run's logs are removed."""
    try:
        yield
    except AgentError as error:
        stderr_lines = {
            name: path.read_text(encoding="utf-8", errors="replace").split("\n")
            for name, path in logs.items()
            if path.exists()
        }
        last = "; ".join(
            f"{name}: {lines[-2]}" for name, lines in stderr_lines.items() if len(lines) > 1
        )
        raise ExperimentError(f"{error} ({last})" if last else str(error)) from None


def _end_s(flows: Iterable[FlowRecord], at_most_s: float) -> float:
    """Returns when the last of the flows had arrived, nominal; where one hadn't, the end of
    sampling."""
    ends = [at_most_s if flow.fct_s is None else flow.start_s + flow.fct_s for flow in flows]
    return max(ends)


def _flow_records(plan: Plan, stats: Mapping[str, AgentStats]) -> list[FlowRecord]:
    records = []
    for flow in plan.topology.flows:
        sent: SentFlow | None = next(
            (stat for stat in stats[flow.src].sent if stat.flow == flow.id), None
        )
        got: ReceivedFlow | None = next(
            (stat for stat in stats[flow.dst].received if stat.flow == flow.id), None
        )
        payload = plan.payload_bytes
        duplicate_bytes = got.duplicates * payload if got else 0
        complete = got.complete_s if got and flow.size_bytes is not None else None
        records.append(
            FlowRecord(
                id=flow.id,
                src=flow.src,
                dst=flow.dst,
                start_s=flow.start_s,
                sent_packets=sent.packets if sent else 0,
                sent_bytes=sent.payload_bytes if sent else 0,
                received_packets=got.packets - got.duplicates if got else 0,
                received_bytes=got.payload_bytes - duplicate_bytes if got else 0,
                marked_packets=got.marked_ce if got else 0,
                marked_ue_packets=got.marked_ue if got else 0,
                group=flow.group,
                duration_s=flow.duration_s,
                fct_s=None if complete is None else complete - flow.start_s,
                src_port=sent.port if sent else 0,
            )
        )
    return records


def _link(series: Series, name: str, plan: Plan, pauses: tuple[int, ...]) -> LinkRecord:
    pause, resume = (series.get(name, metric)[1] for metric in ("pause", "resume"))
    return LinkRecord(
        pause=int(pause[-1]),
        resume=int(resume[-1]),
        paused_s=series_math.step_mean(*series.get(name, "xoff"), plan.start_s, plan.duration_s)
        * (plan.duration_s - plan.start_s),
        pause_by_class=pauses,
    )


def _port(series: Series, name: str, rate_bps: float) -> PortRecord:
    transmitted = series.get(name, "transmitted_packets")[1]
    marks = {
        counter: int(np.max(series.get(name, f"{counter}_packets")[1], initial=0))
        for counter in MARKS
    }
    return PortRecord(int(np.max(transmitted)), rate_bps, **marks)


def _endpoint(name: str) -> tuple[str, int]:
    node, port = name.split(":")
    return node, int(port)


def _notes(features: Mapping[str, str]) -> list[str]:
    delay, slack = features.get("link_delay", ""), features.get("slack", "")
    return [
        *([f"Link delay: {delay}."] if delay.startswith("none") else []),
        *(
            [f"Frames may leave late, so that a wake-up serves several: up to {slack}."]
            if slack and not slack.startswith("none")
            else []
        ),
        *([f"Priority: {features['priority']}."] if "priority" in features else []),
        *([f"Telemetry: {features['telemetry']}."] if "telemetry" in features else []),
    ]


def _pace_note(stats: Mapping[str, AgentStats]) -> str:
    worst = min(stats.values(), key=lambda stat: stat.worst_pace)
    late = max(stats.values(), key=lambda stat: stat.late_real_s)
    busy = sum(stat.cpu_s / stat.elapsed_real_s for stat in stats.values() if stat.elapsed_real_s)
    return (
        f"Pace: the agents took {busy:.0%} of a core together; in its worst second {worst.name} "
        f"sent {worst.worst_pace:.1%} of what it was allowed to; the latest frame left {late.name} "
        f"{late.late_real_s * 1e3:.1f} ms (real) after it was due."
    )
