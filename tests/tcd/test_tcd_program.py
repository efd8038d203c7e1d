"""The compiled programs mark as the state machine does, packet by packet, whatever the times and
queues are."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st
from program_driver import Driver
from tcd_rules import Port, State, States

from pcn.base import packed
from pcn.hosts import wire

COMPILED = Path(__file__).parents[2] / "p4src/compiled"
PORT, CLASS, QUANTUM_US = 2, 3, 5
CELL = PORT * 8 + CLASS
MAX_TON, EMPTY = 50, 300
REGISTERS = (
    "tx_paused", "tx_pause_expiry", "waiting_packets", "waiting_bytes", "pn", "resumed_at",
    "tcd_state", "tcd_since", "tcd_bytes", "tcd_not_fallen",
)  # fmt: skip


def data(ecn: int) -> bytes:
    address = wire.parse_ip("10.0.0.1")
    return wire.encode_data(
        wire.DataPacket(bytes(6), bytes(6), address, address, 1, 0, bytes(8), ecn)
    )


LENGTH = len(data(wire.ECN_ECT0))


@pytest.fixture(
    scope="module", params=[("tcd", 1), ("tcd", 3), ("tcd_native", 1), ("tcd_native", 3)], ids=str
)
def driver_and_looks(request) -> Iterator[tuple[Driver, int]]:
    """A program whose RED marks whatever leaves a byte behind, and its number of looks."""
    program, looks = request.param
    with Driver(packed.read_text(COMPILED / f"{program}.json"), flags=()) as driver:
        key = PORT.to_bytes(2, "big")
        driver.add(
            "SwitchIngress.forwarding.ipv4_lpm",
            bytes(4),
            "SwitchIngress.forwarding.ipv4_forward",
            [1, PORT],
        )
        pfc = [2**31, 2**30, 2, 1, QUANTUM_US << 16, 1 << CLASS]
        for port in (1, PORT):
            driver.add(
                "SwitchIngress.pfc.pfc_config", port.to_bytes(2, "big"),
                "SwitchIngress.pfc.set_pfc", pfc,
            )  # fmt: skip
        driver.add("TcdEgress.red_ecn.red_config", key, "TcdEgress.red_ecn.set_red", [0, 0, 0])
        driver.add(
            "TcdEgress.tcd_port.tcd_config",
            key,
            "TcdEgress.tcd_port.set_tcd",
            [MAX_TON, EMPTY, looks],
        )
        yield driver, looks


def marks(driver: Driver, now: int, left: int, ecn: int) -> int:
    """The ECN field with which a packet leaves that leaves `left` bytes behind."""
    driver.ingress(data(ecn), now=now)
    driver.register("waiting_packets", CELL, 100)
    driver.register("waiting_bytes", CELL, left + LENGTH)
    driver.queued(now, now, 0)
    decoded = wire.decode(driver.egress(PORT).deparse())
    assert isinstance(decoded, wire.DataPacket)
    return decoded.ecn


def expected(state: State, left: int, ecn: int) -> int:
    if ecn == wire.ECN_NOT_ECT:
        return ecn
    if state is State.UNDETERMINED:
        return ecn if ecn == wire.ECN_CE else 1
    return wire.ECN_CE if state is not State.DRAINING and left > 0 else ecn


lefts = st.one_of(st.sampled_from([0, EMPTY, EMPTY + 1, 1000, 1000, 1001]), st.integers(0, 3000))
times = st.one_of(st.integers(0, 20), st.sampled_from([MAX_TON, MAX_TON + 1, 3 * MAX_TON]))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("pause"), times, st.integers(1, 40), st.just(0)),
        st.tuples(st.just("resume"), times, st.just(0), st.just(0)),
        *[st.tuples(st.just("depart"), times, lefts, st.integers(0, 3))] * 4,
    ),
    max_size=60,
)


@settings(max_examples=150, suppress_health_check=list(HealthCheck))
@given(steps=steps)
def test_the_program_is_the_state_machine(driver_and_looks: tuple[Driver, int], steps):
    """Each step: what, time after the one before, quanta or bytes left behind, the packet's ECN."""
    driver, looks = driver_and_looks
    for name in REGISTERS:
        driver.register(name, CELL, 0)
    port = Port(States(MAX_TON, EMPTY, looks))
    now = 1000
    for action, after, value, ecn in steps:
        now += after
        if action == "depart":
            if port.paused(now):  # then nothing departs
                continue
            state = port.depart(now, value)
            assert marks(driver, now, value, ecn) == expected(state, value, ecn), (now, state)
            assert driver.register("tcd_state", CELL) == state
        else:
            driver.ingress(wire.encode_pfc(wire.PfcFrame(bytes(6), {CLASS: value})), PORT, now)
            if action == "pause":
                port.pause(now, value * QUANTUM_US)
            else:
                port.resume(now)


def test_other_classes_and_ports_have_separate_states(driver_and_looks: tuple[Driver, int]):
    driver, _ = driver_and_looks
    for name in REGISTERS:
        driver.register(name, CELL, 0)
    for port, quanta in (
        (1, {CLASS: 100}),
        (1, {CLASS: 0}),
        (PORT, {CLASS + 1: 100}),
        (PORT, {CLASS + 1: 0}),
    ):
        driver.ingress(wire.encode_pfc(wire.PfcFrame(bytes(6), quanta)), port, 1000)
    assert marks(driver, 1001, 1000, wire.ECN_ECT0) == wire.ECN_CE
    assert driver.register("tcd_state", CELL) == State.NON_CONGESTION
