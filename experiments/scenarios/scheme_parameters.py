"""The schemes' parameters as scenarios offer them: by the papers' names, with units, whichever scenario it is."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping

from experiments.errors import ExperimentError
from experiments.parameters import Parameter, Value

_PCN = {
    "T": ("period_s", Parameter("T", "time", 50e-6, "PCN's CNP period", 1e-6, 1)),
    "w_min": ("w_min", Parameter("w_min", "number", 1 / 128, "PCN's least weight of an increase", 1e-6, 0.5)),
    "w_max": ("w_max", Parameter("w_max", "number", 0.5, "PCN's largest weight of an increase", 1e-6, 1)),
    "phases": (
        "phase_spread",
        Parameter("phases", "number", 1, "PCN: flows start in this part of their NPs' periods; 0: in step", 0, 1),
    ),
}
_PCN_TIME = _PCN | {
    "largest_frame": (
        "largest_frame_bytes",
        Parameter("largest_frame", "size", 1518, "PCN by time: what takes longer than this frame is a pause", 64, 1e4),
    ),
}
_PCN_X = _PCN | {
    "beta": ("beta", Parameter("beta", "number", 0.005, "PCN-X: by how much a decrease lowers a rate", 1e-6, 1)),
}
# Defaults: hosts.algorithms.dcqcn says where each comes from.
_DCQCN = {
    "K_min": ("k_min_bytes", Parameter("K_min", "size", 5_000, "DCQCN: RED marks from this queue on", 0, 1e9)),
    "K_max": ("k_max_bytes", Parameter("K_max", "size", 200_000, "and everything above this one", 0, 1e9)),
    "P_max": ("p_max", Parameter("P_max", "number", 0.01, "DCQCN: RED's probability at K_max", 0, 1)),
    "g": ("g", Parameter("g", "number", 1 / 256, "DCQCN: how fast alpha follows the CNPs", 1e-6, 1)),
    "F": ("f", Parameter("F", "count", 5, "DCQCN: iterations of fast recovery", 0, 1000)),
    "R_AI": ("r_ai_bps", Parameter("R_AI", "rate", 40e6, "DCQCN: step of additive increase", 1, 1e12)),
    "R_HAI": ("r_hai_bps", Parameter("R_HAI", "rate", 200e6, "DCQCN: step of hyper increase", 1, 1e12)),
    "rate_timer": ("rate_timer_s", Parameter("rate_timer", "time", 55e-6, "DCQCN: timer of rate increase", 1e-6, 1)),
    "byte_counter": (
        "byte_counter_bytes",
        Parameter("byte_counter", "size", 10_000_000, "DCQCN: byte counter of rate increase", 1, 1e12),
    ),
    "alpha_timer": ("alpha_timer_s", Parameter("alpha_timer", "time", 55e-6, "DCQCN: timer of alpha", 1e-6, 1)),
    "cnp_interval": ("cnp_interval_s", Parameter("cnp_interval", "time", 50e-6, "DCQCN: least between CNPs", 0, 1)),
}
# Likewise hosts.algorithms.qcn and .timely. A name that another scheme has already bears the scheme's.
_QCN = {
    "Q_eq": ("q_eq_bytes", Parameter("Q_eq", "size", 26_000, "QCN: the queue that congestion points aim at", 100, 1e9)),
    "w": ("w", Parameter("w", "count", 2, "QCN: weight of the queue's growth", 0, 255)),
    "sample": ("sample_bytes", Parameter("sample", "size", 150_000, "QCN: bytes from one sample to the next", 1, 1e9)),
    "qcn_timer": ("timer_s", Parameter("qcn_timer", "time", 15e-3, "QCN: timer of rate increase", 1e-6, 1)),
    "qcn_bytes": (
        "byte_counter_bytes",
        Parameter("qcn_bytes", "size", 150_000, "QCN: byte counter of rate increase", 1, 1e12),
    ),
    "qcn_R_AI": ("r_ai_bps", Parameter("qcn_R_AI", "rate", 5e6, "QCN: step of active increase", 1, 1e12)),
    "qcn_R_HAI": ("r_hai_bps", Parameter("qcn_R_HAI", "rate", 50e6, "QCN: step of hyper-active increase", 1, 1e12)),
    "keep_target": (
        "keep_target",
        Parameter("keep_target", "count", 1, "QCN: messages in a row keep the target rate; 0: equation 2", 0, 1),
    ),
}
_TIMELY = {
    "T_low": ("t_low_s", Parameter("T_low", "time", 50e-6, "TIMELY: below this RTT the rate rises", 0, 1)),
    "T_high": ("t_high_s", Parameter("T_high", "time", 500e-6, "TIMELY: above this RTT it falls", 1e-6, 1)),
    "min_rtt": ("min_rtt_s", Parameter("min_rtt", "time", 20e-6, "TIMELY: what its gradient is divided by", 1e-6, 1)),
    "delta": ("delta_bps", Parameter("delta", "rate", 10e6, "TIMELY: step of the increase", 1, 1e12)),
    "timely_beta": ("beta", Parameter("timely_beta", "number", 0.8, "TIMELY: weight of a decrease", 1e-6, 1)),
    "timely_max_decrease": (
        "max_decrease",
        Parameter(
            "timely_max_decrease", "number", 0.5, "TIMELY: largest part of the rate that a decrease takes", 1e-6, 1
        ),
    ),
    "segment": ("segment_bytes", Parameter("segment", "size", 64_000, "TIMELY: payload from RTT to RTT", 1, 1e9)),
}
_SCHEMES: dict[str, Mapping[str, tuple[str, Parameter]]] = {
    "pcn": _PCN,
    "pcn-time": _PCN_TIME,
    "pcn-x": _PCN_X,
    "dcqcn": _DCQCN,
    "qcn": _QCN,
    "timely": _TIMELY,
}
"""By scheme and name: the field of the scheme's dataclass in `hosts.algorithms`, and the parameter."""


def parameters(scheme: str, but: str = "", **defaults: tuple[Value, str]) -> tuple[Parameter, ...]:
    """A scheme's parameters, but those of another, with a scenario's own defaults: (value, or None and what it follows
    from)."""
    made = (parameter for name, (_, parameter) in _SCHEMES[scheme].items() if name not in _SCHEMES.get(but, {}))
    return tuple(
        dataclasses.replace(one, default=defaults[one.name][0], derived=defaults[one.name][1])
        if one.name in defaults
        else one
        for one in made
    )


def fields(scheme: str, values: Mapping[str, Value]) -> dict[str, float]:
    """What the algorithm is given, from a plan's values."""
    return {field: float(values[name] or 0) for name, (field, _) in _SCHEMES.get(scheme, {}).items()}


def own(scheme: str, offered: Iterable[Parameter]) -> tuple[Parameter, ...]:
    """Those of a scenario's parameters that a run of this scheme has: no other scheme's."""
    return tuple(one for one in offered if one.name not in _foreign(scheme))


def given(scheme: str, values: Mapping[str, Value]) -> dict[str, Value]:
    """Those of the given values that are none of another scheme alone."""
    return {name: value for name, value in values.items() if name not in _foreign(scheme)}


def check_given(names: Iterable[str], schemes: Iterable[str], offered: tuple[Parameter, ...]) -> None:
    """Raises ExperimentError for a parameter that none of the schemes has: it would change nothing."""
    schemes = tuple(schemes)
    known = {one.name for scheme in schemes for one in own(scheme, offered)}
    for name in names:
        if name not in known:
            owners = [scheme for scheme, theirs in _SCHEMES.items() if name in theirs]
            raise ExperimentError(
                f"{name} is a parameter of {' and '.join(owners)}, which doesn't run here: leave it out, "
                f"or add --scheme {owners[0]}"
            )


def _foreign(scheme: str) -> set[str]:
    """Names that other schemes have and this one hasn't."""
    others = {name for other, theirs in _SCHEMES.items() if other != scheme for name in theirs}
    return others - set(_SCHEMES.get(scheme, {}))
