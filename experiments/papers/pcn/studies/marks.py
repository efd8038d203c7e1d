"""What a queue without PAUSE would have made of NP-ECN's decisions, and of DCQCN's marks."""

from __future__ import annotations

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

import numpy as np

from pcn.experiments.data import marks
from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import PAYLOAD_BYTES, Plan, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.records import LogChoice, Records
from pcn.experiments.define import intervals, scheme_parameters
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_least, exactly_none, row
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.flows_by_size import cell
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes, percent, ratio
from pcn.experiments.define.samples import Estimate
from pcn.experiments.define.tables import Table
from pcn.experiments.papers.pcn.claims import PCN, PFC
from pcn.experiments.papers.pcn.scenarios.victim import Victim
from pcn.experiments.traffic.spec import TrafficSpec, draw
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import Endpoint, FlowSpec, Topology

_DCQCN = "dcqcn"
SCHEMES = (PFC, PCN, _DCQCN)
NP_ECN = tuple(scheme for scheme in SCHEMES if marks.by_np_ecn(scheme))
"""Whose switches mark by NP-ECN; with PFC alone no sender obeys that."""
SEEDS = tuple(range(1, 11))
VICTIM, INCAST, WEBSEARCH = SETTINGS = ("victim", "in-cast", "WebSearch")
_XOFF_BYTES, _SENDERS, _BESIDE, _SIZE = 100e3, 8, 4, 1_000_000
_LOAD, _COUNT = 0.6, 300
_STREAM = 80
_MARKED, _HELD, _ALL = "marks confirmed", "excuses confirmed", "decisions confirmed"
SHARES: Mapping[str, str] = {
    _MARKED: "marks",
    _HELD: "packets that a PAUSE left unmarked",
    _ALL: "all decisions",
}


class Marks(Experiment):
    name = "marks"
    title = "NP-ECN's decisions, and the queue without PAUSE"
    draws = DRAWN_FLOWS
    source = "a study of ours"
    schemes = SCHEMES
    about = (
        "A switch leaves a packet unmarked because a PAUSE held it up (NP-ECN), or marks it by its "
        "queue. The queue that the same arrivals make at a port that is never PAUSEd confirms a "
        "mark where more than the time of a frame would have been ahead of the packet, and an "
        "unmarked packet where no more was ([how](explain.md#marks)). Decisions are those about "
        "packets that come unmarked, at each switch of their way. The victim "
        f"([victim.md](victim.md)); an in-cast of {_SENDERS} flows of 1 MB with {_BESIDE} others "
        f"beside it, and {_COUNT} flows of WebSearch at a load of {_LOAD:g}, both on a fat-tree of "
        "16 hosts, 40 Gbit/s, XOFF at 100 KB. With PFC alone switches mark by NP-ECN, and no "
        f"sender obeys; DCQCN marks by the length of its queue. {len(SEEDS)} seeds: means, in "
        "brackets their 95% interval by the bootstrap over seeds. The victim's flows are those of "
        "all seeds, and with PFC alone and DCQCN so is nearly all of its run."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for setting, name in enumerate(SETTINGS):
            for scheme in schemes:
                for seed in SEEDS:
                    keys: dict[str, Key] = {"setting": name, "scheme": scheme, "seed": seed}
                    yield Run(keys, scheme, seed, {"setting": setting})

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        setting = SETTINGS[round(values["setting"] or 0)]
        if setting == VICTIM:
            plan = Victim().plan(scheme, seed, {})
        else:
            count = round(values.get("count") or _COUNT)
            topology = _incast(seed) if setting == INCAST else _websearch(seed, count)
            last_s = max(flow.start_s for flow in topology.flows)
            plan = plan_of(
                self.name, scheme, seed, topology, last_s, {}, [Endpoint("e0", 1)], last_s
            )
            plan = replace(scheme_parameters.by_rules(plan), until_complete=True)
        return replace(
            plan, records=Records(explain=True, logs=LogChoice(causes=False, marks=True))
        )

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        logs = recording.recorded.logs
        assert logs is not None and logs.marks is not None  # noqa: PT018  the plan records them
        total = logs.marks.sum(axis=0)
        of = marks.decisions(total, run.scheme in NP_ECN)
        numbers: dict[str, float | None] = {name: float(value) for name, value in of.items()}
        numbers[_MARKED] = ratio(of["marked_still"], of["marked"])
        numbers["pause"] = float(sum(link.pause for link in recording.links.values()))
        if run.scheme in NP_ECN:
            numbers["other"] = float(sum(marks.by_reason(total)["other"].values()))
            numbers[_HELD] = ratio(of["held"] - of["held_marked"], of["held"])
            numbers[_ALL] = ratio(of["confirmed"], of["decisions"])
        return Outcome(run.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for setting in map(str, outcomes.values("setting")):
            for scheme in outcomes.among(NP_ECN):
                where = {"setting": setting, "scheme": scheme}
                case = f"{setting}, {label(scheme)}"
                most = outcomes.extreme("other", True, **where)
                rows.append(
                    row(
                        "",
                        f"{case}: packets that NP-ECN left unmarked without its reason",
                        most,
                        exactly_none,
                    )
                )
                if outcomes.extreme("held", False, **where):
                    held = outcomes.mean(_HELD, **where)
                    text = (
                        f"{case}: share confirmed of packets that a PAUSE left unmarked (met: at "
                        "least 0.5)"
                    )
                    rows.append(row("", text, held, at_least(0.5)))
            if {PCN, _DCQCN} <= {str(scheme) for scheme in outcomes.values("scheme")}:
                ours, theirs = (
                    outcomes.mean(_MARKED, setting=setting, scheme=scheme)
                    for scheme in (PCN, _DCQCN)
                )
                text = f"{setting}: share of marks confirmed, PCN's over DCQCN's (met: at least 1)"
                rows.append(row("", text, ratio(ours, theirs), at_least(1)))
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        lines = []
        for setting in map(str, outcomes.values("setting")):
            texts = []
            for scheme in outcomes.among(SCHEMES):
                shares = {
                    name: outcomes.mean(name, setting=setting, scheme=scheme)
                    for name in (_MARKED, _HELD)
                }
                known = [
                    f"{percent(share)} of {SHARES[name]}"
                    for name, share in shares.items()
                    if share is not None
                ]
                if known:
                    texts.append(f"{label(scheme)} {' and '.join(known)}")
            if texts:
                lines.append(
                    f"{setting}, confirmed by the queue without PAUSE: {'; '.join(texts)}."
                )
        return lines

    def page_tables(self, outcomes: Outcomes) -> list[Table]:
        columns = [
            "confirmed",
            *SHARES.values(),
            "marks",
            "left unmarked for a PAUSE",
            "decisions",
            "PAUSE",
        ]
        rows = []
        for setting in map(str, outcomes.values("setting")):
            for scheme in outcomes.among(SCHEMES):
                if not outcomes.where(setting=setting, scheme=scheme):
                    continue
                shares = [
                    _cell(outcomes.by_run(name, setting=setting, scheme=scheme)) for name in SHARES
                ]
                counts = (outcomes.mean(name, setting=setting, scheme=scheme) for name in _COUNTS)
                texts = ("–" if value is None else f"{value:,.0f}" for value in counts)
                rows.append([f"{setting}, {label(scheme)}", *shares, *texts])
        return (
            [Table("Decisions that the queue without PAUSE confirms", columns, rows)]
            if rows
            else []
        )

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        settings = [str(setting) for setting in outcomes.values("setting")]
        charts = []
        for name, title in SHARES.items():
            lines = []
            for scheme in outcomes.among(SCHEMES):
                seeds = [
                    outcomes.by_run(name, setting=setting, scheme=scheme) for setting in settings
                ]
                known = [(x, values) for x, values in enumerate(seeds) if values]
                means = [sum(values) / len(values) for _, values in known]
                places = [x for x, _ in known]
                lines.append(
                    curve(
                        label(scheme), places, means, scheme, seeds=[values for _, values in known]
                    )
                )
            charts.append(
                Chart(
                    f"Confirmed: {title}", "", "Share", lines, bars=settings, columns=3, bottom=0.0
                )
            )
        return charts


_COUNTS = ("marked", "held", "decisions", "pause")


def _cell(seeds: Sequence[float]) -> str:
    """Returns the mean over the seeds with its interval."""
    return cell(Estimate(statistics.fmean(seeds), intervals.of_mean(seeds)) if seeds else None)


def _incast(seed: int) -> Topology:
    """Returns the fat-tree with an in-cast to a host, and flows beside it between others, all
    drawn."""
    topology, random = fat_tree(xoff_bytes=_XOFF_BYTES), np.random.default_rng([seed, _STREAM])
    hosts = [host.name for host in topology.hosts]
    receiver, *others = random.permutation(len(hosts)).tolist()
    pairs = [(host, receiver) for host in others[:_SENDERS]]
    pairs += [tuple(random.permutation(others)[:2].tolist()) for _ in range(_BESIDE)]
    starts_s = random.uniform(0, 10e-6, len(pairs)).tolist()
    flows = [
        FlowSpec(
            number,
            hosts[src],
            hosts[dst],
            start_s,
            _SIZE,
            group="in-cast" if number < _SENDERS else "beside",
        )
        for number, ((src, dst), start_s) in enumerate(zip(pairs, starts_s, strict=True))
    ]
    return replace(topology, flows=tuple(flows))


def _websearch(seed: int, count: int) -> Topology:
    topology = fat_tree(xoff_bytes=_XOFF_BYTES)
    of = TrafficSpec("fat-tree", "WebSearch", "uniform")
    flows = draw(of, topology, seed, _LOAD, count, PAYLOAD_BYTES)
    return replace(topology, flows=tuple(flows))
