"""Whether a scheme has a congestion signal in classes that PFC doesn't protect."""

from __future__ import annotations

from pcn.topologies.lossless import CONTROL_CLASS, PFC
from pcn.topologies.model import Topology

from .algorithms import Scheme


def without_signal(topology: Topology, scheme: Scheme, traffic_class: int) -> str:
    """Returns why flows of a class can't run with a scheme on the topology, and the way out:
    switches mark packets of lossless classes alone for it, and the class isn't one; empty: they
    can. In class 7, of CNPs and ACKs, no scheme's switches mark."""
    lossless = topology.lossless_classes if topology.flow_control == PFC else (traffic_class,)
    if not scheme.lossless_alone or traffic_class in (*lossless, CONTROL_CLASS):
        return ""
    wanted = ",".join(map(str, sorted({*lossless, traffic_class})))
    return (
        f"class {traffic_class} has no PFC, and switches mark packets of lossless classes alone "
        f"for {scheme.name}, which would have no signal there: lossless_classes={wanted} gives the "
        "class PFC; among others pcn, dcqcn, qcn, dctcp and hpcc have signals without"
    )
