"""How much of each link's rate frames of flows used, each way, over a whole run."""

from __future__ import annotations

from collections import Counter

from pcn.experiments.data import series_math
from pcn.experiments.data.plan import HEADER_BYTES
from pcn.experiments.results.judged_run import Result


def utilisation(result: Result) -> dict[str, float]:
    """Returns the shares of 1, by the port that the direction leaves (`s0:4`). Switches' ports
    count what they transmit, of the lossless class; of a host there is what its flows sent."""
    plan, recording = result.plan, result.recording
    span_s = recording.duration_s - recording.start_s
    shares = {
        name: series_math.utilisation(
            *recording.series.get(name, "transmitted_bytes"),
            port.rate_bps,
            recording.start_s,
            recording.duration_s,
        )
        for name, port in recording.ports.items()
    }
    sent: Counter[tuple[str, int]] = Counter()
    for flow in recording.flows:
        sent[flow.src, flow.src_port] += flow.sent_bytes + flow.sent_packets * HEADER_BYTES
    for (host, port), size in sent.items():
        shares[f"{host}:{port}"] = 8 * size / span_s / plan.topology.link_at(host, port).rate_bps
    return shares
