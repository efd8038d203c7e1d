"""Tables of what a run recorded on request: events.parquet, queues.parquet, and parts of flows in
flows.parquet."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from pcn.experiments.data.records import Queues, Recorded

if TYPE_CHECKING:
    from pcn.topologies.model import FlowSpec
    from pcn.virtualnet.pfc_log import PfcEvents


def recorded_tables(
    recorded: Recorded, flows: Sequence[FlowSpec] = ()
) -> Mapping[str, Mapping[str, Any]]:
    """Returns the columns, by the table's name. `flows`: the topology's; none where the experiment
    has a table of them."""
    tables = dict(_tables(recorded))
    if flows and recorded.parts is not None:
        tables["flows"] = {
            "id": [flow.id for flow in flows],
            "src": [flow.src for flow in flows],
            "dst": [flow.dst for flow in flows],
            "class": [flow.traffic_class for flow in flows],
            **recorded.parts.columns(),
        }
    return tables


def _tables(recorded: Recorded) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if recorded.events is not None:
        yield "events", _events(recorded.events)
    if recorded.queues is not None:
        yield "queues", _queues(recorded.queues)


def _events(events: PfcEvents) -> Mapping[str, Any]:
    """Returns a row a PFC frame that was queued, or that took effect."""
    from pcn.experiments.data import parquet  # an extra
    from pcn.virtualnet.pfc_log import KINDS

    nodes = list(dict.fromkeys(port.node for port in events.ports))
    node_of = np.array([nodes.index(port.node) for port in events.ports], np.int32)
    port_of = np.array([port.port for port in events.ports], np.int64)
    return {
        "time_s": events.times_s,
        "node": parquet.labels(nodes, node_of[events.which]),
        "port": port_of[events.which],
        "class": events.classes.astype(np.int64),
        "event": parquet.labels(KINDS, events.kinds),
    }


def _queues(queues: Queues) -> Mapping[str, Any]:
    """Returns a row a port and time, by time."""
    from pcn.experiments.data import parquet  # an extra

    ports = [str(port) for port in queues.ports]
    times, columns = queues.values.shape
    return {
        "time_s": np.repeat(queues.times_s, columns),
        "port": parquet.labels(ports, np.tile(np.arange(columns, dtype=np.int32), times)),
        "queue_bytes": queues.values.ravel(),
    }
