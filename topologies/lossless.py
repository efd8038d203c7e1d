"""How a topology loses nothing, and the parameters that every topology has: PFC's thresholds, the
largest frame.

Python's standard library only: Mininet's own command loads topologies with the system's Python.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

if TYPE_CHECKING:
    from typing_extensions import Unpack as Unpack
else:
    Unpack = dict  # in annotations alone: Python 3.10 has no typing.Unpack

Value = int | float | str
"""Of a topology's parameter."""

PFC, CREDITS = "pfc", "credits"  # flow control of all links: IEEE 802.1Qbb, or InfiniBand's

CLASSES = 8  # of IEEE 802.1Q
DATA_CLASS = 3  # of RoCE, unless a flow says otherwise
CONTROL_CLASS = 7  # of CNPs, ACKs and CNMs
LOSSLESS_CLASSES = str(DATA_CLASS)
MTU_BYTES = 1058  # the largest frame of the experiments: 1000 B payload as RoCEv2
XOFF_BYTES = 512e3  # PCN, section 7: for all schemes
PAUSE_QUANTA = 0xFFFF
BUFFER_BYTES = 280e3  # SIGCOMM'21, section 5: of a port and virtual lane
CREDIT_INTERVAL_S = 2e-6


class Pfc(TypedDict, total=False):
    """Options that each topology takes, and `parameters` has."""

    xoff_bytes: float
    xon_bytes: float | None
    mtu_bytes: int
    pause_quanta: int
    lossless_classes: str


def parameters(
    xoff_bytes: float = XOFF_BYTES,
    xon_bytes: float | None = None,
    mtu_bytes: int = MTU_BYTES,
    pause_quanta: int = PAUSE_QUANTA,
    lossless_classes: str = LOSSLESS_CLASSES,
) -> dict[str, Value]:
    """Returns PFC's parameters by name. Without `xon_bytes` XON follows XOFF (`Topology.number`).
    `lossless_classes`: those that PFC protects, as "3" or "3,4"; not CONTROL_CLASS, whose frames
    PAUSE doesn't hold at hosts."""
    sizes: dict[str, Value] = {"mtu_bytes": mtu_bytes, "xoff_bytes": xoff_bytes}
    if xon_bytes is not None:
        sizes["xon_bytes"] = xon_bytes
    return {**sizes, "pause_quanta": pause_quanta, "lossless_classes": lossless_classes}


def credit_parameters(
    buffer_bytes: float = BUFFER_BYTES, credit_interval_s: float = CREDIT_INTERVAL_S
) -> dict[str, Value]:
    """Returns the parameters of credits by name. `buffer_bytes`: of an input port and virtual lane.
    `credit_interval_s`: the least time between two flow control packets that credits of one lane
    cause."""
    return {"buffer_bytes": buffer_bytes, "credit_interval_s": credit_interval_s}


def names(flow_control: str) -> tuple[str, ...]:
    """Returns the numbers that a kind of flow control has."""
    return (
        tuple(credit_parameters())
        if flow_control == CREDITS
        else ("xoff_bytes", "xon_bytes", "pause_quanta")
    )


def classes(text: str) -> tuple[int, ...]:
    """Returns the classes that such a list names, in order. Raises ValueError."""
    names = [name.strip() for name in text.split(",")]
    if not all(name.isdecimal() and int(name) < CLASSES for name in names) or len(set(names)) < len(
        names
    ):
        raise ValueError(
            f"lossless_classes {text[:40]!r}: classes from 0 to {CLASSES - 1}, each once, as 3 or "
            "3,4"
        )
    return tuple(sorted(map(int, names)))


def completed(settings: Mapping[str, Value], flow_control: str) -> dict[str, Value]:
    """Returns the parameters of a topology, with defaults for those that it lacks, except XON
    (`Topology.number`)."""
    kinds = {name: isinstance(value, str) for name, value in parameters().items()}
    arguments: dict[str, Any] = {
        name: value for name, value in settings.items() if isinstance(value, str) is kinds.get(name)
    }
    usual = {**parameters(**arguments), **(credit_parameters() if flow_control == CREDITS else {})}
    return {**settings, **{name: value for name, value in usual.items() if name not in settings}}
