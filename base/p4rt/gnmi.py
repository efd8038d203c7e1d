"""gnmi/gnmi.proto"""

from pcn.base.protos import members

__getattr__ = members("gnmi/gnmi.proto", globals())
