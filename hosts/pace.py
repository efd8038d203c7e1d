"""Whether an agent keeps pace: what it sent against what the rates allowed, in windows of real
time."""

from __future__ import annotations

from .nic import Nic
from .nics import Nics


class PaceMeter:
    """`kept` as long as every window reached `LEAST_SHARE`; `worst` is the least share of any
    window."""

    LEAST_SHARE = 0.95
    WINDOW_REAL_S = 1.0
    # A window must allow this many frames, and its edges may cut some frames of each flow
    LEAST_FRAMES = 100
    SLACK_FRAMES = 3
    USUAL_FRAME_BITS = 8464

    def __init__(self, nic: Nic | Nics) -> None:
        self.worst = 1.0
        self._nic = nic
        self._began: float | None = None
        self._allowed_bits = 0.0
        self._started_bits = 0

    @property
    def met(self) -> bool:
        return self.worst >= self.LEAST_SHARE

    def check(self, now_s: float, real_s: float) -> float | None:
        """Returns the share of the window that ends now, None if it goes on. Call after
        `Nic.advance`."""
        nic = self._nic
        nic.account(now_s)
        frame_bits = max((flow.frame_bits for flow in nic.flows), default=self.USUAL_FRAME_BITS)
        allowed = nic.allowed_bits - self._allowed_bits
        if self._began is not None and real_s - self._began < self.WINDOW_REAL_S:
            return None
        if self._began is not None and 0 < allowed < self.LEAST_FRAMES * frame_bits:
            return None
        share = None
        if self._began is not None and allowed > 0:
            slack = self.SLACK_FRAMES * frame_bits * len(nic.flows)
            share = min(1.0, (nic.started_bits - self._started_bits + slack) / allowed)
            self.worst = min(self.worst, share)
        self._began = real_s
        self._allowed_bits = nic.allowed_bits
        self._started_bits = nic.started_bits
        return share
