"""Runs a module as `python -m` does, without a look into the current folder, which may have any
user's `signal.py`.

    python run_module.py MODULE [ARGUMENT ...]

Python searches a script's folder first, from its own start on: this folder has nothing else. `-m`
and, since Python 3.13, `-c` search the current folder, and `-P` exists only from 3.11.
"""

import gc
import sys

gc.set_threshold(50_000, 20, 50)
# Ours are found even if not installed: four folders up are those of `pcn`, in a checkout as in
# site-packages.
sys.path[:] = [*filter(None, sys.path[1:]), __file__.rsplit("/", 4)[0]]
del sys.argv[0]

import runpy  # noqa: E402

runpy.run_module(sys.argv[0], run_name="__main__", alter_sys=True)
