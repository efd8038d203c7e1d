"""A topology as JSON and back: so that a process can work with a network that another one holds."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from pcn.topologies.buffers import Share, SharedBuffer
from pcn.topologies.ecn import EcnThresholds
from pcn.topologies.model import Endpoint, FlowSpec, Host, Link, OutputBuffer, Switch, Topology
from pcn.topologies.schedules import Schedule
from pcn.topologies.watchdog import Watchdog


def to_dict(topology: Topology) -> dict[str, Any]:
    """Returns what JSON can hold; `from_dict` gives an equal topology."""
    return {
        "name": topology.name,
        "hosts": [asdict(host) for host in topology.hosts],
        "switches": [_listed(asdict(switch)) for switch in topology.switches],
        "links": [asdict(link) for link in topology.links],
        "flows": [_listed(asdict(flow)) for flow in topology.flows],
        "parameters": dict(topology.parameters),
        "flow_control": topology.flow_control,
    }


def _listed(value: Any) -> Any:
    """Returns the value with lists in place of tuples, as JSON has them."""
    if isinstance(value, dict):
        return {name: _listed(member) for name, member in value.items()}
    return [_listed(element) for element in value] if isinstance(value, list | tuple) else value


def from_dict(raw: dict[str, Any]) -> Topology:
    return Topology(
        name=raw["name"],
        hosts=tuple(Host(**host) for host in raw["hosts"]),
        switches=tuple(_switch(switch) for switch in raw["switches"]),
        links=tuple(
            Link(**{**link, "a": Endpoint(**link["a"]), "b": Endpoint(**link["b"])})
            for link in raw["links"]
        ),
        flows=tuple(
            FlowSpec(
                **{**flow, "after": tuple(flow["after"]), "after_s": tuple(flow.get("after_s", ()))}
            )
            for flow in raw["flows"]
        ),
        parameters=raw["parameters"],
        flow_control=raw["flow_control"],
    )


def _switch(raw: dict[str, Any]) -> Switch:
    fields = dict(raw)
    if raw.get("output") is not None:
        fields["output"] = OutputBuffer(**raw["output"])
    if raw.get("buffer") is not None:
        shares = tuple(Share(**share) for share in raw["buffer"]["shares"])
        fields["buffer"] = SharedBuffer(raw["buffer"]["size_bytes"], shares)
    fields["ecn"] = tuple(EcnThresholds(**thresholds) for thresholds in raw.get("ecn", ()))
    fields["schedules"] = tuple(
        Schedule(tuple(schedule["weights"]), schedule["port"])
        for schedule in raw.get("schedules", ())
    )
    if raw.get("watchdog") is not None:
        lists = {name: tuple(raw["watchdog"].get(name, ())) for name in ("ports", "classes")}
        fields["watchdog"] = Watchdog(**{**raw["watchdog"], **lists})
    return Switch(**fields)
