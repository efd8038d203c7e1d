"""google/rpc/code.proto"""

from pcn.base.protos import members

__getattr__ = members("google/rpc/code.proto", globals())
