"""google/rpc/status.proto"""

from pcn.base.protos import members

__getattr__ = members("google/rpc/status.proto", globals())
