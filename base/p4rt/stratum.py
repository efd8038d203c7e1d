"""stratum/p4_role_config.proto"""

from pcn.base.protos import members

__getattr__ = members("stratum/p4_role_config.proto", globals())
