"""Fig. 11: FB_Hadoop on a fat-tree of 320 hosts, beside in-casts and at half load."""

from __future__ import annotations

import dataclasses
import functools
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence

import numpy as np

from pcn.controller.constants import ROCE_CLASS
from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import PAYLOAD_BYTES, Plan, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.records import Records
from pcn.experiments.define import recording_numbers
from pcn.experiments.define.charts import Chart
from pcn.experiments.define.checks import Check, at_least, at_most, near
from pcn.experiments.define.experiment import DRAWN_FLOWS, Experiment, Run, Variant
from pcn.experiments.define.flows_by_size import INCAST, figure_charts
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Key, Outcome, Outcomes, number_text, ratio
from pcn.experiments.papers.hpcc.claims import (
    DCQCN,
    HPCC,
    IN_FAT_TREE,
    NO_PAUSE,
    RESIDUAL,
    SHORT_IN_FAT_TREE,
)
from pcn.experiments.papers.hpcc.plans import DCQCN_ECN, DCTCP_ECN, DELAY_S, HOST_BPS, fat_tree
from pcn.experiments.traffic import by_size, flows
from pcn.experiments.traffic.spec import TrafficSpec, draw
from pcn.hosts.algorithms import ReactionPoint, find_scheme
from pcn.hosts.algorithms.dcqcn_ns3 import DcqcnNs3ReactionPoint
from pcn.hosts.algorithms.timely import TimelyReactionPoint
from pcn.hosts.wire import ack_bytes
from pcn.topologies.model import Endpoint

TIMELY, DCTCP = "timely", "dctcp"
T_S = 13e-6
SHORT_BYTES, LONG_BYTES = 120e3, 1e6
_SENDERS, _INCASTS = 60, {"incast_size": 500e3, "incast_load": 0.02, "incast_period": None}
HALF = "50%"
LOADS: Mapping[str, tuple[float, int]] = {"30% and in-casts": (0.3, 9_000), HALF: (0.5, 15_000)}
"""With the number of flows."""
_BACK_S = 6 * DELAY_S + 2 * ack_bytes(telemetry=True) * 8 / HOST_BPS
"""Of an acknowledgement from another pod: classes above data's have no queue."""
NO, YES = "no", "yes"
"""Whether a window is around a scheme that has none."""


class DcqcnWithWindow(DcqcnNs3ReactionPoint):
    """DCQCN with a window of what its rate sends in T."""

    segment_bytes = 1
    window_bytes = property(lambda rp: _window_bytes(rp.rate_bps))


class TimelyWithWindow(TimelyReactionPoint):
    """TIMELY with such a window."""

    window_bytes = property(lambda rp: _window_bytes(rp.rate_bps))


def _window_bytes(rate_bps: float) -> float:
    return max(rate_bps * T_S / 8, 1.0)


def _with(scheme: str, reaction_point: type[ReactionPoint]) -> Variant:
    return Variant(dataclasses.replace(find_scheme(scheme), reaction_point=reaction_point))


WINDOWED: Mapping[str, Callable[[], Variant]] = {
    DCQCN: functools.partial(_with, DCQCN, DcqcnWithWindow),
    TIMELY: functools.partial(_with, TIMELY, TimelyWithWindow),
}


class Fig11(Experiment):
    name = "hpcc-fig11"
    title = "FB_Hadoop on a fat-tree"
    source = "5.3, Fig. 11"
    draws = DRAWN_FLOWS
    schemes = (HPCC, DCQCN, TIMELY, DCTCP)
    variants = WINDOWED
    about = (
        "320 hosts of 100 Gbit/s in 5 pods, 400 Gbit/s between switches, 1 us a link, HPCC's "
        "shared buffer of 32 MiB a switch. FB_Hadoop at 30% with in-casts of 60 senders, 500 KB "
        "each, 2% of the hosts' links; and at 50%; 9,000 and 15,000 flows, until all have arrived. "
        "T = 13 us, W_AI = 80 bytes; K as the paper has it; TIMELY's segments are 16 KB, its step "
        "100 Mbit/s. With a window: of what the rate sends in T. A round trip is a data packet's "
        "way, from its NIC on, and an acknowledgement's empty one from another pod. Slowdown is "
        "over the empty network."
    )

    def runs(self, schemes: Sequence[str]) -> Iterator[Run]:
        for number, load in enumerate(LOADS):
            for scheme in schemes:
                for window in (NO, YES) if scheme in self.variants else (NO,):
                    keys: dict[str, Key] = {
                        "load": load,
                        "scheme": scheme,
                        "window": window,
                        "seed": 1,
                    }
                    yield Run(keys, scheme, 1, {"load": number}, scheme if window == YES else "")

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        load, count = list(LOADS.values())[round(values["load"] or 0)]
        topology = fat_tree({DCQCN: DCQCN_ECN, DCTCP: DCTCP_ECN}.get(scheme, ()))
        count = round(values.get("count") or count)
        drawn = draw(_spec(load), topology, seed, load, count, PAYLOAD_BYTES, _INCASTS)
        topology = dataclasses.replace(topology, flows=tuple(flows.by_size(drawn)))
        last_s = max(flow.start_s for flow in topology.flows)
        plan = plan_of(
            self.name, scheme, seed, topology, last_s, _fields(scheme), [Endpoint("t0", 1)], last_s
        )
        return dataclasses.replace(plan, records=Records(latency=True), until_complete=True)

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        ended, latency = flows.ended(plan, recording), recording.recorded.latency[ROCE_CLASS]
        sizes = np.array([flow.size_bytes or 0 for flow in plan.topology.flows], float)
        normal, slowdown = ended.sizes != INCAST, ended.slowdown
        whole = not np.isnan(slowdown).any()
        numbers: dict[str, float | None] = {"unfinished": float(np.isnan(slowdown).sum())}
        for name, chosen in (
            ("short", sizes < SHORT_BYTES),
            ("long", sizes > LONG_BYTES),
            ("incast", ~normal),
        ):
            part = slowdown[chosen & (normal | (name == "incast"))] if whole else slowdown[:0]
            numbers |= {f"p{q} {name}": recording_numbers.percentile(part, q) for q in (50, 95)}
        way_s = latency.percentile_s(95)
        numbers["rtt_p95_us"] = None if way_s is None else (way_s + _BACK_S) * 1e6
        numbers["pause"] = float(sum(link.pause for link in recording.links.values()))
        load, _ = LOADS[str(run.keys["load"])]
        return Outcome(
            run.keys, numbers, samples=by_size.samples(_spec(load), plan, recording).to_json()
        )

    def checks(self, outcomes: Outcomes) -> list[Check]:
        return [
            row for load in map(str, outcomes.values("load")) for row in _of_load(load, outcomes)
        ]

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        charts = []
        for load in map(str, outcomes.values("load")):
            schemes = map(str, outcomes.values("scheme"))
            samples = {
                scheme: outcomes.samples(load=load, scheme=scheme, window=NO) for scheme in schemes
            }
            charts += figure_charts(load, samples, "p95")
        return charts

    def story(self, outcomes: Outcomes) -> list[str]:
        lines = []
        for load in map(str, outcomes.values("load")):
            texts = [
                f"{_name(outcome)} {number_text(outcome.numbers['rtt_p95_us'])} us, "
                f"{number_text(outcome.numbers['p95 short'])} and "
                f"{number_text(outcome.numbers['p50 long'])}, "
                f"{number_text(outcome.numbers['pause'])}"
                for outcome in outcomes.where(load=load)
            ]
            lines.append(
                f"{load}, 95% of round trips, slowdown of 95% of the flows below 120 KB and median "
                f"of those above 1 MB, PAUSE frames: {'; '.join(texts)}."
            )
        return lines


def _of_load(load: str, outcomes: Outcomes) -> list[Check]:
    def number(name: str, scheme: str, window: str = NO) -> float | None:
        return outcomes.mean(name, load=load, scheme=scheme, window=window)

    half, rows = load == HALF, []
    of, most = ("latency", "at most 19.8") if half else ("most", "below 20")
    text = f"{load}: HPCC, 95% of round trips (met: {most} us; trend: 30)"
    rows.append(IN_FAT_TREE.row(text, number("rtt_p95_us", HPCC), at_most(IN_FAT_TREE[of], 30), of))
    text = f"{load}: DCTCP's 95% of round trips over HPCC's (met: 2; trend: 1)"
    share = ratio(number("rtt_p95_us", DCTCP), number("rtt_p95_us", HPCC))
    rows.append(IN_FAT_TREE.row(text, share, at_least(2, 1), "dctcp", unit=""))
    for outcome in outcomes.where(load=load):
        if outcome.keys["scheme"] != HPCC:
            text = (
                f"{load}: 95% slowdown of flows below 120 KB, HPCC's over that of {_name(outcome)} "
                "(met: below 1)"
            )
            rows.append(
                SHORT_IN_FAT_TREE.row(
                    text, ratio(number("p95 short", HPCC), outcome.numbers["p95 short"]), at_most(1)
                )
            )
    rows.append(
        NO_PAUSE.row(
            f"{load}: PAUSE with HPCC (met: none)", number("pause", HPCC), at_most(0), HPCC
        )
    )
    if half:
        others = [
            outcome.numbers["p50 long"]
            for outcome in outcomes.where(load=load)
            if outcome.keys["scheme"] != HPCC
        ]
        known = [median for median in others if median is not None]
        factor = ratio(number("p50 long", HPCC), statistics.fmean(known) if known else None)
        text = (
            f"{load}: median slowdown of flows above 1 MB, HPCC's over the others' mean (met: "
            "within a fifth)"
        )
        rows.append(RESIDUAL.row(text, factor, near(RESIDUAL["factor"], 0.2), "factor"))
        return rows
    for scheme in (DCQCN, TIMELY):
        plain, windowed = (number("pause", scheme, window) for window in (NO, YES))
        rows.append(
            NO_PAUSE.row(
                f"{load}: PAUSE with {label(scheme)} (met: 100; trend: 1)",
                plain,
                at_least(100, 0.5),
            )
        )
        text = f"{load}: what a window around {label(scheme)} leaves of it (met: 5%; trend: half)"
        rows.append(NO_PAUSE.row(text, ratio(windowed, plain), at_most(0.05, 0.5), unit=""))
    return rows


def _spec(load: float) -> TrafficSpec:
    return TrafficSpec("clos", "Hadoop", "uniform", incast=str(_SENDERS) if load < 0.5 else "")


def _name(of: Outcome) -> str:
    return label(str(of.keys["scheme"])) + (" with a window" if of.keys["window"] == YES else "")


def _fields(scheme: str) -> dict[str, float]:
    """Returns the scheme's parameters (`Fig11.about`)."""
    of: Mapping[str, dict[str, float]] = {
        HPCC: {"base_rtt_s": T_S, "w_ai_bytes": 80},
        TIMELY: {"segment_bytes": 16e3, "min_rtt_s": T_S, "delta_bps": 100e6},
        DCTCP: {"init_window_bytes": HOST_BPS * T_S / 8},
    }
    return of.get(scheme, {})
