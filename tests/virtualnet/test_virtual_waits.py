"""Flows that start when others have arrived: at the very time, on any host, in every order of
events."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings, strategies as st
from networks import PCN, parameters, star

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import FlowStats, VirtualNetwork
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.flow_order import in_order
from pcn.topologies.lossless import DATA_CLASS
from pcn.topologies.model import (
    Endpoint,
    FlowSpec,
    Link,
    Switch,
    Topology,
    TopologyError,
    make_hosts,
)
from pcn.virtualnet import Totals, VirtualError
from pcn.virtualnet.times import picoseconds

HOSTS = 4
LIMIT_S = 1.0


def play(
    topology: Topology,
    flows: Sequence[FlowSpec],
    scheme: str = "pcn",
    finish: bool = True,
    **options,
) -> tuple[Totals, dict[int, FlowStats]]:
    with VirtualNetwork(topology, find_scheme(scheme).configure(), **options) as network:
        for flow in in_order(flows):
            network.add_flow(flow)
        if finish:
            assert network.run(until_s=LIMIT_S, finish=True)
        else:
            network.run(until_s=20e-3)
        return network.totals(), {number: flow.stats() for number, flow in network.flows.items()}


@st.composite
def waiting(draw: st.DrawFn) -> list[FlowSpec]:
    """Draws flows of some packets, each behind none to three of those before it."""
    flows = []
    for number in range(draw(st.integers(2, 9))):
        src, step = draw(st.integers(0, HOSTS - 1)), draw(st.integers(1, HOSTS - 1))
        before = (
            draw(st.lists(st.integers(0, number - 1), unique=True, max_size=3)) if number else []
        )
        start_s = draw(st.sampled_from([0.0, 0.0, 1e-12, 1e-6, 3.3e-6]))
        size = draw(st.sampled_from([1, 900, 1000, 7_777, 60_000]))
        times = st.sampled_from([0.0, 1e-12, 2e-6, 40e-6])
        delays_s = (
            draw(st.lists(times, min_size=len(before), max_size=len(before)))
            if draw(st.booleans())
            else []
        )
        ends = f"h{src}", f"h{(src + step) % HOSTS}"
        flows.append(
            FlowSpec(number, *ends, start_s, size, after=tuple(before), after_s=tuple(delays_s))
        )
    return flows


def near(links_s: float) -> Topology:
    """Two hosts near the switch, which share its queue of events, and two far ones."""
    topology = star(HOSTS)
    return replace(
        topology,
        links=tuple(
            replace(link, delay_s=links_s if i < 2 else 2e-6)
            for i, link in enumerate(topology.links)
        ),
    )


@settings(max_examples=20)
@given(waiting(), st.sampled_from([1e-9, 2e-6]), st.sampled_from(["pcn", "dcqcn", "timely"]))
def test_flow_starts_at_the_last_arrival_in_every_order_of_events(flows, links_s, scheme):
    outcome = play(near(links_s), flows, scheme)
    stats = outcome[1]
    for flow in flows:
        ends = [picoseconds(stats[predecessor].complete_s or 0) for predecessor in flow.after]
        delays = flow.after_s or [flow.start_s] * len(ends)
        starts = [end + picoseconds(delay_s) for end, delay_s in zip(ends, delays, strict=True)]
        starts += [picoseconds(flow.start_s)] if flow.after_s or not ends else []
        assert picoseconds(stats[flow.id].start_s or 0) == max(starts)
        assert (stats[flow.id].first_s or 0) > (stats[flow.id].start_s or 0)
    for options in ({"queues": "one"}, {"finish": False}, {"finish": False, "queues": "one"}):
        totals, varied = play(near(links_s), flows, scheme, **options)
        if options.get("finish", True):
            assert (totals, varied) == outcome
        else:  # it lasts longer
            times = [
                [(stat.start_s, stat.complete_s) for stat in run_stats.values()]
                for run_stats in (varied, stats)
            ]
            assert times[0] == times[1]


BACK_PS = 2 * (1_000_000 + 62 * 8 * 100)
"""Of an ACK over two links of 1 us and 10 Gbit/s."""


def after_the_sender(
    scheme: str, src: str, reliability: Reliability | None, *more: FlowSpec, **options
) -> tuple[FlowStats, FlowStats]:
    """Returns the stats of 20 kB from h0 to h1, and of 5 kB from `src` to h2 that start when the
    sender of the first has its last acknowledgement."""
    number = DATA_CLASS if reliability is None else 1
    flows = [
        FlowSpec(0, "h0", "h1", 0.0, 20_000, traffic_class=number),
        FlowSpec(1, src, "h2", 0.0, 5_000, traffic_class=number, after=(0,), acknowledged=(0,)),
    ]
    by_class = {} if reliability is None else {number: reliability}
    _, stats = play(star(HOSTS), [*flows, *more], scheme, reliability=by_class, **options)
    return stats[0], stats[1]


@pytest.mark.parametrize("src", ["h0", "h3"])
@pytest.mark.parametrize("finish", [True, False])
@pytest.mark.parametrize(
    ("scheme", "reliability"),
    [
        ("nscc", Reliability(Repeats.SELECTIVE, 1e-3)),
        ("dctcp", Reliability(Repeats.GO_BACK_N, 1e-3)),
        ("swift", None),
        ("pcn", None),
    ],
)
def test_flow_starts_when_the_sender_has_the_last_acknowledgement(scheme, reliability, src, finish):
    """On an idle star the last ACK takes two links from the last arrival on; so it does where the
    scheme has no acknowledgements."""
    before, after = after_the_sender(scheme, src, reliability, finish=finish)
    assert picoseconds(after.start_s or 0) == picoseconds(before.complete_s or 0) + BACK_PS
    if reliability is not None:
        assert before.ended_s == after.start_s


@pytest.mark.parametrize("src", ["h0", "h3"])
def test_flow_waits_for_an_acknowledgement_that_is_delayed(src):
    """The ACK of the last packet waits behind data that its receiver sends."""
    busy = FlowSpec(2, "h1", "h3", 0.0, 200_000, traffic_class=6)
    reliability = Reliability(Repeats.SELECTIVE, 1e-3)
    options = {"notification_class": 1}
    before, after = after_the_sender("nscc", src, reliability, busy, **options)
    assert after.start_s == before.ended_s
    assert picoseconds(after.start_s or 0) > picoseconds(before.complete_s or 0) + BACK_PS
    varied = after_the_sender("nscc", src, reliability, busy, queues="one", **options)
    assert varied == (before, after)


@settings(max_examples=20)
@given(waiting(), st.data(), st.sampled_from([1e-9, 2e-6]))
def test_flow_starts_at_the_last_end_in_every_order_of_events(flows, data, links_s):
    """Of those that it waits for, some end with their last acknowledgement."""
    flows = [
        replace(
            flow,
            traffic_class=1,
            acknowledged=tuple(number for number in flow.after if data.draw(st.booleans())),
        )
        for flow in flows
    ]
    reliability = {"reliability": {1: Reliability(Repeats.SELECTIVE, 1e-3)}}
    outcome = play(near(links_s), flows, "nscc", **reliability)
    stats = outcome[1]
    for flow in flows:
        ends_s = [
            stats[number].ended_s if number in flow.acknowledged else stats[number].complete_s
            for number in flow.after
        ]
        delays = flow.after_s or [flow.start_s] * len(ends_s)
        starts = [
            picoseconds(end_s or 0) + picoseconds(delay_s)
            for end_s, delay_s in zip(ends_s, delays, strict=True)
        ]
        starts += [picoseconds(flow.start_s)] if flow.after_s or not ends_s else []
        assert picoseconds(stats[flow.id].start_s or 0) == max(starts)
    assert play(near(links_s), flows, "nscc", queues="one", **reliability) == outcome
    assert play(near(links_s), flows, "nscc", threads=2, **reliability) == outcome
    lasting = play(near(links_s), flows, "nscc", finish=False, **reliability)[1]
    assert [(stat.start_s, stat.complete_s) for stat in lasting.values()] == [
        (stat.start_s, stat.complete_s) for stat in stats.values()
    ]


def test_acknowledgement_of_a_flow_that_is_not_waited_for_is_refused():
    flows = [
        FlowSpec(0, "h0", "h1", 0.0, 9),
        FlowSpec(1, "h0", "h1", 0.0, 9, after=(0,), acknowledged=(2,)),
    ]
    with pytest.raises(TopologyError, match="flow 2, which isn't in its `after`"):
        in_order(flows)


def test_flow_within_a_look_ahead_wakes_a_busy_host_in_time():
    """Hosts of a rack need a tenth of the time that racks may be apart; one of another rack, which
    waits for them, sends meanwhile."""
    ends = [
        ("h0", 0, "s0", 1),
        ("h1", 0, "s0", 2),
        ("h2", 0, "s1", 1),
        ("h3", 0, "s1", 2),
        ("s0", 3, "s1", 3),
    ]
    links = [
        Link(Endpoint(a, i), Endpoint(b, k), 10e9, 2e-6 if a == "s0" else 1e-9)
        for a, i, b, k in ends
    ]
    switches = (Switch("s0", 1), Switch("s1", 2))
    racks = Topology(
        "racks",
        make_hosts(["h0", "h1", "h2", "h3"]),
        switches,
        tuple(links),
        parameters=parameters(),
    )
    flows = [FlowSpec(0, "h0", "h1", 0.0, 300_000), FlowSpec(1, "h2", "h3", 0.0, 300_000)]
    for i in range(2, 80, 4):
        for place, (src, dst, busy) in enumerate((("h0", "h1", "h2"), ("h2", "h3", "h0"))):
            flows.append(FlowSpec(i + 2 * place, src, dst, i * 2.7e-6, 1))
            flows.append(FlowSpec(i + 2 * place + 1, busy, "h1", 0.0, 1, after=(i + 2 * place,)))
    totals, stats = play(racks, flows)
    assert play(racks, flows, queues="one") == (totals, stats)


def test_ring_of_flows_over_racks_takes_its_turns():
    """Each starts where the one before it arrives, or at the host that sent it."""
    topology = fat_tree(4)
    names = [host.name for host in topology.hosts]
    ring = [
        FlowSpec(i, names[i % 16], names[(i + 5) % 16], 0.0, 20_000, after=(i - 1,) if i else ())
        for i in range(48)
    ]
    totals, stats = play(topology, ring)
    assert play(topology, ring, queues="one") == (totals, stats)
    starts = [stats[i].start_s or 0.0 for i in range(48)]
    assert starts[1:] == [stats[i].complete_s for i in range(47)]


@pytest.mark.parametrize("scheme", ["dcqcn", "timely", "pcn", "qcn"])
def test_flow_that_waits_begins_as_one_with_a_start(scheme):
    """Its RP's clock, rate and timers are those of a flow that was given the time; two of them
    share a link, and slow down."""
    first = FlowSpec(0, "h0", "h1", 0.0, 1000)
    both = [
        FlowSpec(1, "h2", "h3", 2e-6, 3_000_000, after=(0,)),
        FlowSpec(2, "h0", "h3", 0.0, 2_000_000, after=(0,)),
    ]
    _, stats = play(star(HOSTS), [first, *both], scheme)
    begun = [
        replace(flow, start_s=(stats[0].complete_s or 0) + flow.start_s, after=()) for flow in both
    ]
    _, given_start = play(star(HOSTS), [first, *begun], scheme)
    assert given_start == stats
    slowest = max((stats[i].complete_s or 0) - (stats[i].start_s or 0) for i in (1, 2))
    assert slowest > 1.2 * 8 * 3e6 / 10e9


def test_group_s_samples_are_the_sums_of_its_flows():
    flows = [
        FlowSpec(i, f"h{i % 3}", "h3", i * 5e-6, 30_000 + i, group="ab"[i % 2]) for i in range(12)
    ]
    flows += [FlowSpec(20 + i, "h3", "h0", 0.0, 5_000, group="b", after=(i,)) for i in range(3)]
    with VirtualNetwork(star(HOSTS), find_scheme("dcqcn").configure()) as network:
        for flow in flows:
            network.add_flow(flow)
        sources = [
            network.flow_sent,
            network.flow_received,
            network.flow_received_packets,
            network.flow_marked_packets,
        ]
        single = [network.sample(3e-6, [source(flow.id) for flow in flows]) for source in sources]
        summed = [
            network.sample(3e-6, [network.of_group(source(0), name) for name in "ab"])
            for source in sources
        ]
        assert network.run(until_s=LIMIT_S, finish=True)
        for apart, together in zip(single, summed, strict=True):
            for column, name in enumerate("ab"):
                members = [flow.group == name for flow in flows]
                np.testing.assert_array_equal(
                    together.values[:, column], apart.values[:, members].sum(axis=1)
                )
        assert summed[0].values.max() > 0
        rows = network.flow_stats()
        assert rows["sent"].tolist() == [
            flow.stats().sent_packets for flow in network.flows.values()
        ]


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ((9,), "flow 1 waits for flow 9: add that one before it"),
        ((0,), "flow 1 waits for flow 0, which has arrived, or never does whole"),
    ],
)
def test_flow_can_t_wait_for_what_isn_t_coming(after, message):
    with VirtualNetwork(star(HOSTS), PCN) as network:
        network.add_flow(FlowSpec(0, "h0", "h1", 0.0, 1000))
        network.run(until_s=1e-3)
        with pytest.raises(VirtualError, match=message):
            network.add_flow(FlowSpec(1, "h0", "h1", 0.0, 1000, after=after))
        assert network.run(until_s=2e-3, finish=True)


def test_stopped_flow_that_waits_never_starts():
    with VirtualNetwork(star(HOSTS), PCN) as network:
        network.add_flow(FlowSpec(0, "h0", "h1", 0.0, 100_000))
        waits = network.add_flow(FlowSpec(1, "h1", "h2", 0.0, 1000, after=(0,)))
        network.stop_flow(1)
        network.run(until_s=5e-3)
        assert network.flows[0].stats().complete_s is not None
        assert (waits.stats().sent_packets, waits.stats().complete_s) == (0, None)


@pytest.mark.parametrize(
    ("after", "message"),
    [
        ({1: (1,)}, "flow 1 waits for itself"),
        ({1: (7,)}, "flow 1 waits for flow 7, which is missing"),
        ({0: (2,), 1: (0,), 2: (1,)}, "flows wait for each other: 0 -> 2 -> 1 -> 0"),
        ({2: (3,)}, "flow 2 waits for flow 3, which has no size"),
    ],
)
def test_topology_refuses_flows_that_never_start(after, message):
    flows = [FlowSpec(i, "h0", "h1", 0.0, 5, after=after.get(i, ())) for i in range(3)] + [
        FlowSpec(3, "h1", "h0")
    ]
    with pytest.raises(TopologyError, match=message):
        replace(star(HOSTS), flows=tuple(flows))


@given(st.data(), st.integers(1, 30))
def test_order_has_each_flow_behind_those_that_it_waits_for(data, count):
    places = data.draw(st.permutations(range(count)))
    edges = {
        i: tuple(data.draw(st.sets(st.integers(0, i - 1), max_size=3))) if i else ()
        for i in range(count)
    }
    flows = [FlowSpec(i, "h0", "h1", 0.0, 5, after=edges[i]) for i in places]
    ordered = [flow.id for flow in in_order(flows)]
    assert sorted(ordered) == sorted(places)
    assert all(ordered.index(edge) < ordered.index(i) for i in edges for edge in edges[i])
