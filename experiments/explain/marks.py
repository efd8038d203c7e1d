"""Why packets of a run have marks, or none."""

from __future__ import annotations

from typing import Any

from pcn.experiments.data.marks import by_reason, decisions
from pcn.experiments.explain.again import Again
from pcn.hosts.explain_log import MARK_REASONS


def explain_marks(again: Again) -> dict[str, Any]:
    """Returns of a run that counted marks: `packets`, by reason and what would have been ahead; its
    decisions; and both by port, the ones with most marked and held packets first."""
    assert again.logs.marks is not None
    total = again.logs.marks.sum(axis=0)
    by_port = [
        (str(port), counts) for port, counts in zip(again.logs.ports, again.logs.marks, strict=True)
    ]
    there = [(name, counts) for name, counts in by_port if counts.sum()]
    here, held = (MARK_REASONS.index(name) for name in ("here", "held"))
    there.sort(key=lambda item: -int(item[1][[here, held]].sum()))
    rows = [("", total), *there]
    of = {
        name: {"packets": by_reason(counts), **decisions(counts, again.np_ecn)}
        for name, counts in rows
    }
    return {**of.pop(""), "ports": of}
