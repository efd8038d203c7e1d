"""TCP of hosts in virtual time: connections that send bytes, and react to loss and to ECN marks.

segments.py has the frames, sender.py and receiver.py the two state machines, congestion.py Reno,
CUBIC and DCTCP, connection.py joins them to a network.
"""

from pcn.p4net.tcp.congestion import ALGORITHMS
from pcn.p4net.tcp.connection import FIRST_PORT, MSS, Connection, connect
from pcn.p4net.tcp.segments import FRAME_BYTES

__all__ = ["ALGORITHMS", "FIRST_PORT", "FRAME_BYTES", "MSS", "Connection", "connect"]
