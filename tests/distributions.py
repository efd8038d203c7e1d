"""What pip installs for the project, by the metadata of what is installed here."""

import re
from collections.abc import Iterable, Iterator
from importlib import metadata

PROJECT = "pcn-lab"
PACKAGES = (
    "base", "controller", "experiments", "hosts", "lab", "p4net", "softswitch", "topologies",
    "virtualnet",
)  # fmt: skip
"""The folders of code at the repository's top that are `pcn`'s packages."""


def canonical(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def required(project: str = PROJECT) -> Iterator[tuple[str, tuple[str, ...], str]]:
    """Name, its extras, and the extra that needs it ("" for all); for each that a distribution
    requires.

    Raises PackageNotFoundError."""
    for line in metadata.requires(project) or []:
        match = re.match(r"([\w.-]+)(?:\[(.*?)\])?", line)
        assert match
        wanted = re.search(r"extra == ['\"](.*?)['\"]", line)
        yield (
            canonical(match[1]),
            tuple(filter(None, (match[2] or "").split(","))),
            wanted[1] if wanted else "",
        )


def modules(name: str) -> set[str]:
    """Returns the top modules of a distribution, none of one that isn't here. By its files:
    `packages_distributions` has those with a top_level.txt alone before Python 3.11."""
    try:
        files = metadata.files(name) or ()
    except metadata.PackageNotFoundError:
        return set()
    tops = {file.parts[0] for file in files} - {"..", "__pycache__"}
    return {top.partition(".")[0] for top in tops if not top.endswith(".dist-info")}


def closure(extras: Iterable[str]) -> set[str]:
    """Distributions that the project needs with these extras, and those that these need."""
    distributions: set[str] = set()
    todo = [(PROJECT, tuple(extras))]
    while todo:
        project, chosen = todo.pop()
        try:
            needed = list(required(project))
        except metadata.PackageNotFoundError:  # of other systems or versions of Python
            continue
        distributions.add(project)
        todo += [
            (name, wanted)
            for name, wanted, extra in needed
            if extra in ("", *chosen) and name not in distributions
        ]
    return distributions - {PROJECT}
