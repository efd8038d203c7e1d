"""Names that go: see docs/stability.md."""


class OldNameWarning(DeprecationWarning):
    """A name that works in this release, and not in the next: the message has the new one. `pcn`
    prints it."""
