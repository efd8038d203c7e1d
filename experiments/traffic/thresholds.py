"""Marks' thresholds that belong to slower links than a network has."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from pcn.experiments.data.parameters import Value
from pcn.experiments.define import scheme_parameters
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.algorithms.parameters import describe
from pcn.softswitch.units import quantity_text
from pcn.topologies.model import Topology

_FIELDS = ("k_min_bytes", "k_max_bytes")


def unfit(scheme: str, values: Mapping[str, Value], topology: Topology) -> Iterator[str]:
    """Yields a remark where RED's thresholds are the scheme's defaults, and a switch's link is faster than those it is
    for: marks then begin at a queue that is short for the link, and flows stay below its rate."""
    found = find_scheme(scheme)
    if not found.marking_bps:
        return
    given = scheme_parameters.fields(scheme, values)
    defaults = {one.field: one.default for one in describe(found.parameters)}
    if any(given[field] != defaults[field] for field in _FIELDS):
        return
    rates = [
        topology.link_at(switch.name, port).rate_bps
        for switch in topology.switches
        for port in topology.ports(switch.name)
        if not any(one.applies(port, topology.link_at(switch.name, port).rate_bps) for one in switch.ecn)
    ]
    if max(rates, default=0.0) <= found.marking_bps:
        return
    names = [scheme_parameters.name_of(scheme, field, values) for field in _FIELDS]
    usual = " and ".join(
        f"{name}={quantity_text('size', given[field])}" for name, field in zip(names, _FIELDS, strict=True)
    )
    other = ", or take --scheme dcqcn-ns3" if scheme == "dcqcn" else ""
    yield (
        f"{scheme}: {usual} are for links of {quantity_text('rate', found.marking_bps)}, and links here have up to "
        f"{quantity_text('rate', max(rates))}: set them for these{other}"
    )
