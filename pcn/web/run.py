"""Runs in virtual time as they go on, as frames of a history: for the live page, and for
`--top`."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pcn.experiments.data.frames import Frames, edges, interval
from pcn.web.history import History
from pcn.web.recorded import described

if TYPE_CHECKING:
    from pcn.experiments.data.plan import Plan
    from pcn.experiments.data.series import Series


class RunOnPage:
    """Shows runs in virtual time as they go on: `pcn.experiments.run.progress.Watcher`."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._frames: Frames | None = None
        self._from_s = self._every_s = 0.0

    def begin(self, plan: Plan) -> None:
        topology = plan.topology
        title = f"{plan.scenario.partition('?')[0]}: {plan.scheme}, virtual time"
        self._history.begin(
            described(topology, title=title, network=None, live=False, control=False)
        )
        self._frames = Frames(topology, topology.flows)
        self._from_s = plan.start_s
        self._every_s = interval(plan.start_s, plan.duration_s, plan.sampling.counters_s, topology)

    def seen(self, series: Series, now_s: float) -> None:
        """Adds the frames whose counters have been read by now."""
        assert self._frames is not None
        read = [
            series.get(port, "transmitted_bytes")[0]
            for port in series.entities("transmitted_bytes")
        ]
        until_s = min((float(times[-1]) for times in read if times.size), default=self._from_s)
        times = edges(self._from_s, min(until_s, now_s), self._every_s)
        for frame in self._frames.between(series, times):
            self._history.add(frame)
        self._from_s = float(times[-1])
