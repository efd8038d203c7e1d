"""Steps as the lines that simple_switch logs for them, at the levels debug and trace."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterator
from typing import Any, Final

from pcn.softswitch.trace.decoder import Step

_SKIPPED: Final = {
    "not updated": "update because condition not met",
    "not verified": "verification because condition not met",
    "invalid": "verification because target field invalid",
}
_COPIES: Final = 4096  # packets whose copies are numbered, at most


class Lines:
    """The lines of one switch. `trace`: all of them; else those of level debug alone. Packets have
    BMv2's numbers, from 0 on, and so have copies: 0, or from 1 on in the order in which replicas
    and clones come to egress. A table's key has a line for each field."""

    def __init__(self, trace: bool) -> None:
        self._trace = trace
        self._copies: OrderedDict[int, int] = OrderedDict()
        self._copy = 0

    def of(self, step: Step) -> Iterator[tuple[str, str]]:
        """Yields a step's lines, each with its level, D or T: `[packet.copy] [cxt 0] text`."""
        if step.kind in ("received", "state"):
            self._copy = 0
        elif step.kind == "dequeued":
            self._copy = self._number(step)
        elif step.kind == "decided":
            self._note(step)
        for level, text in _TEXTS[step.kind](step.fields):
            if level == "D" or self._trace:
                yield level, f"[{step.packet - 1}.{self._copy}] [cxt 0] {text}"

    def _note(self, step: Step) -> None:
        if step.fields.get("multicast_group") or "clone_session" in step.fields:
            self._copies[step.packet] = 0
            if len(self._copies) > _COPIES:
                self._copies.popitem(last=False)

    def _number(self, step: Step) -> int:
        if step.packet not in self._copies or step.fields["instance"] == "normal":
            return 0
        self._copies[step.packet] += 1
        return self._copies[step.packet]


_Texts = Iterator[tuple[str, str]]


def _received(fields: dict[str, Any]) -> _Texts:
    if fields["instance"] == "normal":
        yield "D", f"Processing packet received on port {fields['port']}"
    else:
        yield "D", f"Processing {fields['instance']} packet of port {fields['port']}"


def _state(fields: dict[str, Any]) -> _Texts:
    yield "D", f"Parser '{fields['parser']}' entering state '{fields['state']}'"


def _extracted(fields: dict[str, Any]) -> _Texts:
    yield "D", f"Extracting header '{fields['header']}'"


def _key(fields: dict[str, Any]) -> _Texts:
    if fields["key"] is None:
        yield "D", f"Parser state '{fields['state']}' has no switch, going to default next state"
    else:
        yield "D", f"Parser state '{fields['state']}': key is {fields['key']}"
    yield "T", f"Bytes parsed: {fields['bytes']}"


def _parsed(fields: dict[str, Any]) -> _Texts:
    if fields["error"] != "NoError":
        yield "D", f"Exception while parsing: {fields['error']}"


def _checksum(fields: dict[str, Any]) -> _Texts:
    name, result = fields["checksum"], fields["result"]
    if result in _SKIPPED:
        yield "T", f"Skipping checksum '{name}' {_SKIPPED[result]}"
    elif result == "updated":
        yield "D", f"Updating checksum '{name}'"
    else:
        yield "D", f"Verified checksum '{name}': {result}"


def _stage(fields: dict[str, Any]) -> _Texts:
    yield (
        "D",
        (
            f"{fields['stage'].capitalize()} '{fields['name']}': "
            f"{'start' if fields['begins'] else 'end'}"
        ),
    )


def _condition(fields: dict[str, Any]) -> _Texts:
    text = fields["text"] or fields["condition"]
    yield (
        "T",
        (
            f'{_at(fields)}Condition "{text}" ({fields["condition"]}) is '
            f"{str(fields['result']).lower()}"
        ),
    )


def _table(fields: dict[str, Any]) -> _Texts:
    yield "T", f"Applying table '{fields['table']}'"
    yield (
        "D",
        "Looking up key:\n"
        + "".join(f"* {name:<20}: {value}\n" for name, value in fields["key"].items()),
    )


def _entry(fields: dict[str, Any]) -> _Texts:
    yield (
        "D",
        f"Table '{fields['table']}': "
        + (f"hit with handle {fields['handle']}" if fields["hit"] else "miss"),
    )


def _action(fields: dict[str, Any]) -> _Texts:
    yield (
        "D",
        (
            f"Action entry is {fields['action']} - "
            f"{''.join(f'{v[2:]},' for v in fields['arguments'].values())}"
        ),
    )
    yield "T", f"{_at(fields)}Action {fields['action']}"


def _primitive(fields: dict[str, Any]) -> _Texts:
    yield "T", f"{_at(fields)}Primitive {fields['text'] or '(no source info)'}"


def _statement(fields: dict[str, Any]) -> _Texts:
    yield "D", f"{_at(fields)}Parser set: {fields['text'] or '(no source info)'}"


def _decided(fields: dict[str, Any]) -> _Texts:
    name = fields["pipeline"]
    if "clone_session" in fields:
        yield "D", f"Cloning packet at {name}"
    if "digest" in fields:
        yield "D", f"Sending digest '{fields['digest']}'"
    if fields.get("resubmitted"):
        yield "D", "Resubmitting packet"
    elif fields.get("multicast_group"):
        yield "D", "Multicast requested for packet"
        yield "T", f"Replicating packet for multicast group {fields['multicast_group']}"
    else:
        if name == "ingress":
            yield "D", f"Egress port is {fields['egress_spec']}"
        if fields["dropped"]:
            yield "D", f"Dropping packet at the end of {name}"
        elif fields.get("recirculated"):
            yield "D", "Recirculating packet"


def _dequeued(fields: dict[str, Any]) -> _Texts:
    yield (
        "T",
        f"Left queue {fields['queue']} of port {fields['port']} after {fields['deq_timedelta_us']} "
        f"us: {fields['enq_qdepth']} packets were there before it, {fields['deq_qdepth']} are "
        "after it",
    )


def _emitted(fields: dict[str, Any]) -> _Texts:
    yield "D", f"Deparsing header '{fields['header']}'"


def _sent(fields: dict[str, Any]) -> _Texts:
    yield "D", f"Transmitting packet of size {fields['length']} out of port {fields['port']}"


def _at(fields: dict[str, Any]) -> str:
    return f"{fields['source']} " if fields["source"] else ""


_TEXTS: Final = {
    "received": _received,
    "state": _state,
    "extracted": _extracted,
    "key": _key,
    "parsed": _parsed,
    "checksum": _checksum,
    "stage": _stage,
    "condition": _condition,
    "table": _table,
    "entry": _entry,
    "action": _action,
    "primitive": _primitive,
    "statement": _statement,
    "decided": _decided,
    "dequeued": _dequeued,
    "emitted": _emitted,
    "sent": _sent,
}
