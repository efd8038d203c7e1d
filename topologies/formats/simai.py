"""Topologies of SimAI's ns-3 backend, as its gen_Topo_Template.py writes them.

    NODES GPUS_A_SERVER NVSWITCHES SWITCHES LINKS GPU_TYPE
    numbers of the NVSwitches, then of the switches; all other nodes are GPUs
    SRC DST RATE DELAY ERROR_RATE        of each link, as HPCC's

A GPU hangs on an NVSwitch and on one or two ToRs.
"""

from __future__ import annotations

from dataclasses import replace

from pcn.topologies.formats import hpcc
from pcn.topologies.formats.draft import Draft
from pcn.topologies.formats.source import Format, Source
from pcn.topologies.model import Topology

_HEAD = "NODES GPUS_A_SERVER NVSWITCHES SWITCHES LINKS GPU_TYPE"


def read(source: Source, split_hosts: int = 0, nvlink: int = 1) -> Topology:
    """Returns the topology of a file. `nvlink` 0 leaves NVSwitches and their links out: the rest is
    the network of the NICs. Raises FormatError."""
    lines = source.lines()
    head = next(lines, None)
    if (
        head is None
        or len(head.words) != 6
        or not all(word.isdigit() and len(word) < 10 for word in head.words[:5])
    ):
        raise source.error(head.number if head else 1, f"the first line is {_HEAD}")
    nodes, _, nvswitches, switches, links = map(int, head.words[:5])
    draft = hpcc.network(source, lines, head.number, nodes, nvswitches + switches, links)
    if not nvlink:
        if not nvswitches:
            raise source.error(head.number, "no NVSwitches: leave out nvlink")
        draft = _without(draft, list(draft.switches)[:nvswitches])
    return draft.topology(split_hosts)


def _without(draft: Draft, switches: list[str]) -> Draft:
    gone = set(switches)
    return replace(
        draft,
        switches={name: switch for name, switch in draft.switches.items() if name not in gone},
        links=[link for link in draft.links if not {link.a.node, link.b.node} & gone],
    )


def _recognises(source: Source) -> bool:
    head = next(source.lines(), None)
    return head is not None and [word.isdigit() for word in head.words] == [True] * 5 + [False]


FORMAT = Format(
    name="simai",
    summary="topologies of SimAI's gen_Topo_Template.py",
    read=read,
    recognises=_recognises,
    elsewhere=hpcc.ELSEWHERE,
    fields={
        ("first line"): (
            "counts of nodes, NVSwitches, switches and links; GPUs a server and the GPU's type are "
            "left out"
        ),
        ("second line"): (
            "numbers of NVSwitches, then of switches, named `s36`; all other nodes are hosts, "
            "named `h0`"
        ),
        "links": "as HPCC's",
        "NVSwitches": "switches as others are; `--set nvlink=0` leaves them and their links out",
        (
            "several links of a GPU"
        ): "ports of the host, from 0; `--set split_hosts=1` makes a host of each link",
        "addresses": "assumed: 10.0.0.1 and so on, in order; files have none",
    },
)
