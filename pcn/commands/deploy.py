"""`pcn deploy`: a Tofino switch of a lab."""

from __future__ import annotations

import os
import re
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import click

from pcn.commands.common import FilePath, election_id_option, print_json, print_table, refuse
from pcn.commands.output import output_options, say, tell

if TYPE_CHECKING:
    from pcn.controller.tofino.deploy import Deployed
    from pcn.controller.tofino.model import TofinoLab
    from pcn.controller.tofino.package import Package

_ADDRESS = re.compile(r"(\[[0-9a-fA-F:.]+\]|[^\s:/\[\]]+):(\d{1,5})")
_MOST_PORT = 0xFFFF
_PROGRAMS = ("pcn", "tcd", "qcn", "qcn_in")


def _address(_context: click.Context, _parameter: click.Parameter, value: str | None) -> str | None:
    match = _ADDRESS.fullmatch(value or "")
    if value is not None and not (match and 0 < int(match.group(2)) <= _MOST_PORT):
        raise click.BadParameter(
            f"{value!r}: write it as HOST:PORT; Stratum's port is 9559, the driver's 50052"
        )
    return value


@click.command()
@click.option(
    "--target",
    type=click.Choice(["tofino"]),
    default="tofino",
    show_default=True,
    help="Kind of switch.",
)
@click.option(
    "--program",
    type=click.Choice(_PROGRAMS),
    default="pcn",
    show_default=True,
    help="Program to load.",
)
@click.option(
    "--grpc",
    "address",
    metavar="HOST:PORT",
    callback=_address,
    help="Address of Stratum's P4Runtime server.",
)
@click.option(
    "--bfrt",
    "driver",
    metavar="HOST:PORT",
    callback=_address,
    help=(
        "Address of the driver's BF Runtime server (bf_switchd's port is 50052), instead of "
        "Stratum's."
    ),
)
@click.option(
    "--ports",
    "path",
    metavar="FILE",
    type=FilePath(),
    help="YAML file of ports, PFC, queues and routes.",
)
@click.option("--check", is_flag=True, help="Check FILE, and send nothing.")
@click.option(
    "--read", "reads", is_flag=True, help="Read entries and counters; load and write nothing."
)
@click.option(
    "--out",
    "directory",
    metavar="DIR",
    type=FilePath(file_okay=False),
    help="Folder for package, chassis configuration and PFC script; older ones are overwritten.",
)
@election_id_option(1)
@click.option("--sample", is_flag=True, help="Print a FILE to start from, and end.")
@output_options
def deploy(
    target: str,
    program: str,
    address: str | None,
    driver: str | None,
    path: Path | None,
    check: bool,
    reads: bool,
    directory: Path | None,
    election_id: int,
    sample: bool,
    as_json: bool,
) -> None:
    """Load PCN, TCD or QCN into a hardware switch, with its entries.

    All of FILE is checked before anything is sent. Then the program is packed and loaded, which
    stops the switch's traffic for a moment, entries are written, and counters read. docs/tofino.md
    has the steps of a lab.

    \b
    Examples:
      pcn deploy --sample > ports.yaml
      pcn deploy --ports ports.yaml --check --out tofino
      pcn deploy --target tofino --grpc 192.0.2.10:9559 --ports ports.yaml
      pcn deploy --grpc 192.0.2.10:9559 --ports ports.yaml --program tcd
      pcn deploy --grpc 192.0.2.10:9559 --ports ports.yaml --program qcn_in
      pcn deploy --grpc 192.0.2.10:9559 --ports ports.yaml --read
      pcn deploy --bfrt 192.0.2.10:50052 --ports ports.yaml
    """
    from pcn.controller.tofino import deploy as tofino
    from pcn.controller.tofino.lab_file import SAMPLE, read
    from pcn.controller.tofino.package import Package

    if sample:
        refuse(
            "--sample does nothing but print",
            "program",
            "address",
            "driver",
            "path",
            "check",
            "reads",
            "directory",
        )
        say(SAMPLE.read_text(encoding="utf-8"), nl=False)
        return
    if path is None:
        raise click.UsageError(
            "name the lab's file with --ports FILE; --sample prints one to start from"
        )
    if check and reads:
        raise click.UsageError("take --check, which sends nothing, or --read")
    if address is None and driver is None and not check:
        raise click.UsageError(
            "name its P4Runtime server with --grpc HOST:PORT, its driver with --bfrt HOST:PORT, or "
            "take --check"
        )
    if driver is not None:
        refuse(
            "--bfrt reaches the driver; Stratum has P4Runtime's addresses and election ids",
            "address",
            "election_id",
        )
    lab = read(path)
    package = Package.compiled(program, lab.chip)
    entries = tofino.check(lab, package)
    files = _write(directory, lab, package) if directory else []
    if (address is None and driver is None) or check:
        if as_json:
            print_json(
                {
                    "switch": lab.switch,
                    "package_bytes": len(package.data),
                    "entries": len(entries),
                    "files": files,
                }
            )
            return
        say(
            f"{path}: {len(lab.ports)} ports, {len(lab.routes)} routes; program {package.name} "
            f"takes their {len(entries)} entries. Nothing was sent"
        )
    else:

        def step(text: str) -> None:
            tell(f"{lab.switch}: {text}")

        if driver is not None:
            deployed = (
                tofino.look_bfrt(lab, driver)
                if reads
                else tofino.deploy_bfrt(lab, package, driver, step)
            )
        else:
            assert address is not None
            deployed = (
                tofino.look(lab, address)
                if reads
                else tofino.deploy(lab, package, address, election_id, step)
            )
        if as_json:
            print_json(
                {
                    "switch": lab.switch,
                    "package_bytes": len(package.data),
                    **asdict(deployed),
                    "files": files,
                }
            )
            return
        _show(lab, deployed)
    for file in files:
        say(f"wrote {file}")


def _write(directory: Path, lab: TofinoLab, package: Package) -> list[str]:
    from pcn.base import owner_only
    from pcn.base.errors import LabError
    from pcn.controller.tofino.buffers import pfc_script
    from pcn.controller.tofino.chassis import chassis_config
    from pcn.experiments.results.atomic_folder import replacing

    contents = {
        "p4_device_config.pb.bin": package.data,
        "chassis_config.pb.txt": chassis_config(lab).encode(),
        "pfc.py": pfc_script(lab).encode(),
    }
    try:
        os.close(owner_only.open_folder(directory))
        for name, content in contents.items():
            with replacing(directory / name) as file:
                file.write(content)
    except owner_only.NotPrivateError as error:
        raise LabError(error.line("choose another --out")) from None
    except OSError as error:
        raise LabError(f"{directory}: {error.strerror}") from None
    return [str(directory / name) for name in contents]


def _show(lab: TofinoLab, deployed: Deployed) -> None:
    print_table(f"{lab.switch}: entries", ("table", "entries"), sorted(deployed.entries.items()))
    for line in deployed.ignored:
        say(f"{lab.switch}: the driver ignores, without harm: {line}")
    if deployed.settings:
        say(
            f"{lab.switch}: {deployed.settings} fields of ports, PFC, buffers and queues were "
            "written and read back"
        )
    panels = {port.number: port.panel for port in lab.ports}
    print_table(
        f"{lab.switch}: counters that are not zero",
        ("counter", "port", "panel", "class", "packets", "bytes"),
        [
            (
                cell.counter,
                cell.port,
                panels[cell.port],
                cell.number,
                cell.value.packets,
                cell.value.bytes or "-",
            )
            for cell in deployed.counters
            if cell.value.packets
        ],
    )
