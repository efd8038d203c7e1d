"""A port that is paused for as long as the test wants."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from waiting import LIMIT_S, wait_until

from pcn.controller.constants import index
from pcn.lab.lab import Lab
from pcn.lab.pause import Pause, pause, resume


@contextmanager
def held(lab: Lab, switch: str, port: int) -> Iterator[list[Pause]]:
    """Paused by `pause` without an end, which `resume` ends; the list then has what was sent."""
    pauses: list[Pause] = []
    thread = threading.Thread(target=lambda: pauses.append(pause(lab, switch, port)))
    thread.start()
    try:
        wait_until(
            lambda: lab.switches[switch].read_register("tx_paused", index(port)) == 1, "the PAUSE"
        )
        yield pauses
    finally:
        resume(lab, switch, port)
        thread.join(LIMIT_S)
    assert pauses[0].resumed
