"""What `mpirun` leaves in a process's environment: how many it has started, and which this is."""

from __future__ import annotations

import os

_WORLDS = (
    ("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_RANK"),  # Open MPI
    ("PMI_SIZE", "PMI_RANK"),  # MPICH and its kin
)

_OF_A_MACHINE = ("OMPI_COMM_WORLD_LOCAL_SIZE", "MPI_LOCALNRANKS")


def _number(name: str) -> int | None:
    text = os.environ.get(name, "")
    return int(text) if text.isascii() and text.isdecimal() else None


def processes() -> int:
    """Returns how many processes were started together, this one counted; 1: it was alone."""
    return next((number for name, _ in _WORLDS if (number := _number(name))), 1)


def on_this_machine() -> int:
    """Returns how many of them this machine has, where the launcher reports it; else all."""
    together = processes()
    here = (number for name in _OF_A_MACHINE if (number := _number(name)))
    return min(next(here, together), together)


def is_first() -> bool:
    """Returns whether this is the first of them, whose output is the command's."""
    return not any(_number(name) for _, name in _WORLDS)
