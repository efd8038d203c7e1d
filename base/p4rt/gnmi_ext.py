"""gnmi_ext/gnmi_ext.proto"""

from pcn.base.protos import members

__getattr__ = members("gnmi_ext/gnmi_ext.proto", globals())
