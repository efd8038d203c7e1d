"""Command files of BMv2's simple_switch_CLI, read as updates of P4Runtime: `Commands(path)`.

    table_add MyIngress.ipv4_lpm MyIngress.ipv4_forward 10.0.1.1/32 => 08:00:00:00:01:11 1
    mc_mgrp_create 1

An entry's handle is counted as BMv2 counts it. A line that isn't supported is refused with its
place.
"""

from __future__ import annotations

from pcn.p4net.commands.file import COMMANDS as COMMANDS, Commands as Commands
