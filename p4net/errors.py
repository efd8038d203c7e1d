"""What can be wrong with a network of P4 switches."""

from __future__ import annotations

from pcn.base.errors import LabError


class P4NetError(LabError):
    """A network, or a file of one, that can't be used: the text names the file, its line, and the
    way out."""


class NoRouteError(P4NetError):
    """A host has no route to an address."""
