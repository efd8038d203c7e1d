"""Value sets and digests: sections 9.6 and 9.8."""

from collections.abc import Iterator

from oracle.check import wrong_matches
from oracle.forms import Form, match_form
from oracle.info import RANGE, Info
from oracle.state import State
from pcn.base.p4rt import p4r

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
Type = p4r.Update.Type.ValueType


class ValueSets:
    def __init__(self, info: Info, state: State):
        self._info = info
        self._state = state

    def wrong(self, kind: Type, message: p4r.ValueSetEntry) -> Iterator[str]:
        """The rules that a write breaks."""
        if kind != MODIFY:
            yield "modify-only"
        value_set = self._info.value_sets.get(message.value_set_id)
        if value_set is None:
            yield "id-unknown" if message.value_set_id else "id-zero"
            return
        if message.members and any(field.kind == RANGE for field in value_set.fields.values()):
            yield "set-range"
        broken = [
            name
            for member in message.members
            for name in wrong_matches(value_set.fields, member.match)
        ]
        yield from broken
        if not broken:
            forms = [match_form(member.match, value_set.fields) for member in message.members]
            if len(set(forms)) < len(forms):
                yield "set-twice"
        if len(message.members) > value_set.size:
            yield "set-full"

    def apply(self, message: p4r.ValueSetEntry):
        """Carries out a write that breaks no rule."""
        fields = self._info.value_sets[message.value_set_id].fields
        self._state.value_sets[message.value_set_id] = frozenset(
            match_form(member.match, fields) for member in message.members
        )


class Digests:
    """Which digests are enabled, and how."""

    def __init__(self, info: Info, state: State):
        self._info = info
        self._state = state

    def wrong(self, kind: Type, message: p4r.DigestEntry) -> Iterator[str]:
        """The rules that a write breaks."""
        if message.digest_id not in self._info.digests:
            yield "id-unknown" if message.digest_id else "id-zero"
            return
        enabled = message.digest_id in self._state.digests
        if kind == INSERT and enabled:
            yield "exists"
        elif kind != INSERT and not enabled:
            yield "absent"
        if kind != DELETE and min(digest_form(message)) < 0:
            yield "digest-negative"

    def apply(self, kind: Type, message: p4r.DigestEntry):
        """Carries out a write that breaks no rule."""
        if kind == DELETE:
            del self._state.digests[message.digest_id]
        else:
            self._state.digests[message.digest_id] = digest_form(message)


def digest_form(message: p4r.DigestEntry) -> Form:
    """A digest's configuration."""
    return (
        message.config.max_timeout_ns,
        message.config.max_list_size,
        message.config.ack_timeout_ns,
    )
