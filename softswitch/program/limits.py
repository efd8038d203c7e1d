"""The most that a program may have: each number that its JSON gives, or has, is checked against
these where it is read.

They bound memory, stack and time of what runs a program, and keep every size within the type that C
has for it. docs/switch.md lists them.
"""

from __future__ import annotations

from typing import Final

TEXT: Final = 64 * 1024 * 1024  # characters of JSON
NAME: Final = 1024  # characters

# Headers.
FIELD_BITS: Final = 1 << 15
FIELDS: Final = 1 << 16  # of all header types
HEADERS: Final = 4096  # instances, those in stacks and unions included; types
HEADER_BYTES: Final = 9216  # on the wire: no frame is longer
PHV_BYTES: Final = 1 << 18  # all headers and metadata, as they are stored with each packet

# Parser and deparser.
STATES: Final = 1 << 16
TRANSITIONS: Final = 1 << 16
STATE_VISITS: Final = 1 << 16  # by a packet, of a parser whose states can loop
VALUE_SETS: Final = 1024
SHIFT_BYTES: Final = 1 << 16  # what the parser skips at once
LOOKAHEAD_BITS: Final = 8 * HEADER_BYTES  # where a lookahead begins and how many it takes
EMITS: Final = 4096
EMITTED_BYTES: Final = 1 << 16  # by all emits, where all their headers are valid

# Controls.
ACTIONS: Final = 1 << 15
PARAMETERS: Final = 1024  # of an action
PARAMETER_BYTES: Final = 1 << 16  # of an action
STATEMENTS: Final = 100_000  # of actions, parser and deparser
STACK_MOVE: Final = 1 << 16  # elements that push_front and pop_front move by
JUMPS_BACK: Final = 1 << 20  # by a packet, in an action
EXPRESSIONS: Final = 1_000_000  # values, operations and conditions
DEPTH: Final = 150  # of an expression
VALUE_BITS: Final = 1 << 14  # of an intermediate result
NODES: Final = 1 << 16  # tables, conditions and calls of a control
KEY_BYTES: Final = 512  # csrc/table.h: SW_TABLE_MAX_KEY
ENTRIES: Final = 2**31 - 1  # of a table; cells of a register, counter or meter
CONST_ENTRIES: Final = 100_000  # of all tables

# State and calculations.
ARRAYS: Final = 1 << 14  # registers; counters; meters; action profiles
LISTS: Final = 4096  # field lists; learn lists; checksums; calculations
DIGEST_BYTES: Final = 4096
CALCULATION_BYTES: Final = 1 << 14

# The C that is made of it.
C_LINES: Final = 1_000_000
C_TEXT: Final = 64 * 1024 * 1024  # characters
