"""PTF tests of examples/router/router.p4 for action.yml: entries over P4Runtime, frames by PTF."""

from __future__ import annotations

from pathlib import Path

import ptf
from ptf.base_tests import BaseTest
from ptf.testutils import send_packet, simple_udp_packet, verify_no_other_packets, verify_packet

from pcn import Program, SwitchClient, TableAction, TableEntry, TableMatch

PROGRAM = str(Path(__file__).resolve().parents[1] / "router" / "router.json")
ROUTER, HOST = "08:00:00:00:01:00", "08:00:00:00:03:11"


class Routed(BaseTest):
    """A packet to 10.0.3.0/24 leaves by port 3, with one hop less; others are dropped."""

    def setUp(self) -> None:
        self.dataplane = ptf.dataplane_instance
        self.dataplane.flush()
        self.switch = SwitchClient.connect("s1", "127.0.0.1:9559", device_id=1)
        self.switch.become_primary()
        self.switch.set_pipeline(Program.find(PROGRAM))
        forward = TableAction("forward", dst_addr=HOST, port=3)
        self.switch.insert(
            [TableEntry("routes", match=TableMatch(dst_addr="10.0.3.0/24"), action=forward)]
        )

    def tearDown(self) -> None:
        self.switch.close()

    def runTest(self) -> None:
        packet = simple_udp_packet(eth_dst=ROUTER, ip_src="10.0.1.1", ip_dst="10.0.3.3", ip_ttl=64)
        send_packet(self, (0, 1), packet)
        routed = simple_udp_packet(
            eth_src=ROUTER, eth_dst=HOST, ip_src="10.0.1.1", ip_dst="10.0.3.3", ip_ttl=63
        )
        verify_packet(self, routed, (0, 3))
        send_packet(
            self, (0, 1), simple_udp_packet(eth_dst=ROUTER, ip_src="10.0.1.1", ip_dst="10.0.9.9")
        )
        verify_no_other_packets(self)
