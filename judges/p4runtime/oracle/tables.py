"""Table entries and what hangs on them: sections 9.1, 9.3.1 and 9.4.1."""

from collections.abc import Iterator

from oracle import profiles
from oracle.check import wrong_call, wrong_colours, wrong_counts, wrong_matches, wrong_meter
from oracle.forms import Form, call_form, count_form, match_form, meter_form
from oracle.info import Info, Table
from oracle.state import Entry, EntryKey, State
from pcn.base.p4rt import p4r

INSERT, MODIFY, DELETE = p4r.Update.INSERT, p4r.Update.MODIFY, p4r.Update.DELETE
Type = p4r.Update.Type.ValueType


class Tables:
    """The tables of one p4info. `initial` holds the default entries that the program came with;
    `peaks` the most entries that a table can have had at any time in a batch, whose order is the
    server's."""

    def __init__(self, info: Info, state: State):
        self._info = info
        self._state = state
        self.initial: dict[int, Form | None] = {}
        self.peaks: dict[int, int] = {}

    # ---- TableEntry ----

    def wrong(self, kind: Type, message: p4r.TableEntry) -> Iterator[str]:
        """The rules that a write breaks."""
        table = self._info.tables.get(message.table_id)
        if table is None:
            yield "id-unknown" if message.table_id else "id-zero"
            return
        if message.is_const:
            yield "is-const"
        if message.is_default_action:
            yield from self._wrong_default(kind, table, message)
        elif not table.fields:
            yield "keyless-insert" if kind == INSERT else "keyless-entry"
            yield from ("const-table",) if table.const else ()
        else:
            yield from self._wrong_entry(kind, table, message)
        if kind != DELETE:
            yield from _wrong_rest(table, message)

    def _wrong_default(self, kind: Type, table: Table, message: p4r.TableEntry) -> Iterator[str]:
        if kind != MODIFY:
            yield "default-insert" if kind == INSERT else "default-delete"
        if message.match:
            yield "default-match"
        if message.priority:
            yield "default-priority"
        if kind != MODIFY:
            return
        same = not message.HasField("action")
        if table.profile:
            yield "default-indirect-same" if same else "default-indirect"
        if table.const_default:
            yield "default-const-same" if same else "default-const"
        if message.idle_timeout_ns:
            yield "idle-default"
        if message.HasField("meter_config"):
            yield "default-meter"
        if not same and not table.profile:
            yield from self._wrong_action(table, message.action, default=True)

    def _wrong_entry(self, kind: Type, table: Table, message: p4r.TableEntry) -> Iterator[str]:
        fixed = table.const and (kind != MODIFY or message.HasField("action"))
        if fixed:
            yield "const-table"  # whether there is such an entry makes no difference
        broken = list(wrong_matches(table.fields, message.match))
        if table.prioritised:
            broken += ["priority-unset"] if not message.priority else []
        elif message.priority:
            broken.append("priority-set")
        yield from broken
        if message.priority < 0 and table.prioritised:
            yield "priority-negative"
        if not broken and not fixed:
            held = self._state.entries.get(self.key(message))
            if held is None:
                yield from ("absent",) if kind != INSERT else ()
            elif kind == INSERT:
                yield "const-exists" if held.const else "exists"
            elif held.const and (kind == DELETE or message.HasField("action")):
                yield "const-entry"
        if kind == INSERT and self.peaks.get(table.id, 0) >= table.size:
            yield "table-full"
        if kind == INSERT and table.initial_entries:
            yield "table-initial"
        if kind == INSERT and not message.HasField("action"):
            yield "action-unset"
        elif kind != DELETE and message.HasField("action"):
            yield from self._wrong_action(table, message.action, default=False)

    def _wrong_action(
        self, table: Table, message: p4r.TableAction, *, default: bool
    ) -> Iterator[str]:
        kind = message.WhichOneof("type")
        if kind is None:
            yield "action-empty"
        elif table.profile:
            profile = self._info.profiles[table.profile]
            yield from profiles.wrong_reference(profile, self._state, message)
        elif kind != "action":
            yield "action-kind"
        else:
            yield from wrong_call(
                table.actions, message.action, default=default, scope="action-scope"
            )

    def apply(self, kind: Type, message: p4r.TableEntry):
        """Carries out a write that breaks no rule."""
        table, key = self._info.tables[message.table_id], self.key(message)
        if kind == DELETE:
            del self._state.entries[key]
            return
        old = self._state.entries.get(key) or Entry(None, counter=(0, 0) if table.counter else None)
        reset = message.is_default_action and not message.HasField("action")
        action = self.initial[table.id] if reset else old.action
        if message.HasField("action") and not old.const:
            action = self.action(table, message.action)
        counter = (0, 0) if reset and table.counter else old.counter
        if message.HasField("counter_data"):
            counter = count_form(message.counter_data)
        meter = meter_form(message.meter_config) if message.HasField("meter_config") else None
        new = old._replace(action=action, counter=counter, meter=meter)
        if reset:
            new = new._replace(controller_metadata=0, metadata=b"")
        elif not old.const:
            new = new._replace(
                controller_metadata=message.controller_metadata,
                metadata=message.metadata,
                idle=message.idle_timeout_ns,
            )
        self._state.entries[key] = new
        if kind == INSERT:
            self.peaks[table.id] = self.peaks.get(table.id, 0) + 1

    def key(self, message: p4r.TableEntry) -> EntryKey:
        """What identifies the entry of a message whose matches are right."""
        if message.is_default_action:
            return EntryKey(message.table_id, None, 0)
        fields = self._info.tables[message.table_id].fields
        return EntryKey(message.table_id, match_form(message.match, fields), message.priority)

    def action(self, table: Table, message: p4r.TableAction) -> Form:
        """The canonical form of an action that is right."""
        kind = message.WhichOneof("type")
        if kind == "action":
            return call_form(message.action, table.actions[message.action.action_id].params)
        return profiles.reference_form(message, self._info.profiles[table.profile].actions)

    def begin(self):
        """A new batch: the tables are as full as they are."""
        self.peaks = {}
        for key in self._state.entries:
            if key.match is not None:
                self.peaks[key.table] = self.peaks.get(key.table, 0) + 1

    # ---- DirectCounterEntry, DirectMeterEntry ----

    def wrong_direct(
        self, kind: Type, message: p4r.DirectCounterEntry | p4r.DirectMeterEntry
    ) -> Iterator[str]:
        """The rules that a write of a direct resource breaks."""
        if kind != MODIFY:
            yield "modify-only"
        entry = message.table_entry
        table = self._info.tables.get(entry.table_id)
        if table is None:
            yield "id-unknown" if entry.table_id else "id-zero"
            return
        counter = isinstance(message, p4r.DirectCounterEntry)
        if not (table.counter if counter else table.meter):
            yield "direct-none"
        if not entry.is_default_action:
            broken = list(wrong_matches(table.fields, entry.match))
            if bool(entry.priority) != table.prioritised:
                broken.append("priority-unset" if table.prioritised else "priority-set")
            yield from broken
            if not broken and self.key(entry) not in self._state.entries:
                yield "absent"
        elif not counter:
            yield "default-meter"
        if isinstance(message, p4r.DirectCounterEntry):
            yield from wrong_counts(message.data)
        else:
            yield from wrong_meter(message.config, table.single_rate)
            if message.HasField("counter_data"):
                yield from wrong_colours(message.counter_data)

    def apply_direct(self, message: p4r.DirectCounterEntry | p4r.DirectMeterEntry):
        """Carries out a write of a direct resource that breaks no rule."""
        key = self.key(message.table_entry)
        entry = self._state.entries[key]
        if isinstance(message, p4r.DirectMeterEntry):
            entry = entry._replace(
                meter=meter_form(message.config) if message.HasField("config") else None
            )
        elif message.HasField("data"):
            entry = entry._replace(counter=count_form(message.data))
        self._state.entries[key] = entry


def _wrong_rest(table: Table, message: p4r.TableEntry) -> Iterator[str]:
    """What hangs on an entry."""
    if message.HasField("time_since_last_hit"):
        yield "last-hit"
    if message.idle_timeout_ns and not table.idle:
        yield "idle-unsupported"
    elif message.idle_timeout_ns < 0:
        yield "idle-negative"
    if message.HasField("counter_data"):
        yield from () if table.counter else ("counter-none",)
        yield from wrong_counts(message.counter_data)
    if message.HasField("meter_config"):
        yield from () if table.meter else ("meter-none",)
        yield from wrong_meter(message.meter_config, table.single_rate)
    if message.HasField("meter_counter_data"):
        yield from wrong_colours(message.meter_counter_data) if table.meter else ("colour-none",)
