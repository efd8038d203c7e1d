"""p4/v1/p4runtime.proto"""

from pcn.base.protos import members

__getattr__ = members("p4/v1/p4runtime.proto", globals())
