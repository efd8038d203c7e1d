"""The compiled programs take a flow control packet for a RESUME when it ends a lack of credits, and
only then: against a count of our own, whatever comes."""

import math
import struct
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from program_driver import Driver

from pcn.base import packed
from pcn.hosts import wire

COMPILED = Path(__file__).parents[2] / "p4src/compiled"
PORT, CLASS = 2, 3
CELL = PORT * 8 + CLASS
REGISTERS = ("fctbs", "fccl", "resumed_at", "waiting_packets", "waiting_bytes")
INITIAL, FRAME, COUNTS = 2048, 17, 4096
UNKNOWN_ETHERTYPE = 6  # drop_reason_t of p4src/shared/constants.p4


def data(payload: int) -> bytes:
    address = wire.parse_ip("10.0.0.1")
    return wire.encode_data(
        wire.DataPacket(bytes(6), bytes(6), address, address, 1, 0, bytes(payload))
    )


def flow_control(limit: int, lane: int = CLASS, sent: int = 77) -> bytes:
    return (
        bytes(12)
        + b"\x88\xb5"
        + struct.pack(">I", sent % COUNTS << 16 | lane << 12 | limit % COUNTS)
    )


@pytest.fixture(scope="module", params=["tcd", "tcd_native"])
def driver(request) -> Iterator[Driver]:
    with Driver(packed.read_text(COMPILED / f"{request.param}.json"), flags=()) as driver:
        driver.add(
            "SwitchIngress.forwarding.ipv4_lpm",
            bytes(4),
            "SwitchIngress.forwarding.ipv4_forward",
            [1, PORT],
        )
        table, action = (
            f"SwitchIngress.credit_receive.{name}" for name in ("credit_config", "set_credits")
        )
        driver.add(table, PORT.to_bytes(2, "big"), action, [INITIAL, FRAME])
        yield driver


def clear(driver: Driver):
    for name in REGISTERS:
        for cell in range(PORT * 8, PORT * 8 + 8):
            driver.register(name, cell, 0)


def depart(driver: Driver, now: int, payload: int):
    driver.ingress(data(payload), now=now)
    driver.queued(now, now, 0)
    driver.egress(PORT)


# What a flow control packet gives: at least as much as the one before, and 2048 blocks ahead at
# most.
steps = st.lists(
    st.one_of(
        *[st.tuples(st.just("depart"), st.integers(1, 1000))] * 8,
        st.tuples(st.just("grant"), st.one_of(st.integers(0, 40), st.integers(0, INITIAL))),
    ),
    min_size=40,
    max_size=200,
)


@settings(settings.get_profile("few"), suppress_health_check=list(HealthCheck))
@given(steps=steps, left=st.integers(0, 60))
def test_resume_is_detected_when_a_lane_has_credits_for_a_frame_again(driver: Driver, steps, left):
    """From few credits on, so that they run out again and again; counts wrap."""
    clear(driver)
    sent, limit = INITIAL - left, INITIAL
    driver.register("fctbs", CELL, sent % COUNTS)
    resumed, now = 0, 1000
    for action, value in steps:
        now += 3
        if action == "depart":
            n = math.ceil(len(data(value)) / 64)
            if limit - sent < FRAME:  # then nothing departs
                continue
            depart(driver, now, value)
            sent += n
            resumed = 0
        else:
            stopped = limit - sent < FRAME
            limit = max(limit, min(limit + value, sent + INITIAL))
            driver.ingress(flow_control(limit), PORT, now)
            if stopped and limit - sent >= FRAME:
                resumed = now
        assert driver.register("resumed_at", CELL) == resumed
        assert driver.register("fctbs", CELL) == sent % COUNTS
        assert driver.register("fccl", CELL) == (limit - INITIAL) % COUNTS


def test_other_lanes_and_ports_that_have_no_credits_are_left_alone(driver: Driver):
    clear(driver)
    driver.register("fctbs", CELL, INITIAL)
    driver.ingress(flow_control(INITIAL + 100, lane=CLASS + 1), PORT, 1000)
    driver.ingress(flow_control(INITIAL + 100, lane=8 + CLASS), PORT, 1000)  # no such lane
    unknown = driver.counter("dropped", (PORT + 1) * 8 + UNKNOWN_ETHERTYPE)[0]
    driver.ingress(flow_control(INITIAL + 100), PORT + 1, 1000)
    assert driver.counter("dropped", (PORT + 1) * 8 + UNKNOWN_ETHERTYPE)[0] == unknown + 1
    assert driver.register("resumed_at", CELL) == driver.register("fccl", CELL) == 0
    assert driver.register("fccl", CELL + 1) == 100
    assert driver.register("fccl", (PORT + 1) * 8 + CLASS) == 0
    driver.ingress(flow_control(INITIAL + 100)[:17], PORT, 1000)  # truncated
    assert driver.register("resumed_at", CELL) == 0
    driver.ingress(flow_control(INITIAL + 100), PORT, 1000)
    assert driver.register("resumed_at", CELL) == 1000
