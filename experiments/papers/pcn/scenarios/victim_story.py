"""What one sees in a run of the victim scenario, in words that its own figures fill."""

from __future__ import annotations

from pcn.experiments.data.parameters import format_value
from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.steady_state import Steady
from pcn.experiments.define import theory
from pcn.experiments.define.checks import Claim
from pcn.experiments.define.experiment import Headline
from pcn.experiments.papers.pcn.claims import IDEAL, LOSS, PCN, PFC, TREE, TREE_OF_PFC, TREES
from pcn.experiments.papers.pcn.scenarios.victim_measures import (
    RECOVERED,
    SMOOTH_S,
    Measures,
    measure,
    pauses,
)
from pcn.experiments.papers.pcn.scenarios.victim_setting import (
    BURSTS,
    attainable_bps,
    burst_s,
    fair_bps,
    ideal_bps,
)
from pcn.topologies.compact import LONG_SENDERS, P0_S0, P3_S1


def headlines(plan: Plan, recording: Recording, steady: Steady) -> list[Headline]:
    measures = measure(plan, recording)
    tree = _ms(measures.tree_s) if measures.tree_s else "none"
    return [
        Headline(
            "time with PAUSE to S0, H0 or H1: the tree beyond the bursting hosts",
            tree,
            _paper(TREE.get(plan.scheme), plan) or _NONE.get(plan.scheme, ""),
        ),
        Headline(
            "PAUSE frames to H0 and H1", f"{measures.pause_senders:,}", _NONE.get(plan.scheme, "")
        ),
        Headline("F0 during the bursts", _gbps(measures.f0_burst_bps), _reference(plan, 0)),
        Headline("F1 during the bursts", _gbps(measures.f1_burst_bps), _reference(plan, 1)),
        Headline(
            "F0 lost, of what it could have had",
            _lost(measures.f0_lost_bytes),
            _reference(plan, 0),
        ),
        Headline(
            "S0 to S1 full again after",
            _ms(measures.full_s),
            _paper(LOSS, plan),
        ),
        Headline(
            "F0 and F1 both back at their share after",
            f"not in {_ms(plan.duration_s)}"
            if measures.shared_s is None
            else _ms(measures.shared_s),
        ),
        Headline("flow completion time of the bursts, mean", _ms(measures.burst_fct_mean_s)),
        Headline("flow completion time of the bursts, last", _last(plan, recording, measures)),
    ]


def _reference(plan: Plan, flow: int) -> str:
    """Returns what a long flow could have during the bursts, which what it lost counts against."""
    ideal, most = ideal_bps(plan)[flow], attainable_bps(plan)[flow]
    return f"{'ideal' if most == ideal else 'its limiter'}: {_gbps(most)}"


def _last(plan: Plan, recording: Recording, measures: Measures) -> str:
    open_ends = sum(flow.fct_s is None for flow in recording.flows if flow.group == BURSTS)
    return (
        f"{open_ends} not in {_ms(plan.duration_s)}" if open_ends else _ms(measures.burst_fct_max_s)
    )


def about(plan: Plan) -> list[tuple[str, str]]:
    """Returns (figure that it belongs to, paragraph), whatever the scheme."""
    return [*_setting(plan), *_reading(plan)]


def story(plan: Plan, recording: Recording, steady: Steady) -> list[tuple[str, str]]:
    """Returns (figure that it belongs to, paragraph)."""
    measures = measure(plan, recording)
    return [
        _pause(plan, recording, measures),
        _throughput(plan, measures),
        *_rates(plan, measures),
        _marked(plan, recording, measures),
        *_after_pause(plan, recording),
        _fct(measures),
    ]


def _setting(plan: Plan) -> list[tuple[str, str]]:
    hosts = round(plan.number("senders")) - LONG_SENDERS
    share, rate = format_value("rate", fair_bps(plan)), format_value("rate", plan.number("rate"))
    f0, f1 = ideal_bps(plan)
    return [
        (
            "topology",
            "F0 runs from H0 to R0 and F1 from H1 to R1. They share the link from S0 to S1, "
            f"{share} each. At time 0 each of {hosts} other hosts sends "
            f"{plan.values['burst_flows']} flows of "
            f"{format_value('size', plan.number('burst_size'))} to R1, all at once and at {rate}: "
            f"too short for any rate control, and together {_ms(burst_s(plan))} of R1's link. F0 "
            "is innocent: it never crosses that port. But PFC stops whole links, not flows.",
        ),
        (
            "topology",
            f"Ideally R1's link is shared by the {hosts + 1} hosts that send to it, F1 falls to "
            f"{_gbps(f1)}, and F0 takes what that leaves of the link from S0 to S1, {_gbps(f0)} "
            f"(the paper counts 16 hosts: {IDEAL['f1']:g} and {IDEAL['f0']:g}). What F0 lost "
            "counts against what it could have had: that ideal, or its own limiter where it has "
            "one below it, as with PFC alone. H0, S0 and so on, as the paper writes them, are h0 "
            "and s0 in the drawing and in commands. Every hop runs the compiled P4 program.",
        ),
    ]


def _reading(plan: Plan) -> list[tuple[str, str]]:
    return [
        (
            "pause",
            "A tree grows when S1 pauses S0, and S0, which can't send, pauses H0 and H1. The "
            f"paper's Fig. 2a has this tree for {TREE_OF_PFC[PFC]:g} ms with PFC alone, "
            f"{TREES['dcqcn']:g} ms with DCQCN ({TREES['qcn']:g} with QCN, {TREES['timely']:g} "
            "with TIMELY), and none with PCN.",
        ),
        (
            "throughput",
            "The paper's Fig. 2b: both long flows lose while the tree stands, and with DCQCN "
            f"throughput is lost for {LOSS['dcqcn']:g} ms, long after the bursts. Here the link "
            f"counts as full from when F0 and F1 together have {RECOVERED:.0%} of it over "
            f"{_ms(SMOOTH_S)}, a flow as back at its share likewise.",
        ),
        (
            "rates",
            (
                "Where a dotted line lies below its solid one, PFC holds the flow, not the "
                "algorithm (the paper's Fig. 3)."
            ),
        ),
        (
            "marked",
            "A mark stays on a packet, so a receiver can't detect which switch made it. S1's port "
            "to R0 carries F0 alone: what it doesn't mark of F0 was marked at S0, where F0 meets "
            "F1.",
        ),
        (
            "checks",
            "Verdicts are computed from the run. Met: within the band that the row names. Trend: "
            "outside it, yet on the right side of the next scheme. Claim numbers are those of "
            "docs/claims.md.",
        ),
    ]


def _pause(plan: Plan, recording: Recording, measures: Measures) -> tuple[str, str]:
    if not measures.pause_trunk and not measures.pause_senders:
        bursting = pauses(
            recording,
            [name for name in recording.links if name.startswith("s1->h")],
            plan.duration_s,
        )
        reach = (
            f"the tree ends at the bursting hosts, to which S1 sent {bursting:,}."
            if bursting
            else "no tree."
        )
        return "pause", f"No PAUSE went from S1 to S0, and none to H0 or H1: {reach}"
    spread = (
        f"S0 in turn sent {measures.pause_senders:,} to H0 and H1, over {_ms(measures.spread_s)}: "
        "F0's sender is stopped though F0's own way is free."
        if measures.pause_senders
        else "S0 could hold what that left with it: H0 and H1 were never stopped."
    )
    return (
        "pause",
        f"S1 sent {measures.pause_trunk:,} PAUSE frames to S0. {spread} The tree stood for "
        f"{_ms(measures.tree_s)}; the bursts need {_ms(burst_s(plan))}.",
    )


def _throughput(plan: Plan, measures: Measures) -> tuple[str, str]:
    full = (
        f"Together they fill the link from S0 to S1 again {_ms(measures.full_s)} after time 0"
        if measures.full_s is not None
        else "Within this run they don't fill the link from S0 to S1 again"
    )
    shared = (
        f"and are both back at their share after {_ms(measures.shared_s)}."
        if measures.shared_s is not None
        else "and don't both come back to their share."
    )
    return (
        "throughput",
        f"During the bursts F0 gets {_gbps(measures.f0_burst_bps)} and F1 "
        f"{_gbps(measures.f1_burst_bps)}; of what it could have had ({_reference(plan, 0)}) F0 "
        f"loses {_lost(measures.f0_lost_burst_bytes)} in them, {_lost(measures.f0_lost_bytes)} in "
        f"all. {full}, {shared} After the bursts {measures.trunk_after:.1%} of that link is used.",
    )


def _rates(plan: Plan, measures: Measures) -> list[tuple[str, str]]:
    return [("rates", _RATES.get(plan.scheme, _rates_cut)(plan, measures))]


def _rates_limited(plan: Plan, measures: Measures) -> str:
    limit = _gbps(plan.number("limit"))
    return f"A rate limiter holds F0 and F1 at {limit} each; nothing reacts to congestion but PFC."


def _rates_cut(plan: Plan, measures: Measures) -> str:
    before, least = _gbps(measures.f0_rate_before_bps), _gbps(measures.f0_rate_least_bps)
    return f"F0's algorithm goes from {before} down to {least}, though F0 is congested nowhere."


def _rates_received(plan: Plan, measures: Measures) -> str:
    before, least = _gbps(measures.f0_rate_before_bps), _gbps(measures.f0_rate_least_bps)
    half_life = theory.fairness_half_life_loops(LONG_SENDERS, plan.number("w_min")) * plan.number(
        "T"
    )
    return (
        "F1 gets R1's receiving rate of its packets at once. F0's CNPs never have less than its "
        f"receiving rate: from {before} it doesn't fall below {least}, and takes what F1 leaves. "
        f"Afterwards the difference between the two halves every {_ms(measures.half_life_s)}; "
        f"appendix A.2.2 gives {_ms(half_life)}, for flows that are notified in step"
        + (", as these are." if not plan.number("phases") else ", which these aren't.")
    )


_RATES = {PFC: _rates_limited, PCN: _rates_received}
_NONE = {PCN: "paper: none"}
"""5.4: what PCN has of the tree."""


def _marked(plan: Plan, recording: Recording, measures: Measures) -> tuple[str, str]:
    port = recording.ports[str(P3_S1)]
    share = f"{port.marked / port.transmitted:.1%}" if port.transmitted else "none"
    return (
        "marked",
        f"During the bursts {_percent(measures.f0_marked_burst)} of F0's packets arrive marked and "
        f"{_percent(measures.f1_marked_burst)} of F1's. Of what S1 sent to R0 over the whole run "
        f"it marked {share}."
        + " These switches mark as PCN's do, and no sender reacts."
        * (plan.scheme == PFC),
    )


def _after_pause(plan: Plan, recording: Recording) -> list[tuple[str, str]]:
    if plan.scheme != PFC:
        return []
    times, waiting = recording.series.get(str(P0_S0), "waiting_bytes")
    left = waiting[(times > burst_s(plan) * 1.2) & (times < plan.duration_s)]
    if not left.size:
        return []
    return [
        (
            "queues",
            f"What the pauses left at S0, {left.mean() / 1e3:.0f} KB on average, stays: two "
            "limiters of half the rate each send exactly what the link carries.",
        )
    ]


def _fct(measures: Measures) -> tuple[str, str]:
    return (
        "fct",
        (
            f"The bursts' flows take {_ms(measures.burst_fct_mean_s)} on average, the last "
            f"{_ms(measures.burst_fct_max_s)}."
        ),
    )


def _lost(size_bytes: float) -> str:
    return (
        f"{size_bytes / 1e6:.1f} MB"
        if size_bytes >= 0
        else f"none ({-size_bytes / 1e6:.1f} MB gained)"
    )


def _paper(claim: Claim | None, plan: Plan) -> str:
    return f"paper: {claim[plan.scheme]:g} ms" if claim and plan.scheme in claim else ""


def _gbps(rate: float) -> str:
    return f"{rate / 1e9:.3g} Gbit/s"


def _percent(share: float | None) -> str:
    return "none" if share is None else f"{share:.0%}"


def _ms(seconds: float | None) -> str:
    return "never" if seconds is None else f"{seconds * 1e3:.3g} ms"
