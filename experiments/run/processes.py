"""A run in virtual time in several processes, as `mpirun` starts them: the first one is the
command, with its output and its files; the others have parts of its networks, and print nothing.

    mpirun -n 4 pcn run traffic --clock virtual --topology clos
"""

from __future__ import annotations

import contextlib
import io
import pickle
import time
from collections.abc import Callable
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from pcn.base.errors import LabError, error_text
from pcn.base.signals import Terminated
from pcn.experiments.data.plan import Plan
from pcn.experiments.define.experiment import Variant
from pcn.topologies import extras

if TYPE_CHECKING:
    from pcn.virtualnet.parts import Transport

_LAST_S = 30.0
"""How long a process that has given up waits to be ended with the first one, which prints why."""


@dataclass(frozen=True)
class Task:
    """A run that all processes carry out, each its part."""

    plan: Plan
    variant: Variant


def _read_only(values: dict[Any, Any]) -> MappingProxyType[Any, Any]:
    return MappingProxyType(values)


class _TaskPickler(pickle.Pickler):
    """Pickles read-only mappings, too."""

    def reducer_override(self, value: object) -> Any:
        if isinstance(value, MappingProxyType):
            return _read_only, (dict(value),)
        return NotImplemented


_LEADER: list[Any] = []
"""The world that this process leads."""


def transport() -> Transport | None:
    """Returns what carries letters between the processes of this command; None: it has one."""
    return _LEADER[0] if _LEADER else None


def announce(task: Task) -> None:
    """Has the other processes begin with their parts of a run, as this one does next."""
    file = io.BytesIO()
    _TaskPickler(file, pickle.HIGHEST_PROTOCOL).dump(task)
    _LEADER[0].send_all(file.getvalue())


def lead(command: Callable[[], int], carry_out: Callable[[Task, Transport], None]) -> int:
    """Runs a command in the first of the processes that a launcher has started, while the others
    wait for their parts of its runs, and `carry_out` these. Returns its exit code; in the others
    that is 0, or 1 where it failed. Raises MissingExtraError, what the command raises, and
    OtherProcessError where another process has failed."""
    extras.require("mpi")
    from pcn.virtualnet import mpi
    from pcn.virtualnet.parts import OtherProcessError

    world = mpi.World()
    if world.number:
        return _follow(world, carry_out)
    _LEADER.append(world)
    try:
        code = command()
    except OtherProcessError:
        raise
    except BaseException as error:
        world.give_up(_reason(error))
        raise
    finally:
        _LEADER.clear()
    world.send_all(b"")
    world.close()
    return code


def _follow(world: Any, carry_out: Callable[[Task, Transport], None]) -> int:
    """Carries out parts of runs until the command is over. What fails here, the command prints."""
    from pcn.virtualnet.parts import OtherProcessError

    try:
        while letter := world.receive():
            carry_out(pickle.loads(letter), world)
    except OtherProcessError:
        return _wait_to_end()
    except (KeyboardInterrupt, Terminated):
        world.give_up("interrupted")
        return _wait_to_end()
    except Exception as error:
        world.give_up(f"process {world.number}: {_reason(error)}")
        return _wait_to_end()
    world.close()
    return 0


def _wait_to_end() -> int:
    """Leaves it to the first process to end all: a launcher does as soon as one has failed."""
    with contextlib.suppress(KeyboardInterrupt, Terminated):
        # the launcher's SIGTERM ends the wait: no message follows the first process's end
        time.sleep(_LAST_S)
    return 1


def _reason(error: BaseException) -> str:
    if isinstance(error, LabError):
        return str(error)
    return error_text(error) if isinstance(error, Exception) else "interrupted"
