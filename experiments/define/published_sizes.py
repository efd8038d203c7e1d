"""Distributions of flow sizes by name, from percentiles that others have published."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from pcn.experiments.define.flow_sizes import (
    HADOOP,
    W1,
    W2,
    WEB_SEARCH,
    CdfSizes,
    ClassSizes,
    FlowSizes,
)

_OF_A_CLASS = 200
"""Points of a class of sizes: its mean is kept within 0.1%."""


@dataclass(frozen=True)
class Published:
    """A distribution, and where its numbers are from."""

    sizes: FlowSizes
    source: str


ALI_STORAGE = CdfSizes("AliStorage", (
    (0, 0), (4e3, 0.2293), (8e3, 0.6921), (16e3, 0.8061), (32e3, 0.9047), (64e3, 0.9353), (128e3,
    0.9677),
    (256e3, 0.9753), (2e6, 1),
))  # fmt: skip
SOLAR = CdfSizes("Solar", (
    (0, 0), (4095, 1e-5), (4096, 0.3), (16383, 0.35), (16384, 0.5), (65535, 0.6), (65536, 0.95),
    (262144, 1),
))  # fmt: skip
# Of the next two, those percentiles of the published ones between which no other is off the line by
# more than half a percent of the flows: 39 of 843, and 31 of 461. Their means are 2% and 0.5%
# larger.
GOOGLE_RPC = CdfSizes("GoogleRPC", (
    (0, 0), (3, 0.0648826), (32, 0.0973239), (46, 0.132092), (64, 0.155271), (85, 0.253422), (110,
    0.318856),
    (158, 0.406446), (205, 0.461319), (256, 0.497901), (296, 0.576179), (352, 0.654457), (433,
    0.732736),
    (512, 0.784921), (755, 0.835243), (1271, 0.880957), (2234, 0.913211), (3781, 0.93278), (6349,
    0.955787),
    (10335, 0.972761), (14928, 0.982705), (20432, 0.986956), (31576, 0.990186), (49152, 0.992304),
    (101694, 0.99601),
    (136269, 0.99723), (195778, 0.998004), (322153, 0.998842), (440748, 0.9993), (562492, 0.999534),
    (836921, 0.999692), (1226277, 0.999796), (1827703, 0.999869), (2693059, 0.999917), (3983524,
    0.99995),
    (5649438, 0.99997), (8231141, 0.999985), (11837511, 0.999995), (15158197, 1),
))  # fmt: skip
FB_HDP_2015 = CdfSizes("FbHdp2015", (
    (0, 0), (227, 0.0201), (300, 0.052), (326, 0.1375), (381, 0.20464), (441, 0.23527), (480,
    0.2639), (600, 0.4591),
    (743, 0.55442), (841, 0.5837), (1226, 0.6245), (1598, 0.65705), (1712, 0.66804), (7830, 0.7082),
    (35808, 0.72864),
    (45079, 0.76452), (51046, 0.816), (74722, 0.84107), (81565, 0.8717), (135199, 0.90794), (244622,
    0.94513),
    (318166, 0.95536), (514641, 0.96392), (940700, 0.9721), (2169118, 0.987), (2944602, 0.9896),
    (3997329, 0.9922),
    (5426418, 0.9948), (7366423, 0.9974), (8582787, 0.9987), (10e6, 1),
))  # fmt: skip
FB_HDP = CdfSizes("FbHdp", HADOOP.points)

_HPCC, _CONWEAVE = "alibaba-edu/High-Precision-Congestion-Control", "conweave-project/conweave-ns3"
PUBLISHED: Mapping[str, Published] = {
    distribution.sizes.name: distribution
    for distribution in (
        Published(W1, "web servers at Facebook: PCN's Table 1"),
        Published(W2, "Hadoop at Facebook: PCN's Table 1"),
        Published(
            HADOOP, f"Hadoop at Facebook, as HPCC and TCD have it: {_HPCC}, FbHdp_distribution.txt"
        ),
        Published(
            WEB_SEARCH, f"web search (DCTCP; Homa's W5): {_HPCC}, WebSearch_distribution.txt"
        ),
        Published(FB_HDP, "another name of Hadoop"),
        Published(FB_HDP_2015, f"Hadoop at Facebook (Homa's W4): {_CONWEAVE}, FbHdp2015.txt"),
        Published(GOOGLE_RPC, f"RPCs at Google (Homa's W3): {_HPCC}, GoogleRPC2008.txt"),
        Published(ALI_STORAGE, f"storage at Alibaba: {_HPCC}, AliStorage2019.txt"),
        Published(SOLAR, f"storage over Solar at Alibaba: {_CONWEAVE}, Solar2022.txt"),
    )
}
"""By name, as `--workload` takes them in any case of letters."""


def published(name: str) -> FlowSizes | None:
    """Returns the distribution of this name, in any case of letters; None: there is none."""
    return next(
        (
            distribution.sizes
            for known, distribution in PUBLISHED.items()
            if known.lower() == name.lower()
        ),
        None,
    )


def percentiles(sizes: FlowSizes) -> list[tuple[float, float]]:
    """Returns a distribution as `CdfSizes` has it: its own points, or of classes some of each."""
    if isinstance(sizes, CdfSizes):
        return list(sizes.points)
    assert isinstance(sizes, ClassSizes)
    points: list[tuple[float, float]] = []
    below = 0.0
    for share, size_class in zip(sizes.shares, sizes.classes, strict=True):
        inside = np.linspace(0, 1, _OF_A_CLASS)
        quantiles = np.clip(size_class.quantile(inside), size_class.low, size_class.high)
        points += zip(quantiles.tolist(), (below + share * inside).tolist(), strict=True)
        below += share
    points[-1] = (points[-1][0], 1.0)
    return points
