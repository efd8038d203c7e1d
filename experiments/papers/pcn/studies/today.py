"""PCN beside what networks run today: the same flows with rates, windows, telemetry and
spraying."""

from __future__ import annotations

import functools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import PAYLOAD_BYTES, Plan, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.records import Records
from pcn.experiments.define import intervals, recording_numbers, scheme_parameters
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check, at_least, at_most, row
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run
from pcn.experiments.define.flows_by_size import COLLECTIVE, INCAST, cell, figure_charts
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes, number_text, ratio
from pcn.experiments.define.samples import STATISTICS, Estimate, RunSamples
from pcn.experiments.define.tables import Table
from pcn.experiments.papers.hpcc.claims import HPCC, LONG_FLOWS, SHORT_FLOWS, SHORTENED
from pcn.experiments.papers.hpcc.plans import fat_tree
from pcn.experiments.papers.pcn.claims import PCN, PCN_X, PFC
from pcn.experiments.papers.pcn.figures.realistic import WORKLOADS, realistic_plan
from pcn.experiments.traffic import by_size, flows
from pcn.experiments.traffic.spec import TrafficSpec, draw
from pcn.topologies.model import Endpoint, Topology

_DCQCN, _DCQCN_FAST = "dcqcn", "dcqcn-ns3"
_WINDOWS = ("dctcp", HPCC, "swift", "nscc")
SCHEMES = (PFC, PCN, PCN_X, "pcn-w", _DCQCN, _DCQCN_FAST, "timely", "timely-hpcc", *_WINDOWS)
SEEDS = tuple(range(1, 11))
_LOAD = 0.5
_SENDERS = 16
_INCASTS: Mapping[str, Value] = {"incast_size": 500e3, "incast_load": 0.02, "incast_period": None}
_RANKS: Mapping[str, Value] = {"size": 4.8e6, "ranks": 48, "chunks": 1, "wait": 0.0, "repeat": 1}
_EVERY_S, _LEAST_S = 20e-6, 1e-3
"""How often queues are read, and for how long at least."""
_ALL, _TO_ALL, _PAUSE = flows.ALL, "all-to-all", "pause"


@dataclass(frozen=True)
class Setting:
    """Flows on a network: `count` of them, or those of a collective operation."""

    about: str
    spec: TrafficSpec
    """What the sizes are of."""
    count: int
    network: Callable[[str, int, int], Topology]
    """By the scheme, the seed and the count, with its flows."""
    groups: tuple[str, ...]
    """Of the flows, as the table has them."""
    fast: bool = True
    """Whether hosts have 100 Gbit/s, for which `dcqcn-ns3` is made; DCQCN's own defaults are for
    slower ones."""


def _drawn(of: TrafficSpec, more: Mapping[str, Value]) -> Callable[[str, int, int], Topology]:
    """Returns the maker of the fat-tree with the flows of a workload, or the messages of a
    collective operation."""

    def make(scheme: str, seed: int, count: int) -> Topology:
        topology = fat_tree()
        drawn = draw(of, topology, seed, _LOAD, count, PAYLOAD_BYTES, more)
        return replace(topology, flows=tuple(flows.by_size(drawn)))

    return make


def _realistic(index: int) -> Callable[[str, int, int], Topology]:
    def make(scheme: str, seed: int, count: int) -> Topology:
        return realistic_plan(
            "today", scheme, seed, WORKLOADS[index], count, by_priority=False
        ).topology

    return make


_SIZES = ("S", "M", "L", "XL")
_W1, _W2 = (TrafficSpec("clos", name) for name in ("W1", "W2"))
_WEB_SEARCH, _HADOOP = (
    TrafficSpec("clos", name, incast=str(_SENDERS)) for name in ("WebSearch", "Hadoop")
)
_EACH_TO_ALL = TrafficSpec("clos", "alltoall:direct", "permutation")
_BESIDE = (*_SIZES, INCAST)
SETTINGS: Mapping[str, Setting] = {
    "W1": Setting("W1 on section 7.4's Clos", _W1, 8_000, _realistic(0), _SIZES, False),
    "W2": Setting("W2 on section 7.4's Clos", _W2, 2_000, _realistic(1), _SIZES, False),
    "WebSearch": Setting(
        "WebSearch at 100 Gbit/s", _WEB_SEARCH, 1_500, _drawn(_WEB_SEARCH, _INCASTS), _BESIDE
    ),
    "FbHdp": Setting("FbHdp at 100 Gbit/s", _HADOOP, 12_000, _drawn(_HADOOP, _INCASTS), _BESIDE),
    _TO_ALL: Setting(
        "an all-to-all of 48 ranks at 100 Gbit/s",
        _EACH_TO_ALL,
        0,
        _drawn(_EACH_TO_ALL, _RANKS),
        (COLLECTIVE,),
    ),
}


class Today(Experiment):
    name = "today"
    title = "PCN beside today's transports"
    draws = DRAWN_FLOWS
    source = "a study of ours"
    schemes = SCHEMES
    about = (
        "W1 and W2: the Clos of section 7.4, load 0.6, in-casts of 1 to 15 senders, 8,000 and "
        "2,000 flows. WebSearch and FbHdp: a Clos of the shape of HPCC's fat.txt, 320 hosts of 100 "
        "Gbit/s in 5 pods, 400 Gbit/s between switches, 1 us a link, HPCC's shared buffer of 32 "
        f"MiB a switch; load 0.5, 1,500 and 12,000 flows, beside them in-casts of {_SENDERS} "
        "senders, 500 KB each, that load the hosts' links by 0.02. All-to-all: there 48 hosts, "
        "drawn at random, send 100 KB to each other one, all at once. All in one lossless class, "
        f"until all have arrived; {len(SEEDS)} seeds, each with the same flows for all.\n"
        "\n"
        "Every scheme has the parameters that follow from the network by [its "
        "rules](schemes.md#parameters): PCN, PCN-X and PCN-W a T of the largest round trip, and "
        "w_min = 1/128. Every flow begins with its line's rate or with a window of a "
        "bandwidth-delay product, DCTCP's and Swift's too. DCQCN at 100 Gbit/s is `dcqcn-ns3`; "
        "TIMELY is its paper's, and `timely-hpcc` that of HPCC's simulation. NSCC sprays over 64 "
        "ports, and nothing is trimmed, as nothing is lost; the others have a path a flow. Window "
        "schemes acknowledge each packet.\n"
        "\n"
        "Slowdown is over the empty network with frames without telemetry, median / 99% of the "
        "flows of all seeds together. Sizes are of flows that are of no in-cast. Other numbers are "
        "means over the seeds. Waiting is what waits at all ports of the network together, its "
        "mean until all have arrived. PAUSE frames are those of all switches. In brackets: 95% "
        "intervals by the bootstrap over the seeds, or of fewer than five seeds from the least to "
        "the largest."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for seed in SEEDS:
            for number, (name, setting) in enumerate(SETTINGS.items()):
                for scheme in schemes:
                    if scheme != (_DCQCN if setting.fast else _DCQCN_FAST):
                        keys: dict[str, Key] = {"setting": name, "scheme": scheme, "seed": seed}
                        yield Run(keys, scheme, seed, {"setting": number})

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        setting = list(SETTINGS.values())[round(values["setting"] or 0)]
        topology = setting.network(scheme, seed, round(values.get("count") or setting.count))
        last_s = max(*(flow.start_s for flow in topology.flows), _LEAST_S)
        plan = plan_of(self.name, scheme, seed, topology, last_s, {}, [Endpoint("t0", 1)], last_s)
        return replace(
            scheme_parameters.by_rules(plan),
            records=Records(queues_s=_EVERY_S),
            until_complete=True,
        )

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        ended, queues = flows.ended(plan, recording), recording.recorded.queues
        assert queues is not None  # the plan records them
        ends = ended.start_s + ended.fct_s
        waiting = queues.values[queues.times_s <= np.nanmax(ends, initial=0.0)].sum(axis=1)
        numbers: dict[str, float | None] = {
            "unfinished": float(np.isnan(ends).sum()),
            "end_ms": None if np.isnan(ends).any() else float(ends.max()) * 1e3,
            _PAUSE: float(sum(link.pause for link in recording.links.values())),
            "waiting_kb": float(waiting.mean()) / 1e3 if waiting.size else None,
            "largest_kb": max(recording.recorded.queue_max.values()) / 1e3,
        }
        setting = SETTINGS[str(run.keys["setting"])]
        for group in (_ALL, *setting.groups):
            times, _ = ended.of(group)
            numbers[f"mean_ms {group}"] = (
                None if np.isnan(times).any() else recording_numbers.mean(times * 1e3)
            )
        return Outcome(
            run.keys, numbers, samples=by_size.with_classes(setting.spec, plan, recording).to_json()
        )

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for setting in map(str, outcomes.values("setting")):
            for number, quantity in _compared(setting).items():
                ours = _value(outcomes, setting, number, PCN)
                dcqcn = _least(outcomes, setting, number, (_DCQCN, _DCQCN_FAST))
                windows = _least(outcomes, setting, number, _WINDOWS)
                for baseline, theirs in (
                    ("DCQCN's", dcqcn),
                    ("the least of DCTCP, HPCC, Swift and NSCC", windows),
                ):
                    least = None if theirs is None else theirs[1]
                    if number == _PAUSE:
                        text, limit = (
                            f"{setting}: {quantity} of PCN (met: at most {baseline})",
                            0.0 if least is None else least,
                        )
                        rows.append(row("", text, ours, at_most(limit), "frames", theory=least))
                    else:
                        text = f"{setting}: {quantity}, PCN's over {baseline} (met: at most 1)"
                        rows.append(row("", text, ratio(ours, least), at_most(1)))
            if HPCC in outcomes.values("scheme") and INCAST in SETTINGS[setting].groups:
                rows += _of_hpcc(outcomes, setting)
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        lines = []
        for setting in map(str, outcomes.values("setting")):
            texts = []
            for number, quantity in _compared(setting).items():
                least = _least(outcomes, setting, number, self.schemes)
                ours = _value(outcomes, setting, number, PCN)
                if least is not None and ours is not None:
                    texts.append(
                        f"{quantity}: {label(least[0])} {number_text(least[1])}, PCN "
                        f"{number_text(ours)}"
                    )
            if texts:
                lines.append(f"{setting}, who has the least, and PCN: {'; '.join(texts)}.")
        return lines

    def page_tables(self, outcomes: Outcomes) -> list[Table]:
        return [_table(outcomes, setting) for setting in map(str, outcomes.values("setting"))]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        return [
            chart
            for setting in map(str, outcomes.values("setting"))
            if setting != _TO_ALL  # its messages are of one size
            for chart in figure_charts(setting, _samples(outcomes, setting), "p99")
        ]


def _compared(setting: str) -> dict[str, str]:
    """Returns the numbers by which schemes are compared, and what they are."""
    if setting == _TO_ALL:
        return {"end_ms": "time until all have arrived (ms)"}
    groups = SETTINGS[setting].groups if setting in SETTINGS else ()
    of_incasts = {f"p99 {INCAST}": "99% slowdown of the in-casts"} if INCAST in groups else {}
    return {
        f"mean_ms {_ALL}": "mean completion time (ms)",
        "p99 S": "99% slowdown of flows up to 10 KB",
        "p99 XL": "99% slowdown of flows above 1 MB",
        **of_incasts,
        _PAUSE: "PAUSE frames",
    }


def _of_hpcc(outcomes: Outcomes, setting: str) -> list[Check]:
    """Returns what HPCC's authors claim of WebSearch and Hadoop."""
    shortened = []
    rows = []
    for baseline in outcomes.among((_DCQCN_FAST, "timely", "timely-hpcc")):
        for group in ("S", "M"):
            ours, theirs = (
                _value(outcomes, setting, f"p99 {group}", scheme) for scheme in (HPCC, baseline)
            )
            factor = ratio(ours, theirs)
            shortened += [] if factor is None else [1 - factor]
            sizes = flows.size_class(group).partition(", ")[2]
            text = (
                f"{setting}: 99% slowdown of flows of {sizes}, HPCC's over {label(baseline)}'s "
                "(met: below 1)"
            )
            rows.append(SHORT_FLOWS.row(text, factor, at_most(1)))
    most = max(shortened, default=None)
    text = f"{setting}: by which part HPCC shortens these, at most (met: 0.85 and more; trend: 0.5)"
    rows.append(SHORTENED.row(text, most, at_least(0.85, 0.5), "share"))
    ours, theirs = (
        outcomes.mean("mean_ms XL", setting=setting, scheme=scheme)
        for scheme in (HPCC, _DCQCN_FAST)
    )
    text = (
        f"{setting}: mean completion time of flows above 1 MB, HPCC's over DCQCN's (met: 1 and "
        "more)"
    )
    rows.append(LONG_FLOWS.row(text, ratio(ours, theirs), at_least(1)))
    return rows


def _least(
    outcomes: Outcomes, setting: str, number: str, schemes: Sequence[str]
) -> tuple[str, float] | None:
    """Returns which of the schemes that were run has the least of a number, and that; None: one has
    no such number."""
    by_scheme = [(scheme, _value(outcomes, setting, number, scheme)) for scheme in schemes]
    known = [(scheme, value) for scheme, value in by_scheme if value is not None]
    return min(known, key=lambda pair: pair[1], default=None)


def _in_order(outcomes: Outcomes, setting: str) -> list[str]:
    """Returns the schemes that were run in a setting: those of the study first, as it has them."""
    run = [
        str(outcome)
        for outcome in outcomes.values("scheme")
        if outcomes.where(setting=setting, scheme=outcome)
    ]
    return [
        *(scheme for scheme in SCHEMES if scheme in run),
        *(scheme for scheme in run if scheme not in SCHEMES),
    ]


def _samples(outcomes: Outcomes, setting: str) -> dict[str, list[RunSamples]]:
    """Returns each scheme's flows by size, of each seed."""
    return {
        scheme: outcomes.samples(setting=setting, scheme=scheme)
        for scheme in _in_order(outcomes, setting)
    }


def _value(outcomes: Outcomes, setting: str, number: str, scheme: str) -> float | None:
    """Returns a number's mean over the seeds; a percentile, `p99 S`, of the flows of all seeds
    together."""
    statistic, _, group = number.partition(" ")
    if statistic not in STATISTICS:
        return outcomes.mean(number, setting=setting, scheme=scheme)
    estimate = by_size.estimate(outcomes.samples(setting=setting, scheme=scheme), statistic, group)
    return None if estimate is None else estimate.value


def _table(outcomes: Outcomes, setting: str) -> Table:
    of = SETTINGS[setting]
    rows = []
    for scheme, samples in _samples(outcomes, setting).items():
        value = functools.partial(outcomes.mean, setting=setting, scheme=scheme)
        times = outcomes.by_run(f"mean_ms {_ALL}", setting=setting, scheme=scheme)
        rows.append([
            label(scheme),
            *(" / ".join(_slowdowns(samples, group)) for group in of.groups),
            cell(Estimate(statistics.fmean(times), intervals.of_mean(times)) if times else None),
            *(number_text(value(number)) for number in ("end_ms", "waiting_kb", "largest_kb")),
            number_text(value(_PAUSE), digits=6),
        ])  # fmt: skip
    names = [flows.size_class(group) for group in of.groups]
    columns = ["mean, ms", "last, ms", "waiting, KB", "largest queue, KB", "PAUSE"]
    return Table(of.about, ["slowdown of", *names, *columns], rows)


def _slowdowns(runs: Sequence[RunSamples], group: str) -> tuple[str, str]:
    """Returns the median and the 99% of a group's flows, the latter with its interval."""
    half = by_size.estimate(runs, "p50", group)
    return number_text(None if half is None else half.value), cell(
        by_size.estimate(runs, "p99", group)
    )
