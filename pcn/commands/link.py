"""`pcn link`: links of a network that is up, set down and up."""

from __future__ import annotations

from dataclasses import asdict

import click

from pcn.commands.common import Quantity, network_option, print_json, print_table
from pcn.commands.output import output_options, say
from pcn.complete import complete_node


@click.command()
@click.argument("node", required=False, shell_complete=complete_node)
@click.argument("other", required=False, metavar="[NODE]", shell_complete=complete_node)
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
    other: str | None,
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

    if node is not None and other is None:
        raise click.UsageError("name two nodes, which a link connects")
    if reroute_s is not None and state is None:
        raise click.UsageError("--reroute comes with down or up")
    with attach(network) as lab:
        if node is None or other is None:
            found = links(lab.record, lab.topology)
        elif state is not None:
            found = set_link(lab, node, other, state == "up")
            changed = reroute(lab, reroute_s) if reroute_s is not None else []
        else:
            ends = {
                str(end) for one in between(lab.topology, node, other) for end in (one.a, one.b)
            }
            found = [one for one in links(lab.record, lab.topology) if one.a in ends]
    if as_json:
        print_json([asdict(one) for one in found])
    elif state is not None:
        for one in found:
            say(f"{one} is {'up' if one.up else 'DOWN'}")
        if reroute_s is not None:
            say(f"other routes at {', '.join(changed) or 'no switch'}")
    else:
        print_table("links", ("link", "is"), [(one, "up" if one.up else "DOWN") for one in found])
