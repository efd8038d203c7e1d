"""Signals that wait until it is safe: Ctrl-C at any moment finds everything either made and noted,
or not made."""

from __future__ import annotations

import _thread
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

from pcn.base import startup

_AGAIN_S = 0.01
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class Terminated(BaseException):
    """A signal requests the process's end (SIGTERM, SIGHUP). Like KeyboardInterrupt no `Exception`:
    no code continues."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def raise_signal(number: int) -> None:
    """Raises what the signal means to Python code."""
    if number == signal.SIGINT:
        raise KeyboardInterrupt
    raise Terminated(number)


def _raise(number: int, frame: FrameType | None) -> None:
    if _can_raise(frame):
        raise_signal(number)
    else:
        _later(number)


def in_main_thread() -> bool:
    return threading.current_thread() is threading.main_thread()


def heed_interrupts() -> None:
    """SIGINT raises KeyboardInterrupt in a script's background job, too, which starts with it
    ignored: who sends it means it. Outside the main thread, which alone gets signals, it does
    nothing."""
    if in_main_thread():
        startup.begun()
        if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
            signal.signal(signal.SIGINT, signal.default_int_handler)


@contextlib.contextmanager
def raising() -> Iterator[None]:
    """Makes SIGTERM and SIGHUP raise `Terminated` in the block, where they would have killed the
    process without clean-up. No signal is lost that comes while Python can't raise: in a
    destructor, in an import's weak reference, in `__set_name__` of a class that is made (of what
    that raises, Python up to 3.11 makes a RuntimeError).

    Handlers of other code are left alone. Outside the main thread, which alone gets signals, it
    does nothing.
    """
    changed: dict[signal.Signals, Any] = {}
    hook = sys.unraisablehook
    if in_main_thread():
        sys.unraisablehook = functools.partial(_again, hook)
        for number in SIGNALS:
            if signal.getsignal(number) in (signal.SIG_DFL, signal.default_int_handler):
                changed[number] = signal.signal(number, _raise)
    try:
        yield
    finally:
        for number, old in changed.items():
            signal.signal(number, old)
        if in_main_thread():
            sys.unraisablehook = hook


def _again(
    otherwise: Callable[[sys.UnraisableHookArgs], object], lost: sys.UnraisableHookArgs
) -> None:
    """Sends a signal again whose exception Python has dropped."""
    if isinstance(lost.exc_value, Terminated):
        _later(lost.exc_value.number)
    elif lost.exc_type is KeyboardInterrupt:
        _later(signal.SIGINT)
    else:
        otherwise(lost)


def _can_raise(frame: FrameType | None) -> bool:
    """Returns whether what is raised in a frame gets out of it as it is."""
    while frame is not None:
        if frame.f_code is _again.__code__ or frame.f_code.co_name == "__set_name__":
            return False
        frame = frame.f_back
    return True


def _later(number: int) -> None:
    """Sends a signal again once the main thread can raise it: from another thread, as this one has
    to go on. Not by `Thread.start`, where a second signal would wait for a lock that the first
    one's handler has."""
    _thread.start_new_thread(_send_again, (number,))


def _send_again(number: int) -> None:
    main = threading.main_thread().ident
    assert main is not None  # it runs
    while True:
        # nothing reports that the main thread has left a frame
        time.sleep(_AGAIN_S)
        if _can_raise(sys._current_frames().get(main)):
            signal.pthread_kill(main, number)
            return


def wait() -> NoReturn:
    """Waits until a signal raises. (`signal.pause` would sleep through one that came just before
    it.)"""
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
    """Signals wait until `Deferred.check`, or until the end of the block, where the one that waits
    is raised. `once`: a second one doesn't wait, since a user's code may hang.

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
            # the end of `raising` within the block has set its own
            if signal.getsignal(number) is note:
                signal.signal(number, handler)
        state.check()
