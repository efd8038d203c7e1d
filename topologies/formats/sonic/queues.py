"""Weights and ECN thresholds of queues in a config_db.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from pcn.base.errors import TopologyError
from pcn.topologies.ecn import COLOURS, GREEN, EcnThresholds
from pcn.topologies.formats.sonic.fields import number_of
from pcn.topologies.tree import Node

_NEVER = 2**32 - 1
"""Bytes of a queue, from which RED would mark."""


class Scheduler(NamedTuple):
    """A row of SCHEDULER: a DWRR weight, 0 of STRICT; what its `pir` allows, 0 without one."""

    weight: int
    cap_bps: float


def scheduler_of(node: Node) -> Scheduler:
    """Returns a scheduler. Raises FormatError for what a queue hasn't here."""
    if number_of(node, "cir"):
        raise node.fail("cir: no rate is guaranteed to a queue here, beside its weight")
    cap_bps = number_of(node, "pir", 8.0) or 0.0
    if cap_bps and (meter := node.get("meter_type")) is not None and meter.text() != "bytes":
        raise node.fail(f"meter_type {meter.text()!r}: pir is in bytes a second here")
    return Scheduler(_weight_of(node), cap_bps)


def _weight_of(node: Node) -> int:
    kind = node.get("type")
    name = "" if kind is None else kind.text()
    if name == "STRICT":
        return 0
    if name != "DWRR":
        raise node.fail(f"type {name!r}: choose from DWRR and STRICT (WRR counts packets)")
    weight = number_of(node, "weight", least=1)
    if weight is None or weight > 100:
        raise node.fail("DWRR has a weight from 1 to 100")
    return int(weight)


def thresholds_by_colour(node: Node) -> tuple[EcnThresholds, ...] | None:
    """Returns thresholds by colour; None: it marks nothing."""
    ecn = node.get("ecn")
    marked = set() if ecn is None else set(ecn.text().split("_")[1:])
    marked |= set(COLOURS) if "all" in marked else set()
    if not marked & set(COLOURS):
        return None
    thresholds = []
    for colour in COLOURS:
        k_min, k_max = (number_of(node, f"{colour}_{end}_threshold") for end in ("min", "max"))
        p_max = number_of(node, f"{colour}_drop_probability", 0.01)
        if colour not in marked:
            thresholds.append(EcnThresholds(_NEVER, _NEVER, 0.0, colour=colour))
            continue
        if k_min is None or k_max is None:
            if colour == GREEN or (k_min, k_max) != (None, None):
                raise node.fail(
                    f"a profile with ecn has {colour}_min_threshold and {colour}_max_threshold"
                )
            continue  # as green ones
        try:
            thresholds.append(
                EcnThresholds(k_min, k_max, 1.0 if p_max is None else p_max, colour=colour)
            )
        except TopologyError as error:
            raise node.fail(str(error)) from None
    return tuple(thresholds)


def thresholds_of(
    node: Node,
    port: str,
    by_class: Mapping[int, tuple[EcnThresholds, ...]],
    lossless: frozenset[int],
) -> tuple[EcnThresholds, ...]:
    """Returns the thresholds of a port's lossless classes, which have to agree: a port has one set
    here."""
    sets = {thresholds for number, thresholds in by_class.items() if number in lossless}
    if len(sets) > 1:
        raise node.fail(
            f"QUEUE: lossless classes of {port} differ in wred_profile: a port has one here"
        )
    return next(iter(sets), ())
