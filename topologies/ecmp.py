"""Which of equal paths flows take: the order of the ports among which a switch's hash chooses."""

from __future__ import annotations

from collections.abc import Mapping
from hashlib import blake2b

from pcn.base.errors import TopologyError

Value = float | int | str
SEED = "ecmp_seed"


def parameters(ecmp_seed: int = 0) -> dict[str, Value]:
    """Returns it by name: an option of each topology."""
    return {SEED: ecmp_seed}


def ordered(settings: Mapping[str, Value], switch: str, ports: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the ports of a group in the order in which the hash numbers them: with the seed 0
    their own, else one that seed and switch decide, so that the same flows take other paths. Raises
    TopologyError."""
    seed = settings.get(SEED) or 0
    if isinstance(seed, str) or seed != int(seed) or seed < 0:
        raise TopologyError(f"{SEED} is {seed!r}: a whole number, from 0")
    if not seed:
        return ports
    return tuple(
        sorted(
            ports, key=lambda port: blake2b(b"%d/%s/%d" % (seed, switch.encode(), port)).digest()
        )
    )
