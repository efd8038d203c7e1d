"""Files of networks, changed with regard to their structure: each is read, or refused by a line.

    python judges/fuzz/fuzz_formats.py SECONDS [--seed N]

Every case goes to the reader of its format and, by its content, to whichever recognises it. A
reader may raise FormatError and nothing else, ends within `LIMIT_S`, and in the memory of
`MOST_BYTES`. What is read is drawn, and written where its format is; what was written is read
equal.
"""

import argparse
import contextlib
import inspect
import json
import os
import random
import resource
import signal
import sys
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, TypeVar
from xml.sax.saxutils import quoteattr

import yaml

from pcn.base.errors import LabError
from pcn.topologies.formats import FormatError, Source
from pcn.topologies.formats.known import FORMATS, format_of
from pcn.topologies.model import Topology
from pcn.topologies.picture import drawn

FILES = Path(__file__).resolve().parents[2] / "tests" / "topologies" / "files"
SAMPLES = {
    "topology.txt": "hpcc", "tors.txt": "hpcc", "gpus": "simai", "network.yml": "astra",
    "small.topo": "htsim", "topology.json": "p4lang", "exercise-2018.json": "p4lang",
    "p4app.json": "p4-utils", "p4-utils-written.json": "p4-utils", "multiswitch.json": "p4app",
    "lab.clab.yml": "containerlab", "racks.yaml": "pcn", "graph.json": "node-link",
    "graph.graphml": "graphml",
}  # fmt: skip
LIMIT_S = 20
MOST_BYTES = 3 * 2**30
WORDS = (
    *(
        "",
        "0",
        "1",
        "-1",
        "2",
        "7",
        "507",
        "508",
        "65535",
        "999999999",
        "99999999999999999999",
        "1e999",
        "1e-999",
        "nan",
    ),
    *(
        "inf",
        "-0",
        "0x10",
        "١",
        "1_000",
        "100Gbps",
        "1ns",
        "0.5",
        "true",
        "null",
        "~",
        "[]",
        "{}",
        "*a",
        "&a",
        "<<",
    ),
    *(
        "h0",
        "s0",
        "s0:1",
        "h0:0",
        "a" * 49,
        "x" * 5000,
        "ä",
        "\x00",
        "\u2028",
        "a b",
        "#",
        "switch",
        "linux",
        "host",
    ),
    *(
        "10.0.0.1",
        "255.255.255.255",
        "02:00:00:00:00:01",
        "100G",
        "1us",
        "-1us",
        "1/0",
        "${X}",
        "{{x}}",
        "]]>",
        "<!DOCTYPE a>",
    ),
)


def cases(name: str, draw: random.Random) -> str:
    """A changed sample."""
    text = (FILES / name).read_text()
    if name.endswith(("json", "yml", "yaml")) and draw.random() < 0.8:
        return of_tree(yaml.safe_load(text), draw, name.endswith("json"))
    if name.endswith("graphml") and draw.random() < 0.8:
        return _of_tags(text, draw)
    return of_lines(text, draw)


def of_lines(text: str, draw: random.Random, separator: str = " ") -> str:
    """A text of words in lines, changed in some."""
    lines = [line.split(separator) for line in text.split("\n")]
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        at = draw.randrange(len(lines))
        words = lines[at]
        word = draw.randrange(len(words)) if words else 0
        match draw.randrange(8):
            case 0:
                del lines[at]
                lines = lines or [[]]
            case 1:
                lines.insert(at, list(draw.choice(lines)))
            case 2:
                lines[at] = words * draw.randint(2, 40)
            case 3 if words:
                words[word] = draw.choice(WORDS)
            case 4 if words:
                del words[word]
            case 5:
                words.insert(word, draw.choice(WORDS))
            case 6:
                lines = lines[:at] or [[]]
            case _ if words:
                old = words[word]
                place = draw.randint(0, len(old))
                words[word] = (
                    old[:place]
                    + draw.choice("0123456789:-.,[]{}<>\"'&*!%|\t\r\\" + "\x00é")
                    + old[place + 1 :]
                )
    return "\n".join(separator.join(words) for words in lines)


def of_tree(value, draw: random.Random, as_json: bool) -> str:
    """A value of lists and mappings, changed in some places, as JSON or YAML."""
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        _change(value, draw)
    if as_json:
        return json.dumps(value, indent=draw.choice((None, 1)))
    return str(yaml.safe_dump(value, default_flow_style=draw.choice((None, True, False))))


def _change(value, draw: random.Random):
    """In place, somewhere inside."""
    inside = list(_containers(value))
    inner = draw.choice(inside)
    keys = list(inner) if isinstance(inner, dict) else list(range(len(inner)))
    if not keys:
        return
    key, source_key = draw.choice(keys), draw.choice(keys)
    match draw.randrange(7):
        case 0:
            del inner[key]
        case 1:
            inner[key] = draw.choice(WORDS)
        case 2:
            inner[key] = draw.choice(
                (0, -1, 1.5, 1e300, True, None, [], {}, [[]], {"a": {}}, 2**70)
            )
        case 3:
            inner[key] = (
                inner[source_key]
                if isinstance(inner[source_key], str | int | float | None)
                else draw.choice(WORDS)
            )
        case 4 if isinstance(inner, list):
            inner.extend(
                json.loads(json.dumps(inner[key], default=str)) for _ in range(draw.randint(1, 3))
            )
        case 5 if isinstance(inner, dict):
            inner[draw.choice((*WORDS, *keys))] = inner.pop(key)
        case _:
            inner[key] = [inner[key]] if draw.random() < 0.5 else {"name": inner[key]}


def _containers(value) -> Iterator[Any]:
    if isinstance(value, dict | list):
        yield value
        for inner in value.values() if isinstance(value, dict) else value:
            yield from _containers(inner)


def _of_tags(text: str, draw: random.Random) -> str:
    parts = [f"<{part}" for part in text.split("<")[1:]]
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        at = draw.randrange(len(parts))
        match draw.randrange(5):
            case 0:
                del parts[at]
                parts = parts or ["<a/>"]
            case 1:
                parts.insert(at, draw.choice(parts))
            case 2:
                parts[at] = parts[at].replace('"', draw.choice(("'", "", '""')), 1)
            case 3:
                parts.insert(
                    at,
                    (
                        f"<{draw.choice(('node', 'edge', 'data', 'graph', 'key'))} "
                        f"id={quoteattr(draw.choice(WORDS))}/>"
                    ),
                )
            case _:
                head, quote, rest = parts[at].partition('="')
                parts[at] = (
                    f"{head}{quote}{draw.choice(WORDS)}{rest[rest.find(chr(34)) :]}"
                    if quote
                    else parts[at]
                )
    return "".join(parts)


def judge(name: str, text: str) -> str:
    """`read`, or `refused`. Anything else that a reader raises goes through, and so does
    TimeoutError."""
    source = Source(Path(name), text)
    chosen = FORMATS[SAMPLES[name]].read
    options = {"split_hosts": 1} if "split_hosts" in inspect.signature(chosen).parameters else {}
    readers = [lambda: chosen(source, **options), lambda: format_of(source).read(source)]
    outcome = "refused"
    for read in readers:
        with contextlib.suppress(FormatError):
            topology = read()
            outcome = "read"
            drawn(topology, ".svg")
            for form in FORMATS.values():
                again = _written(form.name, topology)
                assert (
                    again is None
                    or form.name in ("hpcc", "p4lang")
                    or _alike(again, topology, form.name)
                ), form.name
    return outcome


def _written(name: str, topology: Topology) -> Topology | None:
    form = FORMATS[name]
    if form.write is None:
        return None
    try:
        text = form.write(topology)
    except LabError:
        return None
    return form.read(Source(Path(f"{topology.name}{form.suffix}"), text))


def _alike(again: Topology, topology: Topology, name: str) -> bool:
    """Graphs have no flows and no parameters."""
    if name.startswith("pcn"):
        return again == topology
    return (again.hosts, again.links) == (topology.hosts, topology.links)


@contextlib.contextmanager
def limited() -> Iterator[None]:
    """Bounds the processor time of what is inside: only a hang reaches the limit."""

    def late(_number: int, _frame):
        raise TimeoutError(f"a case takes more than {LIMIT_S} s of the processor")

    before = signal.signal(signal.SIGPROF, late)
    signal.setitimer(signal.ITIMER_PROF, LIMIT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def spent_s() -> float:
    """Returns the processor's seconds of this process and of those that it has waited for."""
    return sum(os.times()[:4])


_Case = TypeVar("_Case", str, bytes, str | bytes)


def run(
    description: str | None,
    samples: Iterable[str],
    cases: Callable[[str, random.Random], _Case],
    judge: Callable[[str, _Case], str],
) -> int:
    """The command: judges cases of each sample in turn, for the processor's seconds that are
    given."""
    parser = argparse.ArgumentParser(description=(description or "").partition("\n\n")[0])
    parser.add_argument("seconds", type=float)
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    number, counts, names = 0, Counter[str](), list(samples)
    while spent_s() < args.seconds:
        name = names[number % len(names)]
        case = cases(name, random.Random(f"{args.seed} {number}"))
        try:
            with limited():
                counts[f"{name} {judge(name, case)}"] += 1
        except BaseException:
            print(f"case {number} of seed {args.seed}, {name}:\n{case[:3000]!r}")
            raise
        number += 1
    most_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    print(
        f"{number:,} cases: "
        f"{', '.join(f'{outcome} {count:,}' for outcome, count in sorted(counts.items()))}"
    )
    print(f"{spent_s():.0f} s of the processor, {most_mb:.0f} MB")
    return 0


if __name__ == "__main__":
    sys.exit(run(__doc__, SAMPLES, cases, judge))
