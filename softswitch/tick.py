"""The tick of the clock that programs read: what a timestamp of v1model's standard metadata
counts."""

from typing import Final

TICK_NS: Final = 1000
"""BMv2's, which the embedded switch has by default; it may tick as often as once a ns."""
