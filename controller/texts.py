"""Times and marks for people."""

from __future__ import annotations

from pcn.base.units import quantity_text


def dilated_text(seconds: float, dilation: float) -> str:
    """Returns a nominal time of a network that runs `dilation` times slower, and how long one waits
    for it."""
    return (
        f"{quantity_text('time', seconds)} nominal, {quantity_text('time', seconds * dilation)} "
        "real"
    )


def marks_text(ce: float, ue: float) -> str:
    """Returns the shares of packets marked CE and UE, for people: `1.2%`, and with UE `1.2%, UE
    30.0%`."""
    return f"{ce:.1%}, UE {ue:.1%}" if ue else f"{ce:.1%}"
