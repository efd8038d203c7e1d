"""What fills the live page: looks at a network that is up, a run in virtual time as it goes on, or
a kept result."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Callable, Iterator
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pcn.base.errors import LabError
from pcn.escape import visible
from pcn.web.history import History
from pcn.web.recorded import described, recorded
from pcn.web.run import RunOnPage
from pcn.web.server import serving, stay

if TYPE_CHECKING:
    from pcn.lab.attach import Attached
    from pcn.lab.observe import Snapshot

_LOG_LINES = 20
"""Of a node's log, at most, in a frame."""


def show_network(
    lab: Attached, look: Callable[[], Snapshot], wait: Callable[[], None], port: int, control: bool
) -> None:
    """Serves a network that is up, with each look, until Ctrl-C or its end. `wait` returns when to
    look."""
    from pcn.base.errors import error_text
    from pcn.commands.log import as_text
    from pcn.lab.logs import PERIODIC, Reader

    record, history = lab.record, History()
    history.begin(
        described(
            lab.topology,
            scheme=record.has_scheme,
            title=f"{record.name}: {record.description}",
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


def show_result(place: Path, port: int, say: Callable[[str], None]) -> None:
    """Serves the run that a folder keeps, until Ctrl-C; `say` gets the page's address. Raises
    LabError."""
    with serving(recorded(place), port) as served:
        say(served.url)
        threading.Event().wait()


@contextlib.contextmanager
def run_on_page(port: int) -> Iterator[RunOnPage]:
    """Serves what runs show while the block runs, and then until Ctrl-C."""
    history = History()
    with serving(history, port) as served:
        click.echo(served.url, err=True)
        yield RunOnPage(history)
        history.over("the run is over")
        stay(served.url)
