"""Fixtures of several files of this folder."""

from explained_runs import mixed, victim

__all__ = ["mixed", "victim"]
