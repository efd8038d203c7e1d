"""`pcn p4 import`: scripts of Mininet and p4-utils become the network that they build, and what
isn't in it stands in a line."""

import json
import shutil
from collections.abc import Iterator

import pytest
from exercise import EXAMPLE
from hypothesis import given, strategies as st
from import_scripts import MININET, PAIR, Scripts, as_user, commands, links
from others import shared_folder

from pcn.cli import run
from pcn.p4net.importing import shell
from pcn.p4net.tutorials import read
from pcn.p4net.virtual import VirtualP4


@pytest.fixture
def scripts(monkeypatch, capsys) -> Iterator[Scripts]:
    as_user(monkeypatch)
    with shared_folder() as folder:
        for name in ("router.json", "router.p4info.txtpb"):
            shutil.copy(EXAMPLE / name, folder)
        monkeypatch.chdir(folder)
        yield Scripts(folder, capsys)


# ---- forms of scripts ----

TOPO = (
    MININET
    + """
import argparse

class Line(Topo):
    def __init__(self, program, count, **opts):
        Topo.__init__(self, **opts)
        before = None
        for number in range(1, count + 1):
            switch = self.addSwitch(f"s{number}", json_path=program)
            addresses = {"ip": f"10.0.{number}.1/24", "mac": f"00:00:00:00:0{number}:01"}
            host = self.addHost(f"h{number}", defaultRoute=f"via 10.0.{number}.254", **addresses)
            self.addLink(host, switch)
            if before:
                self.addLink(before, switch, bw=10, delay="2ms")
            before = switch

def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--json", required=True)
    parser.add_argument("--count", type=int, default=2)
    arguments = parser.parse_args()
    topo = Line(arguments.json, arguments.count)
    net = Mininet(topo=topo, host=P4Host, switch=P4Switch, link=TCLink)
    net.start()
    net.pingAll()
    CLI(net)
    net.stop()

if __name__ == "__main__":
    main()
"""
)


def test_topology_class_becomes_its_network(scripts: Scripts):
    network = scripts.network(TOPO, "--", "--json", "router.json", "--count", "3")
    assert links(network) == [
        ("h1:0-s1:1", 0.0, 0.0),
        ("h2:0-s2:1", 0.0, 0.0),
        ("h3:0-s3:1", 0.0, 0.0),
        ("s1:2-s2:2", 10.0, 2.0),
        ("s2:3-s3:2", 10.0, 2.0),
    ]
    assert [(host.ip, host.mac) for host in network.topology.hosts] == [
        (f"10.0.{number}.1", f"00:00:00:00:0{number}:01") for number in (1, 2, 3)
    ]
    assert commands(network)["h3"] == ("route add default gw 10.0.3.254 dev eth0",)
    assert {switch.program.name for switch in network.switches.values()} == {"router"}


def test_script_s_own_usage_error_is_its_last_line(scripts: Scripts):
    line = scripts.refused(TOPO, "--", "--count", "3")
    assert "ended by itself: exit code 2" in line
    assert line.endswith("the following arguments are required: --json")


def test_network_by_hand_has_mininet_s_addresses_and_ports(scripts: Scripts):
    text = (
        PAIR.replace("controller=None", "controller=None, autoSetMacs=True, autoStaticArp=True")
        + """
s2 = net.addSwitch("s2", json_path="router.json", thrift_port=9091)
net.addLink(s2, s1, port1=7)
net.addLink("h3" if "h3" in net else net.addHost("h3", ip="10.9.9.9/16"), s2)
net.start()
"""
    )
    network = scripts.network(text)
    assert [link[0] for link in links(network)] == [
        "h1:0-s1:1",
        "h2:0-s1:2",
        "h3:0-s2:8",
        "s2:7-s1:3",
    ]
    hosts = {host.name: (host.ip, host.mac) for host in network.topology.hosts}
    assert hosts["h2"] == ("10.0.0.2", "00:00:00:00:00:02")
    assert hosts["h3"] == ("10.9.9.9", "00:00:00:00:00:03")
    assert [network.host(name).prefix for name in ("h1", "h3")] == [8, 16]
    assert commands(network)["h1"] == (
        "arp -i eth0 -s 10.0.0.2 00:00:00:00:00:02",
        "arp -i eth0 -s 10.9.9.9 00:00:00:00:00:03",
    )


def test_commands_of_hosts_are_routes_and_neighbours(scripts: Scripts):
    text = (
        PAIR
        + """
net.start()
h1.cmd("sudo ifconfig h1-eth0 10.0.1.5 netmask 255.255.255.0; "
       "route add default gw 10.0.1.254 h1-eth0")
h1.cmd("arp", "-i", "h1-eth0", "-s", "10.0.1.254", "00:00:00:00:00:fe", "&& iperf -s &")
h2.setIP("10.0.2.5", 24)
h2.setMAC("00:00:00:00:00:52")
h2.setDefaultRoute("dev eth0 via 10.0.2.254")
h2.cmdPrint("ip neigh add 10.0.2.254 lladdr 00:00:00:00:00:fe dev h2-eth0")
s1.cmd("tc qdisc add dev s1-eth1 root netem loss 1%")
h1.cmd("sysctl -w net.ipv6.conf.all.disable_ipv6=1")
"""
    )
    network = scripts.network(text)
    hosts = {
        host.name: (host.ip, network.host(host.name).prefix) for host in network.topology.hosts
    }
    assert hosts == {"h1": ("10.0.1.5", 24), "h2": ("10.0.2.5", 24)}
    assert network.topology.host("h2").mac == "00:00:00:00:00:52"
    assert commands(network) == {
        "h1": (
            "route add default gw 10.0.1.254 eth0",
            "arp -i eth0 -s 10.0.1.254 00:00:00:00:00:fe",
        ),
        "h2": (
            "route add default gw 10.0.2.254 dev eth0",
            "ip neigh add 10.0.2.254 lladdr 00:00:00:00:00:fe dev eth0",
        ),
    }
    out, _ = scripts.imported(text, "--json")
    assert json.loads(out)["left_out"] == {
        "commands of nodes": ["h1: iperf -s", "s1: tc qdisc add dev s1-eth1 root netem loss 1%"]
    }


API = """
from p4utils.mininetlib.network_API import NetworkAPI
net = NetworkAPI()
net.setLogLevel("info")
for switch in ("s1", "s2"):
    net.addP4Switch(switch, cli_input=f"{switch}-commands.txt")
net.setP4SourceAll("router.json")
for host in ("h1", "h2", "h10"):
    net.addHost(host)
net.addLink("s1", "s2", port1=3)
net.addLink("h1", "s1")
net.addLink("h10", "s2")
net.addLink("h2", "s1")
net.setBw("s1", "s2", 5)
net.setDelay("s1", "s2", 3)
net.%s()
net.enablePcapDumpAll()
net.enableLogAll()
net.enableCli()
net.startNetwork()
"""


@pytest.mark.parametrize("strategy", ["l2", "mixed", "l3"])
def test_network_api_becomes_what_p4app_json_is(scripts: Scripts, strategy):
    """The same network in p4-utils' other form, by its reader."""
    for switch in ("s1", "s2"):
        (scripts.folder / f"{switch}-commands.txt").write_text("register_write threshold 0 20\n")
    network = scripts.network(API % strategy)
    app = {
        "p4_src": "router.json",
        "topology": {
            "assignment_strategy": strategy,
            "hosts": {"h1": {}, "h2": {}, "h10": {}},
            "switches": {name: {"cli_input": f"{name}-commands.txt"} for name in ("s1", "s2")},
            "links": [
                ["h1", "s1"],
                ["h2", "s1"],
                ["h10", "s2"],
                ["s1", "s2", {"port1": 3, "bw": 5, "delay": "3ms"}],
            ],
        },
    }
    (scripts.folder / "p4app.json").write_text(json.dumps(app))
    same = read(scripts.folder / "p4app.json", scripts.folder)
    assert links(network) == links(same)
    assert [vars(host) for host in network.topology.hosts] == [
        vars(host) for host in same.topology.hosts
    ]
    assert commands(network) == commands(same)
    assert [len(network.switches[name].entries) for name in ("s1", "s2")] == [1, 1]


def test_network_api_s_settings_are_the_switches(scripts: Scripts):
    text = (API % "l3").replace(
        "net.startNetwork()",
        """
net.enableCpuPort("s2")
net.setPriorityQueueNum("s1", 4)
net.setLossAll(2)
net.disableArpTables()
net.execScript("python controller.py", reboot=True)
net.startNetwork()
net.net.get("h1").cmd("ip route add 10.9.0.0/16 via 10.1.1.1")
""",
    )
    network = scripts.network(text)
    assert (network.switches["s2"].cpu_port, network.switches["s1"].priority_queues) == (3, 4)
    assert commands(network)["h1"] == (
        "route add default gw 10.1.1.1 dev eth0",
        "arp -i eth0 -s 10.1.1.1 00:01:0a:01:01:02",
        "ip route add 10.9.0.0/16 via 10.1.1.1",
    )
    out, _ = scripts.imported(text)
    assert (
        "left out: scripts beside the network (python controller.py), loss of links (s1-s2: 2; "
        "h1-s1: 2; and 2 more)"
    ) in out


def test_network_api_without_a_strategy_counts_addresses(scripts: Scripts):
    network = scripts.network(
        (API % "l2").replace("net.l2()", 'net.setIntfIp("h2", "s1", "10.0.0.1/8")')
    )
    hosts = {host.name: host.ip for host in network.topology.hosts}
    assert hosts == {"h1": "10.0.0.2", "h2": "10.0.0.1", "h10": "10.0.0.3"}


def test_topos_of_mn_custom_are_built(scripts: Scripts):
    text = (
        MININET
        + """
class Pair(Topo):
    def build(self):
        self.addSwitch("s1", cls=P4Switch, json_path="router.json")
        for name in ("h1", "h2"):
            self.addLink(self.addHost(name), "s1")
topos = {"pair": lambda: Pair()}
"""
    )
    assert [link[0] for link in links(scripts.network(text))] == ["h1:0-s1:1", "h2:0-s1:2"]


def test_switch_classes_of_a_script_give_their_program(scripts: Scripts):
    """A copy of p4_mininet.py's class, whose checks and start would end the script, is made, and
    not started."""
    text = """
from mininet.net import Mininet
from mininet.node import Host, Switch
from mininet.moduledeps import pathCheck

class OwnSwitch(Switch):
    def __init__(self, name, sw_path=None, json_path=None, thrift_port=None, **kwargs):
        Switch.__init__(self, name, **kwargs)
        pathCheck(sw_path)
        self.json_path, self.thrift_port = json_path, thrift_port
    def start(self, controllers):
        raise SystemExit(f"{self.name} did not start")

def configured(**arguments):
    class Configured(OwnSwitch):
        def __init__(self, *opts, **kwargs):
            kwargs.update(arguments)
            OwnSwitch.__init__(self, *opts, **kwargs)
    return Configured

net = Mininet(switch=configured(json_path="router.json", thrift_port=9095), controller=None)
s1 = net.addSwitch("s1")
net.addLink(net.addHost("h1"), s1)
net.start()
import subprocess
with open("s1-commands.txt") as commands:
    subprocess.Popen(["simple_switch_CLI", "--thrift-port", "9095"], stdin=commands)
subprocess.run(["simple_switch_CLI", "--thrift-port=9095"], text=True,
               input="register_write threshold 0 9")
subprocess.check_call("simple_switch_CLI --thrift-port 9095 < more.txt", shell=True)
"""
    (scripts.folder / "s1-commands.txt").write_text("register_write threshold 0 20\n")
    (scripts.folder / "more.txt").write_text("# more\nregister_write threshold 0 7\n")
    with VirtualP4(scripts.network(text)) as network:
        assert network.switches["s1"].read_register("threshold", 0) == 7
        assert network.written["s1"].commands == 3


def test_links_that_are_no_tclink_have_no_rate(scripts: Scripts):
    text = PAIR.replace("net.addLink(h1, s1)", "net.addLink(h1, s1, bw=10)") + "net.start()\n"
    assert links(scripts.network(text))[0] == ("h1:0-s1:1", 0.0, 0.0)
    out, _ = scripts.imported(text)
    assert "left out: rates of links that aren't a TCLink (h1-s1)" in out


@pytest.mark.parametrize(
    ("delay", "milliseconds"), [("'5ms'", 5.0), ("'250'", 0.25), ("'1.5 msec'", 1.5), ("30", 0.03)]
)
def test_delay_is_read_as_tc_reads_it(scripts: Scripts, delay, milliseconds):
    text = PAIR.replace("net.addLink(h1, s1)", f"net.addLink(h1, s1, cls=TCLink, delay={delay})")
    assert links(scripts.network(text + "net.start()\n"))[0][2] == pytest.approx(milliseconds)


# ---- from script to run ----


def test_router_s_script_runs_as_its_folder_does(scripts: Scripts, capsys):
    shutil.copytree(EXAMPLE, scripts.folder, dirs_exist_ok=True)
    scripts.folder.chmod(0o1777)  # copytree gives it the example's
    assert run(["p4", "import", "network.py", "--quiet", "--", "--rate", "8"]) == 0
    assert capsys.readouterr() == ("", "")
    figures = []
    for place in ("net.json", str(EXAMPLE)):
        assert run(["p4", "run", place, "--clock", "virtual", "--json"]) == 0
        figures.append(json.loads(capsys.readouterr().out))
    assert figures[0]["hosts"] == figures[1]["hosts"]
    assert [host["received_frames"] for host in figures[0]["hosts"]] == [2, 2, 2]


def test_paths_are_relative_to_the_file(scripts: Scripts, capsys):
    scripts.write(PAIR.replace('"router.json"', '"/home/author/router.json"') + "net.start()\n")
    out = scripts.folder / "deep" / "net.json"
    out.parent.mkdir()
    assert run(["p4", "import", "network.py", str(out)]) == 0
    assert json.loads(out.read_text())["switches"]["s1"]["program"] == "../router.json"
    assert capsys.readouterr().out == f"{out}: 2 hosts, 1 switch, 2 links\n"


def test_source_stands_for_a_program_that_isn_t_compiled(scripts: Scripts):
    (scripts.folder / "p4src").mkdir()
    shutil.copy(EXAMPLE / "router.p4", scripts.folder / "p4src" / "mine.p4")
    _, errors = scripts.imported(PAIR.replace("router.json", "build/mine.json") + "net.start()\n")
    assert errors == ""
    document = json.loads((scripts.folder / "net.json").read_text())
    assert document["switches"]["s1"]["program"] == "p4src/mine.p4"


def test_program_that_is_nowhere_is_noted(scripts: Scripts):
    _, errors = scripts.imported(PAIR.replace("router.json", "build/mine.json") + "net.start()\n")
    assert errors == "note: s1: build/mine.json: no such file yet\n"


# ---- what can't be a network here ----


def test_host_has_its_address_at_the_first_of_two_links(scripts: Scripts):
    text = PAIR + 's2 = net.addSwitch("s2", json_path="router.json")\n'
    text += "net.addLink(h1, s2)\nnet.addLink(s1, s2)\nnet.start()\n"
    out, _ = scripts.imported(text)
    assert out.endswith("left out: addresses at further links of hosts (h1: s2)\n")
    network = read(scripts.folder / "net.json", scripts.folder)
    assert [link.far_end("h1").node for link in network.topology.host_links("h1")] == ["s1", "s2"]


def test_commands_of_a_hosts_further_links_are_left_out(scripts: Scripts):
    text = PAIR + 's2 = net.addSwitch("s2", json_path="router.json")\n'
    text += """net.addLink(h1, s2)
net.addLink(s1, s2)
net.start()
h1.cmd("ifconfig h1-eth1 10.0.9.1 netmask 255.255.255.0")
h1.cmd("ip link set h1-eth1 address 08:00:00:00:09:11")
h1.cmd("ip route add 10.0.9.0/24 dev h1-eth0")
h1.cmd("ip route add 10.0.8.0/24 dev h1-eth1")
"""
    out, _ = scripts.imported(text)
    assert "h1: ifconfig h1-eth1" in out
    host = json.loads((scripts.folder / "net.json").read_text())["hosts"]["h1"]
    assert (host["ip"], host["commands"]) == ("10.0.0.1/8", ["ip route add 10.0.9.0/24 dev eth0"])
    assert host.get("mac", "") != "08:00:00:00:09:11"


def test_host_without_a_link_is_refused(scripts: Scripts):
    text = PAIR + 'net.addHost("h3")\nnet.start()\n'
    assert scripts.refused(text).endswith("h3 has no link: in `pcn p4` a host has one")


def test_host_of_p4_utils_has_the_address_of_its_first_link(scripts: Scripts):
    network = scripts.network(
        """
from p4utils.mininetlib.network_API import NetworkAPI
net = NetworkAPI()
for name in ("s1", "s2"):
    net.addP4Switch(name)
    net.setP4Source(name, "router.json")
net.addHost("h1")
net.addHost("h2")
net.addLink("s1", "h1")
net.addLink("s2", "h1")
net.addLink("s2", "h2")
net.setIntfIp("h1", "s1", "10.1.1.1/24")
net.setIntfIp("h1", "s2", "10.2.1.1/24")
net.setIntfIp("h2", "s2", "10.2.1.2/24")
net.startNetwork()
"""
    )
    assert {host.name: host.ip for host in network.topology.hosts} == {
        "h1": "10.1.1.1",
        "h2": "10.2.1.2",
    }
    assert network.topology.peer("h1", 0).node == "s1"


def test_script_without_a_network_is_refused(scripts: Scripts):
    line = scripts.refused("print('nothing to see')\n")
    assert "builds no network" in line
    assert line.endswith("the last that it printed: nothing to see")


def test_switches_without_a_program_are_named(scripts: Scripts):
    text = PAIR + 'from mininet.node import OVSSwitch\ns2 = net.addSwitch("s2", cls=OVSSwitch)\n'
    out, _ = scripts.imported(text + "net.addLink(s1, s2)\nnet.start()\n")
    assert "left out: programs of switches, which a script doesn't name (s2 (OVSSwitch))" in out


@pytest.mark.parametrize(
    ("text", "place", "sign"),
    [
        ("import os\nprint 'Ready'\n", "network.py:2", "print 'Ready'"),
        ("for n in xrange(3):\n    pass\n", "network.py:1", "xrange"),
        ("\n\nimport ConfigParser\n", "network.py:3", "import ConfigParser"),
        # `except OSError, e:` is Python 3.14, too.
        ("if 0:\n    raise OSError, 'no'\n", "network.py:2", "raise OSError, 'no'"),
        ("if 1:\n        a = 1\n\tb = 2\n", "network.py:3", "tabs beside spaces"),
        ("for a, b in {}.iteritems():\n    pass\n", "network.py:1", "has no attribute 'iteritems'"),
    ],
)
def test_python_2_is_refused_in_a_line(scripts: Scripts, text, place, sign):
    line = scripts.refused(text)
    assert f"{place}: this is Python 2 (" in line
    assert sign in line


def test_python_2_of_an_imported_file_has_its_place(scripts: Scripts):
    scripts.write("\nprint 'imported'\n", "helper.py")
    assert "helper.py:2: this is Python 2" in scripts.refused("import helper\n")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "def f():\n    return 1 / 0\n\nf()\n",
            "network.py:2: ZeroDivisionError: division by zero",
        ),
        ("a = (1,\n", "network.py:1: SyntaxError: '(' was never closed"),
        ("import missing_module\n", "network.py:1: no module 'missing_module': install it"),
        ("open('absent.json')\n", "network.py:1: FileNotFoundError"),
        ("raise SystemExit('no switch')\n", "ended by itself: no switch"),
        ("import os\nos._exit(7)\n", "ended by exit code 7"),
        ("import os\nos.kill(os.getpid(), 11)\n", "network.py"),
    ],
)
def test_script_s_failure_is_printed_with_its_place(scripts: Scripts, text, reason):
    assert reason in scripts.refused(text)


def test_failure_after_the_start_leaves_the_network(scripts: Scripts):
    out, errors = scripts.imported(PAIR + "net.start()\nint(h1.cmd('cat pid'))\n")
    assert out.endswith("2 hosts, 1 switch, 2 links\n")
    assert "ValueError: invalid literal for int()" in errors
    assert errors.startswith("note: ")
    assert "the network is as it was before" in errors


@pytest.mark.parametrize(
    "end",
    [
        "while True:\n    time.sleep(1)\n",
        "input()\n",
        "os.execvp('bash', ['bash'])\n",
        "signal.pause()\n",
    ],
)
def test_script_that_waits_has_ended(scripts: Scripts, end):
    _, errors = scripts.imported(PAIR + f"import os, signal, time\nnet.start()\n{end}")
    assert errors == ""


def test_json_and_quiet_print_what_they_name(scripts: Scripts):
    text = PAIR + "print('built')\nnet.start()\n"
    out, errors = scripts.imported(text, "--json")
    assert json.loads(out) == {
        "file": str(scripts.folder / "net.json"), "hosts": 2, "switches": 1, "links": 2,
        "left_out": {}, "missing": [], "ended": "",
    }  # fmt: skip
    assert errors == "built\n"
    assert scripts.imported(text, "--quiet") == ("", "")


# ---- lines of shell ----


@given(st.text(max_size=60), st.text(max_size=8))
def test_any_command_is_read_or_left(command, host):
    for part in shell.parts(command):
        shell.is_mute(part)
        known = shell.configured(part, host)
        assert known is None or any(known)
    shell.table_commands(command)


@pytest.mark.parametrize(
    "command",
    [
        "arp -s 10.0.0.1 $(cat mac)",
        "ip route add default via 10.0.0.1 | tee log",
        "route add default gw `gateway`",
        "ip neigh add 10.0.0.1 lladdr 'a b'",
    ],
)
def test_command_with_more_shell_is_left(command):
    """Live, hosts' commands run as root: only words of addresses and names go there."""
    assert shell.configured(command, "h1") is None
