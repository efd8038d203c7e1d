"""Sweeps: thousands of runs, declared, carried out in processes here or on a cluster, kept one by
one.

    task.py      what is to be run, and running it
    store.py     what has been run, as files
    pool.py      processes of this machine, by pipes
    cluster.py   the workers of a Dask scheduler
    executor.py  runs what isn't in the store yet

These don't depend on a run's content: a task names a function and its arguments. What they run for
experiments:

    run_task.py         an experiment's run as a task
    figures.py          a figure: its runs, checks and files
    parameter_sweep.py  schemes, seeds and parameters in every combination
"""
