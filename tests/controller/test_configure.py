"""What switches are programmed with: PFC's times at dilated rates, thresholds."""

from dataclasses import replace

import pytest
from hypothesis import given, strategies as st

from pcn.controller import marking, pfc
from pcn.controller.configure import entries, plan
from pcn.controller.constants import GENERATOR_PORT, MAX_QUANTA, RECIRCULATION_PORT
from pcn.controller.errors import UnknownNameError
from pcn.controller.marking import arrival_ecn, credit, qcn_in_cp, red_depth
from pcn.controller.marking.arrival_ecn import ArrivalPort
from pcn.controller.marking.qcn_cp import CNM_CLONE_SESSION, QcnPort
from pcn.controller.marking.red_depth import RedDepthPort
from pcn.controller.marking.red_ecn import RedPort
from pcn.controller.marking.rest import LATE_US, RestPort
from pcn.controller.marking_contract import PortEntries
from pcn.controller.pfc import PFC_CLONE_SESSION, quantum_q16_us
from pcn.controller.programs import COMPILED, Program
from pcn.hosts.algorithms import schemes
from pcn.topologies.dumbbell import dumbbell
from pcn.topologies.ecn import EcnThresholds
from pcn.topologies.fat_tree import fat_tree
from pcn.topologies.lossless import CREDITS, PFC
from pcn.topologies.model import Topology, TopologyError


def test_quantum_is_512_bit_times_of_the_dilated_port():
    assert quantum_q16_us(10e9, 1) == 3355  # 51.2 ns
    assert quantum_q16_us(10e9, 400) == round(20.48 * 65536)
    assert quantum_q16_us(512e6, 1) == 65536


@given(rate=st.floats(1e6, 400e9), dilation=st.floats(1, 5000))
def test_quantum_is_right_within_its_resolution(rate, dilation):
    real_us = 512 / (rate / dilation) * 1e6
    if real_us * 65536 < 0.5 or real_us >= 65535:
        return
    assert quantum_q16_us(rate, dilation) == pytest.approx(real_us * 65536, abs=0.5)


def test_a_quantum_that_does_not_fit_is_refused():
    with pytest.raises(ValueError, match="a pause quantum at 1000 bit/s and k = 1000"):
        quantum_q16_us(1e3, 1000)
    with pytest.raises(TopologyError, match=r"s0:1: a pause quantum at .* and k = 1e\+09"):
        plan(dumbbell(), "s0", 1e9)


@given(dilation=st.floats(1, 5000), quanta=st.integers(50, MAX_QUANTA))
def test_a_pause_is_refreshed_before_it_ends(dilation, quanta):
    port = plan(dumbbell(pause_quanta=quanta), "s0", dilation).pfc[0]
    assert port.refresh_us * 2 <= max(2, port.quanta * port.quantum_q16_us / 65536)
    # The neighbour counts in bit<48>; what it computes from a frame of ours must fit.
    assert port.quanta * port.quantum_q16_us < 2**48
    wait_s = (1058 + 8 * 60) * 8 / 10e9 * dilation  # for the longest frame, and PFC frames
    assert port.refresh_us * 1e-6 + wait_s <= port.pause_s * (1 + 1e-9)
    nominal_s = quanta * 512 / 10e9
    assert port.pause_s == pytest.approx(nominal_s * dilation, rel=1e-3)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"xon_bytes": 600e3}, "0 <= XON <= XOFF"),
        ({"xon_bytes": -1}, "0 <= XON <= XOFF"),
        ({"pause_quanta": 1}, "PAUSE of 1 quanta"),
        ({"pause_quanta": 65536}, "PAUSE of 65536 quanta"),
    ],
)
def test_thresholds_that_cannot_work_are_refused(change, message):
    with pytest.raises(TopologyError, match=message):
        plan(dumbbell(**change), "s0", 400)


@pytest.mark.parametrize("mtu_bytes", [64, 1058, 9058])
def test_a_pause_that_ends_before_it_is_sent_again_is_refused_with_the_least_that_does(mtu_bytes):
    with pytest.raises(
        TopologyError,
        match=r"s0:1: a PAUSE of 2 quanta lasts 0.102 us there, .*: pause_quanta \d+ or",
    ) as at:
        plan(dumbbell(pause_quanta=2, mtu_bytes=mtu_bytes), "s0", 1)
    least = int(str(at.value).split()[-3])
    assert plan(dumbbell(pause_quanta=least, mtu_bytes=mtu_bytes), "s0", 1).pfc[0].quanta == least
    with pytest.raises(TopologyError, match=f"pause_quanta {least} or more"):
        plan(dumbbell(pause_quanta=least - 1, mtu_bytes=mtu_bytes), "s0", 1)


@pytest.mark.parametrize(("flow_control", "without"), [(PFC, credit.TABLE), (CREDITS, pfc.TABLE)])
@pytest.mark.parametrize("scheme", sorted(schemes))
def test_entries_are_what_the_scheme_s_program_takes(scheme, flow_control, without):
    """Every name and width against the committed p4info, for each table of the program but those of
    marking points that the scheme leaves out, and of the flow control that the topology hasn't."""
    configured = schemes[scheme].configure()
    schema = Program.find(configured.scheme.program).schema
    topology = replace(fat_tree(4), flow_control=flow_control)
    yellow = (EcnThresholds(1, 2, 1, colour="yellow"),)
    topology = replace(
        topology, switches=tuple(replace(switch, ecn=yellow) for switch in topology.switches)
    )
    switch_plan = plan(topology, "e0", 400, configured)
    tables = set()
    for entry in entries(switch_plan):
        action = entry.encode(schema).table_entry.action
        actions = [
            member.action for member in action.action_profile_action_set.action_profile_actions
        ] or [action.action]
        assert all(action.params for action in actions)
        tables.add(entry.table_id)
    left_out = (
        set()
        if "qcn_in_cp" in configured.scheme.marking
        else {qcn_in_cp.TABLE, qcn_in_cp.DEPARTURES}
    )
    left_out.add(without)
    assert tables == {table.alias for table in schema.tables} - left_out


def test_a_threshold_that_does_not_fit_is_refused_by_the_schema():
    schema = Program.compiled("pcn").schema
    switch_plan = plan(dumbbell(), "s1", 400)
    wide = replace(switch_plan.pfc[0], quantum_q16_us=2**32)
    with pytest.raises(ValueError, match="invalid value for bitwidth 32"):
        wide.entries()[0].encode(schema)


def test_constants_are_the_data_plane_s():
    text = (COMPILED.parent / "shared" / "constants.p4").read_text()
    assert f"RECIRC_PORT = {RECIRCULATION_PORT};" in text
    assert f"PFC_CLONE_SESSION = {PFC_CLONE_SESSION};" in text
    assert f"CNM_CLONE_SESSION = {CNM_CLONE_SESSION};" in text
    generated = (COMPILED.parent / "v1model" / "generated.p4").read_text()
    assert f"GENERATOR_PORT = {GENERATOR_PORT};" in generated


def test_red_reaches_every_port_from_the_scheme_s_parameters():
    scheme = schemes["dcqcn"].configure({"k_min_bytes": 1000, "k_max_bytes": 51000, "p_max": 0.5})
    topology = dumbbell()
    switch_plan = plan(topology, "s0", 400, scheme)
    assert switch_plan.marking == tuple(
        RedPort(port, 1000, 51000, 0.5) for port in topology.ports("s0")
    )
    assert plan(topology, "s0", 400).marking == ()


def test_red_depth_reaches_every_port_as_shares_of_its_bdp():
    """At 10 and at 40 Gbit/s, 12 us and frames of 1,500 bytes: 10 and 40 packets."""
    settings = {"network_rtt_s": 12e-6, "frame_bytes": 1500, "ecn_low": 0.5, "ecn_high": 2.0}
    for rate_bps, bdp in ((10e9, 10), (40e9, 40)):
        topology = dumbbell(rate_bps=rate_bps)
        switch_plan = plan(topology, "s0", 400, schemes["nscc"].configure(settings))
        assert switch_plan.marking == tuple(
            RedDepthPort(port, bdp // 2, 2 * bdp) for port in topology.ports("s0")
        )
    arguments = {"k_min_packets": 5, "k_max_packets": 20, "slope_q48": 0}
    assert red_depth.change(3, arguments, {"k_max": 30}) == RedDepthPort(3, 5, 30)
    with pytest.raises(ValueError, match="K_min 6 and K_max 5"):
        RedDepthPort(1, 6, 5)


def test_arrival_ecn_reaches_every_port_from_the_scheme_s_parameters():
    topology = dumbbell()
    switch_plan = plan(topology, "s0", 400, schemes["dctcp"].configure({"k_bytes": 20_000}))
    assert switch_plan.marking == tuple(ArrivalPort(port, 20_000) for port in topology.ports("s0"))
    assert arrival_ecn.change(3, {"k_bytes": 20_000}, {"k": 5e3}) == ArrivalPort(3, 5000)
    with pytest.raises(ValueError, match="K -1 bytes"):
        ArrivalPort(1, -1)


@given(
    k_min=st.integers(0, 2**31),
    span=st.integers(1, 2**31 - 1),
    p_max=st.floats(0, 1),
    share=st.floats(0, 1),
)
def test_the_slope_gives_equation_5_within_its_resolution(k_min, span, p_max, share):
    port = RedPort(1, k_min, k_min + span, p_max)
    assert 0 <= port.slope_q48 < 2**48
    excess = round(share * span)
    # The data plane compares 48 random bits with this product.
    assert excess * port.slope_q48 < 2**63
    assert excess * port.slope_q48 / 2**48 == pytest.approx(
        excess / span * p_max, abs=span * 2**-49 + 1e-12
    )


def test_np_ecn_by_time_gets_the_shortest_pause():
    """The largest frame and two PFC frames at the port's rate, in whole us; dilated, with what a
    thread is late."""

    def rests(
        topology: Topology, dilation: float, scheme: str = "pcn-time", **settings: float
    ) -> tuple[PortEntries, ...]:
        return plan(topology, "s0", dilation, schemes[scheme].configure(settings)).marking

    topology = dumbbell()
    ports = topology.ports("s0")
    assert rests(topology, 1.0) == tuple(RestPort(port, 2) for port in ports)  # 1.31
    assert rests(topology, 400.0) == tuple(RestPort(port, 525 + LATE_US) for port in ports)  # 524.2
    assert rests(dumbbell(mtu_bytes=9216), 1.0) == tuple(RestPort(port, 8) for port in ports)
    assert rests(topology, 1.0, "pcn") == ()
    with pytest.raises(ValueError, match="a gap of 2147483648 us: it must be"):
        RestPort(1, 2**31)


def test_classes_above_a_lossless_one_go_before_it():
    """CNPs and PFC's other classes: they are served first, so what they take is no pause. Lower
    ones don't count."""
    before = "goes_before"
    assert RestPort(1, 2).actions == {3: "set_rest", 4: before, 5: before, 6: before, 7: before}
    assert RestPort(1, 2, 0b0010_0100).actions == {
        2: "set_rest", 3: before, 4: before, 5: "set_rest", 6: before, 7: before
    }  # fmt: skip
    assert RestPort(1, 2, 0).actions == {}
    assert RestPort(1, 2, 0x80).actions == {7: "set_rest"}


def test_without_a_range_the_slope_is_not_used():
    assert RedPort(1, 5000, 5000, 1.0).slope_q48 == 0
    with pytest.raises(ValueError, match="K_max"):
        RedPort(1, 5000, 2**32, 1.0)


def test_clone_sessions_are_those_of_pfc_and_of_the_marking_points():
    sessions = {
        name: plan(dumbbell(), "s0", 400, scheme.configure()).clone_sessions
        for name, scheme in schemes.items()
    }
    for name, numbers in sessions.items():
        messages = (CNM_CLONE_SESSION,) if name.startswith("qcn") else ()
        assert numbers == (PFC_CLONE_SESSION, *messages), name


def test_a_marking_point_stands_beside_its_p4_file():
    for name in marking.names():
        assert (
            f"table {marking.find(name).TABLE} "
            in (COMPILED.parent / f"v1model/{name}.p4").read_text()
        )
    with pytest.raises(
        UnknownNameError, match="no marking point 'red_enc'; did you mean 'red_ecn'"
    ):
        marking.find("red_enc")


@pytest.mark.parametrize("change", [{"q_eq_bytes": 0}, {"w": -1}, {"sample_bytes": 2**31}])
def test_qcn_s_values_that_cannot_work_are_refused(change):
    with pytest.raises(ValueError, match="it must be from"):
        replace(QcnPort(1, 30_000, 2, 150_000), **change)
