"""p4/config/v1/p4info.proto"""

from pcn.base.protos import members

__getattr__ = members("p4/config/v1/p4info.proto", globals())
