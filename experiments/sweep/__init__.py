"""Sweeps: thousands of runs, declared, carried out by Dask or in this process, kept one by one.

    task.py     what is to be run, and running it
    store.py    what has been run, as files
    cluster.py  Dask's workers: on this machine, or a scheduler's
    sweep.py    runs what isn't in the store yet

Nothing here knows what a run is about: a task names a function and its arguments.
"""
