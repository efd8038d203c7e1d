"""The slowest flows of an explained run, with where their completion times went."""

from __future__ import annotations

import numpy as np

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.size_bins import size_text
from pcn.experiments.define.tables import Table
from pcn.experiments.traffic.flows import ended

FLOWS = 20
_NOTE = (
    "`pcn explain RESULT --flow N` has a flow's packets, ports and the flows ahead of it: "
    "docs/explain.md."
)


def slowest(plan: Plan, recording: Recording) -> Table | None:
    """Returns a row a flow, of those with the largest slowdown; None where the run wasn't
    explained, or no flow has arrived."""
    parts = recording.recorded.parts
    if parts is None:
        return None
    completions = ended(plan, recording)
    order = np.argsort(-completions.slowdown, kind="stable")  # NaN last
    chosen = [place for place in order[:FLOWS].tolist() if parts.fct_ps[place]]
    shares = parts.parts_ps[chosen] / parts.fct_ps[chosen][:, np.newaxis]
    columns = np.flatnonzero(shares.any(axis=0))
    if not columns.size:
        return None
    names = [parts.names[column] for column in columns]
    rows = []
    for place, row in zip(chosen, shares[:, columns].tolist(), strict=True):
        flow = plan.topology.flows[place]
        rows.append(
            [
                f"{flow.id}: {flow.src} to {flow.dst}",
                size_text(flow.size_bytes or 0),
                f"{completions.slowdown[place]:.4g}",
                f"{completions.fct_s[place] * 1e3:.4g}",
                *(f"{100 * share:.1f}" if share else "–" for share in row),
            ]
        )
    return Table(
        f"the {len(rows)} slowest flows, %",
        ["", "size", "slowdown", "ms", *(name.replace("_", " ") for name in names)],
        rows,
        [_NOTE],
        [list(zip(names, row, strict=True)) for row in shares[:, columns].tolist()],
    )
