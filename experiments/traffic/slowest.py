"""The slowest flows of an explained run, with where their completion times went."""

from __future__ import annotations

import numpy as np

from pcn.experiments.data.plan import Plan
from pcn.experiments.data.recording import Recording
from pcn.experiments.define.size_bins import size_text
from pcn.experiments.define.tables import Table
from pcn.experiments.traffic import pause_roots
from pcn.experiments.traffic.flows import ended

FLOWS = 20
_NOTE = (
    "`pcn explain RESULT --flow N` follows a flow's packets, and has the flows ahead of it: "
    "docs/explain.md."
)
_LARGE = 0.1
"""Of a completion time."""
_ROOT = (
    "Root of PAUSE, of flows that lost a tenth of their time and more to it: where most of it "
    "starts, by the time for which ports of their ways were stopped."
)


def stand_out(plan: Plan, recording: Recording) -> list[Table]:
    """Returns where PAUSE starts, and the slowest flows."""
    chosen = pause_roots.table(plan, recording), slowest(plan, recording)
    return [table for table in chosen if table is not None]


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
    roots, lost_ps = pause_roots.of(plan, recording), pause_roots.lost_to_pause_ps(recording)
    held = {
        place: roots.name(roots.flows[place])
        for place in chosen
        if roots is not None
        and place in roots.flows
        and lost_ps[place] >= _LARGE * parts.fct_ps[place]
    }
    rows = []
    for place, row in zip(chosen, shares[:, columns].tolist(), strict=True):
        flow = plan.topology.flows[place]
        rows.append(
            [
                f"{flow.id}: {flow.src} to {flow.dst}",
                size_text(flow.size_bytes or 0),
                f"{completions.slowdown[place]:.4g}",
                f"{completions.fct_s[place] * 1e3:.4g}",
                *[held.get(place, "–")] * bool(held),
                *(f"{100 * share:.1f}" if share else "–" for share in row),
            ]
        )
    return Table(
        f"the {len(rows)} slowest flows, by slowdown, %",
        [
            "",
            "size",
            "slowdown",
            "ms",
            *["root of PAUSE"] * bool(held),
            *(name.replace("_", " ") for name in names),
        ],
        rows,
        [*[_ROOT] * bool(held), _NOTE],
        [list(zip(names, row, strict=True)) for row in shares[:, columns].tolist()],
    )
