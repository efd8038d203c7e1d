"""Registers, counters and meters are written and read over P4Runtime while packets use them."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from errno import ENOMEM

import pytest
from p4rt_client import Client, Names, octets, update
from p4rt_switch import Switch

from pcn.base.p4rt import p4r
from pcn.softswitch.native import NativeError

PORT = 3
BACKGROUND, PROBE = 7, 1  # source addresses: of the traffic, and of the packets that are looked at
ROUNDS = 100
LIMIT_S = 60
TWO_PACKETS = p4r.MeterConfig(cir=0, cburst=1, pir=0, pburst=2)  # and red from then on


def frame(source: int, destination: int, mark: int = 0) -> bytes:
    return (
        destination.to_bytes(6, "big")
        + source.to_bytes(6, "big")
        + b"\x08\x00"
        + bytes([mark] * 46)
    )


@contextmanager
def traffic(switch: Switch) -> Iterator[None]:
    """Packets from PORT to a port without an interface, as fast as they can be injected."""
    stop, failures = threading.Event(), list[NativeError]()

    def inject():
        while not stop.is_set():
            try:
                switch.native.packet_out(PORT, frame(BACKGROUND, 0xBB))
            except NativeError as error:
                if error.code != ENOMEM:  # the pool is full: the worker has enough to do
                    failures.append(error)
                    return

    thread = threading.Thread(target=inject)
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join()
    assert not failures


@pytest.fixture
def busy(switch: Switch, client: Client, names: Names) -> Iterator[Client]:
    """The primary controller of a switch that has packets all the time."""
    quiet = [
        names.entry("learning", {"src_addr": a}, names.action("NoAction"))
        for a in (BACKGROUND, PROBE)
    ]
    forward = names.entry("l2", {"dst_addr": 0xBB}, names.action("forward", port=1))
    to_us = names.entry("l2", {"dst_addr": 0xAA}, names.action("send_to_cpu", reason=1))
    client.write(*[update("INSERT", entry) for entry in (*quiet, forward, to_us)])
    with traffic(switch):
        wait_for(lambda: packets(client, names) > 0)
        yield client
        before = packets(client, names)
        wait_for(lambda: packets(client, names) != before)  # they still go through


def wait_for(condition: Callable[[], bool]):
    end = time.monotonic() + LIMIT_S
    while not condition():
        assert time.monotonic() < end


def packets(client: Client, names: Names) -> int:
    """Of the background traffic, since it began or was last written."""
    entry = p4r.CounterEntry(counter_id=names.id("counters", "received"))
    entry.index.index = PORT
    return int(client.read(entry)[0].data.packet_count)


def cell(names: Names, register: str, index: int, value: int | None = None) -> p4r.RegisterEntry:
    entry = p4r.RegisterEntry(register_id=names.id("registers", register))
    entry.index.index = index
    if value is not None:
        entry.data.bitstring = octets(value)
    return entry


def value_of(client: Client, names: Names, register: str, index: int) -> int:
    return int.from_bytes(client.read(cell(names, register, index))[0].data.bitstring, "big")


def test_a_wide_register_is_never_half_written(busy: Client, names: Names):
    """The program copies cell 0 to cell 1, 128 bits, adding its tables' numbers. Both halves are
    written alike."""
    wait_for(lambda: value_of(busy, names, "wide_cells", 1) != 0)  # the background's own addition
    added = value_of(busy, names, "wide_cells", 1)
    last = 0
    for n in range(1, ROUNDS + 1):
        busy.modify(cell(names, "wide_cells", 0, n << 64 | n))
        seen = value_of(busy, names, "wide_cells", 1) - added
        assert seen >> 64 == seen & (2**64 - 1), "of one write, not of two"
        assert last <= seen >> 64 <= n
        last = seen >> 64
    wait_for(lambda: value_of(busy, names, "wide_cells", 1) - added == ROUNDS << 64 | ROUNDS)


def test_a_register_that_packets_count_in_is_set_back(busy: Client, names: Names):
    """What packets add after a write is added to what was written; no addition brings the old value
    back."""
    high = 1 << 31
    for base in (high, 0) * (ROUNDS // 2):
        busy.modify(cell(names, "cells", PORT, base))
        first = value_of(busy, names, "cells", PORT)
        second = value_of(busy, names, "cells", PORT)
        assert base <= first <= second < base + high


def test_counters_are_set_back(busy: Client, names: Names):
    """Packets and bytes of a cell belong together in every read, before and after a write."""
    entry = p4r.CounterEntry(counter_id=names.id("counters", "received"))
    entry.index.index = PORT
    size = len(frame(0, 0))
    for n in range(ROUNDS):
        if n % 10 == 0:
            zero = p4r.CounterEntry()
            zero.CopyFrom(entry)
            zero.data.packet_count = zero.data.byte_count = 0
            busy.modify(zero)
        (cell,) = busy.read(entry)
        assert cell.data.byte_count == cell.data.packet_count * size


def test_a_meter_changes_between_two_packets(busy: Client, names: Names, switch: Switch):
    """A direct meter that lets two packets pass, is taken away, and comes back with its buckets
    full."""
    policing = names.entry("policing", {"src_addr": PROBE}, names.action("police"))
    busy.insert(policing)
    direct = p4r.DirectMeterEntry(table_entry=names.entry("policing", {"src_addr": PROBE}))
    limited = p4r.DirectMeterEntry()
    limited.CopyFrom(direct)
    limited.config.CopyFrom(TWO_PACKETS)
    for _ in range(ROUNDS // 10):
        for entry, passing in ((limited, 2), (direct, 5)):
            busy.modify(entry)
            assert busy.read(direct) == [entry]
            for mark in range(5):
                switch.native.packet_out(PORT, frame(PROBE, 0xAA, mark))
            # not metered: it marks the end
            switch.native.packet_out(PORT, frame(BACKGROUND, 0xAA, 99))
            marks = [busy.receive().packet.payload[-1] for _ in range(passing + 1)]
            assert marks == [*range(passing), 99]


def test_an_array_of_meters_is_written_while_it_is_used(busy: Client, names: Names):
    """Every packet goes through cell 0; each write is there in the next read, whole."""
    for n in range(1, ROUNDS):
        entry = p4r.MeterEntry(meter_id=names.id("meters", "limits"))
        entry.index.index = 0
        query = p4r.MeterEntry()
        query.CopyFrom(entry)
        if n % 3 != 0:
            entry.config.CopyFrom(p4r.MeterConfig(cir=n, cburst=2 * n, pir=3 * n, pburst=4 * n))
        busy.modify(entry)
        assert busy.read(query) == [entry]
