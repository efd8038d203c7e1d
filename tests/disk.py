"""A disk that gets full and free again, for logs that must live with it: by the limit that a
process has for files."""

import resource
from collections.abc import Callable, Sequence
from pathlib import Path

from hypothesis import strategies as st

Steps = st.lists(
    st.one_of(st.integers(0, 200), st.none(), st.just("write"), st.just("flush")), max_size=40
)
"""A number: bytes of room; None: unlimited room."""


def play_steps(
    path: Path,
    steps: Sequence[int | str | None],
    write: Callable[[int], object],
    flush: Callable[[], object],
) -> int:
    """Writes lines 0, 1, ... to a log whose file is `path`; at last there is room. How many lines.
    For a child process, whose limit it changes."""
    _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    lines = 0
    for step in [*steps, "flush", None, "flush"]:
        if step == "write":
            write(lines)
            lines += 1
        elif step == "flush":
            flush()
        else:
            room = resource.RLIM_INFINITY if step is None else path.stat().st_size + int(step)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, hard))
    return lines
