"""Settings that pages and messages name, as `--set payload=1000B`, are settings that commands
take."""

import re
from pathlib import Path
from unittest import mock

import pytest
from distributions import PACKAGES

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.data.parameters import Parameter
from pcn.experiments.papers import EXPERIMENTS
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import TrafficSpec
from pcn.hosts.algorithms import find_scheme, schemes
from pcn.topologies.catalog import TOPOLOGIES

ROOT = Path(__file__).resolve().parents[2]
TEXTS = [
    *ROOT.glob("*.md"),
    *(page for page in (ROOT / "docs").rglob("*.md") if page.parent.name != "notebook"),
    *(file for package in (*PACKAGES, "pcn") for file in (ROOT / package).rglob("*.py")),
]
NAMED = re.compile(r"--set (\w+)=([\d.][\w./%-]*\w|\d)")


def parameters() -> dict[str, set[Parameter]]:
    """By name; several things may have one of a name."""
    traffic = [
        Traffic(TrafficSpec(arrivals="lognormal", incast="3")),
        Traffic(TrafficSpec(arrivals="onoff")),
        Traffic(TrafficSpec(workload="allreduce:ring")),
        *(Traffic(TrafficSpec(topology=name)) for name in TOPOLOGIES),
    ]
    by_name: dict[str, set[Parameter]] = {}
    with mock.patch.dict(schemes):
        find_scheme(f"{ROOT}/examples/aimd/aimd.py:AIMD")  # docs/schemes.md explains it
        for experiment in (*EXPERIMENTS.values(), *traffic):
            for scheme in schemes:
                for parameter in experiment.parameters(scheme):
                    by_name.setdefault(parameter.name, set()).add(parameter)
    return by_name


def accepts(parameter: Parameter, text: str) -> bool:
    try:
        parameter.parse(text)
    except ExperimentError:
        return False
    return True


def test_commands_take_settings_that_texts_name():
    known, seen, refused = parameters(), 0, []
    for file in TEXTS:
        for name, value in NAMED.findall(file.read_text()):
            if name in known:
                seen += 1
                if not any(accepts(parameter, value) for parameter in known[name]):
                    refused.append(f"{file.relative_to(ROOT)}: {name}={value}")
    assert seen > 50
    assert refused == []


@pytest.mark.parametrize("text", ["4092", "1000", "3us"])
def test_payload_needs_a_unit_of_size(text):
    """What the test above has to find."""
    assert not any(accepts(parameter, text) for parameter in parameters()["payload"])
