"""A remark where RED's thresholds, a scheme's defaults, are those of slower links."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import parse_spec
from pcn.experiments.traffic.thresholds import unfit
from pcn.topologies.ecn import EcnThresholds

TRAFFIC = Traffic(parse_spec("star"))


@pytest.mark.parametrize(
    ("scheme", "values", "text"),
    [
        ("dcqcn", {"rate_bps": 100e9}, "dcqcn: K_min=5 KB and K_max=200 KB are for links of 40 Gbit/s, and links here"),
        ("dcqcn", {"rate_bps": 40e9}, ""),
        ("dcqcn", {"rate_bps": 100e9, "K_min": 100_000}, ""),
        ("dcqcn-ns3", {"rate_bps": 100e9}, ""),
        (
            "dcqcn-ns3",
            {"rate_bps": 400e9},
            "dcqcn-ns3: K_min=400 KB and K_max=1.6 MB are for links of 100 Gbit/s",
        ),
        ("red", {"rate_bps": 100e9}, "red: K_min=5 KB"),
        ("pcn", {"rate_bps": 400e9}, ""),
        ("dctcp", {"rate_bps": 400e9}, ""),
    ],
)
def test_plan_remarks_thresholds_of_slower_links(scheme: str, values: dict[str, float], text: str) -> None:
    notes = TRAFFIC.plan(scheme, 1, {**values, "count": 5}).notes
    assert [note[: len(text)] for note in notes] == [text] * bool(text)
    assert all(("or take --scheme dcqcn-ns3" in note) == (scheme == "dcqcn") for note in notes)


def test_thresholds_of_switches_for_fast_links_need_no_remark() -> None:
    plan = TRAFFIC.plan("dcqcn", 1, {"rate_bps": 100e9, "count": 5})
    assert list(unfit("dcqcn", plan.values, plan.topology))
    own = (EcnThresholds(400e3, 1600e3, 0.2, rate_bps=100e9),)
    switches = tuple(replace(switch, ecn=own) for switch in plan.topology.switches)
    assert not list(unfit("dcqcn", plan.values, replace(plan.topology, switches=switches)))
