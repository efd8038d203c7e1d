"""Messages as plain values that can be compared: what may come in any order is sorted.

With the p4info's fields or parameters beside it, a form is the canonical one, whose numbers are
their shortest strings. Without them it holds the message's own strings: so is read what a server
answers, whose strings have to be canonical.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from oracle.info import Field, Param
from oracle.values import stripped
from pcn.base.p4rt import p4r

Form = tuple[Any, ...]


def match_form(
    messages: Iterable[p4r.FieldMatch], fields: Mapping[int, Field] | None = None
) -> Form:
    """The matches of an entry or a value set's member, by field id."""
    return tuple(sorted(_field_form(message, fields) for message in messages))


def _field_form(message: p4r.FieldMatch, fields: Mapping[int, Field] | None) -> Form:
    kind = message.WhichOneof("field_match_type") or ""
    plain = fields is None or fields[message.field_id].string
    values: Form = ()
    if kind == "exact":
        values = (message.exact.value,)
    elif kind == "optional":
        values = (message.optional.value,)
    elif kind == "lpm":
        values = (message.lpm.value, message.lpm.prefix_len)
    elif kind == "ternary":
        values = (message.ternary.value, message.ternary.mask)
    elif kind == "range":
        values = (message.range.low, message.range.high)
    if not plain:
        values = tuple(stripped(value) if isinstance(value, bytes) else value for value in values)
    return (message.field_id, kind, *values)


def call_form(message: p4r.Action, params: Mapping[int, Param] | None = None) -> Form:
    """An action with its parameters, by id."""
    return (
        "action",
        message.action_id,
        *sorted(
            (
                param.param_id,
                param.value
                if params is None or params[param.param_id].string
                else stripped(param.value),
            )
            for param in message.params
        ),
    )


def watch_form(message) -> Form:
    """What a member of a group or a one-shot watches."""
    kind = message.WhichOneof("watch_kind")
    return () if kind is None else (kind, getattr(message, kind))


def meter_form(message: p4r.MeterConfig) -> Form:
    """A meter's rates and bursts."""
    return (message.cir, message.cburst, message.pir, message.pburst, message.eburst)


def count_form(message: p4r.CounterData) -> Form:
    """Packets and bytes."""
    return (message.packet_count, message.byte_count)


def replica_form(message: p4r.Replica, *, canonical: bool = False) -> Form:
    """A replica's port, in the field that the client used, and its instance."""
    kind = message.WhichOneof("port_kind") or ""
    port = getattr(message, kind) if kind else None
    if canonical and kind == "port":
        port = stripped(port)
    return (kind, port, message.instance)
