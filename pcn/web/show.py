"""What fills the live page: looks at a network that is up, a run in virtual time as it goes on, or a kept result."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from experiments.data.frames import Frames, edges, interval
from pcn.visible import visible
from pcn.web.history import History
from pcn.web.recorded import described, recorded
from pcn.web.server import serving
from topologies.errors import LabError

if TYPE_CHECKING:
    from experiments.data.plan import Plan
    from experiments.data.series import Series
    from lab.attach import Attached
    from lab.observe import Snapshot

_LOG_LINES = 20
"""Of a node's log, at most, in a frame."""


def show_network(
    lab: Attached, look: Callable[[], Snapshot], wait: Callable[[], None], port: int, control: bool
) -> None:
    """Serves a network that is up, with each look, until Ctrl-C or its end. `wait` returns when to look."""
    from lab.logs import PERIODIC, Reader
    from pcn.commands.log import as_text
    from topologies.errors import error_text

    record, history = lab.record, History()
    history.begin(
        described(
            lab.topology,
            scheme=record.has_scheme,
            title=f"{record.name}: {record.what}",
            network=record.name,
            live=True,
            control=control,
        )
    )
    with serving(history, port, record.name if control else None) as served:
        click.echo(served.url)
        log = Reader(record, without=PERIODIC)
        try:
            while True:
                wait()
                now = look()
                frame = asdict(now)
                frame["pace"] = None if now.overload is None else str(now.overload)
                frame["log"] = [visible(as_text(line)) for line in log.new(_LOG_LINES)]
                history.add(frame)
        except LabError as error:
            history.over(f"the network has ended: {error_text(error)}")
            raise


class RunOnPage:
    """Shows runs in virtual time as they go on: `experiments.run.progress.Watcher`."""

    def __init__(self, history: History) -> None:
        self._history = history
        self._frames: Frames | None = None
        self._from_s = self._every_s = 0.0

    def begin(self, plan: Plan) -> None:
        topology = plan.topology
        title = f"{plan.scenario.partition('?')[0]}: {plan.scheme}, virtual time"
        self._history.begin(described(topology, title=title, network=None, live=False, control=False))
        self._frames = Frames(topology, topology.flows)
        self._from_s = plan.start_s
        self._every_s = interval(plan.start_s, plan.duration_s, plan.sampling.counters_s, topology)

    def seen(self, series: Series, now_s: float) -> None:
        """Adds the frames whose counters have been read by now."""
        assert self._frames is not None
        read = [series.get(port, "transmitted_bytes")[0] for port in series.entities("transmitted_bytes")]
        until_s = min((float(times[-1]) for times in read if times.size), default=self._from_s)
        times = edges(self._from_s, min(until_s, now_s), self._every_s)
        for frame in self._frames.between(series, times):
            self._history.add(frame)
        self._from_s = float(times[-1])


def show_result(place: Path, port: int) -> None:
    """Serves the run that a folder keeps, until Ctrl-C. Raises LabError."""
    with serving(recorded(place), port) as served:
        click.echo(served.url)
        threading.Event().wait()


@contextlib.contextmanager
def run_on_page(port: int) -> Iterator[RunOnPage]:
    """Serves what runs show while the block runs, and then until Ctrl-C."""
    history = History()
    with serving(history, port) as served:
        click.echo(served.url, err=True)
        yield RunOnPage(history)
        history.over("the run is over")
        with contextlib.suppress(KeyboardInterrupt):
            click.echo("the page stays until Ctrl-C", err=True)
            threading.Event().wait()
