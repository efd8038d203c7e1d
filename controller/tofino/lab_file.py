"""ports.yaml: the one file that a lab writes. docs/tofino.md has its reference; `SAMPLE` is a whole
one."""

from __future__ import annotations

import ipaddress
import re
from collections.abc import Callable
from functools import partial
from pathlib import Path

from pcn.base.units import quantity
from pcn.controller.constants import CLASSES
from pcn.controller.pfc import LOSSLESS_CLASSES
from pcn.controller.tofino.chips import (
    CHIPS,
    LANES_BY_SPEED,
    MOST_CELLS,
    PORTS_A_PIPE,
    TOFINO,
    Chip,
)
from pcn.controller.tofino.model import (
    CULPRITS,
    Class,
    Pfc,
    Port,
    Prefix,
    Qcn,
    Tcd,
    TofinoLab,
    usual_gap_ns,
)
from pcn.topologies.tree import Node, needed, optional, read_file

SAMPLE = Path(__file__).resolve().parent / "ports.yaml"
_LEAST_MTU, _MOST_MTU, _USUAL_MTU = 256, 9216, 1514
_PANEL = re.compile(r"([1-9]\d{0,2})/([0-7])")
_MAC = re.compile(r"([0-9a-fA-F]{2}:){5}[0-9a-fA-F]{2}")
_NAME = re.compile(r"[a-zA-Z0-9][-\w.]{0,63}")
_FLAGS = {"yes": True, "true": True, "on": True, "no": False, "false": False, "off": False}
_MULTICAST = 0x01
_LEAST_Q_EQ, _MOST_Q_EQ = 1_000, 200_000  # so that each feedback has steps of its own
_LEAST_SAMPLE, _MOST_SAMPLE = 64, 10**9
_MOST_GAP_NS = 10_000_000  # far below the wrap of the data plane's clock
_MOST_DELAY_S, _LEAST_EPSILON = 1e-3, 0.01  # so that max(Ton) is, too, whatever XOFF is
_MOST_LOOKS = 255


def read(path: Path) -> TofinoLab:
    """Returns a lab's file, checked whole. Raises FileError with every fault: line, field, way
    out."""
    return read_file(path, _lab, empty="`pcn deploy --sample` prints one to start from")


def _lab(node: Node) -> TofinoLab:
    chip_node = node.get("chip")
    chip = TOFINO if chip_node is None else chip_node.value(_chip)
    fields = node.fields(
        {
            "chip": optional(lambda child: child.value(_chip), chip),
            "switch": optional(lambda child: child.value(_name), "tofino"),
            "device": optional(_whole(1, 2**64 - 1), 1),
            "pipes": optional(lambda child: child.value(partial(_pipes, chip)), chip.pipes[0]),
            "mtu": optional(_bytes(_LEAST_MTU, _MOST_MTU), _USUAL_MTU),
            "classes": optional(_classes, _usual_classes()),
            "pfc": needed(_pfc),
            "tcd": optional(partial(_tcd, chip=chip), Tcd()),
            "qcn": optional(_qcn, Qcn()),
            "ports": needed(lambda child: child.elements(partial(_port, chip=chip))),
            "routes": needed(lambda child: child.elements(partial(_prefix, chip=chip))),
        }
    )
    pfc, ports = fields.pop("pfc"), fields.pop("ports")
    lab = TofinoLab(ports=tuple(port(pfc, fields["mtu"]) for port in ports), **fields)
    for line, text in lab.faults():
        node.faults.add(line, text)
    return lab


def _usual_classes() -> tuple[Class, ...]:
    """Returns the classes as in v1model: the class is the priority, and RoCE data's is lossless."""
    return tuple(
        Class(number, number, bool(LOSSLESS_CLASSES >> number & 1)) for number in range(CLASSES)
    )


def _classes(node: Node) -> tuple[Class, ...]:
    """Returns all classes. Those that aren't named have their number as priority, and aren't
    lossless."""
    fields = {
        "priority": optional(_whole(0, CLASSES - 1)),
        "lossless": optional(lambda child: child.value(_flag), False),
    }
    by_number = node.entries(
        lambda text: _number(text, 0, CLASSES - 1), lambda child: child.fields(fields)
    )
    if not any(class_fields["lossless"] for class_fields in by_number.values()):
        raise node.fail(
            "none is lossless: write `3: {lossless: yes}` for RoCE data (DSCP 24 to 31)"
        )
    classes = []
    for number in range(CLASSES):
        class_fields = by_number.get(number, {"priority": None, "lossless": False})
        priority = number if class_fields["priority"] is None else class_fields["priority"]
        classes.append(Class(number, priority, class_fields["lossless"]))
    return tuple(classes)


def _pfc(node: Node) -> Pfc:
    fields = node.fields({"xoff": needed(_size), "xon": needed(_size), "headroom": needed(_size)})
    if fields["xon"] > fields["xoff"]:
        raise node.fail(f"xon {fields['xon']} B is above xoff {fields['xoff']} B")
    return Pfc(fields["xoff"], fields["xon"], fields["headroom"])


def _tcd(node: Node, chip: Chip) -> Tcd:
    usual = Tcd()
    fields = node.fields(
        {
            "k_min": optional(_size, usual.k_min_bytes),
            "k_max": optional(_size, usual.k_max_bytes),
            "p_max": optional(lambda child: child.value(_share), usual.p_max),
            "delay": optional(lambda child: child.value(_delay_s), usual.delay_s),
            "epsilon": optional(lambda child: child.value(_epsilon), usual.epsilon),
            "looks": optional(_whole(1, _MOST_LOOKS), usual.looks),
        }
    )
    if fields["k_min"] > fields["k_max"]:
        raise node.fail(f"k_min {fields['k_min']} B is above k_max {fields['k_max']} B")
    if chip.cells(fields["k_max"]) > MOST_CELLS:
        longest = MOST_CELLS * chip.cell_bytes
        raise node.fail(
            f"k_max {fields['k_max']} B: no queue is longer than {longest / 1e6:.1f} MB"
        )
    return Tcd(*fields.values())


def _qcn(node: Node) -> Qcn:
    usual = Qcn()
    fields = node.fields(
        {
            "q_eq": optional(_bytes(_LEAST_Q_EQ, _MOST_Q_EQ), usual.q_eq_bytes),
            "sample": optional(_bytes(_LEAST_SAMPLE, _MOST_SAMPLE), usual.sample_bytes),
            "culprit": optional(lambda child: child.value(_culprit), usual.culprit),
        }
    )
    return Qcn(*fields.values())


def _port(node: Node, chip: Chip) -> Callable[[Pfc, int], Port]:
    """Returns what makes the port, once PFC and MTU of all are known."""
    fields = node.fields(
        {
            "port": needed(lambda child: child.value(partial(_device_port, chip))),
            "panel": needed(lambda child: child.value(_panel)),
            "speed": needed(lambda child: child.value(partial(_speed, chip))),
            "fec": optional(lambda child: child.value(_flag), False),
            "autoneg": optional(lambda child: child.value(_flag), False),
            "pfc": optional(_pfc),
            "gap": optional(lambda child: child.value(_gap_ns)),
        }
    )
    connector, lane = fields["panel"]
    number, speed = fields["port"], fields["speed"]
    lanes = LANES_BY_SPEED[speed]
    if lane % lanes:
        first = ", ".join(f"{connector}/{lane}" for lane in range(0, chip.lanes, lanes))
        raise node.fail(
            f"a port of {speed / 1e9:g}G takes {lanes} lanes of its connector and starts at {first}"
        )
    if number % chip.lanes != lane:
        raise node.fail(
            f"port {number} is lane {number % chip.lanes} of its connector, panel "
            f"{connector}/{lane} is lane {lane}: `pm show` in the switch's shell prints both (D_P "
            "and PORT)"
        )
    return lambda pfc, mtu: Port(
        number,
        connector,
        lane,
        speed,
        fec=fields["fec"],
        autoneg=fields["autoneg"],
        pfc=fields["pfc"] or pfc,
        gap_ns=fields["gap"] or usual_gap_ns(speed, mtu),
        line=node.line,
    )


def _prefix(node: Node, chip: Chip) -> Prefix:
    fields = node.fields(
        {
            "to": needed(lambda child: child.value(_network)),
            "port": needed(lambda child: child.value(partial(_device_port, chip))),
            "mac": needed(lambda child: child.value(_mac)),
        }
    )
    return Prefix(fields["to"], fields["mac"], fields["port"], node.line)


def _whole(least: int, most: int) -> Callable[[Node], int]:
    return lambda node: node.value(lambda text: _number(text, least, most))


def _size(node: Node) -> int:
    return round(node.value(lambda text: quantity("size", text)))


def _delay_s(text: str) -> float:
    delay_s = quantity("time", text)
    if not 0 < delay_s <= _MOST_DELAY_S:
        raise ValueError(f"{text!r}: above 0 and up to {_MOST_DELAY_S * 1e3:g}ms are possible")
    return delay_s


def _share(text: str) -> float:
    share = quantity("share", text)
    if share > 1:
        raise ValueError(f"{text!r}: more than all")
    return share


def _epsilon(text: str) -> float:
    epsilon = _share(text)
    if epsilon < _LEAST_EPSILON:
        raise ValueError(f"{text!r}: {_LEAST_EPSILON:g} at least")
    return epsilon


def _bytes(least: int, most: int) -> Callable[[Node], int]:
    def checked(text: str) -> int:
        size = round(quantity("size", text))
        if not least <= size <= most:
            raise ValueError(f"{text!r}: from {least} to {most} bytes are possible")
        return size

    return lambda node: node.value(checked)


def _culprit(text: str) -> str:
    if text not in CULPRITS:
        raise ValueError(
            f"{text!r}: a Tofino chooses by {' or '.join(CULPRITS)}; docs/tofino.md explains why"
        )
    return text


def _number(text: str, least: int, most: int) -> int:
    if not (text.isascii() and text.isdecimal() and least <= int(text) <= most):
        raise ValueError(f"{text!r}: a whole number from {least} to {most} is wanted")
    return int(text)


def _chip(text: str) -> Chip:
    if text not in CHIPS:
        raise ValueError(f"{text!r}: it is {' or '.join(CHIPS)}")
    return CHIPS[text]


def _pipes(chip: Chip, text: str) -> int:
    if text not in map(str, chip.pipes):
        raise ValueError(
            f"{text!r}: a {chip.title} has {' or '.join(map(str, sorted(chip.pipes)))}"
        )
    return int(text)


def _device_port(chip: Chip, text: str) -> int:
    """Raises ValueError unless it is one of the front's."""
    number = _number(text, 0, max(chip.pipes) * PORTS_A_PIPE - 1)
    if not chip.first_port <= number % PORTS_A_PIPE <= chip.last_port:
        raise ValueError(
            f"{number} is no port at the front: those of {chip.title} are {chip.first_port} to "
            f"{chip.last_port}, plus {PORTS_A_PIPE} times the pipe"
        )
    return number


def _panel(text: str) -> tuple[int, int]:
    match = _PANEL.fullmatch(text)
    if match is None:
        raise ValueError(f"{text!r}: write it as CONNECTOR/LANE, as at the front: 1/0")
    return int(match.group(1)), int(match.group(2))


def _speed(chip: Chip, text: str) -> int:
    speed = round(quantity("rate", text))
    if speed not in chip.speeds:
        there = ", ".join(f"{speed / 1e9:g}G" for speed in chip.speeds)
        raise ValueError(f"{text!r}: a port of {chip.title} has one of {there}")
    return speed


def _gap_ns(text: str) -> int:
    gap_ns = round(quantity("time", text) * 1e9)
    if not 1 <= gap_ns < _MOST_GAP_NS:
        raise ValueError(f"{text!r}: from 1ns to {_MOST_GAP_NS // 1_000_000}ms are possible")
    return gap_ns


def _network(text: str) -> ipaddress.IPv4Network:
    try:
        network = ipaddress.IPv4Network(text)
    except ValueError as error:
        raise ValueError(f"{error}: write an address or a prefix like 10.0.0.0/24") from None
    if network.prefixlen == 0:
        raise ValueError(
            "a route for everything is the table's default entry, which drops: write longer "
            "prefixes"
        )
    return network


def _mac(text: str) -> str:
    if not _MAC.fullmatch(text):
        raise ValueError(f"{text!r}: write it like 02:00:00:00:00:01")
    if int(text[:2], 16) & _MULTICAST:
        raise ValueError(f"{text!r} is a multicast address: the next hop's own is wanted")
    return text.lower()


def _name(text: str) -> str:
    if not _NAME.fullmatch(text):
        raise ValueError(f"{text!r}: letters, digits, `-`, `_` and `.` are wanted")
    return text


def _flag(text: str) -> bool:
    if text.lower() not in _FLAGS:
        raise ValueError(f"{text!r}: write yes or no")
    return _FLAGS[text.lower()]
