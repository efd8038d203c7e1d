"""A SONiC switch's config_db.json, for a switch of any topology: buffers, PFC's classes, ECN,
weights, rates.

    BUFFER_POOL    ingress_lossless_pool: `size`, the pool of all shares; `xoff`: has to hold all
                   headrooms
    BUFFER_PROFILE `size`, `xoff`, `xon`, `xon_offset`, `dynamic_th` or `static_th`: a share
    BUFFER_PG      PORT|3-4: the profile of these classes of a port
    BUFFER_QUEUE   PORT|3-4: refused where the profile limits an output queue;
                   BUFFER_PORT_..._PROFILE_LIST: likewise
    PORT_QOS_MAP   `pfc_enable`: the classes that PFC protects; `pfcwd_sw_enable`: those that the
                   watchdog looks at; maps of classes: checked
    WRED_PROFILE   `green_...`, `yellow_...`, `red_...` with `ecn`: ECN thresholds
    SCHEDULER      DWRR `weight`, or STRICT
    QUEUE          PORT|3: both of a class at a port
    PFC_WD         the watchdog of the ports that have a row
    PORT           `speed` in Mbit/s; `mtu`: has to hold the topology's frames

Ports in the order of their numbers (Ethernet0, Ethernet4, ...) are the switch's ports 1, 2, ...
"""

from pcn.topologies.formats.sonic.buffers import EGRESS as EGRESS, HEADROOM_POOL as HEADROOM_POOL
from pcn.topologies.formats.sonic.config_db import SonicSwitch as SonicSwitch, read as read
from pcn.topologies.formats.sonic.settings import apply as apply
