"""Tofino 1 and Tofino 2: how their ports are numbered, their buffers divided, and their driver's
tables named."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

# Of both. A device port is 128 times its pipe, and a number in it.
PORTS_A_PIPE = 128
FRONT_PORTS = (
    64  # of a pipe; the others are the CPU's, for recirculation, and the packet generator's
)
GROUPS_A_PIPE = 128  # of the buffer, each for a port and a lossless class
MOST_CELLS = 2**19 - 1  # that the length of a queue can say
GB = 10**9
LANES_BY_SPEED = {
    10 * GB: 1,
    25 * GB: 1,
    40 * GB: 4,
    50 * GB: 2,
    100 * GB: 4,
    200 * GB: 4,
    400 * GB: 8,
}
"""As the drivers take them, unless they are given another number."""
RS_LANE_BPS = 50 * GB  # a lane of PAM4, which has no link without Reed-Solomon


@dataclass(frozen=True)
class Chip:
    """A chip. `name`: the compiler's, `title`: for people. `pipes`: how many there can be, the
    usual number first. `first_port`: of those at the front, in a pipe. `lanes`: of a connector.
    `speeds`: of ports, bit/s. `free_cells`: of the buffer, for lossless classes; the driver's own
    pools take the rest. `recirculation_port`: of each pipe. `cut_bytes`: a mirror cuts copies at
    multiples of it. `obeys_by_class`: whether a MAC obeys PFC of some classes, or of all or none.
    `tables`: in front of the names of the driver's tables. `platform`: Stratum's name."""

    name: str
    title: str
    architecture: str
    pipes: tuple[int, ...]
    first_port: int
    lanes: int
    speeds: tuple[int, ...]
    cell_bytes: int
    free_cells: int
    recirculation_port: int
    cut_bytes: int
    obeys_by_class: bool
    tables: str
    platform: str

    @property
    def last_port(self) -> int:
        """Of those at the front, in a pipe."""
        return self.first_port + FRONT_PORTS - 1

    def table(self, name: str) -> str:
        """Returns the driver's name of a table of the traffic manager."""
        return f"{self.tables}.tm.{name}"

    def cells(self, size: int) -> int:
        """Returns the number of buffer cells for `size` bytes."""
        return -(-size // self.cell_bytes)


TOFINO: Final = Chip(
    "tofino",
    "Tofino 1",
    "tna",
    pipes=(2, 4),
    first_port=0,
    lanes=4,
    speeds=(10 * GB, 25 * GB, 40 * GB, 50 * GB, 100 * GB),
    cell_bytes=80,
    free_cells=180 * 1024,  # of 280 * 1024
    recirculation_port=68,
    cut_bytes=1,
    obeys_by_class=True,
    tables="tf1",
    platform="PLT_GENERIC_BAREFOOT_TOFINO",
)
TOFINO2: Final = Chip(
    "tofino2",
    "Tofino 2",
    "t2na",
    pipes=(4, 2),
    first_port=8,
    lanes=8,
    speeds=tuple(LANES_BY_SPEED),
    cell_bytes=176,
    # Of 384 * 1024: ingress may hold 250 * 1024 altogether, of which the pool of the other classes
    # has up to 80,579.
    free_cells=171 * 1024,
    recirculation_port=6,
    cut_bytes=4,
    obeys_by_class=False,
    tables="tf2",
    platform="PLT_GENERIC_BAREFOOT_TOFINO2",
)
CHIPS: Final = {chip.name: chip for chip in (TOFINO, TOFINO2)}
