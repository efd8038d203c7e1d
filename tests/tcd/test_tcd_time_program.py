"""The compiled program that detects RESUMEs by rest has the models' states, and counts where PFC's
would differ."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, settings, strategies as st
from np_ecn_rules import Dequeue, TimeRule
from program_driver import Driver
from tcd_rules import Port, State, States

from pcn.base import packed
from pcn.controller.marking.rest import RestPort
from pcn.hosts import wire

COMPILED = Path(__file__).parents[2] / "p4src/compiled"
PORT, DATA, CNP, QUANTUM_US = 2, 3, 7, 5
CELL = PORT * 8 + DATA
GAP, MAX_TON, EMPTY, LOOKS = 9, 30, 300, 2
CONFIG = RestPort(PORT, GAP)
REGISTERS = (
    "tx_paused", "tx_pause_expiry", "waiting_packets", "waiting_bytes", "pn", "resumed_at",
    "tcd_state", "tcd_since", "tcd_bytes", "tcd_not_fallen", "resumed", "told_at",
)  # fmt: skip
UE = 1


def data(ecn: int, number: int) -> bytes:
    address = wire.parse_ip("10.0.0.1")
    return wire.encode_data(
        wire.DataPacket(bytes(6), bytes(6), address, address, 1, 0, bytes(8), ecn, number << 3)
    )


LENGTH = len(data(wire.ECN_ECT0, DATA))


@pytest.fixture(scope="module", params=["tcd_time", "tcd_time_native"])
def driver(request) -> Iterator[Driver]:
    """RED marks whatever leaves a byte behind."""
    with Driver(packed.read_text(COMPILED / f"{request.param}.json"), flags=()) as driver:
        key = PORT.to_bytes(2, "big")
        driver.add(
            "SwitchIngress.forwarding.ipv4_lpm",
            bytes(4),
            "SwitchIngress.forwarding.ipv4_forward",
            [1, PORT],
        )
        pfc = [2**31, 2**30, 2, 1, QUANTUM_US << 16, 1 << DATA]
        driver.add("SwitchIngress.pfc.pfc_config", key, "SwitchIngress.pfc.set_pfc", pfc)
        driver.add(
            "TcdTimeEgress.red_ecn.red_config", key, "TcdTimeEgress.red_ecn.set_red", [0, 0, 0]
        )
        driver.add(
            "TcdTimeEgress.tcd_port.tcd_config",
            key,
            "TcdTimeEgress.tcd_port.set_tcd",
            [MAX_TON, EMPTY, LOOKS],
        )
        for number, action in CONFIG.actions.items():
            driver.add(
                "TcdTimeEgress.rest.rest_config", key + bytes((number,)),
                f"TcdTimeEgress.rest.{action}", [GAP],
            )  # fmt: skip
        yield driver


def marks(driver: Driver, packet: Dequeue, left: int, ecn: int) -> int:
    """The ECN field with which a packet leaves that leaves `left` bytes behind."""
    driver.ingress(data(ecn, packet.number), now=packet.enqueued_at)
    driver.register("waiting_packets", PORT * 8 + packet.number, 100)
    driver.register("waiting_bytes", PORT * 8 + packet.number, left + LENGTH)
    driver.queued(packet.enqueued_at, packet.at, 1)
    decoded = wire.decode(driver.egress(PORT).deparse())
    assert isinstance(decoded, wire.DataPacket)
    return decoded.ecn


def expected(state: State, left: int, ecn: int) -> int:
    if ecn == wire.ECN_NOT_ECT:
        return ecn
    if state is State.UNDETERMINED:
        return ecn if ecn == wire.ECN_CE else UE
    return wire.ECN_CE if state is not State.DRAINING and left > 0 else ecn


times = st.one_of(st.integers(0, GAP), st.integers(0, GAP), st.integers(0, 60))
steps = st.lists(
    st.one_of(
        st.tuples(st.just("pause"), times, st.integers(1, 12), st.just(0), st.just(0)),
        st.tuples(st.just("resume"), times, st.just(0), st.just(0), st.just(0)),
        st.tuples(st.just("cnp"), times, st.just(0), times, st.just(0)),
        *[
            st.tuples(
                st.just("depart"), times, st.sampled_from([0, EMPTY, 900, 1000]), times,
                st.integers(0, 3),
            )
        ]
        * 5,
    ),
    min_size=15,
    max_size=80,
)  # fmt: skip


@settings(max_examples=120, suppress_health_check=list(HealthCheck))
@given(steps=steps)
def test_the_program_is_the_models(driver: Driver, steps):
    """Each step: what, time after the one before, quanta or bytes left behind, how long the packet
    waited, its ECN."""
    for name in REGISTERS:
        driver.register(name, CELL, 0)
    driver.register("busy", PORT, 0)
    counters = ("marked_ue_by_time", "marked_ue_by_pfc", "marked_ue")
    before = [driver.counter(name, CELL)[0] for name in counters]
    rule = TimeRule(GAP, frozenset({DATA}), frozenset(CONFIG.actions) - {DATA})
    by_time, by_pfc = States(MAX_TON, EMPTY, LOOKS), Port(States(MAX_TON, EMPTY, LOOKS))
    time_alone = pfc_alone = ue = 0
    now = 1000
    for action, after, value, waited, ecn in steps:
        now += after
        if action in ("pause", "resume"):
            driver.ingress(wire.encode_pfc(wire.PfcFrame(bytes(6), {DATA: value})), PORT, now)
            if action == "pause":
                by_pfc.pause(now, value * QUANTUM_US)
            else:
                by_pfc.resume(now)
        elif action == "cnp":
            packet = Dequeue(now, CNP, now - waited, 1)
            rule.tells(packet)
            assert marks(driver, packet, 1000, wire.ECN_ECT0) == wire.ECN_ECT0
        elif not by_pfc.paused(now):  # otherwise nothing departs
            packet = Dequeue(now, DATA, now - waited, 1)
            evidence = rule.tells(packet)
            state = by_time.depart(now, value, now if evidence.shows else None)
            pfc_state = by_pfc.depart(now, value)
            assert marks(driver, packet, value, ecn) == expected(state, value, ecn), (now, state)
            takes = ecn in (UE, wire.ECN_ECT0)
            ue += takes and state is State.UNDETERMINED
            time_alone += (
                takes and state is State.UNDETERMINED and pfc_state is not State.UNDETERMINED
            )
            pfc_alone += (
                takes and pfc_state is State.UNDETERMINED and state is not State.UNDETERMINED
            )
            event(f"{state.name}, {pfc_state.name}")
    counted = [driver.counter(name, CELL)[0] for name in counters]
    assert [new - old for new, old in zip(counted, before, strict=True)] == [
        time_alone,
        pfc_alone,
        ue,
    ]
