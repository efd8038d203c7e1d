"""Flows of several seeds together: their statistics are those that pandas and scipy make of the
flows themselves."""

import importlib
import itertools

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, strategies as st

from pcn.experiments.data.series_math import Array
from pcn.experiments.define import intervals, samples
from pcn.experiments.define.samples import (
    MOST,
    STATISTICS,
    UNITS,
    Pooled,
    RunSamples,
    Samples,
    limits_of,
    needed,
)

LIMITS = (100.0, 1e3, 1e4, 1e5, 1e6)


def _heavy(random: np.random.Generator, n: int, seed: int) -> tuple[Array, Array]:
    return 10 ** random.uniform(1, 6, n), 1 + random.pareto(1.2, n)


def _alike(random: np.random.Generator, n: int, seed: int) -> tuple[Array, Array]:
    return 10 ** random.uniform(1, 6, n), np.round(1 + random.exponential(2, n), 1)


def _apart(random: np.random.Generator, n: int, seed: int) -> tuple[Array, Array]:
    """Each seed has another level, as where seeds decide about in-casts."""
    return 10 ** random.uniform(1, 6, n), (1 + seed) * random.lognormal(0, 0.3, n)


def _one_bin(random: np.random.Generator, n: int, seed: int) -> tuple[Array, Array]:
    return np.full(n, 500.0), 1 + random.gamma(2, 3, n)


def _large_last(random: np.random.Generator, n: int, seed: int) -> tuple[Array, Array]:
    sizes = np.where(np.arange(n) % 50 == seed, 9e5, 200.0)
    return sizes, 1 + sizes / 1e5 + random.random(n)


SETS = {
    "heavy tail": (_heavy, [400, 380, 420, 390, 410, 405]),
    "equal values": (_alike, [300, 310, 290, 300, 305]),
    "seeds apart": (_apart, [200] * 8),
    "one size": (_one_bin, [60, 70, 80]),
    "few of a size": (_large_last, [500, 450]),
}


@pytest.fixture(scope="module", params=SETS)
def flows(request) -> pd.DataFrame:
    """A row a flow: seed, size, ms, slowdown."""
    draw, counts = SETS[request.param]
    frames = []
    for seed, n in enumerate(counts):
        sizes, slowdown = draw(np.random.default_rng([7, seed]), n, seed)
        values = slowdown.astype(np.float32).astype(float)
        frames.append(
            pd.DataFrame({"seed": seed, "size": sizes, "slowdown": values, "ms": values * 4})
        )
    data_frame = pd.concat(frames, ignore_index=True)
    data_frame["bin"] = pd.cut(data_frame["size"], [0, *LIMITS], labels=False)
    return data_frame


def stored_samples(frame: pd.DataFrame) -> Samples:
    """As a file has it."""
    units = {unit: frame[unit].to_numpy() for unit in UNITS}
    run_samples = RunSamples(
        "digest", {"flows": Samples.of(LIMITS, frame["size"].to_numpy(), units)}
    )
    return RunSamples.from_json(run_samples.to_json()).groups["flows"]


def pooled_of(flows: pd.DataFrame) -> Pooled:
    return Pooled([stored_samples(frame) for _, frame in flows.groupby("seed")])


def statistic(values: pd.Series, name: str) -> float:
    return float(values.mean() if name == "mean" else values.quantile(float(name[1:]) / 100))


def test_pooled_statistics_are_those_of_pandas(flows: pd.DataFrame):
    pooled = pooled_of(flows)
    assert pooled.flows() == len(flows)
    checked = 0
    for place in (None, *range(len(LIMITS))):
        selected = flows if place is None else flows[flows["bin"] == place]
        assert pooled.flows(place) == len(selected)
        for unit in UNITS:
            for name in STATISTICS:
                estimate = pooled.estimate(unit, name, place)
                if (
                    len(selected)
                    < {"mean": 1, "p50": 2, "p95": 20, "p99": 100, "p99.9": 1000}[name]
                ):
                    assert estimate is None
                else:
                    assert estimate.value == pytest.approx(
                        statistic(selected[unit], name), rel=1e-6
                    )
                    checked += 1
    assert checked >= 12


def test_interval_is_the_bootstrap_of_whole_seeds_by_pandas(flows: pd.DataFrame):
    """Each draw's flows are put together, and measured anew; of fewer seeds, each seed's own."""
    pooled, seeds = pooled_of(flows), flows["seed"].nunique()
    by_seed = [frame for _, frame in flows.groupby("seed")]
    for place, name in ((None, "p95"), (None, "mean"), (1, "p50")):
        frames = [frame if place is None else frame[frame["bin"] == place] for frame in by_seed]
        estimate = pooled.estimate("slowdown", name, place)
        assert (interval := estimate.interval) is not None
        assert interval.bootstrap is (seeds >= 5)
        if seeds < 5:
            values = [statistic(frame["slowdown"], name) for frame in frames]
            expected = (min(values), max(values))
        else:
            drawn = {
                tuple(row): statistic(
                    pd.concat(
                        [
                            frame
                            for frame, times in zip(frames, row, strict=True)
                            for _ in range(times)
                        ]
                    )["slowdown"],
                    name,
                )
                for row in np.unique(intervals.draws(seeds), axis=0)[:300].tolist()
            }
            rows = np.array(list(drawn))
            merged = pooled._merged("slowdown", place)
            assert merged.statistic(name, rows).tolist() == pytest.approx(
                list(drawn.values()), rel=1e-6
            )
            every = merged.statistic(name, intervals.draws(seeds))
            expected = tuple(pd.Series(every).quantile([0.025, 0.975]))
        assert (interval.low, interval.high) == pytest.approx(expected, rel=1e-6)


def test_draws_are_of_seeds_with_replacement_and_always_the_same():
    drawn = intervals.draws(5)
    assert drawn.shape == (2000, 5)
    assert (drawn.sum(axis=1) == 5).all()
    assert drawn.mean(axis=0) == pytest.approx(np.ones(5), abs=0.1)
    assert drawn.var(axis=0) == pytest.approx(np.full(5, 0.8), abs=0.1)  # binomial: 5 * 1/5 * 4/5
    intervals.draws.cache_clear()
    assert (intervals.draws(5) == drawn).all()


@pytest.mark.parametrize("number", range(5))
def test_interval_of_a_mean_and_tests_agree_with_scipy(number):
    stats = importlib.import_module("scipy.stats")
    random = np.random.default_rng(number)
    first = random.lognormal(0, 0.5, 5 + 3 * number)
    second = first * random.uniform(1, 1.2, first.size) + number / 20
    interval = intervals.of_mean(first.tolist())
    judged = stats.bootstrap(
        (first,), np.mean, n_resamples=20_000, method="percentile", random_state=random
    )
    spread = judged.confidence_interval.high - judged.confidence_interval.low
    assert interval.low == pytest.approx(judged.confidence_interval.low, abs=0.1 * spread)
    assert interval.high == pytest.approx(judged.confidence_interval.high, abs=0.1 * spread)
    paired = intervals.difference(first.tolist(), second.tolist(), paired=True)
    exact = stats.ttest_rel(second, first)
    assert (paired.low, paired.high) == pytest.approx(tuple(exact.confidence_interval()), rel=1e-3)
    assert paired.beyond == (exact.pvalue < 0.05)
    welch = intervals.difference(first.tolist(), second.tolist(), paired=False)
    judge = stats.ttest_ind(second, first, equal_var=False)
    low, high = judge.confidence_interval()
    assert welch.low <= low + 1e-3
    assert high - 1e-3 <= welch.high
    assert welch.high - welch.low < 1.1 * (high - low)  # fewer degrees of freedom, whole ones
    assert not welch.beyond or judge.pvalue < 0.05


@pytest.mark.parametrize("freedom", [1, 2, 5, 10, 30])
def test_quantiles_are_those_of_student(freedom):
    stats = importlib.import_module("scipy.stats")
    assert intervals._T[freedom - 1] == pytest.approx(stats.t.ppf(0.975, freedom), abs=6e-4)


@pytest.mark.parametrize("freedom", [1, 2, 3, 4, 5, 10, 31, 200])
def test_chance_is_that_of_student(freedom):
    stats = importlib.import_module("scipy.stats")
    for t in (0.0, 0.1, -0.7, 2.0, 4.604, -13.0, 200.0):
        exact = 2 * stats.t.sf(abs(t), freedom)
        assert intervals.chance(t, freedom) == pytest.approx(exact, rel=1e-9, abs=1e-13)


@given(chances=st.lists(st.floats(0, 0.2), max_size=6))
def test_holm_rejects_what_closed_testing_rejects(chances):
    """A hypothesis falls where each set of hypotheses with it does, by Bonferroni's test."""
    numbers = range(len(chances))
    sets = [set(chosen) for n in numbers for chosen in itertools.combinations(numbers, n + 1)]
    fallen = [chosen for chosen in sets if min(chances[k] for k in chosen) <= 0.05 / len(chosen)]
    assert intervals.holm(chances) == [
        all(chosen in fallen for chosen in sets if number in chosen) for number in numbers
    ]


def test_pairs_show_what_spread_of_seeds_hides():
    first = [1.0, 5.0, 2.0, 9.0]
    second = [value + 0.1 + 0.01 * place for place, value in enumerate(first)]
    paired, welch = (intervals.difference(first, second, paired=way) for way in (True, False))
    assert paired.beyond
    assert not welch.beyond
    assert intervals.difference(first, [*first[:3], 9.0], paired=True) == intervals.Difference(
        0, 0, 0, True, 1.0
    )
    assert intervals.difference([1.0], [2.0], paired=True) is None


@given(st.integers(1, 5_000), st.integers(0, 9))
def test_many_flows_keep_their_mean_and_nearly_their_percentiles(n, seed):
    values = 1 + np.random.default_rng(seed).pareto(1.5, n)
    flow_samples = Samples.of((10.0,), np.full(n, 5.0), dict.fromkeys(UNITS, values))
    assert flow_samples.values["ms"][0].size == min(n, MOST)
    pooled = Pooled([flow_samples])
    mean = pooled.estimate("ms", "mean")
    assert mean.value == pytest.approx(values.mean(), rel=1e-9)
    ordered = np.sort(values)
    part = 0 if n <= MOST else -(-(n - samples._TOP) // (MOST - samples._TOP))
    for name in STATISTICS[1:]:
        estimate = pooled.estimate("ms", name)
        assert (estimate is None) == (n < needed(name))
        if estimate is not None:
            rank = (n - 1) * float(name[1:]) / 100
            low, high = max(0, int(rank) - part), min(n - 1, int(rank) + 1 + part)
            assert ordered[low] - 1e-9 <= estimate.value <= ordered[high] + 1e-9
    text = len(str(flow_samples.to_json()))
    assert text < 2 * MOST * 6 + 300


def test_bin_with_an_unfinished_flow_has_no_statistic_and_others_do():
    sizes = np.array([50.0] * 30 + [500.0] * 30)
    times = np.ones(60)
    times[3] = np.nan
    pooled = Pooled([Samples.of(LIMITS, sizes, dict.fromkeys(UNITS, times))])
    assert pooled.estimate("ms", "mean", 0) is None
    assert pooled.estimate("ms", "mean") is None
    assert pooled.estimate("ms", "mean", 1) is not None
    assert (pooled.flows(), pooled.unfinished(0)) == (60, 1)
    assert pooled.distribution("ms")[1][-1] == pytest.approx(59 / 60 * 100)


def test_interval_of_few_seeds_needs_each_seed_s_flows():
    def seed(n: int) -> Samples:
        return Samples.of((10.0,), np.full(n, 5.0), dict.fromkeys(UNITS, np.linspace(1, 2, n)))

    few = Pooled([seed(90), seed(120)]).estimate("ms", "p99")
    assert few.interval is None, "p99 of 90 flows is their largest"
    enough = Pooled([seed(100), seed(120)]).estimate("ms", "p99")
    assert not enough.interval.bootstrap
    (flow_samples,) = (Pooled([seed(200)]).estimate("ms", "p99"),)
    assert flow_samples.interval is None


def test_limits_are_few_sizes_or_shares_of_many():
    assert limits_of([500e3] * 40) == (500e3,)
    assert limits_of([3.0, 1.0, 2.0, 2.0]) == (1.0, 2.0, 3.0)
    many = limits_of(np.arange(1, 100_001).tolist())
    assert len(many) == 20
    assert many[:2] == (5000.0, 10000.0)
    assert many[-1] == 100_000
    assert limits_of([*range(1, 40), 12_345])[-1] == 13_000


@pytest.mark.parametrize(
    "change",
    [
        {"limits": [1.0, 1.0]},
        {"limits": [1.0]},
        {"limits": ["a", "b"]},
        {"flows": [2, -1]},
        {"flows": [2, 3]},
        {"unfinished": [3, 0]},
        {"values": {}},
        {"values": {"ms": "AAAA", "slowdown": "AAAA"}},
        {"values": {"ms": "?", "slowdown": "?"}},
        {"values": {"ms": "AADAfwAAAAAAAAAAAAAAAA==", "slowdown": "AADAfwAAAAAAAAAAAAAAAA=="}},
    ],
    ids=str,
)
def test_other_content_than_a_run_s_is_refused(change):
    flow_samples = Samples.of(
        (1.0, 2.0), np.array([1.0, 2.0, 1.0]), dict.fromkeys(UNITS, np.ones(3))
    )
    assert RunSamples.from_json(
        {"digest": "a", "groups": {"flows": flow_samples.to_json()}}
    ).groups["flows"].flows == (2, 1)
    with pytest.raises(ValueError, match=r"bin|flows by size|buffer size"):
        Samples.from_json({**flow_samples.to_json(), **change})
