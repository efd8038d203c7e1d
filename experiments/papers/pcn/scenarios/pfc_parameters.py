"""PFC's thresholds as scenarios' parameters."""

from __future__ import annotations

from pcn.experiments.data.parameters import Parameter

PFC_PARAMETERS = (
    Parameter(
        "xoff",
        "size",
        512_000,
        "PFC sends PAUSE above this many bytes per ingress port and class",
        5_000,
        1e9,
    ),
    Parameter("xon", "size", None, "and RESUME below this", 0, 1e9, "xoff less two frames"),
)
