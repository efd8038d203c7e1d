"""google/protobuf/any.proto"""

from pcn.base.protos import members

__getattr__ = members("google/protobuf/any.proto", globals())
