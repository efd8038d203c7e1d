"""Fig. 5 as a scenario, on either clock: an innocent flow under arrival and under occupancy
sampling, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter, Value, complete, format_value
from pcn.experiments.data.plan import HEADER_BYTES, LiveLimits, Plan, Sampling
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.steady_state import Steady
from pcn.experiments.define import charts, recording_numbers, scheme_parameters
from pcn.experiments.define.charts import Chart, View
from pcn.experiments.define.checks import Check, at_least, at_most, between, clean, near
from pcn.experiments.define.experiment import Experiment, Headline, Run, RunPage
from pcn.experiments.define.number_texts import NumberText
from pcn.experiments.define.outcomes import Outcome, number_text, ratio
from pcn.experiments.papers.unbiased.claims import (
    INNOCENT,
    INPUTS,
    MODULATED,
    OCCUPANCY,
    PFC,
    RANDOM,
    SPARED,
)
from pcn.experiments.papers.unbiased.plans import XOFF_BYTES, XON_BYTES
from pcn.topologies.model import Endpoint, FlowSpec, TopologyError
from pcn.topologies.star import star

_PARAMETERS = (
    Parameter("rate", "rate", 10e9, "rate of every link", 1e6, 1e12),
    Parameter("delay", "time", 1e-6, "one-way delay of every link", 0, 1),
    Parameter("payload", "size", 1000, "payload of a data packet", 64, 9000),
    Parameter("duration", "time", 60e-3, "how long the flows send", 5e-3, 10),
)
_PAPERS: dict[str, scheme_parameters.Default] = {
    "qcn.Q_eq": (60e3, ""),
    "qcn.qcn_timer": (10e-3, ""),
    "qcn.adaptive": (0, ""),
    "qcn-os.keep_alive": (0, ""),
}
"""The paper's values."""
_K = (340.0, 1100.0)
"""As the dumbbell's, by the load."""
_STALL_S = 0.25e-3
_BIN_S = 1e-3
_SHARES = {1: 0.3, 6: 0.7}
"""Of their host's line, by flow."""
_SENDERS, _FAIR = 4, 0.25


def _gbps(plan: Plan, recording: Recording, flow: int) -> float:
    """Returns the frames of the flow that arrive, over the last third."""
    frames = plan.frame_bytes / plan.payload_bytes
    return (
        recording_numbers.goodput_bps(
            recording, f"flow {flow}", plan.steady_from_s, plan.duration_s
        )
        * frames
        / 1e9
    )


def received(plan: Plan, recording: Recording) -> Chart:
    unit = plan.frame_bytes / plan.payload_bytes * 8e-9
    end_s = plan.duration_s
    lines = [
        charts.rate(
            f"f{flow.id}: {flow.src} to {flow.dst}",
            f"flow{index}",
            recording.series.get(flow.entity, "received_bytes"),
            _BIN_S,
            (0.0, end_s),
            unit,
        )
        for index, flow in enumerate(recording.flows)
    ]
    fair = plan.number("rate") * _FAIR / 1e9
    return Chart(
        name="received",
        title="What arrives",
        alt="rate at which frames of each flow arrive over time",
        x_label=charts.TIME,
        y_label="Received, frames (Gbit/s)",
        lines=(*lines, charts.constant(f"fair share of r0, {fair:g}", fair, "muted", 0.0, end_s)),
        views=(View("whole run", 0.0, end_s * 1e3),),
    )


def limits(plan: Plan, recording: Recording) -> Chart:
    lines = [
        charts.steps(
            f"f{flow.id}",
            f"flow{index}",
            recording.series.get(flow.entity, "rate_bps"),
            plan.duration_s,
            1e-9,
            1.4,
        )
        for index, flow in enumerate(recording.flows)
        if flow.src == "h0"
    ]
    return Chart(
        name="limits",
        title="Rate limits of h0's flows",
        alt="the rate that the algorithm allows f1 and f6 over time",
        x_label=charts.TIME,
        y_label="Rate limit (Gbit/s)",
        lines=tuple(lines),
        views=(View("whole run", 0.0, plan.duration_s * 1e3),),
    )


def pause(plan: Plan, recording: Recording) -> Chart:
    return charts.pause_by_link(recording, _BIN_S, (View("whole run", 0.0, plan.duration_s * 1e3),))


def headlines(plan: Plan, recording: Recording, steady: Steady) -> list[Headline]:
    f1, f6 = (_gbps(plan, recording, flow) for flow in (1, 6))
    rate = plan.number("rate") / 1e9
    return [
        Headline("f6 receives, last third", f"{f6:.3g} Gbit/s", f"it offers {_SHARES[6] * rate:g}"),
        Headline(
            "f1 receives, last third", f"{f1:.3g} Gbit/s", f"its fair share: {_FAIR * rate:g}"
        ),
        Headline("PAUSE frames, last third", f"{steady.pause:,}"),
    ]


def about(plan: Plan) -> list[tuple[str, str]]:
    rate = plan.number("rate")
    f1, f6 = (format_value("rate", share * rate) for share in (_SHARES[1], _SHARES[6]))
    return [
        (
            "topology",
            f"h0 to h3 send to r0 at line rate, but h0's f1 offers {f1}. h0 also sends f6, {f6}, "
            "to r1, where no other host sends: it waits for nothing, and shares f1's input alone.",
        ),
        (
            "received",
            "A congestion point at the input samples what the input has inside. Notified by "
            "arrivals, f6 slows down with f1; notified by waiting packets, it keeps what it "
            "offers. PAUSE alone holds both alike.",
        ),
        (
            "checks",
            "Verdicts are computed from the run. Claim numbers are those of docs/claims.md.",
        ),
    ]


def story(plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
    f1, f6 = (_gbps(plan, recording, flow) for flow in (1, 6))
    return [
        (
            "received",
            (
                f"Over the last third f6 gets {number_text(f6, 'Gbit/s')}, "
                f"{number_text(ratio(f6, f1))} times "
                "what f1 gets."
            ),
        )
    ]


class Innocent(Experiment):
    """Section VI's experiment with f1 to f4 and f6."""

    name = "unbiased"
    title = "An innocent flow beside a congested one"
    source = "RZ 3880, section VI and Fig. 5"
    schemes = (INPUTS, RANDOM)
    page = RunPage((received, limits, pause), headlines, about, story)
    number_texts: Mapping[str, NumberText] = {
        "f1_gbps": NumberText("rate of f1, the innocent flow", "more"),
        "f6_gbps": NumberText("rate of f6, a congested flow"),
    }

    def parameters(self, scheme: str) -> tuple[Parameter, ...]:
        return scheme_parameters.of(scheme, _PARAMETERS, _PAPERS)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        filled = complete(values, self.parameters(scheme))
        rate, delay, duration = (float(filled[name] or 0) for name in ("rate", "delay", "duration"))
        payload = round(filled["payload"] or 0)
        try:
            topology = star(
                _SENDERS,
                2,
                rate,
                delay,
                xoff_bytes=XOFF_BYTES,
                xon_bytes=XON_BYTES,
                mtu_bytes=payload + HEADER_BYTES,
            )
        except TopologyError as error:
            raise ExperimentError(str(error)) from error
        flows = (
            FlowSpec(1, "h0", "r0", rate_bps=_SHARES[1] * rate),
            *(FlowSpec(n, f"h{n - 1}", "r0") for n in range(2, _SENDERS + 1)),
            FlowSpec(6, "h0", "r1", rate_bps=_SHARES[6] * rate),
        )
        bottleneck = Endpoint("s0", _SENDERS + 1)
        topology = replace(topology, flows=flows)
        return Plan(
            scenario=self.name,
            scheme=scheme,
            seed=seed,
            **scheme_parameters.with_network(scheme, filled, topology, payload),
            topology=topology,
            bottleneck=bottleneck,
            duration_s=duration,
            payload_bytes=payload,
            sampling=Sampling((bottleneck,)),
            live=LiveLimits(1.7 * rate, *_K, _STALL_S),
        )

    def settled(self, plan: Plan, recording: Recording) -> list[Check]:
        """Judges the settled rates. The bands are those of a switch that serves inputs in the order
        of arrival, as live ones do."""
        f1, f6 = (_gbps(plan, recording, flow) for flow in (1, 6))
        scale = plan.number("rate") / 10e9
        fair = _FAIR * plan.number("rate") / 1e9
        rows = clean(recording)
        if plan.scheme == PFC:
            text = "f6 / f1 (met: within 2%; trend: within a factor of 1.2)"
            theory = MODULATED["f6 / f1"]
            rows.append(
                MODULATED.row(
                    text, ratio(f6, f1), near(theory, 0.02, 1.2), "f6 / f1", theory=theory
                )
            )
        elif plan.scheme == INPUTS:
            text = "f6 / f1 (met: 1.2; trend: below 2.33)"
            rows.append(
                INNOCENT.row(
                    text, ratio(f6, f1), at_most(1.2, MODULATED["f6 / f1"]), paper=1.0, unit=""
                )
            )
            text = "f1, its fair share (met: within 3%; trend: within a factor of 1.2)"
            rows.append(INNOCENT.row(text, f1, near(fair, 0.03, 1.2), theory=fair))
        elif plan.scheme in OCCUPANCY:
            most = SPARED["f6"] * scale
            text = f"f6 (met: {0.993 * most:.4g}; trend: above {5.8 * scale:g})"
            rows.append(SPARED.row(text, f6, at_least(0.993 * most, 5.8 * scale), theory=most))
            text = "f1, its fair share (met: 8% less to as much; trend: within 20%)"
            rows.append(
                SPARED.row(
                    text,
                    f1,
                    between(0.92 * fair, 1.005 * fair, 0.8 * fair, 1.2 * fair),
                    theory=fair,
                )
            )
        return rows

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(run.keys, {f"f{flow}_gbps": _gbps(plan, recording, flow) for flow in (1, 6)})
