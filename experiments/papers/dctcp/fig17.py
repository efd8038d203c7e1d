r"""Fig. 17: two bottlenecks, one behind the other.

S1, 10 --\                    /-- R1
          T1 ==== 10 ==== T2 +           S1 and S3 send to R1, S2 to R2, each of these to another
S2, 20 --/                \   \-- R2, 20
                    S3, 10 `             all other links: 1 Gbit/s
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from pcn.experiments.data.parameters import Value
from pcn.experiments.data.plan import Plan, Sampling, known_fields, plan_of
from pcn.experiments.data.recording import Recording
from pcn.experiments.data.series_math import counter_rate, jain
from pcn.experiments.define.charts import Chart, curve
from pcn.experiments.define.checks import Check, at_least, at_most, near
from pcn.experiments.define.experiment import Experiment, Run
from pcn.experiments.define.looks import label
from pcn.experiments.define.outcomes import Outcome, Outcomes
from pcn.experiments.papers.dctcp.claims import DCTCP, TWO_BOTTLENECKS
from pcn.experiments.papers.dctcp.plans import FRAME_BYTES, PAYLOAD_BYTES, XOFF_BYTES
from pcn.topologies import lossless
from pcn.topologies.ecn import EcnThresholds
from pcn.topologies.model import Endpoint, FlowSpec, Link, Switch, Topology, make_hosts

GROUPS = {"S1": 10, "S2": 20, "S3": 10}
K_PACKETS = {1e9: 20, 10e9: 65}
"""By a port's rate (3.5)."""
_HOST_BPS, _TRUNK_BPS, _DELAY_S = 1e9, 10e9, 10e-6
_FROM_S, _ENDS_S = 0.5, 1.5
_FRAMES = FRAME_BYTES / PAYLOAD_BYTES


def network() -> Topology:
    """Returns the topology with its 40 flows, in groups, which start within 10 ms."""
    at_t1 = [f"h{n}" for n in range(GROUPS["S1"] + GROUPS["S2"])]
    at_t2 = [f"h{n + len(at_t1)}" for n in range(GROUPS["S3"])] + [
        f"r{n}" for n in range(1 + GROUPS["S2"])
    ]
    links = [
        Link(Endpoint(name, 0), Endpoint(switch, port), _HOST_BPS, _DELAY_S)
        for switch, names in (("t1", at_t1), ("t2", at_t2))
        for port, name in enumerate(names, start=2)
    ]
    links.append(Link(Endpoint("t1", 1), Endpoint("t2", 1), _TRUNK_BPS, _DELAY_S))
    groups = [name for name, count in GROUPS.items() for _ in range(count)]
    targets = [
        f"r{n - GROUPS['S1'] + 1}" if group == "S2" else "r0" for n, group in enumerate(groups)
    ]
    flows = [
        FlowSpec(n + 1, f"h{n}", target, start_s=n * 0.25e-3, group=group)
        for n, (group, target) in enumerate(zip(groups, targets, strict=True))
    ]
    steps = ((k * FRAME_BYTES, rate) for rate, k in K_PACKETS.items())
    ecn = tuple(EcnThresholds(k_bytes, k_bytes, 1.0, rate) for k_bytes, rate in steps)
    return Topology(
        name="two-bottlenecks",
        hosts=make_hosts([*at_t1, *at_t2]),
        switches=(Switch("t1", 1, ecn=ecn), Switch("t2", 2, ecn=ecn)),
        links=tuple(links),
        flows=tuple(flows),
        parameters=lossless.parameters(XOFF_BYTES, mtu_bytes=FRAME_BYTES),
    )


class Fig17(Experiment):
    name = "dctcp-fig17"
    title = "Two bottlenecks"
    source = "4.1, Fig. 17"
    schemes = (DCTCP,)
    about = (
        "S1's 10 senders pass both bottlenecks, T1 to T2 of 10 Gbit/s and R1's link of 1 Gbit/s; "
        "S2's 20 the first, S3's 10 the second. K is 20 packets of 1,500 bytes at 1 Gbit/s and 65 "
        "at 10. Links of 10 us, from 0.5 to 1.5 s. The paper's T1 and T2 have a third switch "
        "between them, which is no bottleneck. Rates are of frames; the paper's are of TCP's "
        "payload, which is 0.965 of them. A fair share is 50 Mbit/s of R1's link, and 475 of the "
        "other. ns-3's example of this figure has 23, 471 and 74 Mbit/s for S1, S2 and S3."
    )

    def plan(self, scheme: str, seed: int, values: Mapping[str, Value]) -> Plan:
        trunk, last = Endpoint("t1", 1), Endpoint("t2", 2 + GROUPS["S3"])
        fields = known_fields(scheme, {"frame_bytes": FRAME_BYTES})
        plan = plan_of(
            self.name,
            scheme,
            seed,
            network(),
            _ENDS_S,
            fields,
            [last, trunk],
            1e-3,
            payload_bytes=PAYLOAD_BYTES,
        )
        return replace(
            plan, sampling=Sampling((last, trunk), queues_s=0.2e-3, counters_s=0.01, flows_s=0.01)
        )

    def measure(self, run: Run, plan: Plan, recording: Recording) -> Outcome:
        numbers: dict[str, float | None] = {}
        for group, count in GROUPS.items():
            series = recording.series.get(group, "received_bytes")
            known = plan.duration_s > _FROM_S
            rate = (
                8e-6 * counter_rate(*series, _FROM_S, plan.duration_s) * _FRAMES / count
                if known
                else None
            )
            numbers[f"{group}_mbps"] = rate
            bytes_ = [flow.received_bytes for flow in recording.flows if flow.group == group]
            numbers[f"{group}_jain"] = jain(bytes_) if any(bytes_) else None
        for name, port in zip(("last", "trunk"), plan.sampling.queues, strict=True):
            times, queue = recording.series.get(str(port), "waiting_bytes")
            late = queue[times >= _FROM_S]
            numbers[f"{name}_packets"] = float(np.mean(late)) / FRAME_BYTES if late.size else None
        return Outcome(run.keys, numbers)

    def checks(self, outcomes: Outcomes) -> list[Check]:
        rows = []
        for scheme in outcomes.among(self.schemes):
            for group in GROUPS:
                rate = outcomes.mean(f"{group}_mbps", scheme=scheme)
                text = (
                    f"{group}: rate of each sender (met: within 10%; trend: within a factor of two)"
                )
                rule = near(TWO_BOTTLENECKS[group], 0.1)
                rows.append(TWO_BOTTLENECKS.row(text, rate, rule, group, unit="Mbit/s"))
                index = outcomes.mean(f"{group}_jain", scheme=scheme)
                text = f"{group}: Jain's index of its senders (met: 0.99 and more; trend: 0.9)"
                rows.append(TWO_BOTTLENECKS.row(text, index, at_least(0.99, 0.9), "index"))
            shares = [outcomes.mean(f"{group}_mbps", scheme=scheme) for group in ("S1", "S3")]
            off = max((abs(share - 50) / 50 for share in shares if share is not None), default=None)
            text = "S1 and S3: distance from the fair share of 50 Mbit/s (met: 10%; trend: 50%)"
            rows.append(TWO_BOTTLENECKS.row(text, off, at_most(0.1, 0.5), "within"))
        return rows

    def story(self, outcomes: Outcomes) -> list[str]:
        lines = []
        for scheme in outcomes.among(self.schemes):
            last, trunk = (
                outcomes.mean(f"{name}_packets", scheme=scheme) for name in ("last", "trunk")
            )
            if last is not None and trunk is not None:
                lines.append(
                    f"{label(scheme)}: {last:.0f} packets wait at R1's port on average, "
                    f"{trunk:.0f} at T1's to T2."
                )
        return lines

    def charts(self, outcomes: Outcomes) -> list[Chart]:
        lines = []
        for scheme in map(str, outcomes.values("scheme")):
            rates = [outcomes.mean(f"{group}_mbps", scheme=scheme) or 0.0 for group in GROUPS]
            lines.append(curve(label(scheme), [0, 1, 2], rates, scheme, points=True))
        lines.append(
            curve(
                "the paper's", [0, 1, 2], [TWO_BOTTLENECKS[group] for group in GROUPS], points=True
            )
        )
        return [Chart("Rate of a sender", "", "Mbit/s", lines, bars=list(GROUPS))]
