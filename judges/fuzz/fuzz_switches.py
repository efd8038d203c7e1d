"""Files of switches, changed with regard to their structure: each is read, or refused by a line a
fault.

    python judges/fuzz/fuzz_switches.py SECONDS [--seed N]

Of P4 networks topology.json, Makefile, runtime JSON, commands, P4Runtime's text form, a program's
p4info, steps of packets and captures; of SONiC switches config_db.json; of Tofino ports.yaml. A
reader may raise LabError and nothing else, ends within `LIMIT_S`, and in the memory of
`MOST_BYTES`. What is read is used: entries are written into switches, through which datagrams go;
settings are written as a network's, and read again equal; ways of packets are printed.
"""

import functools
import json
import random
import shutil
import sys
import tempfile
from pathlib import Path

import fuzz_flows
import yaml
from fuzz_formats import FILES, of_lines, of_tree, run
from google.protobuf import text_format

from pcn.base.errors import LabError
from pcn.base.p4rt import p4r
from pcn.controller.in_process import InProcessSwitch
from pcn.controller.programs import Program
from pcn.controller.tofino import deploy, lab_file
from pcn.controller.tofino.package import Package
from pcn.p4net import packet_paths, sending, traffic
from pcn.p4net.commands import Commands
from pcn.p4net.packet_path_text import lines
from pcn.p4net.packets import udp
from pcn.p4net.runtime_json import RuntimeJson
from pcn.p4net.steps import Queue, carry_out
from pcn.p4net.tutorials import read_exercise
from pcn.p4net.virtual import VirtualP4
from pcn.softswitch.codegen.build import build_runtime
from pcn.softswitch.embed.switch import EmbeddedSwitch
from pcn.softswitch.native import NativeSwitch, load_library
from pcn.softswitch.trace import json_lines
from pcn.softswitch.trace.decoder import Step
from pcn.topologies.formats import Source, sonic
from pcn.topologies.formats.known import FORMATS
from pcn.topologies.star import star

ROOT = Path(__file__).resolve().parents[2]
EXAMPLE, PROGRAMS = ROOT / "examples/router", ROOT / "tests/p4runtime/programs"
COMMANDS = """table_add l2 forward 00:00:00:00:00:01 => 3
table_add BenchIngress.l2 send_to_cpu 0x2 => 7
table_modify l2 forward 1 => 5
table_delete l2 0
table_set_default l2 forward 9
table_add prefixes set_wide 1 00:00:00:00:00:00/8 => 10 11
table_add acl set_wide 0&&&0 0x800->0x8ff 2&&&511 => 1 2 10
table_num_entries learning
table_clear learning
table_dump acl
register_write cells 5 0xffffffff
register_read cells 5
counter_write received 2 30 4000
counter_read l2_hits 1
meter_set_rates limits 1 0.000128:9000 0.5:18000
meter_array_set_rates policed 1:1 2:2
meter_get_rates policed 0
mc_mgrp_create 1
mc_node_create 5 1 2
mc_node_associate 1 0
mc_node_update 0 4
mc_node_dissociate 1 0
mc_node_destroy 0
mc_mgrp_destroy 1
mirroring_add 7 2
mirroring_get 7
mirroring_delete 7
set_queue_depth 9
"""
MAKEFILE = "TOPO = topology.json\nDEFAULT_PROG := router.p4\n\ninclude ../../utils/Makefile\n"


def _text_proto() -> str:
    program = Program("router", EXAMPLE / "router.json", EXAMPLE / "router.p4info.txtpb")
    steps = RuntimeJson(EXAMPLE / "s2-runtime.json").steps(program.schema)
    return str(
        text_format.MessageToString(p4r.WriteRequest(updates=[step.update for step in steps]))
    )


def _steps() -> str:
    step_lines: list[str] = []

    def take(switch: str, step: Step):
        step_lines.append(json_lines.line(switch, step))

    with VirtualP4(read_exercise(EXAMPLE), trace=take) as network:
        network.send("h1", 0.0, udp(network.value, "h1", "h3", b"twice"))
        network.send("h1", 1e-3, udp(network.value, "h1", "h2", b"once"))
        network.run(until_s=0.1)
    return "\n".join(step_lines)


SAMPLES = {
    "topology.json": (EXAMPLE / "topology.json").read_text,
    "s1-runtime.json": (EXAMPLE / "s1-runtime.json").read_text,
    "router.p4info.txtpb": (EXAMPLE / "router.p4info.txtpb").read_text,
    "entries.txtpb": _text_proto,
    "commands.txt": lambda: COMMANDS,
    "Makefile": lambda: MAKEFILE,
    "s1.steps.jsonl": _steps,
    "frames.pcap": fuzz_flows.SAMPLES["frames.pcap"],
    "config_db.json": (FILES / "config_db.json").read_text,
    "ports.yaml": lab_file.SAMPLE.read_text,
}
_sample = functools.cache(lambda name: SAMPLES[name]())


def cases(name: str, draw: random.Random) -> str | bytes:
    sample = _sample(name)
    if isinstance(sample, bytes):
        return fuzz_flows.of_bytes(sample, draw)
    if name.endswith(("json", "yaml")) and draw.random() < 0.8:
        return of_tree(yaml.safe_load(sample), draw, name.endswith("json"))
    if name.endswith("jsonl") and draw.random() < 0.8:
        changed = json.loads(
            of_tree([json.loads(line) for line in sample.splitlines()], draw, as_json=True)
        )
        return "\n".join(json.dumps(record) for record in changed)
    return of_lines(sample, draw)


def judge(name: str, case: str | bytes) -> str:
    """`read`, or `refused`. Anything else that a reader raises goes through, and so does
    TimeoutError."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, name)
        if name in _JUDGED:
            reader, place = _JUDGED[name], path
        else:
            reader, place = _network, Path(shutil.copytree(EXAMPLE, Path(folder, "exercise")))
            path = place / name
            if name == "entries.txtpb":
                topology = json.loads((place / "topology.json").read_text())
                topology["switches"]["s2"] = {"p4runtime_entries": name, "program": "router.json"}
                (place / "topology.json").write_text(json.dumps(topology))
        path.write_bytes(case if isinstance(case, bytes) else case.encode("utf-8", "surrogatepass"))
        try:
            reader(place)
        except LabError:
            return "refused"
    return "read"


def _network(place: Path):
    with VirtualP4(read_exercise(place)) as network:
        sending.each_to_each(network)
        network.run(until_s=0.02)


def _commands(path: Path):
    native = NativeSwitch(load_library(build_runtime()), manual=True)
    queues: list[Queue] = []
    with InProcessSwitch("s0", EmbeddedSwitch(native, 0)) as control:
        control.set_pipeline(
            Program("bench", PROGRAMS / "bench.json", PROGRAMS / "bench.p4info.txtpb")
        )
        carry_out(control, Commands(path).steps(control.schema), queues.append)


def _ways(path: Path):
    topology = read_exercise(EXAMPLE).topology
    for number, way in enumerate(packet_paths.read([path], {}).all(topology), start=1):
        for steps in (False, True):
            assert all(isinstance(line, str) for line in lines(number, way, topology, steps=steps))


def _capture(path: Path):
    capture = traffic.capture(path)
    assert len(capture.times_s) == len(capture.frames)


def _sonic(path: Path):
    topology = sonic.apply(star(3, 1, rate_bps=10e9), {"s0": sonic.read(path)})
    again = FORMATS["pcn"].read(
        Source(Path(f"{topology.name}.yaml"), FORMATS["pcn"].write(topology))
    )
    assert again == topology


def _tofino(path: Path):
    lab = lab_file.read(path)
    for program in ("pcn", "tcd", "qcn_in"):
        deploy.check(lab, Package.compiled(program, lab.chip))


_JUDGED = {
    "commands.txt": _commands,
    "s1.steps.jsonl": _ways,
    "frames.pcap": _capture,
    "config_db.json": _sonic,
    "ports.yaml": _tofino,
}


if __name__ == "__main__":
    sys.exit(run(__doc__, SAMPLES, cases, judge))
