"""Signals at the worst moment: to a thread that is not the main one, which sleeps, just before it
sleeps, in a destructor, as a class is made."""

import subprocess
import sys

import pytest
from waiting import LIMIT_S

_ENDS = {
    "a network's process": """
from pcn.base import signals
try:
    with signals.raising():
        begin()
        signals.wait()
except signals.Terminated:
    sys.exit(7)
""",
    "a switch": """
from pcn.softswitch.cli import End
end = End()
begin()
end.wait()
sys.exit(7 if end.requested else 1)
""",
}
_TO_A_THREAD = """
def begin():
    main = threading.main_thread().ident
    def later():
        while sys._current_frames()[main].f_code.co_name != "wait":
            time.sleep(0.01)
        signal.pthread_kill(threading.get_ident(), signal.SIGTERM)
    threading.Thread(target=later, daemon=True).start()
"""
_BEFORE = """
def begin():
    signal.pthread_kill(threading.main_thread().ident, signal.SIGTERM)
"""
_IN_A_DESTRUCTOR = """
class Ending:
    def __del__(self):
        signal.raise_signal(signal.SIGTERM)
def begin():
    Ending()
"""
_AS_A_CLASS_IS_MADE = """
class Field:
    def __set_name__(self, owner, name):
        signal.raise_signal(signal.SIGTERM)
def begin():
    try:
        type("Frame", (), {"quanta": Field()})
    except Exception:
        pass
"""


@pytest.mark.parametrize("when", [_TO_A_THREAD, _BEFORE], ids=["to a thread", "before"])
@pytest.mark.parametrize("wait", _ENDS)
def test_a_signal_ends_a_wait(wait, when):
    code = f"import signal, sys, threading, time\n{when}\n{_ENDS[wait]}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stderr) == (7, "")


@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_a_signal_is_not_lost_where_the_machine_stalls_while_it_is_sent_again(number):
    """Python raises nothing out of the hook for dropped exceptions, either."""
    stalls = """
import _thread, time
start = _thread.start_new_thread
def stalled(*arguments):
    start(*arguments)
    time.sleep(0.3)
_thread.start_new_thread = stalled
"""
    ends = _ENDS["a network's process"].replace(
        "signals.Terminated", "(signals.Terminated, KeyboardInterrupt)"
    )
    code = f"import signal, sys\n{stalls}{_IN_A_DESTRUCTOR.replace('SIGTERM', number)}\n{ends}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stderr) == (7, "")


@pytest.mark.parametrize(
    "where", [_IN_A_DESTRUCTOR, _AS_A_CLASS_IS_MADE], ids=["a destructor", "a class is made"]
)
@pytest.mark.parametrize("number", ["SIGTERM", "SIGINT"])
def test_a_signal_that_python_cannot_raise_where_it_comes_is_not_lost(number, where):
    """As while an import ends: there Python prints "Exception ignored in ..." and goes on, or
    raises a RuntimeError. No block that catches every Exception takes it for a fault."""
    ends = _ENDS["a network's process"].replace(
        "signals.Terminated", "(signals.Terminated, KeyboardInterrupt)"
    )
    code = f"import signal, sys\n{where.replace('SIGTERM', number)}\n{ends}"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=LIMIT_S, check=False
    )
    assert (done.returncode, done.stderr) == (7, "")
