"""QCN's congestion point (IEEE 802.1Qau): the table of p4src/v1model/qcn_cp.p4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.marking_contract import Setting
from pcn.topologies.model import Topology

TABLE = "qcn_config"
CNM_CLONE_SESSION = 2  # p4src/shared/constants.p4 has it; the p4info can't tell
CLONE_SESSIONS = (CNM_CLONE_SESSION,)
SETTINGS = (
    Setting("q_eq", "size", "set point of an egress port's queue (QCN)", 1, 2**31 - 1),
    Setting("w", "count", "weight of the queue's growth", 0, 255),
    Setting("sample", "size", "bytes between two samples, on average", 1, 2**31 - 1),
)


@dataclass(frozen=True)
class QcnPort:
    """One egress port: the set point Q_eq, the weight w, and the bytes between two samples, if
    `adaptive` fewer the worse it is. Raises ValueError for what can't work.
    """

    port: int
    q_eq_bytes: int
    w: int
    sample_bytes: int
    adaptive: bool = True

    def __post_init__(self) -> None:
        for name, value in (("Q_eq", self.q_eq_bytes), ("sample", self.sample_bytes)):
            if not 1 <= value < 2**31:
                raise ValueError(f"{name} {value}: it must be from 1 to 2^31 - 1")
        if not 0 <= self.w <= 255:
            raise ValueError(f"w {self.w}: it must be from 0 to 255")

    @property
    def scale_q32(self) -> int:
        """63 over the F_b that has it (IEEE 802.1Qau), (2 w + 1) Q_eq, times 2^32. Rounded up, so
        that it does."""
        return -(-63 * 2**32 // ((2 * self.w + 1) * self.q_eq_bytes))

    @property
    def sample_range(self) -> tuple[int, int]:
        """15% less and more: QCN's jitter."""
        return round(self.sample_bytes * 0.85), round(self.sample_bytes * 1.15)

    def arguments(self) -> dict[str, int]:
        """Returns the arguments of the table's action."""
        sample_min, sample_max = self.sample_range
        return {
            "q_eq_bytes": self.q_eq_bytes,
            "w": self.w,
            "scale_q32": self.scale_q32,
            "sample_min_bytes": sample_min,
            "sample_max_bytes": sample_max,
            "adaptive": int(self.adaptive),
        }

    def entries(self) -> list[TableEntry]:
        return [
            TableEntry(
                TABLE,
                match=TableMatch(port=self.port),
                action=TableAction("set_qcn", **self.arguments()),
            )
        ]


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any
) -> QcnPort:
    sample, adaptive = round(parameters.sample_bytes), bool(parameters.adaptive)
    return QcnPort(port, round(parameters.q_eq_bytes), round(parameters.w), sample, adaptive)


def show(arguments: Mapping[str, int]) -> dict[str, float]:
    sample = (arguments["sample_min_bytes"] + arguments["sample_max_bytes"]) / 2
    return {"q_eq": arguments["q_eq_bytes"], "w": arguments["w"], "sample": round(sample)}


def change(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> QcnPort:
    new = {**show(arguments), **values}
    return QcnPort(
        port, round(new["q_eq"]), round(new["w"]), round(new["sample"]), bool(arguments["adaptive"])
    )
