"""Workloads: Table 1's shares, load, Poisson gaps, bursts, and that a seed decides them."""

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, strategies as st

from pcn.experiments.define.flow_sizes import (
    HADOOP,
    W1,
    W2,
    WEB_SEARCH,
    CdfSizes,
    FixedSizes,
    SizeClass,
    from_table,
    read_cdf,
    sample,
)
from pcn.experiments.define.workloads import (
    arrivals_per_s,
    bursts,
    incast_flows,
    poisson_flows,
    poisson_times,
    uniform_flows,
)

TABLE_1 = [
    (W1, (80.14, 10.32, 9.12, 0.41), (3.08, 5.89, 83.8, 7.04)),
    (W2, (70.79, 16.59, 3.52, 9.1), (0.22, 1.56, 1.53, 96.7)),
]
ENDS = (0, 10e3, 100e3, 1e6, np.inf)


def rng(seed: int = 1) -> np.random.Generator:
    return np.random.default_rng(seed)


@given(seed=st.integers(0, 2**32), counts=st.lists(st.integers(1, 40), min_size=1, max_size=5))
def test_sizes_follow_draws_of_generator_choice(seed, counts):
    """Runs of earlier versions drew by it, so equal seeds give the flows of theirs."""
    fixed = FixedSizes("fixed", ((1000, 0.7), (30_000, 0.2), (5, 0.1)))
    ours, theirs = rng(seed), rng(seed)
    for count in counts:
        values, shares = zip(*fixed.shares, strict=True)
        assert sample(fixed, ours, count) == theirs.choice(values, size=count, p=shares).tolist()
        chosen, u = theirs.choice(len(W1.classes), size=count, p=W1.shares), theirs.random(count)
        expected = [
            round(float(W1.classes[place].quantile(np.array([probability]))[0]))
            for place, probability in zip(chosen, u, strict=True)
        ]
        assert sample(W1, ours, count) == expected


@pytest.mark.parametrize(("sizes", "number", "traffic"), TABLE_1)
def test_samples_have_table_1_s_shares(sizes, number, traffic):
    drawn = np.array(sample(sizes, rng(), 1_000_000))
    for low, high, share, part in zip(ENDS, ENDS[1:], number, traffic, strict=False):
        inside = drawn[(drawn > low) & (drawn <= high)]
        assert 100 * inside.size / drawn.size == pytest.approx(share, rel=0.05)
        assert 100 * inside.sum() / drawn.sum() == pytest.approx(part, rel=0.05)
    assert drawn.mean() == pytest.approx(sizes.mean_bytes, rel=0.01)


@given(st.floats(100, 1e6), st.floats(1.01, 1000), st.floats(0.02, 0.98))
def test_a_class_has_the_mean_it_was_given(low, span, where):
    size_class = SizeClass(low, low * span, low + (low * span - low) * where)
    u = (np.arange(200_000) + 0.5) / 200_000
    sizes = size_class.quantile(u)
    assert sizes.min() >= low * (1 - 1e-9)
    assert sizes.max() <= low * span * (1 + 1e-9)
    assert (np.diff(sizes) >= 0).all()
    assert sizes.mean() == pytest.approx(size_class.mean, rel=2e-3)


def test_a_mean_outside_its_class_is_refused():
    with pytest.raises(ValueError, match="isn't between"):
        SizeClass(100, 1000, 1000).quantile(np.array([0.5]))


def test_a_table_that_contradicts_itself_is_refused():
    with pytest.raises(ValueError, match="contradict"):
        from_table("upside down", (25, 25, 25, 25), (90, 5, 3, 2))


def test_poisson_gaps_are_exponential():
    times = np.array(poisson_times(rng(), 1e5, 1.0))
    gaps = np.diff(times)
    assert times.size == pytest.approx(1e5, rel=0.02)
    assert times[-1] < 1.0
    assert gaps.mean() == pytest.approx(1e-5, rel=0.02)
    assert gaps.std() == pytest.approx(gaps.mean(), rel=0.03)
    assert (gaps > 2e-5).mean() == pytest.approx(np.exp(-2), rel=0.05)


@pytest.mark.parametrize("sizes", [W1, W2])
def test_flows_load_the_link_as_requested(sizes):
    per_s = arrivals_per_s(0.6, 40e9, sizes, 1000, 1058)
    flows = poisson_flows(rng(), sizes, per_s, 4.0, ["h0"], "r0")
    frames = sum(flow.size_bytes or 0 for flow in flows) * 1.058
    assert frames * 8 / 4.0 / 40e9 == pytest.approx(0.6, rel=0.06)
    assert [flow.id for flow in flows] == list(range(len(flows)))


def test_synchronous_senders_start_equal_flows_together():
    senders = [f"h{i}" for i in range(2, 16)]
    flows = poisson_flows(rng(), W2, 1000, 0.1, senders, "r1", group="bursts", first_id=7)
    by_time: dict[float, list[int]] = {}
    for flow in flows:
        by_time.setdefault(flow.start_s, []).append(flow.size_bytes or 0)
    assert all(len(sizes) == 14 and len(set(sizes)) == 1 for sizes in by_time.values())
    assert flows[0].id == 7
    assert {flow.group for flow in flows} == {"bursts"}


def test_bursts_come_at_their_interval():
    flows = bursts(["h2", "h3"], "r1", 64_000, 500e-6, 2e-3, first_id=2)
    assert [flow.start_s for flow in flows] == pytest.approx(
        [0, 0, 0.5e-3, 0.5e-3, 1e-3, 1e-3, 1.5e-3, 1.5e-3]
    )
    assert [flow.src for flow in flows[:4]] == ["h2", "h3", "h2", "h3"]
    assert [flow.id for flow in flows] == list(range(2, 10))


def test_in_casts_of_1_to_15_senders():
    hosts = [f"h{i}" for i in range(512)]
    flows = incast_flows(rng(), W1, per_s=1000, count=50_000, hosts=hosts)
    groups: dict[float, list[str]] = {}
    for flow in flows:
        assert flow.src != flow.dst
        groups.setdefault(flow.start_s, []).append(flow.src)
    sizes = Counter(len(sources) for sources in groups.values())
    assert set(sizes) == set(range(1, 16))
    assert min(sizes.values()) > 0.8 * max(sizes.values())
    assert all(len(set(sources)) == len(sources) for sources in groups.values())
    assert len(flows) / flows[-1].start_s / 512 == pytest.approx(1000, rel=0.05)
    assert len({flow.dst for flow in flows}) == 512
    half = incast_flows(rng(), W1, 1000, math.inf, hosts, end_s=flows[-1].start_s / 2)
    assert half == flows[: len(half)]
    assert half[-1].start_s < flows[-1].start_s / 2 <= flows[len(half)].start_s


def test_the_seed_decides():
    def flows(seed: int) -> list[object]:
        return [
            *poisson_flows(rng(seed), W2, 1e4, 0.01, ["h0"], "r0"),
            *incast_flows(rng(seed), W2, 1e4, 99, ["a", "b"], 1),
        ]

    assert flows(1) == flows(1)
    assert flows(1) != flows(2)


@pytest.mark.parametrize(
    ("sizes", "at", "share"), [(HADOOP, 120e3, 0.9), (WEB_SEARCH, 5e6, 0.9)]
)  # 3.9, 3.10
def test_percentiles_are_those_that_are_given(sizes, at, share):
    drawn = np.array(sample(sizes, np.random.default_rng(1), 100_000))
    assert np.mean(drawn <= at) == pytest.approx(share, abs=0.005)
    assert drawn.mean() == pytest.approx(sizes.mean_bytes, rel=0.03)
    assert drawn.min() >= 1
    assert drawn.max() <= sizes.points[-1][0]


def test_a_file_of_percentiles_is_a_distribution(tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text("# size, percent\n0 0\n1000 50  # half\n\n3000 100\n")
    sizes = read_cdf(path)
    assert sizes == CdfSizes("mine", ((0.0, 0.0), (1000.0, 0.5), (3000.0, 1.0)))
    assert sizes.mean_bytes == 0.5 * 500 + 0.5 * 2000


@pytest.mark.parametrize(
    "text",
    [
        "\ufeff0 0\n1000 50\n1000 75\n3000 100\n",
        "0 0\n1000 0.5\n1000 0.75\n3000 1\n",
        "0 0.0\n1000 500\n1000 750\n3000 1000\n",
        "size, cdf\n0, 0\n1000, 0.5\n1KB, .75\n3000, 1.0\n",
        "Size Percent\n0 0%\n1000 50%\n1000 75%\n3KB 100%\n",
    ],
)
def test_file_of_shares_has_any_scale_and_a_header_or_none(text, tmp_path):
    path = tmp_path / "mine.csv"
    path.write_text(text)
    sizes = read_cdf(path)
    assert sizes == CdfSizes("mine", ((0.0, 0.0), (1000.0, 0.5), (1000.0, 0.75), (3000.0, 1.0)))
    drawn = np.array(sample(sizes, np.random.default_rng(1), 40_000))
    assert np.mean(drawn == 1000) == pytest.approx(0.25, abs=0.01)
    assert drawn.mean() == pytest.approx(sizes.mean_bytes, rel=0.02)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("0 0\nabc\n", r"mine.txt:2: a size in bytes and a share are needed, not 'abc'"),
        (
            "0 0\n\n1000 95\n",
            r"mine.txt:3: ends with 95: shares begin with 0 and end with 100, 1 or 1,000",
        ),
        ("# all\n10 1\n1000 100\n", r"mine.txt:2: begins with 1: shares begin with 0"),
        ("", "no line SIZE SHARE"),
        ("0 0\n\xff", "mine.txt: this is no text in UTF-8"),
        ("0 0\n1000 60\n500 100\n", "mine.txt:3: '500 100': neither sizes nor shares may fall"),
        ("0 0\n500 60\n1000 50\n2000 100\n", "neither sizes nor shares may fall"),
    ],
)
def test_invalid_file_is_refused_with_its_line(text, message, tmp_path):
    path = tmp_path / "mine.txt"
    path.write_text(text, encoding="latin-1")
    with pytest.raises(ValueError, match=message) as error:
        read_cdf(path)
    assert "mine.txt" in str(error.value)


def test_flows_between_all_hosts_load_each_host_as_requested():
    hosts = [f"h{i}" for i in range(20)]
    per_s = arrivals_per_s(0.6, 40e9, HADOOP, 1000, 1058)
    flows = uniform_flows(rng(), HADOOP, per_s, 20_000, hosts, lambda _: "all")
    assert len({flow.id for flow in flows}) == 20_000
    assert all(flow.src != flow.dst for flow in flows)
    span_s = flows[-1].start_s
    load = sum(flow.size_bytes or 0 for flow in flows) * 1.058 * 8 / (span_s * len(hosts) * 40e9)
    assert load == pytest.approx(0.6, rel=0.1)
    for ends in (Counter(flow.src for flow in flows), Counter(flow.dst for flow in flows)):
        assert min(ends.values()) > 0.85 * 1000
    pairs = Counter((flow.src, flow.dst) for flow in flows)
    assert len(pairs) == 20 * 19
    assert flows == uniform_flows(rng(), HADOOP, per_s, 20_000, hosts, lambda _: "all")
