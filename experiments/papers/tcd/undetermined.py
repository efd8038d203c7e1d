"""Fig. 11 as a scenario, on either clock: one port congested, the one before it undetermined; who
marks whom."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pcn.experiments.data import series_math
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter, Value, complete, format_value
from pcn.experiments.data.plan import HEADER_BYTES, LiveLimits, Plan, Sampling
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import Array
from pcn.experiments.data.steady_state import Steady
from pcn.experiments.define import charts, scheme_parameters
from pcn.experiments.define.charts import Chart, View
from pcn.experiments.define.checks import Check, at_least, at_most, clean
from pcn.experiments.define.experiment import Experiment, Headline, Run, RunPage
from pcn.experiments.define.number_texts import NumberText
from pcn.experiments.define.outcomes import Outcome, percent
from pcn.experiments.papers.tcd.claims import FRACTIONS, RED, TCD
from pcn.topologies.compact import P0_S0, P2_S1, compact
from pcn.topologies.head_of_line import XOFF_BYTES, XON_BYTES
from pcn.topologies.model import FlowSpec, Topology, TopologyError

CE, UE = "marked_packets", "marked_ue_packets"
BIN_S = 2e-3
_SETTLED_BITS = 4e-3 * 10e9
"""What is looked at, and from how many bit times after a change on: PAUSE is at the hosts then,
what waited is gone."""
SHARES = {0: 0.1, 1: 0.8}
"""Of the line, that F0 and F1 offer."""
_PARAMETERS = (
    Parameter("rate", "rate", 10e9, "rate of every link", 1e6, 1e12),
    Parameter("delay", "time", 4e-6, "one-way delay of every link", 0, 1),
    Parameter("payload", "size", 1000, "payload of a data packet", 64, 9000),
    Parameter(
        "duration", "time", 60e-3, "how long F0 and F1 send; A0 does in its second third", 30e-3, 10
    ),
)
_K = (340.0, 1100.0)
"""As the dumbbell's, by the load."""
_STALL_S = 0.25e-3
_MARKS = (("F0, UE", 0, UE), ("F0, CE", 0, CE), ("F1, CE", 1, CE))


def network(rate_bps: float, delay_s: float, duration_s: float, payload_bytes: int) -> Topology:
    """Returns F0 from h0 to r0, F1 from h1 to r1, and A0, behind the second switch, at line rate to
    r1 in the second third."""
    topology = compact(
        3,
        rate_bps,
        delay_s,
        xoff_bytes=XOFF_BYTES,
        xon_bytes=XON_BYTES,
        mtu_bytes=payload_bytes + HEADER_BYTES,
    )
    third_s = duration_s / 3
    flows = [
        FlowSpec(n, f"h{n}", f"r{n}", rate_bps=SHARES[n] * rate_bps, duration_s=duration_s)
        for n in SHARES
    ]
    return replace(
        topology, flows=(*flows, FlowSpec(2, "h2", "r1", start_s=third_s, duration_s=third_s))
    )


def settled_s(rate_bps: float) -> float:
    """Returns how long after a change the marks are looked at."""
    return _SETTLED_BITS / rate_bps


def spans(duration_s: float, rate_bps: float) -> dict[str, tuple[float, float]]:
    """Returns the spans while A0 sends, before, and after it."""
    third_s = duration_s / 3
    return {
        "before": (0.0, third_s),
        "while": (third_s + settled_s(rate_bps), 2 * third_s),
        "after": (2 * third_s + settled_s(rate_bps), duration_s),
    }


def shares(
    recording: Recording, flow: int, mark: str, span: tuple[float, float]
) -> tuple[Array, Array]:
    """Returns bins of BIN_S over `span`: their starts in s, and the share of the flow's arriving
    packets that had this mark. Both are empty where the span is shorter than half a bin."""
    if span[1] - span[0] < BIN_S / 2:
        return np.empty(0), np.empty(0)
    series = [recording.series.get(f"flow {flow}", name) for name in (mark, "received_packets")]
    starts, marked = series_math.binned_share(series[0], series[1], BIN_S, span[1], span[0])
    return starts, np.nan_to_num(marked)


def numbers(recording: Recording, rate_bps: float) -> dict[str, float | None]:
    """Returns the least and largest shares of all bins, by flow, mark and when; `rest` is before
    and after. None: the run is too short for links of this rate."""
    when = spans(recording.duration_s, rate_bps)
    measured: dict[str, float | None] = {}
    for flow in SHARES:
        for mark, name in ((CE, "ce"), (UE, "ue")):
            during = shares(recording, flow, mark, when["while"])[1]
            before, after = (
                shares(recording, flow, mark, when[part])[1] for part in ("before", "after")
            )
            rest = np.concatenate([before, after]) if after.size else after
            measured[f"f{flow}_{name}_least"] = float(during.min()) if during.size else None
            measured[f"f{flow}_{name}_most"] = float(during.max()) if during.size else None
            measured[f"f{flow}_{name}_rest"] = float(rest.max()) if rest.size else None
    return measured


def rows(
    prefix: str,
    scheme: str,
    measured: Mapping[str, float | None],
    rate_bps: float,
    least: float,
    most: float,
) -> list[Check]:
    """Returns the rows of TCD's marks, or RED's. `least`: of what is to be marked; `most`: of what
    isn't."""
    if scheme == TCD:
        rest = [measured[f"f{flow}_{mark}_rest"] for flow in SHARES for mark in ("ce", "ue")]
        worst = None if None in rest else max(share for share in rest if share is not None)
        band = f"met: {least:g}; trend: 0.9"
        none = f"met: {most:g}; trend: below 0.05"
        return [
            FRACTIONS.row(
                f"{prefix}while A0 sends: F0's share with UE, least ({band})",
                measured["f0_ue_least"], at_least(least, 0.9), "F0 UE",
            ),
            FRACTIONS.row(
                f"{prefix}while A0 sends: F0's share with CE, most ({none})",
                measured["f0_ce_most"], at_most(most, 0.05), "F0 CE",
            ),
            FRACTIONS.row(
                f"{prefix}while A0 sends: F1's share with CE, least ({band})",
                measured["f1_ce_least"], at_least(least, 0.9), "F1 CE",
            ),
            FRACTIONS.row(
                (
                    f"{prefix}before, and from {settled_s(rate_bps) * 1e3:g} ms after A0: any "
                    f"mark, most ({none})"
                ),
                worst, at_most(most, 0.05), "after",
            ),
        ]  # fmt: skip
    if scheme == RED:
        text = f"{prefix}while A0 sends: F0's share with CE, least (met: {least:g}; trend: half)"
        return [FRACTIONS.row(text, measured["f0_ce_least"], at_least(least, 0.5))]
    return []


def marks(plan: Plan, recording: Recording) -> Chart:
    end_s = plan.duration_s
    lines = [
        charts.share(
            name,
            f"flow{index}",
            recording.series.get(f"flow {flow}", mark),
            recording.series.get(f"flow {flow}", "received_packets"),
            BIN_S,
            (0.0, end_s),
        )
        for index, (name, flow, mark) in enumerate(_MARKS)
    ]
    return Chart(
        name="marks",
        title="What arrives marked",
        alt="share of F0's and F1's packets that arrive marked UE and CE over time",
        x_label=charts.TIME,
        y_label="Share of the packets (%)",
        lines=tuple(lines),
        views=(View("whole run", 0.0, end_s * 1e3),),
        top=105.0,
    )


def queue(plan: Plan, recording: Recording) -> Chart:
    line = charts.sampled(
        "s0 to s1",
        "flow0",
        recording.series.get(str(P0_S0), "waiting_bytes"),
        plan.duration_s,
        1e-3,
    )
    return Chart(
        name="queue",
        title="The undetermined port's queue",
        alt="bytes that wait for the link between the switches over time",
        x_label=charts.TIME,
        y_label="Queue (KB)",
        lines=(line,),
        views=(View("whole run", 0.0, plan.duration_s * 1e3),),
    )


def pause(plan: Plan, recording: Recording) -> Chart:
    return charts.pause_by_link(
        recording, BIN_S / 2, (View("whole run", 0.0, plan.duration_s * 1e3),)
    )


def headlines(plan: Plan, recording: Recording, steady: Steady) -> list[Headline]:
    measured = numbers(recording, plan.number("rate"))
    return [
        Headline(
            "F0 marked UE while A0 sends, least",
            percent(measured["f0_ue_least"]),
            "TCD: all; RED: none",
        ),
        Headline(
            "F0 marked CE while A0 sends, most",
            percent(measured["f0_ce_most"]),
            "TCD: none; RED: all",
        ),
        Headline("F1 marked CE while A0 sends, least", percent(measured["f1_ce_least"]), "all"),
    ]


def about(plan: Plan) -> list[tuple[str, str]]:
    rate = plan.number("rate")
    f0, f1 = (format_value("rate", share * rate) for share in SHARES.values())
    return [
        (
            "topology",
            f"F0, h0 to r0, offers {f0}; F1, h1 to r1, {f1}. A0 is h2's flow to r1, at line rate, "
            "in the second third of the run. s1's port to r1 is congested then, and PAUSE makes "
            "s0's port undetermined.",
        ),
        (
            "marks",
            "F0 passes the undetermined port alone, F1 the congested one, too. TCD marks F0 UE and "
            "F1 CE; RED can't distinguish them.",
        ),
        (
            "checks",
            "Verdicts are computed from the run. Claim numbers are those of docs/claims.md.",
        ),
    ]


def story(plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
    measured = numbers(recording, plan.number("rate"))
    text = (
        f"F0's packets arrive with UE to {percent(measured['f0_ue_least'])} at least, with CE to "
    )
    return [("marks", f"While A0 sends {text}{percent(measured['f0_ce_most'])} at most.")]


_PARTS = {
    "least": "least share of a bin during the burst",
    "most": "largest share of a bin during the burst",
    "rest": "largest share of a bin before and after it",
}


class Undetermined(Experiment):
    """5.1.1's experiment."""

    name = "tcd"
    title = "An undetermined port and a congested one"
    source = "TCD, 5.1.1 and Fig. 11"
    schemes = (TCD, RED)
    page = RunPage((marks, queue, pause), headlines, about, story)
    number_texts: Mapping[str, NumberText] = {
        f"f{flow}_{mark}_{part}": NumberText(f"{mark.upper()} marks of F{flow}, {text}")
        for flow in SHARES
        for mark in ("ce", "ue")
        for part, text in _PARTS.items()
    }

    def parameters(self, scheme: str) -> tuple[Parameter, ...]:
        return scheme_parameters.of(scheme, _PARAMETERS, scheme_parameters.as_published(RED))

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        filled = complete(values, self.parameters(scheme))
        rate, delay, duration = (float(filled[name] or 0) for name in ("rate", "delay", "duration"))
        payload = round(filled["payload"] or 0)
        try:
            topology = network(rate, delay, duration, payload)
        except TopologyError as error:
            raise ExperimentError(str(error)) from error
        return Plan(
            scenario=self.name,
            scheme=scheme,
            seed=seed,
            **scheme_parameters.with_network(scheme, filled, topology, payload),
            topology=topology,
            bottleneck=P2_S1,
            duration_s=duration,
            payload_bytes=payload,
            sampling=Sampling((P2_S1, P0_S0), queues_s=0.05e-3),
            live=LiveLimits(1.9 * rate, *_K, _STALL_S),
        )

    def settled(self, plan: Plan, recording: Recording) -> list[Check]:
        """Returns checks with a live switch's unsteady times in mind."""
        rate = plan.number("rate")
        return [
            *clean(recording),
            *rows("", plan.scheme, numbers(recording, rate), rate, 0.95, 0.01),
        ]

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(run.keys, numbers(recording, plan.number("rate")))
