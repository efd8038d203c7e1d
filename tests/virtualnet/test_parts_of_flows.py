"""Parts of each flow's completion time sum to it, whatever the scheme and the network; a second
account of them, by the frames on all lines and the times of PAUSE, gives the same; and nothing of a
run depends on them."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
import pytest
from feature_networks import FABRIC, by_feature, random_flows, victim, with_switches
from networks import PCN, PFC_ONLY

from pcn.hosts.algorithms import find_scheme
from pcn.hosts.algorithms.discovery import names
from pcn.hosts.explain_log import (
    CLOSES,
    LOG_CAUSE,
    LOG_HOP,
    LOG_LINE,
    LOG_SENT,
    MARK_AHEADS,
    MARK_REASONS,
    OPENS,
    PARTS,
    SENDER_PARTS,
    WINDOW_PARTS,
)
from pcn.hosts.reliability import Reliability, Repeats
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.compact import compact
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.model import Endpoint, FlowSpec, Topology
from pcn.topologies.schedules import Schedule
from pcn.topologies.switch import ROUND_ROBIN
from pcn.virtualnet.errors import VirtualError
from pcn.virtualnet.times import picoseconds

NETWORKS = by_feature()


def run(
    scheme: str, topology: Topology, flows: Iterable[FlowSpec], options: dict[str, Any], **more
) -> tuple[Any, Any, float]:
    """Returns the parts (None without `explain`), all counts, and how much has arrived."""
    with VirtualNetwork(topology, find_scheme(scheme).configure(), **options, **more) as network:
        network.add_flows((flow, None, None) for flow in flows)
        network.run(until_s=20e-3, finish=True)
        rows = network.explained() if more.get("explain") else None
        complete = float((network.flow_stats()["complete_ps"] != 2**64 - 1).mean())
        return rows, replace(network.totals(), packets_most=0), complete


REFUSED = {
    "lossy": ("pcn-time", "qcn-in", "qcn-os", "qcn-os-largest", "qcn-os-sojourn", "qcn-both"),
    "spraying": ("hpcc",),
}
"""Schemes by the networks on which they are refused."""


@pytest.mark.parametrize("scheme", names())
def test_parts_sum_to_completion_times_of_all_networks(scheme):
    arrived = {}
    for name, (topology, flows, options) in NETWORKS.items():
        if scheme in REFUSED.get(name, ()):
            with pytest.raises(VirtualError):
                run(scheme, topology, flows, options)
            continue
        _, totals, complete = run(scheme, topology, flows, options)
        # raises where a sum differs
        rows, explained, _ = run(scheme, topology, flows, options, explain=True)
        by_threads, again, _ = run(scheme, topology, flows, options, explain=True, threads=2)
        assert explained == again == totals, name
        assert np.array_equal(rows, by_threads), name
        there = rows["complete_ps"] != 0
        assert np.array_equal(
            rows["parts_ps"][there].sum(axis=1) + rows["start_ps"][there],
            rows["complete_ps"][there],
        )
        assert np.array_equal(
            rows["window_ps"].sum(axis=1), rows["parts_ps"][:, PARTS.index("window")]
        ), name
        assert there.mean() == complete, name
        arrived[name] = complete
    assert min(arrived.values()) > 0.1, arrived


def within(spans: list[tuple[int, int]], begin: int, end: int) -> int:
    """How much of these spans is within another."""
    return sum(max(0, min(b, end) - max(a, begin)) for a, b in spans)


ACKS = 1 << 20
"""Added to a flow's number: its ACKs, each of a packet."""


class Account:
    """By what started on all lines, when ports were PAUSEd and what RPs decided: flows of one
    class, each by one way, in order."""

    def __init__(self, scheme: str, topology: Topology, flows: Iterable[FlowSpec]):
        with VirtualNetwork(topology, find_scheme(scheme).configure(), explain=True) as network:
            network.add_flows((flow, None, None) for flow in flows)
            ends = [end for link in topology.links for end in (link.a, link.b)]
            network.explain_log(ports=ends)
            log = network.log_pfc()
            self.windows = defaultdict(list)
            """By flow: when its RP decided, and the window."""
            for number, flow in network.flows.items():
                self.windows[number].append((0, flow.rp.window_bytes))
            network.on_rate = lambda flow, now_s: self.windows[flow.spec.id].append(
                (round(now_s * 1e12), flow.rp.window_bytes)
            )
            network.run(until_s=20e-3, finish=True)
            self.rows, lines, self.events = (
                network.explained(),
                network.explain_entries(LOG_LINE),
                log.read(),
            )
            self.ends = {network.link(end.node, end.port): end for end in ends}
        self.topology = topology
        self.lines = defaultdict(list)
        """By port: start, end and flow of each frame; -1: of none, + ACKS: an ACK of it."""
        self.flows = defaultdict(lambda: defaultdict(list))
        """By flow and port: starts."""
        for start, link, flow, size, about in zip(
            *(lines[x].tolist() for x in ("start_ps", "link", "flow", "bytes", "about")),
            strict=True,
        ):
            of = flow if flow < 2**32 - 1 else about + ACKS if about < 2**32 - 1 else -1
            self.lines[link].append((start, start + self.duration(link, size), of))
            if of >= 0:
                self.flows[of][link].append(start)
        self.idle = {link: self.paused_and_idle(link) for link in self.ends}

    def duration(self, link: int, size: int) -> int:
        end = self.ends[link]
        return round(size * 8e12 / self.topology.link_at(end.node, end.port).rate_bps)

    def arrivals(self, flow: int, link: int) -> list[int]:
        """When its packets came to a port."""
        way = self.way(flow)
        before = way[way.index(link) - 1]
        end = self.ends[before]
        delay = picoseconds(self.topology.link_at(end.node, end.port).delay_s)
        return [end + delay for _, end, of in self.lines[before] if of == flow]

    def way(self, flow: int) -> list[int]:
        return sorted(self.flows[flow], key=lambda link: self.flows[flow][link][0])

    def paused_and_idle(self, link: int) -> list[tuple[int, int]]:
        paused, since = [], None
        events = self.events
        here = events.ports.index(self.ends[link])
        for time_s, port, kind in zip(events.times_s, events.which, events.kinds, strict=True):
            if port != here:
                continue
            time = round(time_s * 1e12)
            if kind == 2 and since is None:
                since = time
            elif kind > 2 and since is not None:
                paused.append((since, time))
                since = None
        spans = []
        for begin, end in paused:
            at = begin
            for start, stop, _ in self.lines[link]:
                if stop > at and start < end:
                    spans += [(at, start)] if start > at else []
                    at = max(at, stop)
            spans += [(at, end)] if at < end else []
        return spans

    def queue(self, flow: int, link: int, place: int = -1) -> dict[str, int]:
        """What one of its packets, the last one, waited for at a switch's port, by Lindley's
        recursion over all that came there."""
        came = sorted(
            (arrival, start, start + end_of, of)
            for of in {number for _, _, number in self.lines[link] if number >= 0}
            for arrival, (start, end_of) in zip(
                self.arrivals(of, link),
                [(start, stop - start) for start, stop, number in self.lines[link] if number == of],
                strict=False,  # the run ends while ACKs are inside
            )
        )
        control = [(start, start, stop, -1) for start, stop, of in self.lines[link] if of < 0]
        mine = (self.arrivals(flow, link)[place], self.flows[flow][link][place])
        work = at = 0
        for arrival, start, stop, _ in sorted([*came, *control]):
            work, at = max(0, work - (arrival - at)), arrival
            if (arrival, start) == mine:
                break
            work += stop - start
        ahead = sum(
            stop - max(start, mine[0]) for arrival, start, stop, of in [*came, *control]
            if stop > mine[0] and start < mine[1]
            and (arrival <= mine[0] if of >= 0 else start < mine[0])
        )  # fmt: skip
        wait = mine[1] - mine[0]
        idle = within(self.idle[link], *mine) if flow < ACKS else 0  # PAUSE is of data's class
        behind = min(ahead, wait - idle)
        without = min(work, behind) if flow < ACKS else behind
        return {
            "contention": without,
            "pause_backlog": behind - without,
            "pause_idle": idle,
            "overtaken": wait - idle - behind,
        }

    def fly(self, flow: int, link: int) -> int:
        """How long a frame of it is on a link."""
        end = self.ends[link]
        frame = next(stop - start for start, stop, of in reversed(self.lines[link]) if of == flow)
        return frame + picoseconds(self.topology.link_at(end.node, end.port).delay_s)

    def round_trip(self, flow: int, place: int) -> dict[str, int]:
        """What one of its packets and its ACK have gone through."""
        parts = dict.fromkeys(WINDOW_PARTS, 0)
        for number in (flow, flow + ACKS):
            nic, *switches = self.way(number)
            parts["wire"] += sum(self.fly(number, link) for link in (nic, *switches))
            for link in switches:
                for name, ps in self.queue(number, link, place).items():
                    parts[name] += ps
        last, back = self.way(flow)[-1], self.way(flow + ACKS)[0]
        arrival = self.flows[flow][last][place] + self.fly(flow, last)
        parts["contention"] += self.flows[flow + ACKS][back][place] - arrival
        return parts

    def window(self, flow: int) -> dict[str, int]:
        """What its window waited for, by the decisions of its RP and the arrivals of its ACKs."""
        nic, back = self.way(flow)[0], self.way(flow + ACKS)[-1]
        frames = [(start, stop) for start, stop, of in self.lines[nic] if of == flow]
        acks = [start + self.fly(flow + ACKS, back) for start in self.flows[flow + ACKS][back]]
        decided = self.windows[flow]
        rate = self.topology.links[0].rate_bps
        total = dict.fromkeys(WINDOW_PARTS, 0)

        def is_full(sent: int, at: int) -> bool:
            acked = sum(time <= at for time in acks)
            ahead = sum(stop - start for start, stop in frames[acked : sent + 1]) * rate / 8e12
            window = [size for time, size in decided if time <= at][-1]
            return round(ahead) > window and acked < sent

        for sent in range(1, len(frames)):
            (begin, since), until = frames[sent - 1], frames[sent][0]
            full = is_full(sent, begin)
            for time in sorted({time for time, _ in decided if begin < time <= until}):
                if full and not is_full(sent, time) and time > since:
                    way = {"timer": 1}
                    if time in acks:
                        way = self.round_trip(flow, acks.index(time))
                        left, place = self.flows[flow][nic][acks.index(time)], time
                        assert sum(way.values()) == place - left
                    below, shared = 0, 0
                    for name, ps in way.items():
                        below += ps
                        share = (time - since) * below // sum(way.values())
                        total[name] += share - shared
                        shared = share
                if full != is_full(sent, time):
                    full, since = not full, max(since, time)
        return total

    def parts(self, flow: int, start_ps: int) -> dict[str, int]:
        parts = dict.fromkeys(PARTS, 0)
        nic, *switches = self.way(flow)
        at = start_ps
        for start, stop, of in self.lines[nic]:
            if of != flow:
                continue
            paused = within(self.idle[nic], at, start)
            parts["paused"] += paused
            parts["nic"] += start - at - paused
            parts["own"] += stop - start
            at, last = stop, stop - start
        parts["own"] -= last
        parts["wire"] = sum(self.fly(flow, link) for link in (nic, *switches))
        for link in switches:
            for name, value in self.queue(flow, link).items():
                parts[name] += value
        return parts


def test_a_second_account_finds_the_same_parts():
    """With PFC alone, whose senders are held by PAUSE and other frames only."""
    topology, flows, _ = NETWORKS["in-cast"]
    flows = tuple(replace(flow, size_bytes=150_000) for flow in flows)
    account = Account("pfc", topology, flows)
    for flow in flows:
        row = account.rows[flow.id]
        assert account.parts(flow.id, int(row["start_ps"])) == dict(
            zip(PARTS, row["parts_ps"].tolist(), strict=True)
        )
    totals = dict(zip(PARTS, account.rows["parts_ps"].sum(axis=0).tolist(), strict=True))
    caused = {"own", "paused", "contention", "pause_backlog", "pause_idle", "wire"}
    assert {name for name, total in totals.items() if total} >= caused


@pytest.mark.parametrize("scheme", ["pcn", "dcqcn", "hpcc"])
def test_waits_of_other_schemes_are_those_of_the_lines(scheme):
    topology, flows, _ = NETWORKS["in-cast"]
    account = Account(scheme, topology, flows)
    for flow in flows:
        row = dict(zip(PARTS, account.rows["parts_ps"][flow.id].tolist(), strict=True))
        nic, *switches = account.way(flow.id)
        frames = [stop - start for start, stop, of in account.lines[nic] if of == flow.id]
        waits = {
            link: (account.arrivals(flow.id, link)[-1], account.flows[flow.id][link][-1])
            for link in switches
        }
        assert row["own"] == sum(frames[:-1])
        assert row["pause_idle"] == sum(
            within(account.idle[link], *span) for link, span in waits.items()
        )
        waited = sum(end - begin for begin, end in waits.values())
        assert waited == sum(
            row[name] for name in ("contention", "pause_backlog", "pause_idle", "overtaken")
        )


@pytest.mark.parametrize("scheme", ["dctcp", "swift", "hpcc"])
@pytest.mark.parametrize("name", ["in-cast", "victim"])
def test_a_second_account_finds_the_same_parts_of_windows(name, scheme):
    topology, flows, _ = NETWORKS[name]
    flows = tuple(replace(flow, id=number) for number, flow in enumerate(flows))
    account = Account(scheme, topology, flows)
    waited = dict.fromkeys(WINDOW_PARTS, 0)
    for flow in flows:
        row = account.rows[flow.id]
        parts = account.window(flow.id)
        assert parts == dict(zip(WINDOW_PARTS, row["window_ps"].tolist(), strict=True))
        assert sum(parts.values()) == row["parts_ps"][PARTS.index("window")]
        waited = {name: ps + parts[name] for name, ps in waited.items()}
    caused = ["wire", "contention"]
    if (name, scheme) == ("victim", "dctcp"):
        caused += ["pause_backlog", "pause_idle"]
    assert all(waited[part] > 0 for part in caused), waited


def test_logs_are_those_of_the_chosen_flows_and_ports():
    topology, flows, _ = NETWORKS["in-cast"]
    port = Endpoint("e0", 1)
    logs = []
    for threads in (1, 2):
        with VirtualNetwork(topology, PCN, explain=True, threads=threads) as network:
            network.add_flows((flow, None, None) for flow in flows)
            network.explain_log(flows=[0, 4], ports=[port], causes=True)
            network.run(until_s=20e-3, finish=True)
            logs.append([network.explain_entries(log) for log in range(4)])
            link, rows = network.link("e0", 1), network.explained()
    assert all(np.array_equal(a, b) for a, b in zip(logs[0], logs[1], strict=True))
    sent, hops, lines, causes = logs[0]
    assert set(sent["flow"]) == set(hops["flow"]) == {0, 4}
    assert set(lines["link"]) == {link}
    assert causes.size == 0 or set(causes["class"]) == {3}
    for flow in (0, 4):
        last = sent[sent["flow"] == flow][-1]
        assert last["parts_ps"].tolist() == rows["parts_ps"][flow, : len(SENDER_PARTS)].tolist()
        last_hops = hops[(hops["flow"] == flow) & (hops["serial"] == last["serial"])]
        waits = sum(
            rows["parts_ps"][flow, PARTS.index("contention") : PARTS.index("wire")].tolist()
        )
        assert int((last_hops["start_ps"] - last_hops["since_ps"]).sum()) == waits
    assert LOG_SENT == 0
    assert LOG_HOP == 1


@pytest.mark.parametrize(
    "fields", [{"arbitration": ROUND_ROBIN}, {"schedules": (Schedule((1,) * 8),)}]
)
def test_where_order_is_not_by_coming_waits_are_contention_or_pause(fields):
    """With round robin or weights, what is ahead of a packet isn't what goes first: nothing is
    known of a port without PAUSE."""
    topology = with_switches(compact(senders=4, **FABRIC), **fields)
    rows, _, complete = run("pfc", topology, random_flows(topology, 40), {}, explain=True)
    sums = dict(zip(PARTS, rows["parts_ps"].sum(axis=0).tolist(), strict=True))
    assert complete == 1
    assert sums["contention"] > 0
    assert sums["pause_backlog"] == sums["overtaken"] == 0


@pytest.mark.parametrize("scheme", ["pcn", "dctcp"])
def test_parts_sum_where_switches_recirculate_what_is_paused(scheme):
    topology, flows, _ = NETWORKS["in-cast"]
    options = {"pfc": False, "program": scheme}
    _, totals, _ = run(scheme, topology, flows, options)
    rows, explained, complete = run(scheme, topology, flows, options, explain=True)
    assert explained == totals
    assert complete == 1
    assert rows["parts_ps"][:, PARTS.index("contention")].sum() > 0


def test_parts_sum_where_links_fail_and_packets_take_other_ways():
    tree = fat_tree(4, **FABRIC)
    repeats = {3: Reliability(Repeats.SELECTIVE, timeout_s=100e-6, reordering_s=20e-6)}
    digests = []
    for explain in (False, True):
        with VirtualNetwork(
            tree,
            find_scheme("dcqcn").configure(),
            reroute_s=20e-6,
            reliability=repeats,
            explain=explain,
        ) as network:
            network.add_flows((flow, None, None) for flow in random_flows(tree, 40))
            network.at(60e-6, partial(network.set_link, "e0", 3, up=False))
            network.at(200e-6, partial(network.set_link, "e0", 3, up=True))
            network.run(until_s=20e-3, finish=True)
            digests.append(network.totals().digest)
            lost = int(network.flow_stats()["lost"].sum())
            rows = network.explained() if explain else None
    assert digests[0] == digests[1]
    assert lost > 0
    assert (rows["complete_ps"] != 0).mean() > 0.9
    assert rows["parts_ps"][:, PARTS.index("recover")].sum() > 0


def marks_of(
    scheme: str,
    topology: Topology,
    flows: Iterable[FlowSpec],
    options: dict[str, Any],
    threads: int = 1,
) -> tuple[Any, Any, Any, dict[str, int]]:
    """Returns the counts of marks, hops of all packets, causes, and what the switches' counters
    have."""
    flows = tuple(flows)
    with VirtualNetwork(
        topology, find_scheme(scheme).configure(), **options, explain=True, threads=threads
    ) as network:
        network.add_flows((flow, None, None) for flow in flows)
        network.explain_log([flow.id for flow in flows], causes=True, marks=True)
        network.run(until_s=20e-3, finish=True)
        counted = dict.fromkeys(("marked", "transmitted"), 0)
        for switch in network.switches.values():
            for name in counted.keys() & set(switch.counters()):
                counted[name] += sum(
                    cell.packets for cell in switch.read_counters(name, range(512)).values()
                )
        return (
            network.explain_marks(),
            network.explain_entries(LOG_HOP),
            network.explain_entries(LOG_CAUSE),
            counted,
        )


def second_account(topology: Topology, hops, causes, n_ports: int):
    """By the packets' log and the times at which gates opened."""
    (rate_bps,) = {link.rate_bps for link in topology.links}
    opens = causes[causes["kind"] == OPENS]
    result = np.zeros((n_ports, len(MARK_REASONS), len(MARK_AHEADS)), np.int64)
    for link in np.unique(hops["link"]):
        times = np.sort(opens["time_ps"][opens["link"] == link])
        for hop in hops[hops["link"] == link]:
            resumes = np.searchsorted(times, hop["start_ps"], "right") - np.searchsorted(
                times, hop["since_ps"], "right"
            )
            reason = (
                "before" if hop["ecn_before"] == 3
                else "here" if hop["ecn_after"] == 3
                else "empty" if hop["queue_bytes"] == 0
                else "held" if resumes else "other"
            )  # fmt: skip
            frame = round(int(hop["bytes"]) * 8e12 / rate_bps)
            ahead = (
                "nothing"
                if hop["without_ps"] == 0
                else "frame"
                if hop["without_ps"] <= frame
                else "more"
            )
            result[link, MARK_REASONS.index(reason), MARK_AHEADS.index(ahead)] += 1
    return result


@pytest.mark.parametrize("name", ["in-cast", "victim"])
def test_marks_are_counted_as_a_second_account_has_them(name):
    topology, flows, options = NETWORKS[name]
    marks, hops, causes, counters = marks_of("pcn", topology, flows, options)
    assert np.array_equal(marks, second_account(topology, hops, causes, len(marks)))
    by_reason = dict(zip(MARK_REASONS, marks.sum(axis=(0, 2)).tolist(), strict=True))
    assert all(by_reason[reason] > 0 for reason in ("here", "empty", "held"))
    assert marks.sum() == len(hops)
    assert by_reason["here"] <= counters["marked"] <= by_reason["here"] + by_reason["before"]
    assert np.array_equal(marks, marks_of("pcn", topology, flows, options, threads=2)[0])


@pytest.mark.parametrize("name", sorted(NETWORKS))
def test_every_unmarked_packet_of_np_ecn_has_its_reason(name):
    topology, flows, options = NETWORKS[name]
    marks, hops, _, _ = marks_of("pcn", topology, flows, options)
    assert marks.sum() == len(hops) > 0
    assert marks[:, MARK_REASONS.index("other")].sum() == 0


def test_where_order_is_not_by_coming_nothing_is_known_without_pause():
    topology = with_switches(compact(senders=4, **FABRIC), arbitration=ROUND_ROBIN)
    marks, _, _, _ = marks_of("pcn", topology, random_flows(topology, 40), {})
    assert marks[:, :, MARK_AHEADS.index("unknown")].sum() == marks.sum() > 0


def test_marks_that_were_not_counted_are_refused():
    topology, flows, options = NETWORKS["pool"]
    with VirtualNetwork(topology, PCN, **options, explain=True) as network:
        network.add_flows((flow, None, None) for flow in flows)
        network.run(until_s=1e-6)
        with pytest.raises(VirtualError):
            network.explain_marks()


def test_explaining_begins_with_the_network():
    topology, flows, options = NETWORKS["pool"]
    with VirtualNetwork(topology, PCN, **options, explain=True) as network:
        network.add_flows((flow, None, None) for flow in flows)
        network.run(until_s=1e-6)
        with pytest.raises(VirtualError, match="chosen once, before the run"):
            network.explain_log(causes=True)


def test_first_packet_of_a_class_after_a_pause_has_the_work_of_higher_ones_ahead():
    """As the next packet of the higher class would: by Lindley's recursion over the arrivals since
    the PAUSE, too."""
    topology, flows, options = victim()
    late = FlowSpec(50, "h0", "r0", 225e-6, 3_000, traffic_class=1)
    with VirtualNetwork(topology, PFC_ONLY, **options, explain=True) as network:
        network.add_flows((flow, None, None) for flow in (*flows, late))
        network.explain_log([flow.id for flow in (*flows, late)], causes=True)
        network.run(until_s=20e-3, finish=True)
        hops, causes = network.explain_entries(LOG_HOP), network.explain_entries(LOG_CAUSE)
        port = network.link("s0", 3)
    hops = hops[hops["link"] == port]
    first = min(hops[hops["class"] == 1], key=lambda hop: int(hop["since_ps"]))
    came = int(first["since_ps"])
    closed = causes[(causes["link"] == port) & (causes["kind"] == CLOSES)]["time_ps"]
    assert int(closed[0]) < came
    before = max(
        (hop for hop in hops if hop["class"] == 3 and hop["since_ps"] < came),
        key=lambda hop: (int(hop["since_ps"]), int(hop["without_ps"])),
    )
    frame = round(int(before["bytes"]) * 8e12 / FABRIC["rate_bps"])
    work = int(before["without_ps"]) + frame - (came - int(before["since_ps"]))
    assert int(first["without_ps"]) == max(work, 0) > 0
