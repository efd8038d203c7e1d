"""Written by lint/messages.py of p4/v1/p4data.proto."""

from pcn.base.p4rt.stub_types import *

DESCRIPTOR: FileDescriptor
class P4Data(Message):
 bitstring: _bytes
 varbit: Final[P4Varbit]
 bool: _bool
 tuple: Final[P4StructLike]
 struct: Final[P4StructLike]
 header: Final[P4Header]
 header_union: Final[P4HeaderUnion]
 header_stack: Final[P4HeaderStack]
 header_union_stack: Final[P4HeaderUnionStack]
 enum: _str
 error: _str
 enum_value: _bytes
 def __init__(self, *, bitstring: _bytes = ..., varbit: P4Varbit = ..., bool: _bool = ..., tuple: P4StructLike = ..., struct: P4StructLike = ..., header: P4Header = ..., header_union: P4HeaderUnion = ..., header_stack: P4HeaderStack = ..., header_union_stack: P4HeaderUnionStack = ..., enum: _str = ..., error: _str = ..., enum_value: _bytes = ...) -> None: ...
 def HasField(self, field_name: Literal['bitstring', 'varbit', 'bool', 'tuple', 'struct', 'header', 'header_union', 'header_stack', 'header_union_stack', 'enum', 'error', 'enum_value', 'data']) -> _bool: ...
 def WhichOneof(self, oneof_group: Literal['data']) -> Literal['bitstring', 'varbit', 'bool', 'tuple', 'struct', 'header', 'header_union', 'header_stack', 'header_union_stack', 'enum', 'error', 'enum_value'] | None: ...
class P4Varbit(Message):
 bitstring: _bytes
 bitwidth: _int
 def __init__(self, *, bitstring: _bytes = ..., bitwidth: _int = ...) -> None: ...
class P4StructLike(Message):
 members: Final[Messages[P4Data]]
 def __init__(self, *, members: Iterable[P4Data] = ...) -> None: ...
class P4Header(Message):
 is_valid: _bool
 bitstrings: Final[Scalars[_bytes]]
 def __init__(self, *, is_valid: _bool = ..., bitstrings: Iterable[_bytes] = ...) -> None: ...
class P4HeaderUnion(Message):
 valid_header_name: _str
 valid_header: Final[P4Header]
 def __init__(self, *, valid_header_name: _str = ..., valid_header: P4Header = ...) -> None: ...
 def HasField(self, field_name: Literal['valid_header']) -> _bool: ...
class P4HeaderStack(Message):
 entries: Final[Messages[P4Header]]
 def __init__(self, *, entries: Iterable[P4Header] = ...) -> None: ...
class P4HeaderUnionStack(Message):
 entries: Final[Messages[P4HeaderUnion]]
 def __init__(self, *, entries: Iterable[P4HeaderUnion] = ...) -> None: ...
