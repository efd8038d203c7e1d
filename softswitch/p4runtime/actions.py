"""Action invocations: P4Runtime's Action messages to C's index and argument words, and back.

Source: P4Runtime specification, "TableEntry: Action Specification".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from pcn.base.p4rt import p4r
from pcn.softswitch.p4runtime.bytestring import decode, encode
from pcn.softswitch.p4runtime.errors import INVALID_ARGUMENT, RpcError
from pcn.softswitch.p4runtime.schema import Action

WORD = 64
WORD_MASK = (1 << WORD) - 1


class Call(NamedTuple):
    """An action with its arguments, as C takes them."""

    action: Action
    args: tuple[int, ...]

    @property
    def code(self) -> int:
        """C's number of the action."""
        return self.action.c_index

    def fill(self, message: p4r.TableAction) -> None:
        """Writes the canonical call into a message."""
        message.action.CopyFrom(unpack(self.action, self.args))

    def fits(self, query: p4r.TableAction) -> bool:
        """Returns whether a read with this action as a filter selects the entry."""
        return self.action.id == query.action.action_id


def pack(where: str, actions: Mapping[int, Action], message: p4r.Action) -> Call:
    """Returns the action call of a message. Raises RpcError INVALID_ARGUMENT for a foreign action
    or bad parameters."""
    action = actions.get(message.action_id)
    if action is None:
        raise RpcError(
            INVALID_ARGUMENT,
            f"{where} has no action with id {message.action_id} (0x{message.action_id:08x})",
        )
    values = {param.param_id: param.value for param in message.params}
    if len(values) != len(message.params):
        raise RpcError(
            INVALID_ARGUMENT, f"{where}, action {action.name}: a parameter is given twice"
        )
    args: list[int] = []
    for param in action.params:
        if param.id not in values:
            raise RpcError(
                INVALID_ARGUMENT,
                f"{where}, action {action.name}: parameter {param.name} is missing",
            )
        label = f"{where}, action {action.name}, parameter {param.name}"
        data = values.pop(param.id)
        value = (
            decode(data, param.width, label)
            if param.strings is None
            else param.strings.number(data, label)
        )
        args += to_words(value, param.words)
    if values:
        raise RpcError(
            INVALID_ARGUMENT,
            f"{where}, action {action.name}: no parameter {next(iter(values))}",
        )
    return Call(action, tuple(args))


def unpack(action: Action, args: Sequence[int]) -> p4r.Action:
    """Returns the canonical message of a call."""
    message = p4r.Action(action_id=action.id)
    at = 0
    for param in action.params:
        value = from_words(args[at : at + param.words])
        at += param.words
        data = encode(value) if param.strings is None else param.strings.text(value)
        message.params.add(param_id=param.id, value=data)
    return message


def to_words(value: int, words: int) -> list[int]:
    """Returns a number in 64-bit words, low word first."""
    return [value >> (WORD * i) & WORD_MASK for i in range(words)]


def from_words(words: Sequence[int]) -> int:
    """Returns the number in 64-bit words, low word first."""
    value = 0
    for i, word in enumerate(words):
        value |= word << (WORD * i)
    return value
