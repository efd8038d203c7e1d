"""Constants of every program of p4src (p4src/shared/constants.p4) and of PFC, which the p4info
lacks."""

from __future__ import annotations

CLASSES = 8
PORTS = 512  # of a register or counter with a cell a port; CELLS: with one a port and class
CELLS = PORTS * CLASSES
ROCE_CLASS = 3
# registers of what each port and class has admitted, and hasn't sent
WAITING = (
    "waiting_packets",
    "waiting_bytes",
)
RECIRCULATION_PORT = 510  # internal, where clones become PFC frames
# internal, where what a switch's packet generator makes comes in (p4src/v1model/generated.p4)
GENERATOR_PORT = 508
PFC_BYTES = 60  # of a PFC frame, without FCS
MAX_QUANTA = 0xFFFF  # of a PFC frame, whose field has 16 bits
# Of links, bit/s, by the type that telemetry has of a rate (p4src/v1model/telemetry.p4); type 0:
# none.
TELEMETRY_RATES_BPS = (
    0.0, 100e6, 1e9, 2.5e9, 5e9, 10e9, 20e9, 25e9, 40e9, 50e9, 56e9, 100e9, 200e9, 400e9, 800e9,
    1600e9,
)  # fmt: skip


def index(port: int, traffic_class: int = ROCE_CLASS) -> int:
    """Returns the cell of a port and class in the data plane's registers and counters (`dropped`:
    of a port and reason)."""
    return port * CLASSES + traffic_class
