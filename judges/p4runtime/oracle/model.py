"""What the specification makes of an update: which rules it breaks, what a server may answer, what
it then holds.

Written from the p4info and the specification alone: nothing here is the server's. An update that
breaks no rule has to be accepted. One that breaks some has to be refused, with a code of one of
them; unless every rule that it breaks is a choice of the server's, which then may accept it too.
"""

from collections.abc import Iterator
from dataclasses import dataclass

from oracle.cells import Cells
from oracle.info import Info
from oracle.profiles import Profiles
from oracle.replication import Replication
from oracle.rules import OK, RULES
from oracle.sets import Digests, ValueSets
from oracle.state import State
from oracle.tables import Tables
from pcn.base.p4rt import p4r

TYPES = (p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE)


@dataclass(frozen=True)
class Decision:
    """The rules that an update breaks, and the codes that may be its answer."""

    broken: tuple[str, ...]
    codes: frozenset[int]

    def __str__(self) -> str:
        """For people: rules with their sections."""
        if not self.broken:
            return "OK: it breaks no rule"
        return "; ".join(
            f"{name} ({RULES[name].section}: {RULES[name].says})" for name in self.broken
        )


class Model:
    """What a server that runs this p4info has to hold and to answer."""

    def __init__(self, info: Info):
        self.info = info
        self._use(State())

    def _use(self, state: State):
        initial = self.tables.initial if hasattr(self, "tables") else {}
        self.state = state
        self.tables = Tables(self.info, state)
        self.tables.initial = initial
        self.profiles = Profiles(self.info, state)
        self.cells = Cells(self.info, state)
        self.replication = Replication(state)
        self.value_sets = ValueSets(self.info, state)
        self.digests = Digests(self.info, state)
        self.tables.begin()

    def begin(self) -> State:
        """Starts a batch. Returns what `restore` takes."""
        self.tables.begin()
        return self.state.copy()

    def restore(self, state: State):
        """Undoes what was applied since `begin`."""
        self._use(state)

    def decide(self, update: p4r.Update) -> Decision:
        """A server's possible answers to an update, in the present state."""
        broken = tuple(dict.fromkeys(self._wrong(update)))
        if not broken:
            return Decision((), frozenset((OK,)))
        rules = [RULES[name] for name in broken]
        codes = frozenset().union(*(rule.codes for rule in rules))
        return Decision(broken, codes | {OK} if all(rule.choice for rule in rules) else codes)

    def apply(self, update: p4r.Update):
        """Carries out an update that may be accepted."""
        which = update.entity.WhichOneof("entity") or ""
        message = getattr(update.entity, which)
        if which == "table_entry":
            self.tables.apply(update.type, message)
        elif which in ("direct_counter_entry", "direct_meter_entry"):
            self.tables.apply_direct(message)
        elif which == "action_profile_member":
            self.profiles.apply_member(update.type, message)
        elif which == "action_profile_group":
            self.profiles.apply_group(update.type, message)
        elif which == "packet_replication_engine_entry":
            self.replication.apply(update.type, message)
        elif which == "value_set_entry":
            self.value_sets.apply(message)
        elif which == "digest_entry":
            self.digests.apply(update.type, message)
        else:
            self.cells.apply(message)

    def _wrong(self, update: p4r.Update) -> Iterator[str]:
        which = update.entity.WhichOneof("entity")
        if update.type not in TYPES:
            yield "type-unset"
        if which is None:
            yield "entity-unset"
            return
        if which == "extern_entry":
            yield "extern"
            return
        message = getattr(update.entity, which)
        if which == "table_entry":
            yield from self.tables.wrong(update.type, message)
        elif which in ("direct_counter_entry", "direct_meter_entry"):
            yield from self.tables.wrong_direct(update.type, message)
        elif which == "action_profile_member":
            yield from self.profiles.wrong_member(update.type, message)
        elif which == "action_profile_group":
            yield from self.profiles.wrong_group(update.type, message)
        elif which == "packet_replication_engine_entry":
            yield from self.replication.wrong(update.type, message)
        elif which == "value_set_entry":
            yield from self.value_sets.wrong(update.type, message)
        elif which == "digest_entry":
            yield from self.digests.wrong(update.type, message)
        else:
            yield from self.cells.wrong(update.type, message)
