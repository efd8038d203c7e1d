"""The virtual runner: a plan in virtual time, at line rate. What it records is what the live runner
records."""

from __future__ import annotations

import math
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pcn.base import memory
from pcn.controller import settings
from pcn.controller.constants import index
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.plan import LinkRate, Plan
from pcn.experiments.data.recording import LinkRecord, PortRecord, Recording, flow_entity
from pcn.experiments.data.records import Recorded
from pcn.experiments.data.series import Series
from pcn.experiments.define.experiment import Variant
from pcn.experiments.run import memory as run_memory, processes
from pcn.experiments.run.flow_counts import FlowCounts
from pcn.experiments.run.planned_samples import PlannedSamples
from pcn.experiments.run.progress import RunProgress, Silent, Watcher
from pcn.experiments.run.recorder import Recorder
from pcn.experiments.run.sampler import INSIDE, MARKS
from pcn.experiments.run.versions import versions
from pcn.hosts.algorithms import Cnp, SchemeError, Window, find_scheme
from pcn.hosts.switch_clock import unfit
from pcn.hosts.virtual import VirtualFlow, VirtualNetwork
from pcn.topologies.flow_columns import FlowColumns
from pcn.topologies.flow_order import in_order
from pcn.topologies.model import Endpoint, Topology
from pcn.virtualnet import Deadlock, Lateness
from pcn.virtualnet.counts import counted_rows
from pcn.virtualnet.parts import Transport
from pcn.virtualnet.threads import commanded, threads_for

_DRAIN_S, _DRAIN_STEP_S = 1.0, 1e-3
"""How long the network may take to empty after the run, and how often that is looked at; simulated
time."""
_STILL_S = 1.0
"""Simulated time in which nothing arrives: what is under way then stands still."""


def run_virtual(
    plan: Plan,
    progress: RunProgress,
    variant: Variant | None = None,
    folder: Path | None = None,
    watcher: Watcher | None = None,
    k: float | None = None,
) -> Recording:
    """Runs `plan` and returns what was recorded; captures go into `folder`, and a `watcher` sees it
    go on. `k`: how many real seconds a simulated one lasts, until the drain; None: as fast as it
    can. Raises LabError."""
    variant = variant or Variant()
    transport = processes.transport()
    if transport is not None:
        processes.announce(processes.Task(plan, variant))
    recorded = _run(plan, progress, variant, folder, watcher, k, transport)
    assert recorded is not None  # the first process has it
    recording, counts = recorded
    return replace(recording, flows=tuple(counts.records()))


def carry_out_part(task: processes.Task, transport: Transport) -> None:
    """Carries out this process's part of a run, whose first process has the recording."""
    _run(task.plan, Silent(), task.variant, None, None, None, transport)


def _threads(topology: Topology, k: float | None, transport: Transport | None) -> int:
    if k is not None:
        return 1  # it sleeps most of the time
    return threads_for(topology) if transport is None else commanded() or 1


def _run(
    plan: Plan,
    progress: RunProgress,
    variant: Variant,
    folder: Path | None,
    watcher: Watcher | None,
    k: float | None,
    transport: Transport | None,
) -> tuple[Recording, FlowCounts] | None:
    """Returns what was recorded, and that of flows; None in all processes but the first."""
    started = time.monotonic()
    _require_memory(plan, progress, transport)
    progress.stage("Network: switches and their programs")
    try:
        scheme = (variant.scheme or find_scheme(plan.scheme)).configure(
            plan.scheme_parameters, plan.port_parameters
        )
    except SchemeError as error:
        raise ExperimentError(str(error)) from None
    with VirtualNetwork(
        plan.topology,
        scheme,
        program=variant.program,
        seed=plan.seed,
        payload_bytes=plan.payload_bytes,
        threads=_threads(plan.topology, k, transport),
        reliability=plan.reliability,
        explain=plan.records.explain,
        transport=transport,
    ) as network:
        run = _Run(plan, network, folder, watcher)
        length = f"{(plan.duration_s - plan.start_s) * 1e3:.4g} ms of simulated time"
        if k is not None:
            length += f", each in {k:g} ms"
        progress.stage(f"Run: {'until all flows have arrived' if plan.until_complete else length}")
        network.pace(k)
        run.go(progress)
        late = None if k is None else network.lateness()
        network.pace(None)
        if run.deadlock is None:
            progress.stage("Drain: waiting for the last packets")
            run.drain()
        run.read_switches()
        if not network.gather():
            return None
        run.finish()
        recording = Recording(
            series=run.series,
            flows=(),
            links=dict(run.link_records()),
            ports=dict(run.port_records()),
            left_inside=run.inside(),
            k=k or 1.0,
            start_s=plan.start_s,
            duration_s=run.end_s,
            wall_s=time.monotonic() - started,
            versions=versions(scheme.scheme),
            notes=(*run.notes(), *_late(late)),
            deadlock=run.deadlock,
            digest=f"{network.totals().digest:016x}",
            recorded=run.recorded,
            settings=run.settings,
        )
        return recording, FlowCounts(plan, network, run.end_s)


def _require_memory(plan: Plan, progress: RunProgress, transport: Transport | None) -> None:
    """States what memory the run needs in this process, where that is much. Raises MemoryShortError
    where it is missing."""
    needs = run_memory.of_run(plan, 1 if transport is None else transport.n)
    size = memory.total(needs)
    if size >= run_memory.STATED_FROM:
        parts = ", ".join(f"{need.part} {memory.size_text(need.size)}" for need in needs)
        progress.note(f"the run needs some {memory.size_text(size)} of memory: {parts}")
    memory.require(
        f"{len(plan.topology.hosts):,} hosts, {len(plan.topology.flows):,} flows",
        needs,
        "take a smaller network, fewer flows, or a machine with more",
    )


def _late(lateness: Lateness | None) -> Iterator[str]:
    if lateness is not None:
        late = "The run was late, which changes no result: " if lateness.late else "Real time: "
        yield f"{late}{lateness}."


class _Run:
    """One run. The network's time begins where the plan's does: `plan.start_s` is its 0."""

    def __init__(
        self,
        plan: Plan,
        network: VirtualNetwork,
        folder: Path | None,
        watcher: Watcher | None = None,
    ) -> None:
        self._plan = plan
        self._watcher = watcher
        self._next_look = 0.0
        self._network = network
        self.series = Series()
        self.recorded = Recorded()
        self.deadlock: Deadlock | None = None
        """The one that the run ended in."""
        self.end_s = plan.duration_s
        self._arrived = -1
        topology = plan.topology
        self._ports = [
            Endpoint(switch.name, port)
            for switch in topology.switches
            for port in topology.ports(switch.name)
        ]
        counters = {
            switch.name: network.layout(switch.name).counters() for switch in topology.switches
        }
        self._marks = {
            node: [name for name in MARKS if name in names] for node, names in counters.items()
        }
        self._recorder = Recorder(plan, network, self._ports, folder)
        self._single = self._recorder.singles | {
            flow.id for flow in topology.flows if not flow.group
        }
        made_flows = self._add_flows()
        self._recorder.begin()
        for flow in made_flows if self._single else ():  # groups have no rates
            if not flow.spec.after:  # on_rate follows its start
                self._rate(flow, flow.spec.start_s - plan.start_s)
        network.set_paths(plan.paths)
        if self._single and network.is_shared:
            raise ExperimentError(
                f"series of single flows ({', '.join(map(str, sorted(self._single)[:3]))}, ...) "
                "have each change of a rate, in one process: leave them out, or mpirun"
            )
        if self._single:  # groups have neither
            network.on_rate, network.on_window = self._rate, self._window
        for change in plan.link_rates:
            network.at(change.at_s - plan.start_s, partial(self._set_rate, change))
        self._samples = PlannedSamples(plan, network, self._ports, self._marks, self._single)

    def _add_flows(self) -> Sequence[VirtualFlow]:
        """Adds all flows, with their starts and ends in the network's time."""
        plan, topology = self._plan, self._plan.topology
        ordered = in_order(topology.flows)
        columns = (
            topology.flow_columns
            if ordered is topology.flows
            else FlowColumns.of(ordered, topology.host_places)
        )
        delayed = columns.waits & [not flow.after_s for flow in ordered]
        start_s = np.where(delayed, columns.start_s, columns.start_s - plan.start_s)
        end_s = np.full(len(columns), np.nan)
        if not plan.until_complete:
            ends_s = start_s + (plan.duration_s - columns.start_s)
            ends_s[columns.waits] = plan.duration_s - plan.start_s
            lasting = np.nan_to_num(columns.duration_s) != 0
            end_s = np.where(lasting, np.nan, ends_s)
        return self._network.add_columns(columns, start_s, end_s)

    def go(self, progress: RunProgress) -> None:
        length_s = self._plan.duration_s - self._plan.start_s
        every_s = self._plan.deadlock_every_s or length_s

        def report(now_s: float, left_s: float) -> None:
            left = f", {left_s:.0f} s left" if every_s == length_s else ""
            done = (
                f", {flows - network.totals().unfinished:,} of {flows:,} flows" if open_end else ""
            )
            progress.advance(
                min(now_s / length_s, 1.0),
                f"{(now_s + self._plan.start_s) * 1e3:.1f} ms{done}{left}",
            )
            self._show(now_s)

        if self._watcher is not None:
            self._watcher.begin(self._plan)
        network, open_end, flows = (
            self._network,
            self._plan.until_complete,
            len(self._plan.topology.flows),
        )
        complete, step, until_s = False, 0, 0.0
        while (
            not complete
            and self.deadlock is None
            and (until_s < length_s or (open_end and self._moves()))
        ):
            step += 1
            until_s = min(step * every_s, length_s) if until_s < length_s else until_s + _STILL_S
            complete = network.run(until_s=until_s, finish=open_end, progress=report) and open_end
            self._look()
        if open_end:
            self.end_s = network.now_s + self._plan.start_s

    def _moves(self) -> bool:
        """Returns whether a packet has arrived since the last look."""
        before, self._arrived = self._arrived, self._network.received_packets()
        return self._arrived > before

    def _look(self) -> None:
        buffered = any(
            switch.output is not None or switch.buffer is not None
            for switch in self._plan.topology.switches
        )
        deadlock = None if buffered else self._network.deadlock()
        if deadlock is not None:
            self.deadlock = replace(deadlock, since_s=deadlock.since_s + self._plan.start_s)

    def drain(self) -> None:
        """Until no frame is left; gives up after _DRAIN_S. What was on its way may end in a
        deadlock, too."""
        end_s = self._network.now_s + _DRAIN_S
        while self._network.totals().packets and self._network.now_s < end_s:
            self._network.run(until_s=self._network.now_s + _DRAIN_STEP_S)
        if self._network.totals().packets:
            self._look()

    def finish(self) -> None:
        """What was sampled, as series; flows that have ended have no rate any more."""
        for number in filter(self._single.__contains__, self._network.flows):
            ended_s = self._network.flows[number].stats().ended_s
            if ended_s is not None:
                self.series.add(ended_s + self._plan.start_s, flow_entity(number), "rate_bps", 0.0)
        self._show(self.end_s - self._plan.start_s, last=True)
        self._samples.add_to(self.series)
        self._samples.finish()
        self.recorded = self._recorder.finish(self.series)

    def _show(self, now_s: float, last: bool = False) -> None:
        """Shows the watcher, if any, what was recorded; it gets at most a fifth of the time."""
        began = time.monotonic()
        if self._watcher is None or (began < self._next_look and not last):
            return
        series = self.series.copy()
        self._samples.add_to(series)
        self._recorder.add_queues(series)
        self._watcher.seen(series, now_s + self._plan.start_s)
        ended = time.monotonic()
        self._next_look = ended + 4 * (ended - began)

    @cached_property
    def _link_stats(self) -> NDArray[Any]:
        """After the run, of the links that leave `_ports`: a row a port."""
        return self._all_stats[[self._network.link(port.node, port.port) for port in self._ports]]

    @cached_property
    def _all_stats(self) -> NDArray[Any]:
        return self._network.all_link_stats()

    def link_records(self) -> Iterable[tuple[str, LinkRecord]]:
        name_of = self._plan.topology.link_name
        names = (name_of(port.node, port.port) for port in self._ports)
        return zip(names, counted_rows(LinkRecord, self._link_stats), strict=True)

    def read_switches(self) -> None:
        """After the run: what is read of the switches, of which each process has its own."""
        network, topology = self._network, self._plan.topology
        counted: dict[str, dict[str, dict[int, int]]] = {}
        inside: dict[str, dict[str, dict[int, int]]] = {}
        marking: dict[str, dict[str, dict[str, float]]] = {}
        for node, switch in network.switches.items():
            cells = [index(port) for port in topology.ports(node)]
            counted[node] = {
                name: {
                    cell: count.packets for cell, count in switch.read_counters(name, cells).items()
                }
                for name in ("transmitted", *self._marks[node])
            }
            inside[node] = {
                register: dict(switch.nonzero_cells(register))
                for register in INSIDE
                if register in switch.registers()
            }
            if topology.switch(node).ecn:
                marking[node] = {str(port): dict(of) for port, of in settings.read(switch).items()}
        self._counted = network.collected(counted)
        self._cells = network.collected(inside)
        self.settings = {
            f"{node}:{port}": values
            for node, of in network.collected(marking).items()
            for port, values in of.items()
        }

    def port_records(self) -> Iterable[tuple[str, PortRecord]]:
        for port in self._ports:
            counters = {name: of[index(port.port)] for name, of in self._counted[port.node].items()}
            rate_bps = self._plan.topology.link_at(port.node, port.port).rate_bps
            yield str(port), PortRecord(rate_bps=rate_bps, **counters)

    def inside(self) -> dict[str, int]:
        """Returns the cells of INSIDE that aren't 0, of all switches, ports and classes, by name;
        and what the engine counts at inputs and in output buffers."""
        output = self._link_stats["output_bytes"].tolist()
        # the other direction of a link has the next number, or the one before
        peers = [self._network.link(port.node, port.port) ^ 1 for port in self._ports]
        held = self._all_stats["held_bytes"][peers].tolist()
        counted: dict[str, int] = {}
        for port, waiting, inside in zip(self._ports, output, held, strict=True):
            if waiting:
                counted[f"{port} output buffer"] = waiting
            if inside:
                counted[f"{port} ingress occupancy"] = inside
        return counted | {
            f"{name}:{cell // 8} class {cell % 8} {register}": value
            for name, of in self._cells.items()
            for register, cells in of.items()
            for cell, value in cells.items()
        }

    def refusing(self) -> dict[tuple[Endpoint, int], int]:
        """Returns how many packets each queue has refused, by port and class, of those that
        have."""
        refused = self._link_stats["refused_by_class"]
        return {
            (self._ports[place], number): int(refused[place, number])
            for place, number in np.argwhere(refused).tolist()
        }

    def notes(self) -> Iterator[str]:
        """Yields remarks for readers of the report."""
        yield from remarks(self._network)
        if refusing := self.refusing():
            names = ", ".join(f"{port} class {number}" for port, number in refusing)
            yield f"Queues refused {sum(refusing.values()):,} packets: {names}."
        if self.deadlock is not None:
            yield str(self.deadlock)
        if self._samples.thinned_s:
            apart_ms = max(self._samples.thinned_s) * 1e3
            yield f"Series have a value each {apart_ms:.4g} ms: memory bounds those of a long run."

    def _set_rate(self, change: LinkRate) -> None:
        self._network.set_link(change.port.node, change.port.port, rate_bps=change.rate_bps)

    def _rate(self, flow: VirtualFlow, now_s: float) -> None:
        if flow.spec.id not in self._single:
            return
        entity, time_s, rp, add = (
            flow_entity(flow.spec.id),
            now_s + self._plan.start_s,
            flow.rp,
            self.series.add,
        )
        add(time_s, entity, "rate_bps", rp.rate_bps)
        if (window_bytes := rp.window_bytes) < math.inf:
            add(time_s, entity, "window_bytes", window_bytes)
        for name, value in rp.state().items():
            add(time_s, entity, name, value)

    def _window(self, flow: VirtualFlow, now_s: float, window: Window, cnp: Cnp | None) -> None:
        if cnp is None or flow.spec.id not in self._single:
            return
        entity, time_s = flow_entity(flow.spec.id), now_s + self._plan.start_s
        self.series.add(time_s, entity, "rec_rate_bps", cnp.rec_rate_bps)
        self.series.add(time_s, entity, "window_packets", window.packets)
        self.series.add(time_s, entity, "window_marked", window.marked_ce)
        self.series.add(time_s, entity, "window_marked_ue", window.marked_ue)


def remarks(network: VirtualNetwork) -> Iterator[str]:
    """Yields remarks on a network that has run."""
    totals, threads = network.totals(), network.threads()
    yield (
        f"Virtual time: {totals.events:,} events, {totals.traversals:,} packets through a switch's "
        f"program; at most {totals.packets_most:,} frames were in memory at once."
    )
    if len(threads.busy_s) > 1:
        yield str(threads)
    if network.is_shared:
        yield str(network.part_stats())
    if remark := unfit(network.topology, network.scheme, network.switch_tick_s):
        yield f"Telemetry: {remark}."
    if (names := network.reading_left()) and not network.scheme.has_credit:
        yield (
            f"Packets of {network.scheme.scheme.name} don't report what their flow has left, by "
            f"which {', '.join(names)} serves them: to it all are equal."
        )
