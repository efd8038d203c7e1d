"""Known differences of targets from the oracle, and what the specification requires instead.

The embedded switch has no such list: what it refuses on purpose are choices of rules.py that its
README.md, "Limits", names. An entry that a long run doesn't meet has to go, except what the target
survives most of the time: `run.py` prints how often it met each.
"""

from oracle.known import Difference
from oracle.rules import (
    DENIED,
    EXHAUSTED,
    INTERNAL,
    INVALID,
    NOT_FOUND,
    OK,
    UNAVAILABLE,
    UNIMPLEMENTED,
    UNKNOWN,
)

BMV2 = (
    # ---- requests ----
    Difference("device", DENIED, "12: NOT_FOUND comes first"),
    Difference("role", OK, "12: NOT_FOUND"),
    Difference("entity-unset", UNKNOWN, "12: INVALID_ARGUMENT"),
    # A query that fails ends the whole read with its code, and those behind it aren't answered.
    *(
        Difference(
            "read batch", code, "13.3: the others are answered, and an error comes for each query"
        )
        for code in (UNKNOWN, INVALID, NOT_FOUND, UNIMPLEMENTED, INTERNAL)
    ),
    Difference("read nothing", UNKNOWN, "13.2: INVALID_ARGUMENT"),
    # ---- what it doesn't have ----
    Difference("register_entry", UNIMPLEMENTED, "9.7: registers are read and written"),
    Difference("read register_entry", UNIMPLEMENTED, "9.7"),
    Difference("value_set_entry", UNIMPLEMENTED, "9.6: value sets are read and written"),
    Difference("read value_set_entry", UNIMPLEMENTED, "9.6"),
    Difference(
        "counter_entry of a whole array", UNIMPLEMENTED, "9.3.2: without an index, all cells"
    ),
    Difference("meter_entry of a whole array", UNIMPLEMENTED, "9.4.2: without an index, all cells"),
    Difference("session with a length", UNKNOWN, "9.5.2: clones are cut"),
    Difference("MODIFY without an action", INVALID, "9.1.2: the action stays"),
    Difference(
        "direct_counter_entry of a default entry",
        UNKNOWN,
        "9.1.3: it has direct resources like any other",
    ),
    Difference("default entry counter", OK, "9.1.3: likewise, in what is read"),
    Difference("default entry meter", OK, "9.1.3: likewise"),
    # ---- what it accepts ----
    Difference("is-const", OK, "9.1: INVALID_ARGUMENT"),
    Difference("priority-set", OK, "9.1: INVALID_ARGUMENT"),
    Difference("value-empty", OK, "8.3: OUT_OF_RANGE; it is taken for 0"),
    Difference("range-dont-care", OK, "9.1.1: INVALID_ARGUMENT"),
    Difference("action-scope", OK, "9.1.2: PERMISSION_DENIED, in a one-shot as well"),
    Difference("colour-none", OK, "9.1.7: INVALID_ARGUMENT, or UNIMPLEMENTED by 9.4"),
    Difference("colour-nonzero", OK, "9.4.1: INVALID_ARGUMENT, or UNIMPLEMENTED by 9.4"),
    Difference("eburst", OK, "9.4: INVALID_ARGUMENT"),
    Difference("single-rate", OK, "9.4: INVALID_ARGUMENT"),
    Difference("modify-only", OK, "9.3.2: INVALID_ARGUMENT"),
    Difference("member-zero", OK, "9.2.1: an id isn't 0"),
    Difference("member-scope", OK, "9.1.2: PERMISSION_DENIED"),
    Difference("member-weight", OK, "9.2.3: INVALID_ARGUMENT"),
    Difference("group-zero", OK, "9.2.2: an id isn't 0"),
    Difference("group-selector", OK, "9.2.2: only a selector has groups"),
    Difference("max-size-changed", OK, "9.2.2: INVALID_ARGUMENT"),
    Difference("replica-twice", OK, "9.5.1: INVALID_ARGUMENT"),
    # ---- other codes ----
    Difference("const-table", NOT_FOUND, "9.1.4: PERMISSION_DENIED for whatever isn't allowed"),
    Difference("const-table", UNKNOWN, "9.1.4: likewise"),
    Difference("keyless-insert", UNKNOWN, "9.1: INVALID_ARGUMENT"),
    Difference("table-full", UNKNOWN, "9.1: RESOURCE_EXHAUSTED"),
    Difference("table-initial", UNKNOWN, "9.1.5, 9.1: RESOURCE_EXHAUSTED"),
    Difference("priority-negative", UNKNOWN, "12: INVALID_ARGUMENT, if it is refused"),
    Difference("reference-absent", INVALID, "9.1.2: NOT_FOUND"),
    Difference("group-used", UNKNOWN, "9.2.2: FAILED_PRECONDITION"),
    Difference("index-large", UNKNOWN, "9.3.2, 9.4.2: OUT_OF_RANGE"),
    Difference("read counter_entry", UNKNOWN, "9.3.2: OUT_OF_RANGE"),
    Difference("read meter_entry", UNKNOWN, "9.4.2: OUT_OF_RANGE"),
    Difference("read direct_counter_entry", INVALID, "9.3.1: NOT_FOUND"),
    Difference(
        "port of more than 4 bytes",
        UNIMPLEMENTED,
        "8.3: zeros in front don't matter; 9.5.1: INVALID_ARGUMENT",
    ),
    # ---- refused, and carried out in part ----
    Difference(
        "MODIFY of a session with a length or a class",
        UNKNOWN,
        "12: its replicas stay",
        unclean=True,
    ),
    Difference("meter-rates", UNKNOWN, "12: no entry is left behind", unclean=True),
    Difference(
        "member-used", UNKNOWN, "9.2.1: FAILED_PRECONDITION, and the member stays", unclean=True
    ),
    Difference(
        "group-empty",
        UNKNOWN,
        "9.2.4: either; but what the entry used before is still in use",
        unclean=True,
    ),
    Difference("group-size", EXHAUSTED, "12: no group is left behind", unclean=True),
    Difference("group-member-absent", NOT_FOUND, "12: no group is left behind", unclean=True),
    Difference("group-member-twice", INVALID, "12: no group is left behind", unclean=True),
    Difference("weight", INVALID, "12: no group is left behind", unclean=True),
    Difference(
        "group whose weights exceed its size in members",
        EXHAUSTED,
        "6.4.3: members count",
        unclean=True,
    ),
    Difference(
        "MODIFY of a group that loses a watched member",
        UNKNOWN,
        "9.2.2: it is carried out",
        unclean=True,
    ),
    # ---- what it holds ----
    Difference("entry const", OK, "9.1: is_const is set in answers"),
    Difference(
        "entry meter",
        OK,
        "9.1.7: MODIFY without a configuration resets it; 8.2: a rate is not rounded",
    ),
    Difference("direct meter", OK, "9.1.7, 8.2: likewise"),
    Difference("meter cell", OK, "8.2: a rate is not rounded"),
    Difference("zeroed counter cell", OK, "9.3.2: without data nothing changes"),
    Difference("zeroed entry counter", OK, "9.3.1: without data nothing changes"),
    Difference("zeroed direct counter", OK, "9.3.1: likewise"),
    Difference("multicast metadata", OK, "9.5.1: it is given back"),
    Difference("padded multicast replicas", OK, "8.3: the shortest string"),
    Difference("padded session replicas", OK, "8.3: the shortest string"),
    Difference("group watches", OK, "9.2.2, 8.2: what a member watches changes with MODIFY"),
    # ---- what it reads ----
    Difference("read table_entry", INTERNAL, "9.1.5: initial entries are read"),
    Difference("read all tables", INTERNAL, "9.1.5: likewise"),
    Difference("read by match without a priority", INVALID, "9.1.6: 0 selects all priorities"),
    Difference("extra entry by a filter", OK, "9.1.6: action, priority and metadata select"),
    Difference(
        "read action_profile_member", INVALID, "9.2.1: there are none where one-shots are used"
    ),
    Difference("read action_profile_group", INVALID, "9.2.2: likewise"),
    Difference("repeated member", OK, "9.2.1: once, not as often as its weight in a group"),
    # ---- what it crashes at ----
    Difference("replica-port", UNAVAILABLE, "9.5.1: the code is open"),
    Difference("weight of millions", UNAVAILABLE, "9.2.2.1: RESOURCE_EXHAUSTED"),
    # It uses memory that it has freed (valgrind), and ends some time later, or doesn't.
    Difference("change of a digest", UNAVAILABLE, "9.8: it is carried out"),
)

DIFFERENCES = {"none": (), "bmv2": BMV2}
