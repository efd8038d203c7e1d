"""Experiments: what papers claim, run, measured, and compared. `from pcn import run` runs one."""
