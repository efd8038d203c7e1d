"""`pcn link`: links of a network that is up, set down and up."""

from __future__ import annotations

from dataclasses import asdict

import click

from pcn.commands.common import Quantity, network_option, print_json, print_table
from pcn.commands.output import output_options, say
from pcn.complete import complete_node


@click.command()
@click.argument("node", required=False, shell_complete=complete_node)
@click.argument("peer", required=False, metavar="[NODE]", shell_complete=complete_node)
@click.argument("state", required=False, type=click.Choice(["down", "up"]))
@click.option(
    "--reroute",
    "reroute_s",
    type=Quantity("time"),
    metavar="AFTER",
    help=(
        "Nominal time until all switches have routes by the links that are up (default: routes "
        "stay)."
    ),
)
@network_option
@output_options
def link(
    node: str | None,
    peer: str | None,
    state: str | None,
    reroute_s: float | None,
    network: str | None,
    as_json: bool,
) -> None:
    """Set the links between NODE and NODE down, or up again.

    Without `down` or `up` it shows them; without nodes, all. A node's port (s0:3) names one of
    parallel links. A switch loses what is to leave by a link that is down, counts it (`pcn
    counters`: out_discards) and logs it. A host's flows wait. With --reroute, flows go by what is
    up, that long after it; hosts that nothing leads to have no route.

    \b
    Examples:
      pcn link
      pcn link s0 s1 down
      pcn link s0 s1 up
      pcn link s0 s1 up --reroute 1ms
    """
    from pcn.lab.attach import attach
    from pcn.lab.links import between, links, reroute, set_link

    if node is not None and peer is None:
        raise click.UsageError("name two nodes, which a link connects")
    if reroute_s is not None and state is None:
        raise click.UsageError("--reroute comes with down or up")
    with attach(network) as lab:
        if node is None or peer is None:
            states = links(lab.record, lab.topology)
        elif state is not None:
            states = set_link(lab, node, peer, state == "up")
            changed = reroute(lab, reroute_s) if reroute_s is not None else []
        else:
            ends = {
                str(end) for link in between(lab.topology, node, peer) for end in (link.a, link.b)
            }
            states = [
                link_state for link_state in links(lab.record, lab.topology) if link_state.a in ends
            ]
    if as_json:
        print_json([asdict(link_state) for link_state in states])
    elif state is not None:
        for link_state in states:
            say(f"{link_state} is {'up' if link_state.up else 'DOWN'}")
        if reroute_s is not None:
            say(f"other routes at {', '.join(changed) or 'no switch'}")
    else:
        print_table(
            "links",
            ("link", "is"),
            [(link_state, "up" if link_state.up else "DOWN") for link_state in states],
        )
