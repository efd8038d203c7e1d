"""The router's network as a script of Mininet with the p4_mininet.py of p4lang/behavioral-model:
`pcn p4 import examples/router/network.py` makes net.json of it."""

import argparse
import os

from mininet.cli import CLI
from mininet.link import TCLink
from mininet.net import Mininet
from mininet.topo import Topo
from p4_mininet import P4Host, P4Switch

HERE = os.path.dirname(os.path.abspath(__file__))  # noqa: PTH100, PTH120


class RouterTopo(Topo):
    """h1 and h2 at s1, h3 at s2, over a slow link."""

    def build(self, program, rate):
        s1, s2 = (
            self.addSwitch(
                f"s{number}", sw_path="simple_switch", json_path=program, thrift_port=port
            )
            for number, port in ((1, 9090), (2, 9091))
        )
        for number, switch in ((1, s1), (2, s1), (3, s2)):
            host = self.addHost(
                f"h{number}", ip=f"10.0.{number}.{number}/24", mac=f"08:00:00:00:0{number}:11"
            )
            self.addLink(host, switch, **({"port2": 2} if switch == s2 else {}))
        self.addLink(s1, s2, port2=1, bw=rate, delay="1ms")


def main():
    parser = argparse.ArgumentParser(description="Two routers in Mininet")
    parser.add_argument("--json", default=os.path.join(HERE, "router.json"))  # noqa: PTH118
    parser.add_argument("--rate", type=float, default=8, help="of the slow link, in Mbit/s")
    arguments = parser.parse_args()
    topo = RouterTopo(arguments.json, arguments.rate)
    net = Mininet(topo=topo, host=P4Host, switch=P4Switch, link=TCLink, controller=None)
    net.start()
    for number in (1, 2, 3):
        host = net.get(f"h{number}")
        host.setARP(f"10.0.{number}.254", f"08:00:00:00:0{number}:00")
        host.setDefaultRoute(f"dev eth0 via 10.0.{number}.254")
    for number, port in ((1, 9090), (2, 9091)):
        commands = os.path.join(HERE, f"s{number}-commands.txt")  # noqa: PTH118
        os.system(f"simple_switch_CLI --thrift-port {port} < {commands}")
    CLI(net)
    net.stop()


if __name__ == "__main__":
    main()
