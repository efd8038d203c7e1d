"""Captures of all ports of a network in virtual time, named as BMv2's `--pcap` names them."""

from __future__ import annotations

from pathlib import Path

from pcn.base import owner_only
from pcn.p4net.errors import P4NetError
from pcn.p4net.virtual import VirtualP4
from pcn.topologies.model import Endpoint


def capture_ports(network: VirtualP4, folder: Path) -> list[Path]:
    """Writes the frames that go out of each port of a switch, from now on, to
    SWITCH-ethPORT_out.pcap, and those that come in to _in.pcap: of a link between switches a link
    to the other end's _out.pcap. Time stamps are those at which frames have left. Older files of
    these names are replaced. Returns the files. Raises LabError."""
    files = []
    try:
        with owner_only.held(folder, owner_only.PUBLIC) as held:
            for switch in network.topology.switches:
                for port in network.topology.ports(switch.name):
                    here, peer = (
                        Endpoint(switch.name, port),
                        network.topology.peer(switch.name, port),
                    )
                    out, into = (folder / f"{here.interface}_{way}.pcap" for way in ("out", "in"))
                    for path in (out, into):
                        (held / path.name).unlink(missing_ok=True)
                    network.capture(switch.name, port, out)
                    if network.topology.is_host(peer.node):
                        network.capture(peer.node, peer.port, into)
                    else:
                        (held / into.name).symlink_to(f"{peer.interface}_out.pcap")
                    files += [out, into]
    except owner_only.NotPrivateError as error:
        raise P4NetError(error.line("name another folder for the captures")) from None
    except OSError as error:
        raise P4NetError(f"{error.filename}: {error.strerror}") from None
    return files
