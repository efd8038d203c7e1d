"""p4/config/v1/p4types.proto"""

from pcn.base.protos import members

__getattr__ = members("p4/config/v1/p4types.proto", globals())
