"""QCN's congestion points at outputs with separate buffers: the table of
p4src/v1model/qcn_out_cp.p4."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pcn.controller.control_plane import TableAction, TableEntry, TableMatch
from pcn.controller.marking import qcn_cp
from pcn.controller.marking.qcn_cp import CNM_CLONE_SESSION, QcnPort
from pcn.controller.marking_contract import Setting
from pcn.topologies.model import Topology

TABLE = "qcn_out_config"
CLONE_SESSIONS = (CNM_CLONE_SESSION,)
SETTINGS = (
    Setting("out_q_eq", "size", "set point of an output's buffer (QCN)", 1, 2**31 - 1),
    Setting("out_w", "count", "weight of its growth", 0, 255),
    Setting("out_sample", "size", "bytes between two of its samples, on average", 1, 2**31 - 1),
)
_OUT = "out_"  # the inputs' settings of the same program go without


@dataclass(frozen=True)
class QcnOutPort(QcnPort):
    """One egress port."""

    def entries(self) -> list[TableEntry]:
        action = TableAction("set_qcn_out", **self.arguments())
        return [TableEntry(TABLE, match=TableMatch(port=self.port), action=action)]


def configure(
    topology: Topology, switch: str, port: int, dilation: float, parameters: Any
) -> QcnOutPort:
    return _of(qcn_cp.configure(topology, switch, port, dilation, parameters))


def show(arguments: Mapping[str, int]) -> dict[str, float]:
    return {_OUT + name: value for name, value in qcn_cp.show(arguments).items()}


def change(port: int, arguments: Mapping[str, int], values: Mapping[str, float]) -> QcnOutPort:
    return _of(
        qcn_cp.change(
            port, arguments, {name.removeprefix(_OUT): value for name, value in values.items()}
        )
    )


def _of(port: QcnPort) -> QcnOutPort:
    return QcnOutPort(port.port, port.q_eq_bytes, port.w, port.sample_bytes, port.adaptive)
