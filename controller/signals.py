"""Signals that wait until it is safe: Ctrl-C at any moment finds everything either made and noted, or not made."""

from __future__ import annotations

import contextlib
import functools
import signal
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any, NoReturn

_AGAIN_S = 0.01
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(BaseException):
    """The process was asked to end (SIGTERM, SIGHUP). Like KeyboardInterrupt no `Exception`: nobody means to go on."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def raise_signal(number: int) -> None:
    """Raises what the signal means to Python code."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise Terminated(number)


def _raise(number: int, _frame: FrameType | None) -> None:
    raise_signal(number)


def in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def heed_interrupts() -> None:
    """SIGINT raises KeyboardInterrupt in a script's background job, too, which starts with it ignored: who sends it
    means it. Outside the main thread, which alone gets signals, it does nothing."""
    if in_main_thread() and signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """While it lasts SIGTERM and SIGHUP raise `Terminated` where they would have killed the process without clean-up,
    and no signal is lost that comes while Python can't raise: in a destructor, in an import's weak reference. Nor does
    one pass for a fault that comes while a class is made: up to Python 3.11 what is raised in `__set_name__`, as
    dataclasses have it, is the cause of a RuntimeError.

    Handlers that somebody else set are left alone. Outside the main thread, which alone gets signals, it does nothing.
    """
    changed: dict[signal.Signals, Any] = {}
    hook = sys.unraisablehook
    if in_main_thread():
        sys.unraisablehook = functools.partial(_again, hook)
        for number in (signal.SIGTERM, signal.SIGHUP):
            if signal.getsignal(number) is signal.SIG_DFL:
                changed[number] = signal.signal(number, _raise)
    try:
        yield
    except RuntimeError as error:
        if isinstance(error.__cause__, (KeyboardInterrupt, Terminated)):
            raise error.__cause__ from None
        raise
    finally:
        for number, old in changed.items():
            signal.signal(number, old)
        if in_main_thread():
            sys.unraisablehook = hook


def _again(otherwise: Callable[[sys.UnraisableHookArgs], object], lost: sys.UnraisableHookArgs) -> None:
    """Sends a signal again whose exception Python has dropped, from a thread: here it would be dropped, too."""
    if isinstance(lost.exc_value, Terminated):
        number = lost.exc_value.number
    elif lost.exc_type is KeyboardInterrupt:
        number = signal.SIGINT
    else:
        otherwise(lost)
        return
    threading.Thread(target=_send_again, args=(number, threading.main_thread().ident), daemon=True).start()


def _send_again(number: int, main: int) -> None:
    """Once the main thread has left the hook: within it, a second exception would be dropped for good."""
    while True:
        time.sleep(_AGAIN_S)
        frame = sys._current_frames().get(main)
        while frame is not None and frame.f_code is not _again.__code__:
            frame = frame.f_back
        if frame is None:
            signal.pthread_kill(main, number)
            return


def wait() -> NoReturn:
    """Until a signal raises. (`signal.pause` would sleep through one that came just before it.)"""
    reader, writer = socket.socketpair()
    with reader, writer:
        writer.setblocking(False)
        before = signal.set_wakeup_fd(writer.fileno())
        try:
            while True:
                reader.recv(1)
        finally:
            signal.set_wakeup_fd(before)


class Deferred:
    """The first signal that came while signals were deferred."""

    def __init__(self) -> None:
        self.number: int | None = None

    def check(self) -> None:
        """Raises the signal that waits, if any: called where stopping is safe."""
        if self.number is not None:
            number, self.number = self.number, None
            raise_signal(number)


@contextlib.contextmanager
def deferred(once: bool = False) -> Iterator[Deferred]:
    """Signals wait until `Deferred.check`, or until the end of the block, where the one that waits is raised. `once`:
    a second one doesn't wait, where somebody's code may hang.

    An exception of the block's own gives way to the signal: it most likely followed from it.
    """
    state = Deferred()
    old: dict[signal.Signals, Any] = {}

    def note(number: int, _frame: FrameType | None) -> None:
        if state.number is not None and once:
            raise_signal(number)
        if state.number is None:
            state.number = number

    if in_main_thread():
        for number in SIGNALS:
            if signal.getsignal(number) is not signal.SIG_IGN:
                old[number] = signal.signal(number, note)
    try:
        yield state
    finally:
        for number, handler in old.items():
            if signal.getsignal(number) is note:  # the end of `raising` within the block has set its own
                signal.signal(number, handler)
        state.check()
