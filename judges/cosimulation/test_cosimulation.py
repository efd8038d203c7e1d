"""Some networks by queues and by the engine; the judge's own parts."""

from dataclasses import replace

import pytest
from cosimulation import cosimulate, play as playing, timed as in_virtual_time
from cosimulation.network import (
    CLONE,
    FORWARD,
    HEADER,
    HOPS,
    MULTICAST,
    RECIRCULATE,
    SCHEMES,
    Arrival,
    Cable,
    CableSet,
    Entries,
    Network,
    Place,
    Port,
    Queues,
    QueueSet,
    Step,
    draw,
    hop_frame,
)
from cosimulation.play import Departure, play
from cosimulation.shrink import shrunk

SEEDS = (
    1, 5, 10, 14, 19, 23, 43, 61, 65, 78, 81, 95, 97, 114, 164, 172, 179, 192, 225, 248, 259, 350,
)  # fmt: skip
"""All of these differed before what they found was mended (docs/trust.md)."""


@pytest.mark.parametrize("seed", SEEDS)
def test_network_does_the_same_by_queues_and_by_the_engine(seed):
    frames, different, _ = cosimulate.compared(draw(seed))
    assert frames > 0
    assert different == []


@pytest.mark.parametrize("seed", [590, 621])
def test_queue_that_is_not_there_trims_nothing(seed):
    """Queue 7 is to trim, and ports have seven queues, from 0."""
    network = draw(seed)
    assert 7 in network.queues.trimming
    steps = tuple(s for s in network.steps if not (isinstance(s, QueueSet) and s.queue == 7))
    seven = replace(network, queues=replace(network.queues, priorities=7), steps=steps)
    assert cosimulate.compared(seven)[1] == []


def test_networks_have_every_kind_of_program_and_step():
    networks = [draw(seed) for seed in range(1, 200)]
    assert {network.program for network in networks} == {HOPS, *SCHEMES}
    assert {len(network.ports) for network in networks} == {2, 3, 4, 5}
    assert len({type(step) for network in networks for step in network.steps}) == 8


def test_network_is_its_seed_s():
    assert draw(7) == draw(7)
    assert len({repr(draw(seed)) for seed in range(20)}) == 20


def pair(*steps: Step) -> Network:
    """Two switches; a frame of label 0 comes to the first one's port 1, leaves by 2, and leaves the
    second one by 1. 1 Gbit/s, and 10 us of the link."""
    ports = (Port(1_000_000_000, 0),) * 2
    return Network(
        1, HOPS, (ports, ports), (Cable(Place(0, 2), Place(1, 2), 10_000),),
        Queues(8, 5, 0, (), 0, 64), Entries(((2,), (1,)), ((), ()), ((), ())), 20_000, steps,
        100_000,
    )  # fmt: skip


FRAME = hop_frame(((FORWARD, 0, 0, 3), (FORWARD, 0, 0, 3)), 1000)


@pytest.mark.parametrize("way", playing.WAYS)
def test_frame_comes_in_when_its_link_s_delay_is_over(way):
    outcome = play(pair(Arrival(5, Place(0, 1), FRAME)), way)
    times = [(left.at_ns, left.place) for left in outcome.departures]
    assert times == [(8_005, Place(0, 2)), (26_005, Place(1, 1))]
    assert outcome.departures[1].frame[HEADER:] == FRAME[HEADER:]


@pytest.mark.parametrize("way", playing.WAYS)
@pytest.mark.parametrize(
    ("down_ns", "up_ns", "arrives"), [(18_000, 18_010, 0), (17_000, 18_000, 1)]
)
def test_frame_that_arrives_by_a_link_that_is_down_is_lost(way, down_ns, up_ns, arrives):
    steps = Arrival(5, Place(0, 1), FRAME), CableSet(down_ns, 0, False), CableSet(up_ns, 0, True)
    outcome = play(pair(*steps), way)
    assert outcome.state["s1:2"].rx_packets == arrives
    assert len(outcome.departures) == 1 + arrives


def test_network_that_differs_is_shrunk_to_what_it_needs(monkeypatch):
    def shallow(queue_depth: int, **options):
        return playing.by_engine(queue_depth=1, **options)

    monkeypatch.setitem(playing.WAYS, "engine", shallow)
    network = pair(*(Arrival(1_000 * number, Place(0, 1), FRAME) for number in range(20)))
    frames, different, _ = cosimulate.compared(network)
    assert frames == 16
    assert different[0].startswith("departures: 16000 ns, s0:2, 1000 bytes: ")
    small = shrunk(network, lambda smaller: bool(cosimulate.compared(smaller)[1]))
    assert len(small.steps) == 3  # one on the line, one that waits, one that is refused
    assert cosimulate.compared(small)[1]


def test_differences_are_frames_then_state():
    ours = play(pair(Arrival(5, Place(0, 1), FRAME)), "queues")
    assert list(cosimulate.differences(ours, ours)) == []
    later = [Departure(8_006, *ours.departures[0][1:]), *ours.departures[1:]]
    theirs = playing.Outcome(later, ours.messages, {**ours.state, "s0 held": [1]})
    first, last = cosimulate.differences(ours, theirs)
    assert first.startswith("departures: 8005 ns, s0:2, 1000 bytes: ")
    assert last.startswith("s0 held: [0, 0")


def test_report_names_the_seed_that_differs(capsys):
    judged = [
        cosimulate.Judged(3, HOPS, 2, 40, "", True),
        cosimulate.Judged(4, "pcn", 3, 2, "a port", False),
    ]
    assert not cosimulate.report(iter(judged))
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "python judges/cosimulation/cosimulate.py --seed 4  # pcn: a port"
    assert lines[1].startswith(
        "2 networks of 5 switches (hops: 1, pcn: 1), 42 frames that left, 1 "
    )
    assert cosimulate.report(iter(judged[:1]))


def at_hosts_both(network: Network) -> tuple[list[Departure], list[Departure]]:
    """What comes to hosts by queues, and in virtual time."""
    by_queues = in_virtual_time.at_hosts(network, play(network, "queues"))
    return list(by_queues.departures), list(in_virtual_time.timed(network).departures)


def test_what_is_exact_in_virtual_time_has_no_copies_unless_they_are_wanted():
    copying = hop_frame(((MULTICAST, 1, 0, 3), (CLONE, 1, 0, 3)), 500)
    network = pair(Arrival(5, Place(0, 1), copying), Arrival(5, Place(0, 1), FRAME))
    first, second = in_virtual_time.exact(network, copies=False).steps
    assert isinstance(first, Arrival)
    assert first.frame == hop_frame(((FORWARD, 1, 0, 3), (FORWARD, 1, 0, 3)), 500)
    assert second.at_ns == first.at_ns + 10
    assert in_virtual_time.exact(network, copies=True).steps[0] == first._replace(frame=copying)


def test_clone_overtakes_in_virtual_time_alone():
    """The difference that docs/trust.md names: there a copy is at an idle port before the packet
    that it is a copy of, and has started; on the manual clock both are in their queues first."""
    frame = hop_frame(((FORWARD, 0, 0, 3), (CLONE, 1, 0, 3)), 1000)
    network = pair(Arrival(5, Place(0, 1), frame))
    network = replace(network, entries=replace(network.entries, clones=((), (((1, 7),),))))
    by_queues, virtual = at_hosts_both(in_virtual_time.exact(network, copies=True))
    kind = HEADER - 6 * 16 + 16  # of the second switch's record
    for departures in (by_queues, virtual):
        assert [left.at_ns for left in departures] == [36_005, 44_005]
    assert [left.frame[kind] for left in by_queues] == [0, 1]
    assert [left.frame[kind] for left in virtual] == [1, 0]


def test_frame_that_comes_as_its_class_may_go_on_is_first_in_virtual_time_alone():
    """A frame goes round at the second switch each 8 us, from 26,005 ns on; another one comes in at
    34,005 ns."""
    round_and_round = hop_frame(((FORWARD, 0, 0, 3), (RECIRCULATE, 2, 0, 3)), 1000)
    network = pair(Arrival(5, Place(0, 1), round_and_round), Arrival(8_005, Place(0, 1), FRAME))
    frames, different, coincides = cosimulate.compared(network)
    assert (frames, different, coincides) == (4, [], True)
    by_queues, virtual = at_hosts_both(in_virtual_time.exact(network, copies=False))
    assert [len(by_queues), len(virtual)] == [2, 2]
    assert by_queues != virtual


def test_network_that_differs_in_virtual_time_is_noticed(monkeypatch):
    monkeypatch.setattr(in_virtual_time, "NO_QUEUE", 5)
    steps = QueueSet(0, Place(0, 2), 3, 0, 0), Arrival(5, Place(0, 1), FRAME)
    _, different, _ = cosimulate.compared(pair(*steps))
    assert different[0].startswith("virtual time: departures: none | 36005 ns, s1:1, 1000 bytes")
