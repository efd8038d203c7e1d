"""What flows of traffic do about lost packets, as `--reliability` has it:
`0=selective,timeout=1ms`."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from pcn.base.units import quantity
from pcn.experiments.data.errors import ExperimentError
from pcn.hosts.reliability import Reliability, Repeats
from pcn.topologies.lossless import CONTROL_CLASS

KINDS = {"go-back-n": Repeats.GO_BACK_N, "selective": Repeats.SELECTIVE}
_TIMES = ("timeout", "reordering")
_FORM = "write CLASS=go-back-n or CLASS=selective, as 0=selective,timeout=1ms,reordering=2us"


def reliability(texts: Iterable[str]) -> Mapping[int, Reliability]:
    """Returns what each class of these repeats, times in s. Raises ExperimentError."""
    reliabilities: dict[int, Reliability] = {}
    for text in texts:
        number, _, rest = text.partition("=")
        kind, *times = rest.split(",")
        if number not in map(str, range(CONTROL_CLASS)) or kind not in KINDS:
            raise ExperimentError(
                f"--reliability {text}: {_FORM}; classes are 0 to {CONTROL_CLASS - 1}"
            )
        if int(number) in reliabilities:
            raise ExperimentError(f"--reliability {text}: class {number} has one already")
        reliabilities[int(number)] = _reliability(text, KINDS[kind], times)
    return reliabilities


def _reliability(text: str, repeats: Repeats, times: Iterable[str]) -> Reliability:
    seconds: dict[str, float] = {}
    for assignment in times:
        name, _, value = assignment.partition("=")
        if name not in _TIMES or name in seconds:
            raise ExperimentError(
                f"--reliability {text}: {assignment!r}: timeout=TIME and reordering=TIME, each once"
            )
        try:
            seconds[name] = quantity("time", value)
        except ValueError as error:
            raise ExperimentError(f"--reliability {text}: {name}: {error}") from None
    try:
        return Reliability(repeats, **{f"{name}_s": value for name, value in seconds.items()})
    except ValueError as error:
        raise ExperimentError(f"--reliability {text}: {error}") from None
