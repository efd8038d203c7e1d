"""The paper's dumbbell (7.1, Fig. 11): long flows of several pairs share one bottleneck; the first
pair has two."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter, Value, complete
from pcn.experiments.data.plan import HEADER_BYTES, LiveLimits, Plan, Sampling
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.steady_state import (
    Steady,
    capacity_reached,
    drained,
    draining_rate,
    initial_rate,
    queue_swing,
    rate_swing,
    steady_state,
)
from pcn.experiments.define import scheme_parameters, theory
from pcn.experiments.define.checks import Check, at_least, at_most, clean, near
from pcn.experiments.define.experiment import Experiment, Headline, Run, RunPage
from pcn.experiments.define.number_texts import NumberText
from pcn.experiments.define.outcomes import Outcome, number_text
from pcn.experiments.papers.pcn.claims import (
    AFTER_DECREASE,
    CAPACITY,
    DRAINED,
    FAIRNESS,
    MANY_FLOWS,
    PCN,
    QUEUE_SWING,
    RATE_SWING,
    STEADY,
)
from pcn.experiments.papers.pcn.scenarios.dumbbell_charts import CHARTS
from pcn.experiments.papers.pcn.scenarios.dumbbell_story import about, story
from pcn.experiments.papers.pcn.scenarios.pfc_parameters import PFC_PARAMETERS
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.model import Endpoint, TopologyError

_PARAMETERS = (
    Parameter("pairs", "count", 3, "sender-receiver pairs; the first has two flows", 1, 32),
    Parameter("rate", "rate", 10e9, "rate of every link", 1e6, 1e12),
    Parameter("rtt", "time", 500e-6, "round-trip time from host to host, without queues", 0, 1),
    Parameter("payload", "size", 1000, "payload of a data packet", 64, 9000),
    *PFC_PARAMETERS,
    Parameter("duration", "time", 150e-3, "how long the flows send", 1e-3, 10),
)


_K = (200.0, 640.0)
"""At the former a stall of 50 ms (real) spoils a run; up to the latter one takes less than two
minutes in all."""
OUT_OF_STEP = "choices.md#flows-that-arent-notified-in-step"
"""Why the appendix's figures, for flows that are notified at once and without delay, aren't a
run's."""
_STALL_S = 0.25e-3
"""Half an RTT. Runs with stalls of 0.4 ms missed Jain's index and utilisation by some percent."""


def headlines(plan: Plan, recording: Recording, steady: Steady) -> list[Headline]:
    return [
        Headline("bottleneck utilisation, last third", f"{steady.utilisation:.1%}"),
        Headline("Jain's fairness index, last third", number_text(steady.jain)),
        Headline("mean queue, last third", f"{steady.queue_bytes_mean / 1e3:.1f} KB"),
        Headline("PAUSE frames, last third", f"{steady.pause:,}"),
    ]


class Dumbbell(Experiment):
    """Section 7.1's fine-grained observation."""

    name = "dumbbell"
    title = "Dumbbell: long flows through one bottleneck"
    source = "PCN (NSDI'20), section 7.1 and Fig. 11"
    schemes = (PCN,)
    page = RunPage(CHARTS, headlines, about, story)
    number_texts: Mapping[str, NumberText] = {
        "capacity_reached_s": NumberText(
            "time until the flows' rates sum to the bottleneck's", "less"
        ),
        "drained_s": NumberText("time until the first queue is drained", "less"),
    }

    def parameters(self, scheme: str) -> tuple[Parameter, ...]:
        return scheme_parameters.of(scheme, _PARAMETERS)

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        filled = complete(values, self.parameters(scheme))

        def number(name: str, otherwise: float) -> float:
            value = filled.get(name)
            return otherwise if value is None else value

        pairs, rtt_s, payload = (
            round(number("pairs", 3)),
            number("rtt", 0),
            round(number("payload", 0)),
        )
        frame = payload + HEADER_BYTES
        xoff = number("xoff", 0)
        filled["xon"] = round(number("xon", xoff - 2 * frame))
        if not frame <= number("xon", 0) < xoff:
            raise ExperimentError(
                f"xon={filled['xon']}, xoff={xoff:g}: xon must be below xoff, and hold a frame"
            )
        try:
            topology = dumbbell(
                pairs=pairs,
                rate_bps=number("rate", 0),
                rtt_s=rtt_s,
                xoff_bytes=xoff,
                xon_bytes=number("xon", 0),
                mtu_bytes=frame,
            )
        except TopologyError as error:
            raise ExperimentError(str(error)) from error
        bottleneck = Endpoint("s0", pairs + 1)
        return Plan(
            scenario=self.name,
            scheme=scheme,
            seed=seed,
            **scheme_parameters.with_network(scheme, filled, topology, payload),
            topology=topology,
            bottleneck=bottleneck,
            duration_s=number("duration", 0),
            payload_bytes=payload,
            sampling=Sampling((bottleneck,)),
            live=LiveLimits(number("rate", 0), *_K, _STALL_S),
        )

    def settled(self, plan: Plan, recording: Recording) -> list[Check]:
        scheme_claims = _CLAIMS.get(plan.scheme, ())
        return [
            *clean(recording),
            *(check for claims in scheme_claims for check in claims(plan, recording)),
        ]

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        return Outcome(
            run.keys,
            {
                "capacity_reached_s": capacity_reached(recording, plan.topology, plan.capacity_bps),
                "drained_s": drained(recording, plan.bottleneck),
            },
        )


def _convergence(plan: Plan, recording: Recording) -> list[Check]:
    capacity, w_min, period = plan.capacity_bps, plan.number("w_min"), plan.number("T")
    reached = _ms(capacity_reached(recording, plan.topology, capacity))
    empty = _ms(drained(recording, plan.bottleneck))
    after = draining_rate(recording, plan.topology, plan.bottleneck, capacity)
    loops = theory.loops_to_drain(initial_rate(plan.topology), capacity, w_min)
    target = theory.aggregate_after_decrease(capacity, w_min)
    return [
        CAPACITY.row(
            f"sum of the sending rates first at capacity (met: {CAPACITY[PCN]:g} ms; trend: before "
            f"QCN's {CAPACITY['qcn']:g} ms)",
            reached,
            at_most(CAPACITY[PCN], CAPACITY["qcn"]),
            PCN,
            theory=(plan.topology.max_rtt_s() + period) * 1e3,
        ),
        AFTER_DECREASE.row(
            "mean sum of the rates from then until the queue is drained (met: within 5% of theory; "
            "trend: within a factor of two)",
            None if after is None else after / 1e9,
            near(target / 1e9, 0.05),
            theory=target / 1e9,
            known=OUT_OF_STEP if after is not None and after < target else "",
        ),
        DRAINED.row(
            f"initial queue down to five packets (met: {DRAINED[PCN]:g} ms; trend: before QCN's "
            f"{DRAINED['qcn']:g} ms; theory: A.2.1, CNPs in step, the longest)",
            empty,
            at_most(DRAINED[PCN], DRAINED["qcn"]),
            PCN,
            theory=loops * period * 1e3,
            known=OUT_OF_STEP,
        ),
    ]


def _steady(plan: Plan, recording: Recording) -> list[Check]:
    steady = steady_state(recording, plan.bottleneck, plan.capacity_bps, plan.steady_from_s)
    capacity, w_min, period = plan.capacity_bps, plan.number("w_min"), plan.number("T")
    flows, most_kb = len(recording.flows), MANY_FLOWS["queue"]
    bound_kb = 0.1 * capacity * period / 8e3
    swing_kb = theory.queue_oscillation(flows, w_min, capacity, period) / 1e3
    least_gbps = w_min * capacity / 1e9
    return [
        STEADY.row(
            "bottleneck utilisation, last third (met: 0.97 and more; trend: above 0.9)",
            steady.utilisation,
            at_least(0.97, 0.9),
            "utilisation",
        ),
        FAIRNESS.row(
            "Jain's index of the goodputs, last third (met: 0.97 and more; trend: above 0.9)",
            steady.jain,
            at_least(0.97, 0.9),
            "index",
            theory=1.0,
        ),
        MANY_FLOWS.row(
            "PAUSE frames, last third", steady.pause, at_most(0), "pause", theory=0, unit="frames"
        ),
        MANY_FLOWS.row(
            f"mean queue, last third (met: Fig. 17's {most_kb:g} KB in ns-3; trend: 120 KB)",
            steady.queue_bytes_mean / 1e3,
            at_most(most_kb, 120.0),
            "queue",
        ),
        QUEUE_SWING.row(
            "swing of the queue, last third, middle 90% (theory: CNPs in step; met: bound 0.1 C T; "
            "trend: below twice that)",
            queue_swing(recording, plan.bottleneck, steady) / 1e3,
            at_most(bound_kb, 2 * bound_kb),
            paper=bound_kb,
            theory=swing_kb,
            known=OUT_OF_STEP,
        ),
        RATE_SWING.row(
            "swing of a flow's rate, last third, middle 90%, mean of the flows (met: paper's w_min "
            "C; trend: below twice that)",
            rate_swing(recording, steady) / 1e9,
            at_most(least_gbps, 2 * least_gbps),
            paper=least_gbps,
            theory=theory.rate_oscillation(flows, w_min, capacity) / 1e9,
            known=OUT_OF_STEP,
        ),
    ]


_CLAIMS: Mapping[str, tuple[Callable[[Plan, Recording], list[Check]], ...]] = {
    PCN: (_convergence, _steady)
}
"""By scheme: the paper's claims for it here."""


def _ms(seconds: float | None) -> float | None:
    return None if seconds is None else seconds * 1e3
