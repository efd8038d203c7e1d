"""The network of the paper's simulations (5.1)."""

from __future__ import annotations

from dataclasses import replace

from pcn.topologies.buffers import hpcc_buffer
from pcn.topologies.clos import clos
from pcn.topologies.ecn import EcnThresholds
from pcn.topologies.model import Topology

HOST_BPS, FABRIC_BPS, DELAY_S = 100e9, 400e9, 1e-6
_BUFFER_BYTES = 32 * 2**20
_K_MIN_S, _K_MAX_S, _P_MAX, _DCTCP_K_S = 32e-6, 128e-6, 0.2, 24e-6
"""As times of a port's rate: 400 and 1,600 KB at 100 Gbit/s, and 300 KB."""


def _by_rate(k_min_s: float, k_max_s: float, p_max: float) -> tuple[EcnThresholds, ...]:
    return tuple(
        EcnThresholds(k_min_s * rate / 8, k_max_s * rate / 8, p_max, rate)
        for rate in (HOST_BPS, FABRIC_BPS)
    )


DCQCN_ECN, DCTCP_ECN = _by_rate(_K_MIN_S, _K_MAX_S, _P_MAX), _by_rate(_DCTCP_K_S, _DCTCP_K_S, 1.0)


def fat_tree(ecn: tuple[EcnThresholds, ...] = (), dynamic: bool = True) -> Topology:
    """Returns a network of the shape of HPCC's fat.txt, with these thresholds of RED, and its
    switches' buffers, where thresholds of PAUSE are dynamic."""
    topology = clos(5, 4, 4, 16, HOST_BPS, FABRIC_BPS, DELAY_S)
    switches = []
    for switch in topology.switches:
        links = {port: topology.link_at(switch.name, port) for port in topology.ports(switch.name)}
        ports = {port: (link.rate_bps, link.delay_s) for port, link in links.items()}
        buffer = hpcc_buffer(_BUFFER_BYTES, ports, HOST_BPS) if dynamic else None
        switches.append(replace(switch, buffer=buffer, ecn=ecn))
    return replace(topology, switches=tuple(switches))
