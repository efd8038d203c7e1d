"""Experiments: what papers claim, run, measured, and held against it. `from pcn import run` runs one."""
