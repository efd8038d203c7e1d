"""The agent's clock: the only place that uses the dilation factor.

Real time is `time.monotonic()`, which all processes of a machine share. Nominal time is that of the
modelled network: it passes `dilation` times slower. It counts from an origin that never changes, so
that timers stay valid; what the agent reports counts from the epoch, which a command sets.
"""

from __future__ import annotations

import time


class DilatedClock:
    """Nominal seconds since `origin`: when the clock was made, or another reading of
    `time.monotonic()`."""

    def __init__(self, dilation: float, origin: float | None = None) -> None:
        self.dilation = dilation
        self.origin = time.monotonic() if origin is None else origin
        self._rate = 1 / dilation
        self._epoch = 0.0

    def now(self) -> float:
        return (time.monotonic() - self.origin) * self._rate

    def nominal(self, monotonic_s: float) -> float:
        """Returns the nominal time at a reading of `time.monotonic()`."""
        return (monotonic_s - self.origin) * self._rate

    def real(self, nominal_s: float) -> float:
        """Returns the length of a nominal duration on this machine."""
        return nominal_s * self.dilation

    def set_epoch(self, monotonic_s: float) -> None:
        """Reports count from this reading of `time.monotonic()`."""
        self._epoch = self.nominal(monotonic_s)

    def since_epoch(self, nominal_s: float) -> float:
        return nominal_s - self._epoch
