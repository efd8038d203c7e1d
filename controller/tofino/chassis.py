"""Writes Stratum's chassis configuration: the switch's ports and their speeds. Stratum reads this
text when it starts, or over gNMI; P4Runtime doesn't configure ports."""

from __future__ import annotations

from pcn.controller.tofino.model import FCS_BYTES, Port, TofinoLab

_NODE_PLACE = 1  # slot and index of the switch's one chip


def chassis_config(lab: TofinoLab) -> str:
    """Returns the configuration. A port's id is the device port, by which P4Runtime's entries name
    it as well."""
    return "".join(
        (
            f'description: "PCN Lab, {lab.switch}"\n',
            f'chassis {{\n  platform: {lab.chip.platform}\n  name: "{lab.switch}"\n}}\n',
            f"nodes {{\n  id: {lab.device}\n  slot: {_NODE_PLACE}\n  index: {_NODE_PLACE}\n}}\n",
            *(_port(lab, port) for port in lab.ports),
        )
    )


def _port(lab: TofinoLab, port: Port) -> str:
    """Channels count from 1; a port that takes its whole connector has none."""
    whole = len(port.lanes) == lab.chip.lanes
    return "\n".join(
        (
            "singleton_ports {",
            f"  id: {port.number}",
            f'  name: "{port.panel}"',
            f"  slot: {_NODE_PLACE}",
            f"  port: {port.connector}",
            *([] if whole else [f"  channel: {port.lane + 1}"]),
            f"  speed_bps: {port.speed_bps}",
            "  config_params {",
            "    admin_state: ADMIN_STATE_ENABLED",
            f"    mtu: {lab.mtu + FCS_BYTES}",
            f"    autoneg: {'TRI_STATE_TRUE' if port.autoneg else 'TRI_STATE_FALSE'}",
            f"    fec_mode: {'FEC_MODE_ON' if port.fec else 'FEC_MODE_OFF'}",
            "  }",
            f"  node: {lab.device}",
            "}\n",
        )
    )
