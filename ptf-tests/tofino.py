"""Starts Intel's model of a Tofino and its driver, both of the lab's own SDE, for the data-plane
tests.

SDE_INSTALL   where the SDE is installed: bin/bf_switchd, lib, share, the messages of BF Runtime
PATH          has tofino-model, or SDE_INSTALL's bin has it
"""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path

from pcn.base.errors import LabError
from pcn.controller.tofino.bfrt_messages import VARIABLE
from pcn.controller.tofino.chips import TOFINO, TOFINO2, Chip

MODEL, DRIVER = "tofino-model", "bf_switchd"
CHIP_TYPES = {TOFINO.name: 2, TOFINO2.name: 5}
"""The model's own numbers, by chip."""
PORT = 50052
ADDRESS = f"127.0.0.1:{PORT}"
CONTROL = "TOFINO_MODEL_CONTROL"
"""Names the file by which a model that was changed for it takes time and queues from the tests
(docs/tofino.md)."""
_ASIC = {
    "id": "asic-0",
    "instance": 0,
    "pcie_sysfs_prefix": "/sys/devices/pci0000:00/0000:00:03.0",
    "pcie_domain": 0,
    "pcie_bus": 5,
    "pcie_fn": 0,
    "pcie_dev": 0,
    "pcie_int_mode": 1,
    "sds_fw_path": "share/tofino_sds_fw/avago/firmware",
}


def installed(environment: Mapping[str, str] = os.environ) -> tuple[Path, dict[str, str]]:
    """Returns the SDE's folder, and the environment in which its programs run. Raises LabError with
    the way out."""
    folder = environment.get(VARIABLE, "")
    if not folder or not Path(folder).is_dir():
        raise LabError(
            f"the model needs Intel's SDE: set {VARIABLE} to the folder in which it is installed"
        )
    sde = Path(folder).resolve()
    variables = dict(environment)
    variables["PATH"] = os.pathsep.join((str(sde / "bin"), environment.get("PATH", "")))
    variables["LD_LIBRARY_PATH"] = os.pathsep.join(
        filter(None, (str(sde / "lib"), environment.get("LD_LIBRARY_PATH", "")))
    )
    for name in (MODEL, DRIVER):
        if shutil.which(name, path=variables["PATH"]) is None:
            raise LabError(
                f"{name} is neither on PATH nor in {sde / 'bin'}: open-p4studio builds both"
            )
    return sde, variables


def model_command(scratch: Path, chip: Chip, interfaces: Mapping[int, str]) -> list[str]:
    """Returns the model's command. `interfaces`: by the tests' ports, the chip's at the front but
    its first."""
    ports = scratch / "ports.json"
    places = [
        {"device_port": chip.first_port + port, "if": name} for port, name in interfaces.items()
    ]
    ports.write_text(json.dumps({"PortToIf": places}), encoding="utf-8")
    command = [MODEL, "--chip-type", str(CHIP_TYPES[chip.name]), "-d", "1", "-f", str(ports)]
    return [*command, "--log-dir", str(scratch), "--logs-disable"]


def driver_command(scratch: Path, sde: Path, chip: Chip) -> list[str]:
    """Returns the driver's command: without a program, which the tests load."""
    conf = scratch / "switchd.json"
    configuration = {
        "chip_list": [_ASIC | {"chip_family": chip.name}],
        "instance": 0,
        "p4_devices": [],
    }
    conf.write_text(json.dumps(configuration), encoding="utf-8")
    return [
        *(DRIVER, "--install-dir", str(sde), "--conf-file", str(conf)),
        *("--background", "--skip-p4", "--server-listen-local-only"),
    ]
