"""BMv2's runtime interface over Thrift, for simple_switch_CLI, p4-utils and their like: another
face of the state that the P4Runtime server has.

bmv2.thrift has the calls, server.py the connections; tables.py, profiles.py, arrays.py,
replication.py and switch.py carry them out. p4info.py describes a program that came without a
p4info.
"""
