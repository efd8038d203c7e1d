"""`pcn up`, `pcn down`, `pcn status`: a network that stays up."""

from __future__ import annotations

import time
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from pcn.commands.common import (
    FilePath,
    Quantity,
    assignments,
    named_network,
    network_option,
    print_json,
    print_table,
    program_option,
    refuse,
    with_program,
)
from pcn.commands.output import note, output_options, say, tell
from pcn.complete import (
    complete_network,
    complete_scheme,
    complete_scheme_parameter,
    complete_target,
    complete_topology,
    complete_topology_option,
)

if TYPE_CHECKING:
    from pcn.lab.journal import Record


@click.command()
@click.argument("topology", shell_complete=complete_topology)
@click.option(
    "--scheme",
    default="pcn",
    show_default=True,
    shell_complete=complete_scheme,
    help="Congestion control of hosts and switches, by name or FILE.py:NAME.",
)
@program_option
@click.option(
    "--target",
    default="softswitch",
    show_default=True,
    shell_complete=complete_target,
    help="Switches: softswitch, engine (softswitch, with virtual time's engine) or bmv2.",
)
@click.option(
    "--dilation",
    "-k",
    type=Quantity("number"),
    metavar="K",
    help="Factor by which the network is slower than the modelled one (default: as this machine "
    "needs when all hosts "
    "send).",
)
@click.option(
    "--set",
    "options",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_topology_option,
    help="Option of the topology, e.g. rate_bps=10G (default: the topology's).",
)
@click.option(
    "--param",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    shell_complete=complete_scheme_parameter,
    help="Parameter of the scheme, e.g. w_max=0.5 (default: the scheme's for this network).",
)
@click.option(
    "--leave-out",
    "leave_out",
    default="",
    metavar="LIST",
    help="Parts of switches that are there in virtual time alone: watchdog, weights, buffer, "
    "latency, output, "
    "arbitration, queue (default: they are refused).",
)
@click.option("--seed", type=int, default=1, show_default=True, help="Seed of the random numbers.")
@click.option(
    "--inside",
    is_flag=True,
    help="All nodes inside one engine of virtual time, at the pace of real time divided by K: "
    "exact, without interfaces (default: namespaces, interfaces and programs).",
)
@click.option("--processes", is_flag=True, help="Process for each switch (default: one for all).")
@click.option(
    "--network",
    "--name",
    "-n",
    "name",
    metavar="NAME",
    help="Name of the network (default: the topology's).",
)
@click.option("--logs", type=FilePath(), help="Folder of logs (default: results/up/NAME-TIME).")
@output_options
def up(
    topology: str,
    scheme: str,
    program: str | None,
    target: str,
    dilation: float | None,
    options: tuple[str, ...],
    parameters: tuple[str, ...],
    leave_out: str,
    seed: int,
    inside: bool,
    processes: bool,
    name: str | None,
    logs: Path | None,
    as_json: bool,
) -> None:
    """Start a network, which stays up until `pcn down`.

    TOPOLOGY is a name of `pcn topology list`, FILE.py:NAME, or a FILE of a format in `pcn topology
    formats`. The network has switches with their program and routes, and hosts with their agents.

    \b
    Examples:
      pcn up dumbbell
      pcn up compact --scheme pcn
      pcn up dumbbell --scheme pfc --dilation 1000
      pcn up dumbbell --set pairs=2 --set xoff_bytes=256KB
      pcn up fat-tree --inside -k 60
    """
    from pcn.lab import calibrate, journal as records, supervisor
    from pcn.lab.launch import links, without
    from pcn.lab.log_folder import new
    from pcn.lab.network import configured
    from pcn.lab.preflight import require_free, require_startable
    from pcn.lab.target import target as find_target
    from pcn.p4src.manifest import stale
    from pcn.topologies.lookup import find_topology

    values = assignments(options, "rate_bps=10G")
    blueprint = find_topology(topology)
    left = [part.strip() for part in leave_out.split(",") if part.strip()]
    built = without(blueprint.build(values), left)
    name = name or built.name
    records.directory(name)  # before anything is named after it
    scheme_parameters = assignments(parameters, "w_max=0.5")
    chosen = configured(with_program(scheme, program), scheme_parameters).scheme
    if inside:
        refuse("not beside --inside", "target", "processes", "leave_out")
        require_free(name)
        # loaded here alone: another network needs none of it to start
        from pcn.experiments.run.execute import paced_k
        from pcn.hosts import wire
        from pcn.hosts.recommended import PAYLOAD_BYTES

        frame_bytes = wire.data_bytes(PAYLOAD_BYTES, False, False)
        enough = calibrate.Choice(paced_k(built, frame_bytes), "")
    else:
        require_startable(built, find_target(target), name)
        enough = calibrate.choose(built, target, links(target, processes))
    chosen_k = calibrate.Choice(dilation, "") if dilation else enough
    logs = logs or new(Path("results") / "up" / f"{name}-{time.strftime('%Y%m%d-%H%M%S')}")
    spec = supervisor.Spec(
        name=name,
        topology=blueprint.reference,
        log_dir=str(logs.resolve()),
        options=dict(values),
        target=target,
        scheme=chosen.reference,
        scheme_parameters=dict(scheme_parameters),
        dilation=chosen_k.k,
        why_k=chosen_k.why,
        enough_k=enough.k,
        processes=processes,
        seed=seed,
        leave_out=left,
        inside=inside,
    )
    where = "inside one engine" if inside else target
    nodes = f"{len(built.switches)} switches ({where}), {len(built.hosts)} hosts ({chosen.name})"
    tell(f"bringing {name} up: {nodes} ...")
    if chosen_k.why:
        tell(f"k = {chosen_k.k:g}: {chosen_k.why}")
    short = None if inside else enough.shortfall(chosen_k.k)  # lateness changes no number there
    for remark in (chosen_k.why and chosen_k.warning, short):
        if remark:
            note(remark)
    record = supervisor.up(spec)
    for remark in (stale(record.program), record.features.get("priority")):
        if remark:
            note(remark)
    if as_json:
        print_json(_network(record, held=True))
        return
    say(
        f"{name} is up, k = {record.dilation:g}, link delay: {record.features.get('link_delay')}; "
        f"logs in {logs}"
    )
    src, dst = built.hosts[0].name, built.hosts[-1].name
    say(f"`pcn flow start {src} {dst}` sends, `pcn watch` shows what happens, `pcn down` ends it.")


@click.command()
@click.argument("name", required=False, shell_complete=complete_network)
@click.option("--all", "every", is_flag=True, help="All networks that `pcn up` started.")
@click.option(
    "--force", is_flag=True, help="Also a network that a running command (`pcn run`) holds."
)
@network_option
@output_options
def down(name: str | None, every: bool, force: bool, network: str | None, as_json: bool) -> None:
    """End what `pcn up` started.

    The network NAME, or the only one that is up. Without NAME, also remove what dead ones left;
    safe to repeat.

    \b
    Examples:
      pcn down
      pcn down dumbbell
      pcn down --all
    """
    from pcn.controller.errors import UnknownNameError
    from pcn.experiments.results.atomic_folder import remove_dead
    from pcn.lab import journal as records, supervisor
    from pcn.lab.attach import NotRunningError

    name = named_network(name, network)
    if name and every:
        raise click.UsageError(f"{name} and --all: name one network, or end all")
    if name and records.directory(name).name not in records.names():
        raise UnknownNameError("network", name, records.names())
    if not name and not every and len(ours := _ours()) > 1:
        raise NotRunningError(
            f"several networks are up ({', '.join(ours)}): name one, or give --all"
        )
    removed: list[str] = []
    try:
        if not name:  # results are any user's, networks may be another one's
            removed += [f"what a killed run left, {path}" for path in remove_dead()]
        for network_name in [name] if name else records.names():
            record = records.load(network_name)
            if (
                not name
                and not force
                and record
                and record.role != "up"
                and records.is_held(network_name)
            ):
                tell(f"left alone: {network_name}, of the running process {record.owner.pid}")
                continue
            removed += supervisor.down(network_name, force)
    finally:
        for thing in removed if not as_json else ():
            say(f"removed {thing}")
    if as_json:
        print_json({"removed": removed})
    elif not removed:
        say("nothing to remove")


@click.command()
@click.argument("name", required=False, shell_complete=complete_network)
@network_option
@output_options
def status(name: str | None, network: str | None, as_json: bool) -> None:
    """Show networks and their programs: all, or the network NAME.

    Of each switch, where its P4Runtime server listens, and as which device: for controllers of your
    own.

    \b
    Examples:
      pcn status
      pcn status --json
    """
    from pcn.controller.errors import UnknownNameError
    from pcn.lab import journal as records

    wanted = named_network(name, network)
    stored = [
        record
        for name in records.names()
        if wanted in (None, name) and (record := records.load(name))
    ]
    if wanted and not stored:
        raise UnknownNameError("network", wanted, records.names())
    networks = [_network(record, records.is_held(record.name)) for record in stored]
    if as_json:
        print_json(networks)
        return
    if not networks:
        say("no network is up")
    for summary in networks:
        title = (
            f"{summary['name']}: {_state(summary)}, {summary['target']}, {summary['scheme']}, "
            f"k = {summary['dilation']:g}, process {summary['pid']}; logs in {summary['logs']}"
        )
        rows = [
            (
                *(node["name"], node["kind"], _PROGRAM[node["runs"]], node["pid"] or "-"),
                *(
                    (node["device_id"], node["control"])
                    if node["device_id"] is not None
                    else ("-", "-")
                ),
                _below(node["log"], summary["logs"]) or "-",
            )
            for node in summary["nodes"]
        ]
        if summary["overload"]:
            say(summary["overload"]["text"])
        print_table(title, ("node", "is", "program", "pid", "device\nid", "P4Runtime", "log"), rows)


def _ours() -> list[str]:
    """Networks that are up by `pcn up`."""
    from pcn.lab import journal as records

    held = [name for name in records.names() if records.is_held(name)]
    return [name for name in held if (record := records.load(name)) and record.role == "up"]


def _below(log: str | None, folder: str) -> str | None:
    """Returns a log's path from the folder of all logs, where it is in there."""
    return log and str(Path(log).relative_to(folder) if Path(log).is_relative_to(folder) else log)


_PROGRAM = {True: "runs", False: "ENDED", None: "the kernel"}


def _state(network: dict[str, Any]) -> str:
    """Returns a network's state as text, with its faults."""
    if network["state"] != "up":
        return str(network["state"])
    ended = [node["name"] for node in network["nodes"] if node["runs"] is False]
    wrong = (
        [f"the program{'s' if len(ended) > 1 else ''} of {', '.join(ended)} ENDED"] if ended else []
    )
    wrong += [f"{link} is DOWN" for link in network["links_down"]]
    wrong += ["NOT IN PACE"] if network["overload"] else []
    return f"up, BUT {'; '.join(wrong)}" if wrong else "up"


def _network(record: Record, held: bool) -> dict[str, Any]:
    from pcn.lab.links import links
    from pcn.lab.pace import Pacing
    from pcn.topologies.serialise import from_dict

    topology = from_dict(record.topology)
    overload = Pacing(record).overload() if held else None
    devices = {switch.name: switch.device_id for switch in topology.switches}
    return {
        "name": record.name,
        "state": record.state if held else "dead: `pcn down` removes what it left",
        "topology": topology.name,
        "target": record.target,
        "scheme": record.scheme,
        "program": record.program,
        "dilation": record.dilation,
        "features": record.features,
        "pid": record.owner.pid,
        "logs": record.log_dir,
        "overload": None if overload is None else {**asdict(overload), "text": str(overload)},
        "links_down": [str(link) for link in links(record, topology) if not link.up]
        if held and record.state == "up"
        else [],
        "nodes": [
            {
                "name": node.name,
                "kind": "switch" if node.name in devices else "host",
                "runs": node.process.alive()
                if node.process
                else None,  # None: the kernel speaks for it
                "pid": node.process.pid if node.process else None,
                "namespace_pid": node.shell.pid,
                "interfaces": node.interfaces,
                "device_id": devices.get(node.name),
                "control": node.control,  # a switch's P4Runtime, an agent's socket
                "log": node.log,
            }
            for node in record.nodes.values()
        ],
    }
