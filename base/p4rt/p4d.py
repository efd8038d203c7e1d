"""p4/v1/p4data.proto"""

from pcn.base.protos import members

__getattr__ = members("p4/v1/p4data.proto", globals())
