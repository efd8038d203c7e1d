"""htsim's connection matrices: connections, each with a start or behind others, by triggers.

Starts are microseconds, as uet-htsim's htsim_uec takes them and its files have them; other programs
of htsim take ps.
"""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace

from pcn.base.errors import nearest
from pcn.base.units import Kind, quantity
from pcn.experiments.traffic.flow_files.base import MOST_WAITS, FlowFile, FlowFormat
from pcn.topologies.formats.source import Line, Source
from pcn.topologies.model import FlowSpec

_SENT = "send_done_trigger"
_DONE = (_SENT, "recv_done_trigger")
_WORDS = ("start", "size", "id", "prio", "trigger", *_DONE)
_KINDS = ("oneshot", "multishot", "barrier")
_COUNTS = ("Nodes", "Connections", "Triggers")
_NO_ID, _MOST_IDS = -1, 2**24
"""Of a connection that has none; packets carry 24 bits."""
_LATE_S = 1.0
"""A later start is one in ps, probably."""


@dataclass
class _Trigger:
    """`line`: where a connection first names it, or it is."""

    line: int
    kind: str = ""
    count: int = 0
    by: dict[int, bool] = field(default_factory=dict)
    """Places of the flows whose end activates it, and whether that is the sender's last
    acknowledgement."""
    starts: int = 0
    """How many flows it starts."""


@dataclass
class _Matrix:
    file: FlowFile
    triggers: dict[str, _Trigger] = field(default_factory=dict)
    flows: list[tuple[FlowSpec, int, str]] = field(default_factory=list)
    """Each with its line, and the trigger that starts it, or empty."""
    ids: dict[int, int] = field(default_factory=dict)
    """Lines of the ids that the file gives."""
    counts: dict[str, Line] = field(default_factory=dict)
    """The file's own counts, by their words."""

    @property
    def source(self) -> Source:
        return self.file.text

    def trigger(self, line: Line, name: str) -> _Trigger:
        if not (name.isascii() and name.isdigit() and int(name[:20]) > 0):
            raise self.source.error(line.number, f"trigger {name!r}: a number from 1 is needed")
        return self.triggers.setdefault(name, _Trigger(line.number))

    def add_trigger(self, line: Line) -> None:
        words = line.words[1:]
        kinds = [word for word in words if word in _KINDS]
        values = dict(zip(*[iter(word for word in words if word not in _KINDS)] * 2, strict=False))
        if len(kinds) != 1 or set(values) - {"id", "count"} or "id" not in values:
            raise self.source.error(
                line.number, "a trigger is: trigger id N oneshot, or barrier count M"
            )
        trigger = self.trigger(line, values["id"])
        if trigger.kind:
            raise self.source.error(line.number, f"trigger {values['id']} stands there twice")
        trigger.kind, trigger.line = kinds[0], line.number
        if kinds[0] == "barrier":
            trigger.count = _count(self.source, line, values.get("count", ""))

    def add_flow(self, line: Line) -> None:
        ends = re.match(r"([0-9]{1,9})->([0-9]{1,9})\Z", line.words[0])
        words = dict(zip(line.words[1::2], line.words[2::2], strict=False))
        if ends is None or len(line.words) % 2 == 0:
            usage = "a connection is SRC->DST start US size BYTES, as 0->13 start 0 size 2000000"
            raise self.source.error(line.number, usage)
        for word in words:
            if word not in _WORDS:
                raise self.source.error(
                    line.number, f"no word {word!r} of a connection; {nearest(word, _WORDS)}"
                )
        if ("start" in words) == ("trigger" in words):
            raise self.source.error(
                line.number, "a connection has a start or a trigger: one of them"
            )
        if "size" not in words:
            raise self.source.error(line.number, "size is missing")
        start_s = self._bare(line, "start", words.get("start", "0"), "time") / 1e6
        size = int(self._bare(line, "size", words["size"], "size"))
        flow_id = self._id(line, words["id"]) if "id" in words else _NO_ID
        flow = FlowSpec(flow_id, f"h{ends[1]}", f"h{ends[2]}", start_s, size)
        for word in _DONE:
            if word in words:
                by = self.trigger(line, words[word]).by
                by[len(self.flows)] = word == _SENT or by.get(len(self.flows), False)
        started_by = words.get("trigger", "")
        if started_by:
            self.trigger(line, started_by).starts += 1
        self.flows.append((flow, line.number, started_by))

    def _bare(self, line: Line, word: str, text: str, kind: Kind) -> float:
        """Returns a number of us or of bytes. Raises FormatError with the number that a text with a
        unit means."""
        unit, scale = ("us", 10**6) if kind == "time" else ("bytes", 1)
        try:
            return quantity("number" if kind == "time" else "count", text)
        except ValueError:
            try:
                example = f"{quantity(kind, text) * scale:.15g}"
            except ValueError:
                example = "1000"
            raise self.source.error(
                line.number,
                f"{word} {text!r}: a number of {unit}, without a unit, as {word} {example}",
            ) from None

    def _id(self, line: Line, text: str) -> int:
        if not (text.isascii() and text.isdigit() and 0 < int(text[:20]) < _MOST_IDS):
            raise self.source.error(
                line.number, f"id {text!r}: a number from 1 to {_MOST_IDS - 1:,} is needed"
            )
        number = int(text)
        if number in self.ids:
            raise self.source.error(
                line.number, f"id {number} stands in line {self.ids[number]} already"
            )
        self.ids[number] = line.number
        return number

    def add_count(self, line: Line) -> None:
        word, *values = line.words
        if len(values) != 1 or not (
            values[0].isascii() and values[0].isdigit() and len(values[0]) < 10
        ):
            raise self.source.error(
                line.number, f"{' '.join(line.words)[:40]!r}: write it like {word} 16"
            )
        self.counts[word] = line

    def check_counts(self) -> None:
        """Raises FormatError where a count isn't what is there, as htsim stops."""
        defined = sum(bool(trigger.kind) for trigger in self.triggers.values())
        hosts = None if self.file.ends is None else len(self.file.ends)
        there = {"Nodes": hosts, "Connections": len(self.flows), "Triggers": defined}
        for word, line in self.counts.items():
            count, actual = int(line.words[1]), there[word]
            if actual is not None and count != actual:
                has = (
                    f"the topology has {actual} hosts"
                    if word == "Nodes"
                    else f"the file has {actual}"
                )
                raise self.source.error(
                    line.number, f"{word} {count}, but {has}: htsim refuses that, too"
                )

    def connected(self) -> Iterator[FlowSpec]:
        """Yields the flows, each behind those whose ends start it. A connection without an id has
        the next free one, from 0."""
        free = (number for number in itertools.count() if number not in self.ids)
        flows = [
            self.file.checked(flow if flow.id != _NO_ID else replace(flow, id=next(free)), line)
            for flow, line, _ in self.flows
        ]
        for name, trigger in self.triggers.items():
            if why := _fault(trigger):
                raise self.source.error(trigger.line, f"trigger {name}: {why}")
        waits = 0
        for flow, (_, line, started_by) in zip(flows, self.flows, strict=True):
            if not started_by:
                yield flow
                continue
            by = self.triggers[started_by].by
            waits += len(by)
            if waits > MOST_WAITS:
                raise self.source.error(line, f"flows wait for more than {MOST_WAITS:,} others")
            after = tuple(flows[place].id for place in by)
            sent = tuple(flows[place].id for place in by if by[place])
            yield replace(flow, after=after, acknowledged=sent)


def _fault(trigger: _Trigger) -> str:
    """Returns why no flow starts as htsim does it; empty: flows do."""
    ends, starts = len(trigger.by), trigger.starts
    if not trigger.kind:
        return "a connection names it, and no line `trigger id N oneshot` or `barrier` defines it"
    if starts and not ends:
        return "it starts connections, and no connection's end activates it"
    if trigger.kind == "oneshot" and ends > 1:
        return f"a oneshot, which {ends} connections activate; a barrier waits for several"
    if trigger.kind == "barrier" and ends != trigger.count:
        return (
            f"a barrier of {trigger.count}, which {ends} connections activate: it takes exactly "
            "its count"
        )
    if trigger.kind == "multishot" and (ends > 1 or starts > 1):
        return (
            "a multishot starts whichever is next: here flows wait for certain others; write "
            "oneshots"
        )
    return ""


def _count(source: Source, line: Line, text: str) -> int:
    try:
        return int(quantity("count", text))
    except ValueError:
        raise source.error(
            line.number, f"count {text!r}: a barrier has the number of its activations"
        ) from None


def _read(file: FlowFile) -> Iterator[FlowSpec]:
    matrix = _Matrix(file)
    for line in file.text.lines("#"):
        first = line.words[0]
        if first in _COUNTS:
            matrix.add_count(line)
        elif first == "trigger":
            matrix.add_trigger(line)
        elif first in ("Failures", "failure"):
            if line.words[1:] != ["0"]:
                raise file.text.error(line.number, f"{first}: links don't fail here")
        else:
            matrix.add_flow(line)
    matrix.check_counts()
    latest_s = max((flow.start_s for flow, _, _ in matrix.flows), default=0.0)
    if latest_s > _LATE_S:
        file.notes.append(
            f"{file.path}: the latest flow starts after {latest_s:g} s: starts are in us, as "
            "htsim_uec takes them; divide by 1,000,000 those of a file that has ps"
        )
    yield from matrix.connected()


def _recognises(file: FlowFile) -> bool:
    head = next(file.text.lines("#"), None)
    return head is not None and (head.words[0] in ("Nodes", "Connections") or "->" in head.words[0])


CM = FlowFormat(
    name="cm",
    recognises=_recognises,
    read=_read,
    fields={
        "`Nodes`": (
            "as many as the topology's hosts; a file without this line fits larger topologies, too"
        ),
        (
            "`Connections`, `Triggers`"
        ): "as many as the file has; another count is refused, as there: the file may be cut",
        "`SRC->DST`": "the hosts `h0`, `h13`, as the reader of .topo names them",
        "`start`": (
            "in us, as in htsim_uec; other programs of htsim take ps, so a start behind 1 s is "
            "noted"
        ),
        "`size`": "payload in bytes",
        "`id`": "the flow's number, from 1; without it the next free one, from 0",
        "`prio`": "left out",
        "`trigger`": (
            "the flow starts when the one that activates the trigger, or all of a barrier, are done"
        ),
        "`recv_done_trigger`": "activated by the arrival of the last byte",
        "`send_done_trigger`": "activated by the sender's last acknowledgement; without "
        "acknowledgements, as if nothing delayed one",
        (
            "`oneshot`, `barrier count N`"
        ): "as there; a oneshot that several connections activate is refused, and a "
        "barrier of another count than activate it",
        "`multishot`, `Failures`": "refused; a multishot of one connection is a oneshot",
    },
)
