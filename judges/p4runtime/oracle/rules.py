"""The rules by which the oracle decides: the section of P4Runtime 1.4 that has each, and the codes
that it allows.

More than one code stands where the specification names none, or names different ones in different
places. `choice` marks what a server may also accept: an option, a limit of the target, or a
question that the specification leaves open.
"""

from dataclasses import dataclass

from pcn.base.p4rt import rpc_code

OK = rpc_code.OK
UNKNOWN = rpc_code.UNKNOWN
INTERNAL = rpc_code.INTERNAL
INVALID = rpc_code.INVALID_ARGUMENT
NOT_FOUND = rpc_code.NOT_FOUND
EXISTS = rpc_code.ALREADY_EXISTS
DENIED = rpc_code.PERMISSION_DENIED
EXHAUSTED = rpc_code.RESOURCE_EXHAUSTED
PRECONDITION = rpc_code.FAILED_PRECONDITION
RANGE = rpc_code.OUT_OF_RANGE
UNIMPLEMENTED = rpc_code.UNIMPLEMENTED
ABORTED = rpc_code.ABORTED
UNAVAILABLE = rpc_code.UNAVAILABLE  # of a server that crashed


@dataclass(frozen=True)
class Rule:
    """A rule in our words, its section, and a server's possible answers."""

    says: str
    section: str
    codes: frozenset[int]
    choice: bool = False


def _rule(says: str, section: str, *codes: int) -> Rule:
    return Rule(says, section, frozenset(codes))


def _choice(says: str, section: str, *codes: int) -> Rule:
    return Rule(says, section, frozenset(codes), choice=True)


RULES = {
    # ---- requests ----
    "device": _rule("another device", "12", NOT_FOUND),
    "role": _rule("a role that no client has", "12", NOT_FOUND),
    "election": _rule("not the primary's election id", "12", DENIED),
    "rollback": _choice("batches that are rolled back are an option", "12.2", UNIMPLEMENTED),
    "atomic": _choice(
        "batches that are atomic for the data plane are an option", "12.2", UNIMPLEMENTED
    ),
    # ---- updates of any kind ----
    "type-unset": _rule("an update has a type", "12", INVALID),
    "entity-unset": _rule("an update has an entity", "12", INVALID),
    "extern": _rule(
        "an extern that the p4info doesn't have", "9.9", INVALID, NOT_FOUND, UNIMPLEMENTED
    ),
    "id-zero": _rule("0 is no object's id", "8.1.1", INVALID, NOT_FOUND),
    "id-unknown": _rule("the p4info has such an object", "9", INVALID, NOT_FOUND),
    "exists": _rule("INSERT of what exists", "12", EXISTS),
    "absent": _rule("MODIFY or DELETE of what doesn't exist", "12", NOT_FOUND),
    "modify-only": _rule("what is always there can only be modified", "9.3-9.7", INVALID),
    # ---- table entries ----
    "is-const": _rule("is_const is false in a write", "9.1", INVALID),
    "priority-unset": _rule(
        "a key with a ternary, range or optional field needs a priority", "9.1", INVALID
    ),
    "priority-set": _rule("an exact or LPM key takes no priority", "9.1", INVALID),
    "priority-negative": _choice("a priority below 0 is undefined", "9.1", INVALID),
    "keyless-insert": _rule("a table without a key takes no entries", "9.1", INVALID),
    "keyless-entry": _rule("a table without a key has no entries", "9.1", INVALID, NOT_FOUND),
    "table-full": _choice("a table may hold more than its size", "9.1", EXHAUSTED),
    "table-initial": _choice(
        "a preinitialised table's room: README.md, Limits", "9.1.5", EXHAUSTED
    ),
    "default-insert": _rule("the default entry is always there", "9.1.3", INVALID),
    "default-delete": _rule("the default entry stays", "9.1.3", INVALID),
    "default-match": _rule("the default entry has no match", "9.1.3", INVALID),
    "default-priority": _rule("the default entry has no priority", "9.1.3", INVALID),
    "default-const": _rule("a const default action stays", "9.1.3", DENIED),
    "default-const-same": _choice(
        "whether a const default entry's counter can be written", "9.1.3", DENIED
    ),
    "default-indirect": _rule(
        "an indirect table's default action is NoAction", "9.1.3", INVALID, DENIED
    ),
    "default-indirect-same": _choice("a reset of it changes nothing", "9.1.3", INVALID, DENIED),
    "const-table": _rule("a const table's entries stay", "9.1.4", DENIED),
    "const-entry": _rule("a const entry stays", "9.1.5", DENIED),
    "const-exists": _rule("INSERT over a const entry", "9.1.5", EXISTS, DENIED),
    # ---- matches ----
    "field-unknown": _rule("the table has such a match field", "9.1.1", INVALID),
    "field-twice": _rule("a match field stands once", "9.1.1", INVALID),
    "field-missing": _rule("exact fields are there", "9.1.1", INVALID),
    "field-empty": _rule("a match has a type", "9.1.1", INVALID),
    "field-kind": _rule("a match has its field's type", "9.1.1", INVALID),
    # 8.3 asks for OUT_OF_RANGE, 9.1.1 and 9.1.2 for INVALID_ARGUMENT.
    "value-empty": _rule("no value is an empty string", "8.3", INVALID, RANGE),
    "value-wide": _rule("a value fits its width", "8.3", INVALID, RANGE),
    "lpm-length": _rule("a prefix is at most as long as its field", "9.1.1", INVALID),
    "lpm-dont-care": _rule("a prefix of length 0 is left out", "9.1.1", INVALID),
    "lpm-bits": _rule("no bits below the prefix", "9.1.1", INVALID),
    "ternary-dont-care": _rule("a mask of 0 is left out", "9.1.1", INVALID),
    "ternary-bits": _rule("no bits outside the mask", "9.1.1", INVALID),
    "range-order": _rule("low is at most high", "9.1.1", INVALID),
    "range-dont-care": _rule("a range of everything is left out", "9.1.1", INVALID),
    # ---- actions ----
    "action-unset": _rule("INSERT gives an action", "9.1.2", INVALID),
    "action-empty": _rule("an action is one of its kinds", "9.1.2", INVALID),
    "action-kind": _rule(
        "the kind of action that the table's implementation takes", "9.1.2", INVALID
    ),
    "action-unknown": _rule("an action that the table has", "9.1.2", INVALID),
    "action-scope": _rule(
        "a default-only action in an entry, a table-only one as default", "9.1.2", DENIED
    ),
    "param-missing": _rule("every parameter is there", "9.1.2", INVALID),
    "param-twice": _rule("a parameter stands once", "9.1.2", INVALID),
    "param-unknown": _rule("the action has such a parameter", "9.1.2", INVALID),
    "reference-absent": _rule("the member or group exists", "9.1.2", NOT_FOUND),
    "reference-zero": _rule("no member or group has id 0", "9.2", NOT_FOUND, INVALID),
    # ---- what hangs on entries ----
    "idle-unsupported": _rule("idle timeouts where the p4info has them", "9.1.8", INVALID),
    "idle-default": _rule("the default entry has no idle timeout", "9.1.8", INVALID),
    "idle-negative": _choice("times below 0 are undefined", "9.1.8", INVALID),
    "last-hit": _rule("time_since_last_hit is unset in a write", "9.1.8", INVALID),
    "counter-none": _rule("the table has a direct counter", "9.1.7", INVALID),
    "meter-none": _rule("the table has a direct meter", "9.1.7", INVALID),
    "colour-none": _rule(
        "the table has a direct meter to count the colours of", "9.1.7", INVALID, UNIMPLEMENTED
    ),
    "colour": _choice("counters of colours are an option", "9.4", UNIMPLEMENTED),
    "colour-nonzero": _rule("counters of colours are only reset", "9.4.1", INVALID, UNIMPLEMENTED),
    "direct-none": _rule(
        "the table has such a direct resource", "9.3.1, 9.4.1", INVALID, NOT_FOUND
    ),
    "default-meter": _choice("a default entry's meter: README.md, Limits", "9.1.3", UNIMPLEMENTED),
    "count-negative": _choice("counts below 0 are undefined", "9.3", INVALID),
    "eburst": _rule("only a meter of one rate and three colours has an eburst", "9.4", INVALID),
    "single-rate": _rule(
        "a meter of one rate has pir and pburst like cir and cburst", "9.4", INVALID
    ),
    "meter-rates": _choice(
        "a committed rate above the peak rate makes no sense in RFC 2698", "9.4", INVALID
    ),
    "meter-negative": _choice("rates below 0 are undefined", "9.4", INVALID),
    # ---- action profiles ----
    "member-zero": _rule("no member has id 0", "9.2.1", INVALID, NOT_FOUND),
    "member-action": _rule("a member has an action", "9.2.1", INVALID),
    "member-scope": _rule(
        "a member's action is one that entries may have", "9.2.1", INVALID, DENIED
    ),
    "member-used": _rule("DELETE of a member that a group or an entry uses", "9.2.1", PRECONDITION),
    "member-action-changes": _choice(
        "another action for a member of a group is an option", "9.2.4", UNIMPLEMENTED
    ),
    "profile-full": _choice("a profile may hold more than its size", "9.2.1", EXHAUSTED),
    "group-zero": _rule("no group has id 0", "9.2.2", INVALID, NOT_FOUND),
    "group-selector": _rule("groups belong to selectors", "9.2.2", INVALID, NOT_FOUND),
    "group-member-absent": _rule("a group's members exist", "9.2.2", NOT_FOUND),
    "group-member-twice": _rule("a member stands once in a group", "9.2.2", INVALID),
    "group-used": _rule("DELETE of a group that an entry uses", "9.2.2", PRECONDITION),
    # The section does not require an error, and lets the data plane do what it does.
    "group-empty": _choice("whether an entry may use an empty group", "9.2.4", UNIMPLEMENTED),
    "group-size": _rule("a group keeps within its max_size", "9.2.2.1", INVALID, EXHAUSTED),
    "max-size-large": _rule("max_size is at most max_group_size", "9.2.2.1", INVALID),
    # The section asks for more than 0 where there is a max_group_size; p4runtime.proto lets 0 mean
    # that.
    "max-size-zero": _choice("whether max_size may be 0", "9.2.2.1", INVALID),
    "max-size-negative": _rule("max_size is not below 0", "9.2.2.1", INVALID),
    "max-size-unsupported": _choice("a max_size beyond the selector's size", "9.2.2.1", EXHAUSTED),
    "max-size-changed": _rule("max_size stays", "9.2.2", INVALID),
    "selector-full": _choice("a selector may hold more than its size", "9.2.2.1", EXHAUSTED),
    "weight": _rule("a weight is above 0", "9.2.2", INVALID),
    "member-weight": _rule("a weight is at most max_member_weight", "9.2.3", INVALID, EXHAUSTED),
    "watch": _choice("watch ports: README.md, Limits", "9.2.2", UNIMPLEMENTED, INVALID),
    "actions-differ": _choice(
        "different actions in one group are an option", "9.2.4", UNIMPLEMENTED
    ),
    "oneshot-size": _rule("a one-shot keeps within max_group_size", "9.2.3", INVALID),
    "oneshot-empty": _choice("whether a one-shot may be empty", "9.2.4", INVALID, UNIMPLEMENTED),
    "styles-mixed": _rule(
        "one-shots and references don't go together in a selector", "9.2.3", INVALID
    ),
    "styles-meet": _choice(
        "members or groups that no entry uses, beside one-shots", "9.2.3", INVALID
    ),
    # ---- counters, meters, registers ----
    "index-negative": _rule("an index is not below 0", "9.3.2, 9.4.2, 9.7", INVALID),
    "index-large": _rule("an index is below the array's size", "9.3.2, 9.4.2, 9.7", RANGE),
    "data-form": _rule("a register's data is of its type", "9.7", INVALID),
    "data-value": _rule("a register's value fits its width", "8.3, 9.7", RANGE, INVALID),
    # ---- packet replication ----
    "pre-empty": _rule("a group or a session", "9.5", INVALID),
    "multicast-zero": _rule("no multicast group has id 0", "9.5.1", INVALID),
    "session-zero": _rule("no clone session has id 0", "9.5.2", INVALID),
    "pre-large": _choice("ids up to what the target has", "9.5", RANGE, INVALID, EXHAUSTED),
    "replica-port": _rule(
        "a replica has a port of the device", "9.5.1, 9.5.2", INVALID, RANGE, NOT_FOUND
    ),
    "replica-port-zero": _choice("port 0 is no SDN port; v1model has it", "9.5.1, 18.1.1", INVALID),
    "replica-twice": _rule("two replicas of a group differ in port or instance", "9.5.1", INVALID),
    "replica-twice-clone": _choice("whether those of a session may be the same", "9.5.2", INVALID),
    "instance-large": _choice("instances up to what the target has", "9.5.1, 9.5.2", INVALID),
    "class-of-service": _choice(
        "classes of service: README.md, Limits", "9.5.2", UNIMPLEMENTED, INVALID
    ),
    "length-negative": _choice("lengths below 0 are undefined", "9.5.2", INVALID),
    # ---- value sets, digests ----
    "set-full": _rule("a value set keeps within its size", "9.6", EXHAUSTED),
    "set-twice": _rule("a member stands once in a value set", "9.6", EXISTS),
    "set-range": _choice("ranges in value sets: README.md, Limits", "9.6", UNIMPLEMENTED),
    "digest-negative": _choice("times and sizes below 0 are undefined", "9.8", INVALID),
}
