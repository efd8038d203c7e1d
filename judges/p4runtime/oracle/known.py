"""What a judge finds wrong, and what of it is a known difference of the target: that is counted and
not reported."""

from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import NamedTuple

from oracle.rules import OK, RULES, UNAVAILABLE


class Finding(NamedTuple):
    """Something that is wrong, of which update or query, and the names by which a Difference may
    match it: the rules that an update breaks and its features; what is read; what is missing, too
    much or different in what the target holds."""

    text: str
    message: str = ""
    names: tuple[str, ...] = ()
    code: int = OK


@dataclass(frozen=True)
class Difference:
    """A target that answers `code` to what has this name in a Finding, or holds something else
    (OK). `right`: what the specification requires, and where. `unclean`: the target refuses the
    update, and carries some of it out."""

    name: str
    code: int
    right: str
    unclean: bool = False


def unclean(difference: Difference) -> tuple[str, int]:
    """How Known counts updates that the target refused and carried out in part."""
    return f"{difference.name}, uncleanly", difference.code


class Known:
    """The differences of one target, and how often each was met."""

    def __init__(self, differences: Iterable[Difference]):
        self._known = {(difference.name, difference.code): difference for difference in differences}
        self.met: Counter[tuple[str, int]] = Counter()

    def __bool__(self) -> bool:
        return bool(self._known)

    def misses(self, names: Iterable[str]) -> bool:
        """Whether all rules among these names, choices aside, are known not to be kept; there is at
        least one."""
        missed = [
            (name, OK) in self._known for name in names if name in RULES and not RULES[name].choice
        ]
        return bool(missed) and all(missed)

    def unclean(self, names: Iterable[str]) -> Difference | None:
        """The difference by which an update with these names is refused, and changes something."""
        return next(
            (
                difference
                for difference in self._known.values()
                if difference.unclean and difference.name in names
            ),
            None,
        )

    def crash(self, names: Iterable[str]) -> Difference | None:
        """The difference by which an update with these names ends the target."""
        return next(
            (
                self._known[name, UNAVAILABLE]
                for name in names
                if (name, UNAVAILABLE) in self._known
            ),
            None,
        )

    def rarest(self, differences: Iterable[Difference]) -> Difference:
        """The one that was met least often so far."""
        return min(differences, key=lambda difference: self.met[difference.name, difference.code])

    def new(self, findings: Iterable[Finding]) -> Iterator[Finding]:
        """Counts what is known, and passes on the rest. One of the names explains a refusal. Where
        a rule that an update breaks is missed, it may be refused for anything else."""
        for finding in findings:
            names = [(name, finding.code) for name in finding.names]
            met = [name for name in names if name in self._known]
            if (
                not met
                and finding.code != OK
                and any((name, OK) in self._known for name in finding.names)
            ):
                continue
            if not met or (finding.code == OK and met != names):
                yield finding
            else:
                self.met.update(met[:1] if finding.code else met)
