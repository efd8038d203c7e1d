"""The longest Ethernet frame that switches, hosts and the engine take."""

MAX_FRAME = 9216
"""Bytes, without the checksum. Of C the same: SW_MAX_FRAME, WIRE_MAX_FRAME."""
