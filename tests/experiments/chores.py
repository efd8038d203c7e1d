"""What sweeps of tests run: found by this module's name, in whichever process."""

from __future__ import annotations

import os
import threading
import time
from pathlib import Path


def square(number: float) -> float:
    return number * number


def fail(what: str) -> None:
    raise RuntimeError(what)


def die() -> None:
    os._exit(3)


def hog(megabytes: int) -> int:
    """Has so much for as long as Dask needs to see it."""
    kept = bytearray(b"x") * (megabytes << 20)
    threading.Event().wait()
    return len(kept)


def once(file: str, number: float) -> float:
    """Once the file is there."""
    while not Path(file).exists():
        time.sleep(0.01)
    return square(number)


def wait(place: str) -> str:
    """Says that it runs, and goes on until it is ended."""
    Path(place, str(os.getpid())).touch()
    threading.Event().wait()
    return place
