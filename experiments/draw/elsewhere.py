"""matplotlib, loaded without the matplotlibrc of the current folder, which it reads before all
others.

The folder may be another user's, or an exercise's, who had no part in how pictures are drawn. For a
user without a home it keeps its own in our cache: releases before 3.11 don't load there, later ones
warn.
"""

from __future__ import annotations

import ctypes
import os
import threading
from pathlib import Path

from pcn.softswitch.cache.objects import cache_dir

_CLONE_FS = 0x200
_FOLDER = "MPLCONFIGDIR"


def _name_a_folder() -> None:
    """Names matplotlib's folder where it has none. Raises BuildError: there is no cache."""
    if _FOLDER not in os.environ:
        try:
            Path.home()
        except RuntimeError:
            os.environ[_FOLDER] = str(cache_dir("matplotlib"))


def _load() -> None:
    """Loads it in a thread whose current folder is this package's; other threads' stays as it
    is."""
    errors: list[BaseException] = []

    def load() -> None:
        try:
            if ctypes.CDLL(None, use_errno=True).unshare(_CLONE_FS) != 0:
                raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
            os.chdir(Path(__file__).parent)
            import matplotlib  # noqa: F401
        except BaseException as error:
            errors.append(error)

    thread = threading.Thread(target=load, name="matplotlib")
    thread.start()
    thread.join()
    if errors:
        raise errors[0]


_name_a_folder()
_load()
import matplotlib as matplotlib  # noqa: E402
