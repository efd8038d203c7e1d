"""Maps P4Runtime's ids to the running program: ids and widths of the p4info beside the indices of
the C code.

`binding.py` makes a Schema of a p4info and a loaded program. Its records are looked up by id and
never compared. They are named tuples, as all records that a switch's start loads: it makes such a
class in a seventh of a frozen dataclass's time.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple, TypeVar

from pcn.base.p4rt import p4i
from pcn.softswitch.p4runtime.errors import NOT_FOUND, RpcError
from pcn.softswitch.p4runtime.p4data import Scalar, Type
from pcn.softswitch.p4runtime.translation import Strings

T = TypeVar("T")
_NONE: Mapping[int, Any] = {}  # no MappingProxyType: a cached schema is pickled
MAX_GROUPS = 1 << 20  # members of all groups of an action selector, where the program sets no limit


class Match(enum.Enum):
    """How a key field matches."""

    EXACT = "exact"
    LPM = "lpm"
    TERNARY = "ternary"
    RANGE = "range"
    OPTIONAL = "optional"


class Kind(enum.Enum):
    """How C stores a table: by key alone, by key and prefix, or by priority with masks or
    bounds."""

    EXACT = "exact"
    LPM = "lpm"
    MASKED = "masked"


class KeyField(NamedTuple):
    """A key field. `width` bits at the P4Runtime side, `size` bytes in C's key, in order.
    `strings`: of a type that is translated to strings; only exact and optional fields are."""

    id: int
    name: str
    match: Match
    width: int
    size: int
    strings: Strings | None = None


class Param(NamedTuple):
    """An action parameter: `words` 64-bit words in C. `strings`: as of KeyField."""

    id: int
    name: str
    width: int
    words: int
    strings: Strings | None = None


class Action(NamedTuple):
    """An action as one table (or action profile) refers to it. `c_index` is C's."""

    id: int
    name: str
    c_index: int
    params: tuple[Param, ...]
    in_table: bool = True
    in_default: bool = True


class InitialEntry(NamedTuple):
    """An entry that the program brings along. Key and mask in C's layout; the higher priority
    wins."""

    key: bytes
    mask: bytes | None
    prefix: int
    priority: int
    action: int
    args: tuple[int, ...]
    const: bool


class Table(NamedTuple):
    """A table. `actions` by p4info id, `by_index` by C's index. `single_rate`: of its direct meter,
    as of an Array."""

    id: int
    name: str
    c_index: int
    kind: Kind
    fields: tuple[KeyField, ...]
    actions: Mapping[int, Action]
    by_index: Mapping[int, Action]
    size: int
    const: bool
    const_default: bool
    default_action: int | None
    default_args: tuple[int, ...]
    initial: tuple[InitialEntry, ...]
    direct_counter: int = 0
    direct_meter: int = 0
    single_rate: bool = False
    idle_timeout: bool = False
    profile: int = 0

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"table {self.name}"

    @property
    def prioritised(self) -> bool:
        """Whether entries need a priority."""
        return self.kind is Kind.MASKED


class ValueSet(NamedTuple):
    """A parser's value set. `c_index`: of the table that is it in C. `size`: members at most."""

    id: int
    name: str
    c_index: int
    fields: tuple[KeyField, ...]
    size: int

    @property
    def label(self) -> str:
        """How messages call it."""
        return f"value set {self.name}"


class Profile(NamedTuple):
    """An action profile. `actions` by p4info id. `size` and `max_group_size` 0: none is given; they
    measure groups by their weights, or by how many members they have (`by_members`)."""

    id: int
    name: str
    c_index: int
    selector: bool
    actions: Mapping[int, Action]
    size: int
    max_group_size: int
    by_members: bool
    max_member_weight: int
    weights_disallowed: bool

    @property
    def limit(self) -> int:
        """Of what all groups measure together."""
        return self.size or MAX_GROUPS

    def measure(self, weights: Iterable[int]) -> int:
        """Returns the size of a group whose members have these weights."""
        return sum(1 if self.by_members else max(weight, 1) for weight in weights)


class Array(NamedTuple):
    """An indexed counter or meter. `single_rate`: a meter with one rate and two colours."""

    id: int
    name: str
    c_index: int
    size: int
    single_rate: bool = False


class Register(NamedTuple):
    """A register: an Array with cells of `width` bits in C, values of `type` for clients."""

    id: int
    name: str
    c_index: int
    size: int
    width: int
    type: Scalar


class Digest(NamedTuple):
    """A digest: `list_id` is C's learn list, `widths` its fields' bits in order, `type` what
    clients get."""

    id: int
    name: str
    list_id: int
    widths: tuple[int, ...]
    type: Type


class HeaderField(NamedTuple):
    """One metadata field of a controller header. `strings`: as of KeyField."""

    id: int
    name: str
    width: int
    padding: bool
    strings: Strings | None = None


class Schema(NamedTuple):
    """All that a client can name. `missing`: names of what the p4info describes and the program
    lacks, by id."""

    p4info: p4i.P4Info
    missing: Mapping[int, str] = _NONE
    tables: Mapping[int, Table] = _NONE
    profiles: Mapping[int, Profile] = _NONE
    value_sets: Mapping[int, ValueSet] = _NONE
    counters: Mapping[int, Array] = _NONE
    registers: Mapping[int, Register] = _NONE
    meters: Mapping[int, Array] = _NONE
    digests: Mapping[int, Digest] = _NONE
    packet_in: tuple[HeaderField, ...] = ()
    packet_out: tuple[HeaderField, ...] = ()

    def table(self, table_id: int) -> Table:
        """Returns the table with this id. Raises RpcError NOT_FOUND."""
        return self._find(self.tables, table_id, "table")

    def profile(self, profile_id: int) -> Profile:
        """Returns the action profile with this id. Raises RpcError NOT_FOUND."""
        return self._find(self.profiles, profile_id, "action profile")

    def value_set(self, value_set_id: int) -> ValueSet:
        """Returns the value set with this id. Raises RpcError NOT_FOUND."""
        return self._find(self.value_sets, value_set_id, "value set")

    def counter(self, counter_id: int) -> Array:
        """Returns the indexed counter with this id. Raises RpcError NOT_FOUND."""
        return self._find(self.counters, counter_id, "counter")

    def register(self, register_id: int) -> Register:
        """Returns the register with this id. Raises RpcError NOT_FOUND."""
        return self._find(self.registers, register_id, "register")

    def meter(self, meter_id: int) -> Array:
        """Returns the indexed meter with this id. Raises RpcError NOT_FOUND."""
        return self._find(self.meters, meter_id, "meter")

    def digest(self, digest_id: int) -> Digest:
        """Returns the digest with this id. Raises RpcError NOT_FOUND."""
        return self._find(self.digests, digest_id, "digest")

    def _find(self, things: Mapping[int, T], thing_id: int, kind: str) -> T:
        if thing_id in things:
            return things[thing_id]
        if thing_id in self.missing:
            raise RpcError(
                NOT_FOUND, f"the compiler removed {self.missing[thing_id]} from the program"
            )
        raise RpcError(NOT_FOUND, f"the p4info has no {kind} with id {thing_id} (0x{thing_id:08x})")
