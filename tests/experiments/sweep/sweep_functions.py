"""Functions that sweeps of tests run: found by this module's name, in whichever process."""

import os
import signal
import subprocess
import threading
import time
from pathlib import Path


def square(number: float) -> float:
    return number * number


def fail(message: str):
    raise RuntimeError(message)


def die():
    os._exit(3)


def kill():
    os.kill(os.getpid(), signal.SIGKILL)


def hog(megabytes: int) -> int:
    """Takes memory until it is ended for it."""
    memory = bytearray(b"x") * (megabytes << 20)
    threading.Event().wait()
    return len(memory)


def once(file: str, number: float) -> float:
    """Once the file is there."""
    while not Path(file).exists():
        time.sleep(0.01)
    return square(number)


def wait(place: str, n: int = 0) -> str:
    """Reports that it runs, and runs until it is ended."""
    del n
    Path(place, str(os.getpid())).touch()
    threading.Event().wait()
    return place


def first_waits(place: str) -> int:
    """As `wait`, but the first time alone; then how often it has begun."""
    begun = len(list(Path(place).iterdir()))
    if not begun:
        wait(place)
    return begun + 1


def start(program: str) -> int:
    """Leaves a child that would go on; its pid."""
    return subprocess.Popen([program, "1000000"]).pid
