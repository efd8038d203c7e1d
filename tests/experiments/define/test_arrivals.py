"""Arrivals and in-casts: equal seeds give equal flows, and loads are exact in the mean."""

import math
from collections import Counter, defaultdict

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.define.arrivals import LogNormal, OnOff, arrivals_at
from pcn.experiments.define.flow_sizes import CdfSizes, sample
from pcn.experiments.define.flows_by_size import INCAST
from pcn.experiments.define.published_sizes import PUBLISHED, percentiles, published
from pcn.experiments.define.workloads import fan_in_flows
from pcn.experiments.traffic.experiment import Traffic
from pcn.experiments.traffic.spec import TrafficSpec, draw, parse_spec
from pcn.topologies.star import star

TOPOLOGY = star()
HOSTS = [host.name for host in TOPOLOGY.hosts]
INCASTS = {"incast_size": 20e3, "incast_load": 0.05, "incast_period": None}
SPREAD = 6.0
"""Standard deviations within which a mean must be."""

PROCESSES = [
    (LogNormal(0.0), 0.0),
    (LogNormal(1.0), math.expm1(1.0)),
    (LogNormal(1.5), math.expm1(2.25)),
    (OnOff(1e-3, 3e-3), 0.0),
    (OnOff(2e-4, 0.0), 1.0),
]


@pytest.mark.parametrize(("arrivals", "variance"), PROCESSES)
@given(seed=st.integers(0, 2**32))
@settings(max_examples=5)
def test_source_has_its_rate_from_the_first_moment(arrivals, variance, seed):
    """Many sources over a short time, in which a process that began with a gap, or switched on,
    would be wrong."""
    random, per_s, end_s, sources = np.random.default_rng(seed), 5000.0, 1e-3, 1000
    counts = np.array([arrivals.times(random, per_s, end_s).size for _ in range(sources)])
    assert counts.mean() == pytest.approx(
        per_s * end_s, abs=SPREAD * counts.std() / math.sqrt(sources) + 1e-9
    )


@pytest.mark.parametrize(("arrivals", "variance"), PROCESSES[:3])
def test_gaps_have_the_variance_of_their_sigma(arrivals, variance):
    times = arrivals.times(np.random.default_rng(4), 1000.0, 200.0)
    gaps = np.diff(times)
    assert gaps.mean() == pytest.approx(1e-3, rel=0.02)
    assert np.log(gaps).std() == pytest.approx(math.sqrt(math.log1p(variance)), abs=0.02)


def test_source_that_is_off_starts_nothing():
    times = OnOff(1e-3, 9e-3).times(np.random.default_rng(3), 2000.0, 50.0)
    per_ms = np.bincount((times * 1e3).astype(int), minlength=50_000)
    assert per_ms.mean() == pytest.approx(2.0, rel=0.05)
    assert (per_ms == 0).mean() > 0.75  # of a Poisson process of this rate 14%


@given(
    st.integers(0, 2**32),
    st.sampled_from([process for process, _ in PROCESSES]),
    st.integers(1, 300),
)
@settings(max_examples=30)
def test_first_arrivals_don_t_depend_on_how_many_are_wanted(seed, arrivals, count):
    few = arrivals_at(np.random.default_rng(seed), arrivals, 1000.0, 7, count)
    many = arrivals_at(np.random.default_rng(seed), arrivals, 1000.0, 7, 2 * count)
    assert few[0].size == count
    assert np.all(np.diff(few[0]) >= 0)
    np.testing.assert_array_equal(few[0], many[0][:count])
    np.testing.assert_array_equal(few[1], many[1][:count])


@pytest.mark.parametrize("pattern", ["uniform", "permutation"])
@pytest.mark.parametrize(
    ("arrivals", "more"),
    [("", {}), ("lognormal", {"sigma": 1.0}), ("onoff", {"on": 1e-3, "off": 2e-3})],
)
def test_background_has_its_load(pattern, arrivals, more):
    spec = TrafficSpec("star", "AliStorage", pattern, arrivals=arrivals)
    assert draw(spec, TOPOLOGY, 1, 0.4, 500, 1000, more) == draw(
        spec, TOPOLOGY, 1, 0.4, 500, 1000, more
    )
    drawn = draw(spec, TOPOLOGY, 1, 0.4, 20_000, 1000, more)
    frames = sum(8 * (flow.size_bytes or 0) for flow in drawn) * 1058 / 1000
    lines = sum(TOPOLOGY.link_at(host, 0).rate_bps for host in HOSTS)
    assert frames / max(flow.start_s for flow in drawn) / lines == pytest.approx(0.4, rel=0.12)
    sent = Counter(flow.src for flow in drawn)
    assert min(sent.values()) > 0.7 * max(sent.values())


def incasts(senders: int, **more: float | None) -> list[tuple[float, str, set[str]]]:
    drawn = draw(
        TrafficSpec("star", "AliStorage", incast=str(senders)),
        TOPOLOGY, 2, 0.3, 5000, 1000, INCASTS | more,
    )  # fmt: skip
    by_start = defaultdict(list)
    for flow in drawn:
        if flow.group == INCAST:
            by_start[flow.start_s].append((flow.src, flow.dst, flow.size_bytes or 0))
    assert len({flow.id for flow in drawn}) == len(drawn)
    assert all(size == 20_000 for flows in by_start.values() for _, _, size in flows)
    return [(start, flows[0][1], {src for src, _, _ in flows}) for start, flows in by_start.items()]


def test_in_casts_have_their_senders_and_their_load_beside_the_background():
    senders = len(HOSTS) - 2
    bursts = incasts(senders)
    assert all(
        len(sources) == senders and receiver not in sources for _, receiver, sources in bursts
    )
    last_s = max(start for start, _, _ in bursts)
    lines = sum(TOPOLOGY.link_at(host, 0).rate_bps for host in HOSTS)
    load = len(bursts) * senders * 8 * 20e3 * 1.058 / last_s / lines
    assert load == pytest.approx(0.05, rel=SPREAD / math.sqrt(len(bursts)))
    alone = draw(TrafficSpec("star", "AliStorage"), TOPOLOGY, 2, 0.3, 5000, 1000)
    both = draw(
        TrafficSpec("star", "AliStorage", incast="2"), TOPOLOGY, 2, 0.3, 5000, 1000, INCASTS
    )
    assert both[: len(alone)] == alone


def test_in_casts_come_at_their_period():
    starts = [start for start, _, _ in incasts(3, incast_period=1e-4)]
    assert np.diff(starts) == pytest.approx(np.full(len(starts) - 1, 1e-4))
    assert starts[0] == 0
    assert len(starts) > 5


def test_in_casts_alone_need_an_end():
    traffic = Traffic(parse_spec("star", incast="2"))
    with pytest.raises(ExperimentError, match="in-casts alone need an end: give --set span=10ms"):
        traffic.plan("pcn", 1, {"count": 0})
    plan = traffic.plan("pcn", 1, {"count": 0, "duration": 1e-2, "incast_period": 2e-3})
    assert [flow.start_s for flow in plan.topology.flows] == pytest.approx(
        [0, 0, *np.repeat([2e-3, 4e-3, 6e-3, 8e-3, 1e-2], 2)]
    )
    with pytest.raises(ExperimentError, match="no flow: give --set count=1000"):
        Traffic(parse_spec("star")).plan("pcn", 1, {"count": 0})
    with pytest.raises(
        ExperimentError,
        match=f"--incast 99: {len(HOSTS)} hosts have at most {len(HOSTS) - 1} senders",
    ):
        Traffic(parse_spec("star", incast="99")).plan("pcn", 1, {})


@given(st.integers(1, len(HOSTS) - 1), st.integers(0, 2**32))
def test_each_in_cast_has_different_senders(senders, seed):
    flows = fan_in_flows(np.random.default_rng(seed), [0.0, 1.0], senders, 5, HOSTS, "g", 7)
    assert [flow.id for flow in flows] == list(range(7, 7 + 2 * senders))
    for part in (flows[:senders], flows[senders:]):
        assert len({flow.src for flow in part} | {part[0].dst}) == senders + 1
        assert len({(flow.dst, flow.start_s) for flow in part}) == 1


@pytest.mark.parametrize("name", PUBLISHED)
def test_published_sizes_have_the_mean_that_they_state(name):
    sizes = published(name.upper())
    assert sizes is PUBLISHED[name].sizes
    drawn = np.array(sample(sizes, np.random.default_rng(1), 400_000))
    assert drawn.mean() == pytest.approx(
        sizes.mean_bytes, abs=SPREAD * drawn.std() / math.sqrt(drawn.size) + 0.5
    )
    assert CdfSizes(name, tuple(percentiles(sizes))).mean_bytes == pytest.approx(
        sizes.mean_bytes, rel=2e-3
    )


def test_published_sizes_are_those_of_their_sources():
    """Percentiles that the sources state: 92.3% of AliStorage's flows up to 32 KB would be another
    distribution."""
    for name, size, share in (
        ("AliStorage", 8e3, 0.6921), ("GoogleRPC", 512, 0.784921), ("GoogleRPC", 1024, 0.8632),
        ("FbHdp2015", 600, 0.4591), ("FbHdp2015", 1e6, 0.97303), ("Solar", 16384, 0.5), ("FbHdp",
        120e3, 0.9),
    ):  # fmt: skip
        sizes, shares = zip(*percentiles(PUBLISHED[name].sizes), strict=True)
        assert np.interp(size, sizes, shares) == pytest.approx(share, abs=0.006), name
    # of all 843 points
    assert PUBLISHED["GoogleRPC"].sizes.mean_bytes == pytest.approx(2892, rel=0.025)
    assert PUBLISHED["FbHdp2015"].sizes.mean_bytes == pytest.approx(121_849, rel=0.006)
