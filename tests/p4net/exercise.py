"""Networks in the form of an exercise of p4lang/tutorials: h1 and h2 at s1, h3 at s2, with the
router of examples/."""

import json
import shutil
from pathlib import Path
from typing import Any

from pcn.p4net.network import P4Network
from pcn.p4net.tutorials import read_exercise

EXAMPLE = Path(__file__).resolve().parents[2] / "examples/router"
IPS = {"h1": "10.0.1.1", "h2": "10.0.2.2", "h3": "10.0.3.3"}
MACS = {name: f"08:00:00:00:0{name[1]}:11" for name in IPS}
PORTS = {"s1": {"h1": 1, "h2": 2, "h3": 3}, "s2": {"h1": 1, "h2": 1, "h3": 2}}


def route(switch: str, host: str) -> dict[str, Any]:
    params = {"dst_addr": MACS[host], "port": PORTS[switch][host]}
    return {
        "table": "routes",
        "match": {"dst_addr": [IPS[host], 32]},
        "action_name": "forward",
        "action_params": params,
    }


def write_exercise(folder: Path, links: list[Any] | None = None, **switch) -> Path:
    """Its folder, with a compiled program. `switch`: more keys of s1."""
    build = folder / "build"
    build.mkdir(parents=True)
    shutil.copy(EXAMPLE / "router.json", build / "router.json")
    shutil.copy(EXAMPLE / "router.p4info.txtpb", build / "router.p4.p4info.txtpb")
    hosts = {
        name: {
            "ip": f"{ip}/24",
            "mac": MACS[name],
            "commands": [
                f"route add default gw {ip[:7]}254 dev eth0",
                f"arp -i eth0 -s {ip[:7]}254 08:00:00:00:0{name[1]}:00",
            ],
        }
        for name, ip in IPS.items()
    }
    switches = {
        "s1": {"runtime_json": "s1-runtime.json", **switch},
        "s2": {"runtime_json": "s2-runtime.json"},
    }
    links = links or [
        ["h1", "s1-p1"],
        ["h2", "s1-p2"],
        ["s1-p3", "s2-p1", "1us", 100],
        ["h3", "s2-p2"],
    ]
    (folder / "topology.json").write_text(
        json.dumps({"hosts": hosts, "switches": switches, "links": links})
    )
    for number, name in enumerate(PORTS, start=1):
        entries = [route(name, host) for host in IPS]
        tag = {
            "table": "switch_id",
            "default_action": True,
            "action_name": "tag",
            "action_params": {"switch_id": number},
        }
        runtime = {
            "target": "bmv2",
            "p4info": "build/router.p4.p4info.txtpb",
            "bmv2_json": "build/router.json",
            "table_entries": [*entries, tag],
        }
        (folder / f"{name}-runtime.json").write_text(json.dumps(runtime))
    return folder


def exercise(folder: Path, links: list[Any] | None = None, **switch) -> P4Network:
    """The network as it is read."""
    return read_exercise(write_exercise(folder / "exercise", links, **switch))


def two_links(folder: Path) -> P4Network:
    """h1 at s1 and s2, h2 at s2, as the file has it: the way to h2 goes over s1, the way back ends
    at h1's second link."""
    folder.mkdir(parents=True)
    shutil.copy(EXAMPLE / "router.json", folder)
    addresses = {"h1": ("10.0.1.1", MACS["h1"]), "h2": ("10.0.2.2", MACS["h2"])}
    ports = {"s1": {"h1": 1, "h2": 2}, "s2": {"h1": 1, "h2": 2}}
    network = {
        "hosts": {
            name: {
                "ip": f"{ip}/16",
                "mac": mac,
                "commands": [
                    f"arp -i eth0 -s {far} {at}" for far, at in addresses.values() if far != ip
                ],
            }
            for name, (ip, mac) in addresses.items()
        },
        "switches": {
            switch: {
                "program": "router.json",
                "commands": [
                    f"table_add routes forward {ip}/32 => {mac} {ways[host]}"
                    for host, (ip, mac) in addresses.items()
                ],
            }
            for switch, ways in ports.items()
        },
        "links": [["h1", "s1-p1"], ["h1", "s2-p1"], ["h2", "s2-p2"], ["s1-p2", "s2-p3"]],
    }
    (folder / "topology.json").write_text(json.dumps(network))
    return read_exercise(folder)
