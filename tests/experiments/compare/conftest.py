"""Fixtures of several files of this folder."""

from compared_runs import results

__all__ = ["results"]
