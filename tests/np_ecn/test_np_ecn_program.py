"""The compiled program decides as the model of NP-ECN by time does, packet by packet, whatever the
times are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from np_ecn_rules import WRAP, Dequeue, TimeRule
from program_driver import Driver

from pcn.base import packed
from pcn.controller.marking.rest import RestPort
from pcn.hosts import wire

COMPILED = Path(__file__).parents[2] / "p4src/compiled"
PORT, GAP, LOSSLESS = 2, 9, 0b0010_1000
CONFIG = RestPort(PORT, GAP, LOSSLESS)
BEGIN = 1 << 20


@pytest.fixture(scope="module", params=["pcn_time", "pcn_time_native"])
def driver(request) -> Iterator[Driver]:
    with Driver(packed.read_text(COMPILED / f"{request.param}.json"), flags=()) as driver:
        driver.add(
            "SwitchIngress.forwarding.ipv4_lpm",
            bytes(4),
            "SwitchIngress.forwarding.ipv4_forward",
            [1, PORT],
        )
        for number, action in CONFIG.actions.items():
            key = PORT.to_bytes(2, "big") + bytes((number,))
            driver.add("PcnTimeEgress.rest.rest_config", key, f"PcnTimeEgress.rest.{action}", [GAP])
        yield driver


def frame(number: int) -> bytes:
    address = wire.parse_ip("10.0.0.1")
    packet = wire.DataPacket(
        bytes(6), bytes(6), address, address, 1, 0, bytes(8), wire.ECN_ECT0, number << 3
    )
    return wire.encode_data(packet)


def marked(driver: Driver, packet: Dequeue) -> bool:
    """It found others by the program's own count, which decides where PFC is emulated, and in its
    queue."""
    driver.register("waiting_packets", PORT * 8 + packet.number, packet.queued)
    driver.ingress(frame(packet.number)).queued(packet.enqueued_at, packet.at, packet.queued)
    decoded = wire.decode(driver.egress(PORT).deparse())
    assert isinstance(decoded, wire.DataPacket)
    return decoded.ecn == wire.ECN_CE


times = st.one_of(
    st.integers(0, 3 * GAP),
    st.integers(0, 200),
    st.sampled_from([WRAP - GAP, WRAP - 1, WRAP, WRAP // 2]),
)


@settings(max_examples=100, suppress_health_check=list(HealthCheck))
@given(
    start=st.sampled_from([0, GAP, BEGIN, WRAP - 50, WRAP - 5, 5 * WRAP - 20]),
    steps=st.lists(st.tuples(times, st.integers(0, 7), times, st.integers(0, 2)), max_size=60),
)
def test_the_program_is_the_model(driver: Driver, start, steps):
    """Each step: time after the last dequeue, class, how long the packet waited, how many it
    found."""
    for number in CONFIG.actions:
        driver.register("resumed", PORT * 8 + number, 0)
    driver.register("busy", PORT, 0)
    lossless = {number for number, action in CONFIG.actions.items() if action == "set_rest"}
    rule = TimeRule(GAP, frozenset(lossless), frozenset(CONFIG.actions) - lossless)
    now = start
    for after, number, waited, queued in steps:
        now += after
        packet = Dequeue(now, number, max(now - waited, 0), queued)
        assert marked(driver, packet) == rule.marks(packet), packet
