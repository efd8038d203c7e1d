"""What is wrong with matches, actions, counts and meters, whatever holds them. Each finding is the
name of a rule."""

from collections.abc import Iterable, Iterator, Mapping

from oracle.info import EXACT, LPM, RANGE, TERNARY, Action, Field, Param
from oracle.values import fits, number
from pcn.base.p4rt import p4r


def wrong_value(data: bytes, shape: Field | Param) -> str | None:
    """What is wrong with a value of a field or parameter."""
    if shape.string:
        return None
    if not data:
        return "value-empty"
    return None if fits(data, shape.width) else "value-wide"


def wrong_matches(fields: Mapping[int, Field], matches: Iterable[p4r.FieldMatch]) -> Iterator[str]:
    """What is wrong with the matches of an entry or a member of a value set."""
    seen: set[int] = set()
    for match in matches:
        if match.field_id in seen:
            yield "field-twice"
        seen.add(match.field_id)
        if match.field_id not in fields:
            yield "field-unknown"
            continue
        field = fields[match.field_id]
        kind = match.WhichOneof("field_match_type")
        if kind is None:
            yield "field-empty"
        elif kind != field.kind:
            yield "field-kind"
        else:
            yield from _wrong_match(field, match)
    if any(field.kind == EXACT and field.id not in seen for field in fields.values()):
        yield "field-missing"


def _wrong_match(field: Field, match: p4r.FieldMatch) -> Iterator[str]:
    if field.kind == LPM:
        strings = [match.lpm.value]
    elif field.kind == TERNARY:
        strings = [match.ternary.value, match.ternary.mask]
    elif field.kind == RANGE:
        strings = [match.range.low, match.range.high]
    else:
        strings = [match.exact.value if field.kind == EXACT else match.optional.value]
    wrong = [name for name in (wrong_value(data, field) for data in strings) if name]
    if wrong:
        yield from wrong
        return
    values = [number(data) for data in strings]
    if field.kind == LPM:
        length = match.lpm.prefix_len
        if length == 0:
            yield "lpm-dont-care"
        elif not 0 < length <= field.width:
            yield "lpm-length"
        elif values[0] % 2 ** (field.width - length):
            yield "lpm-bits"
    elif field.kind == TERNARY:
        if not values[1]:
            yield "ternary-dont-care"
        if values[0] & ~values[1]:
            yield "ternary-bits"
    elif field.kind == RANGE:
        if values[0] > values[1]:
            yield "range-order"
        if values == [0, 2**field.width - 1]:
            yield "range-dont-care"


def wrong_call(
    actions: Mapping[int, Action], message: p4r.Action, *, default: bool, scope: str
) -> Iterator[str]:
    """What is wrong with an action and its parameters. `scope`: the rule for one that may not stand
    here."""
    action = actions.get(message.action_id)
    if action is None:
        yield "action-unknown"
        return
    if not (action.in_default if default else action.in_table):
        yield scope
    seen: set[int] = set()
    for param in message.params:
        if param.param_id in seen:
            yield "param-twice"
        seen.add(param.param_id)
        if param.param_id not in action.params:
            yield "param-unknown"
        elif name := wrong_value(param.value, action.params[param.param_id]):
            yield name
    if action.params.keys() - seen:
        yield "param-missing"


def wrong_counts(data: p4r.CounterData) -> Iterator[str]:
    """What is wrong with a counter's value."""
    if data.packet_count < 0 or data.byte_count < 0:
        yield "count-negative"


def wrong_meter(config: p4r.MeterConfig, single_rate: bool) -> Iterator[str]:
    """What is wrong with the configuration of a meter of two rates, or of one with two colours."""
    if single_rate and (config.cir, config.cburst) != (config.pir, config.pburst):
        yield "single-rate"
    if min(config.cir, config.cburst, config.pir, config.pburst) < 0:
        yield "meter-negative"
    if config.cir > config.pir:
        yield "meter-rates"
    if config.eburst:
        yield "eburst"


def wrong_colours(data: p4r.MeterCounterData) -> Iterator[str]:
    """What is wrong with a write of a meter's counters of colours, which may only be reset."""
    yield "colour"
    for count in (data.green, data.yellow, data.red):
        if count.packet_count or count.byte_count:
            yield "colour-nonzero"
