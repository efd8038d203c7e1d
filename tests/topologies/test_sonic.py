"""config_db.json of SONiC on switches of any topology."""

from __future__ import annotations

import copy
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from pcn.commands.topology import topology as command
from pcn.hosts.algorithms import find_scheme
from pcn.lab.virtual import VirtualNetwork
from pcn.topologies.buffers import Share
from pcn.topologies.ecn import EcnThresholds
from pcn.topologies.errors import TopologyError
from pcn.topologies.formats import sonic
from pcn.topologies.found import find_topology
from pcn.topologies.model import FlowSpec, Topology
from pcn.topologies.star import star
from pcn.topologies.watchdog import Watchdog
from pcn.virtualnet import VirtualError

PORTS = [f"Ethernet{4 * number}" for number in range(5)]
CONFIG: dict[str, Any] = {
    "DEVICE_METADATA": {"localhost": {"hwsku": "any", "type": "LeafRouter"}},
    "PORT": {name: {"lanes": "1,2,3,4", "speed": "100000", "mtu": "9100"} for name in reversed(PORTS)},
    "BUFFER_POOL": {
        "ingress_lossless_pool": {"mode": "dynamic", "size": "8388608", "type": "ingress"},
        "egress_lossless_pool": {"mode": "static", "size": "99999999", "type": "egress"},
    },
    "BUFFER_PROFILE": {
        "pg_lossless_100000_5m_profile": {
            "pool": "ingress_lossless_pool", "size": "50096", "xoff": "46000", "xon": "4096", "xon_offset": "2288",
            "dynamic_th": "-3",
        },
        "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "static_th": "500000"},
        "egress": {"pool": "egress_lossless_pool", "size": "0", "dynamic_th": "7"},
    },
    "BUFFER_PG": {
        f"{','.join(PORTS)}|3-4": {"profile": "[BUFFER_PROFILE|pg_lossless_100000_5m_profile]"},
        "Ethernet0|0": {"profile": "ingress_lossy_profile"},
        "Ethernet4|0": {"profile": "NULL"},
    },
    "PORT_QOS_MAP": {
        name: {
            "pfc_enable": "3,4", "dscp_to_tc_map": "AZURE", "tc_to_pg_map": "AZURE",
            "tc_to_queue_map": "[TC_TO_QUEUE_MAP|AZURE]",
        }
        for name in PORTS
    },
    "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {str(tc): str(tc if tc in (3, 4, 7) else 0) for tc in range(8)}},
    "TC_TO_QUEUE_MAP": {"AZURE": {str(tc): str(tc) for tc in range(8)}, "UNUSED": {"3": "1"}},
    "WRED_PROFILE": {
        "AZURE_LOSSLESS": {
            "ecn": "ecn_all", "wred_green_enable": "true", "green_min_threshold": "250000",
            "green_max_threshold": "1048576", "green_drop_probability": "5",
        },
        "LOSSY": {"ecn": "ecn_none", "green_min_threshold": "1", "green_max_threshold": "2"},
    },
    "PFC_WD": {
        "GLOBAL": {"POLL_INTERVAL": "50"},
        **{name: {"action": "forward", "detection_time": "200", "restoration_time": "300"} for name in PORTS},
    },
    "SCHEDULER": {
        "scheduler.0": {"type": "DWRR", "weight": "14"},
        "scheduler.1": {"type": "DWRR", "weight": "15"},
        "strict": {"type": "STRICT"},
    },
    "QUEUE": {
        f"{','.join(PORTS)}|3-4": {"scheduler": "[SCHEDULER|scheduler.1]", "wred_profile": "AZURE_LOSSLESS"},
        **{f"{name}|0": {"scheduler": "scheduler.0", "wred_profile": "LOSSY"} for name in PORTS},
        **{f"{name}|6": {"scheduler": "strict"} for name in PORTS},
    },
}  # fmt: skip


def written(tmp_path: Path, config: object) -> Path:
    file = tmp_path / "config_db.json"
    file.write_text(json.dumps(config, indent=1))
    return file


def changed(*path: str, value: object) -> dict[str, Any]:
    made = copy.deepcopy(CONFIG)
    at: Any = made
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return made


def set_up(tmp_path: Path, config: object = CONFIG) -> Topology:
    return sonic.apply(star(4, 1, rate_bps=10e9), {"s0": sonic.read(written(tmp_path, config))})


def test_switch_has_what_the_file_has(tmp_path: Path) -> None:
    made = set_up(tmp_path)
    switch = made.switch("s0")
    assert made.lossless_classes == (3, 4)
    assert {link.rate_bps for link in made.links} == {100e9}
    assert switch.ecn == tuple(EcnThresholds(250e3, 1048576, 0.05, port=port) for port in range(1, 6))
    assert [(one.weights, one.port) for one in switch.schedules] == [
        ((14, 0, 0, 15, 15, 0, 0, 0), port) for port in range(1, 6)
    ]
    assert switch.watchdog == Watchdog("forward", 0.2, 0.3, 0.05)
    assert switch.buffer is not None
    lossless = switch.buffer.share(2, 100e9, 3, lossless=True)
    # `xoff` is the headroom behind the threshold, and `size` holds it.
    assert lossless == Share(1 / 8, 0, 4096, 46_000, 2288, port=2, traffic_class=3)
    assert switch.buffer.share(1, 100e9, 0, lossless=False).fixed_bytes == 500_000
    assert switch.buffer.size_bytes == 8_388_608 + 5 * 2 * (4096 + 46_000)


@pytest.mark.parametrize(
    ("ecn", "expected"),
    [
        ("ecn_all", [(250e3, 0.05, "green"), (90e3, 1.0, "yellow")]),
        ("ecn_green", [(250e3, 0.05, "green"), (2**32 - 1, 0.0, "yellow"), (2**32 - 1, 0.0, "red")]),
        ("ecn_yellow", [(2**32 - 1, 0.0, "green"), (90e3, 1.0, "yellow"), (2**32 - 1, 0.0, "red")]),
        ("ecn_green_red", [(250e3, 0.05, "green"), (2**32 - 1, 0.0, "yellow")]),
        ("ecn_none", []),
    ],
)
def test_switch_has_thresholds_by_colour(tmp_path: Path, ecn: str, expected: list[tuple[float, float, str]]) -> None:
    """A colour whose packets aren't marked has a threshold that no queue reaches; one without thresholds green's."""
    profile = {**CONFIG["WRED_PROFILE"]["AZURE_LOSSLESS"], "ecn": ecn}
    profile |= {"yellow_min_threshold": "90000", "yellow_max_threshold": "200000"}
    switch = set_up(tmp_path, changed("WRED_PROFILE", "AZURE_LOSSLESS", value=profile)).switch("s0")
    assert [(one.k_min_bytes, one.p_max, one.colour) for one in switch.ecn if one.port == 2] == expected


def test_pool_of_the_run_is_that_of_the_file(tmp_path: Path) -> None:
    with VirtualNetwork(set_up(tmp_path), find_scheme("dcqcn").configure()) as network:
        for number in range(4):
            network.add_flow(FlowSpec(number, f"h{number}", "r0", size_bytes=3_000_000))
        assert network.run(until_s=1.0, finish=True)
        assert network.buffer_stats("s0").shared_bytes == 8_388_608


def test_headroom_that_is_too_small_is_refused(tmp_path: Path) -> None:
    config = changed("BUFFER_PROFILE", "pg_lossless_100000_5m_profile", "xoff", value="20000")
    with pytest.raises(VirtualError, match=r"s0:1: class 3: .*headroom of 20000 bytes: after a PAUSE falls due"):
        VirtualNetwork(set_up(tmp_path, config), find_scheme("pfc").configure())


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (("PORT",), {}, "no port"),
        (("PORT", "Ethernet0", "speed"), "fast", r"PORT.Ethernet0.speed: 'fast'"),
        (("PORT", "Ethernet0"), 5, "a mapping is wanted"),
        (("BUFFER_PROFILE", "egress", "dynamic_th"), "99", "-15 to 15"),
        (("BUFFER_PROFILE", "egress", "static_th"), "9", "either dynamic_th or static_th"),
        (("BUFFER_PROFILE", "egress", "size"), "-1", "a whole number from 0"),
        (("BUFFER_PG", "Ethernet0|0", "profile"), "none", "BUFFER_PROFILE has no 'none'"),
        (("BUFFER_PG", "Ethernet0|9"), {}, "PORT|FIRST-LAST"),
        (("BUFFER_PG", "Ethernet0"), {}, "PORT|FIRST-LAST"),
        (("TC_TO_QUEUE_MAP", "AZURE", "3"), "2", "class 3 has queue 2: a lossless class has one of"),
        (("TC_TO_PRIORITY_GROUP_MAP", "AZURE", "5"), "4", "class 5 has priority group 4: a lossless class"),
        (("PORT_QOS_MAP", "Ethernet0", "tc_to_pg_map"), "B", "TC_TO_PRIORITY_GROUP_MAP has no 'B'"),
        (("PORT_QOS_MAP", "Ethernet0", "pfc_enable"), "3,7", "classes from 0 to 6"),
        (("PORT_QOS_MAP", "Ethernet0", "pfc_enable"), "3", "pfc_enable of .* differ"),
        (("WRED_PROFILE", "AZURE_LOSSLESS", "green_min_threshold"), "2000000", "k_min <= k_max"),
        (("WRED_PROFILE", "AZURE_LOSSLESS", "green_drop_probability"), "101", "p_max 1.01"),
        (("WRED_PROFILE", "AZURE_LOSSLESS", "red_min_threshold"), "5", "has red_min_threshold and red_max_threshold"),
        (("SCHEDULER", "scheduler.0", "type"), "WRR", "there are DWRR and STRICT"),
        (("SCHEDULER", "scheduler.0", "weight"), "0", "from 1"),
        (("PFC_WD", "Ethernet0", "action"), "alert", "there are drop and forward"),
        (("PFC_WD", "Ethernet0"), {}, "detection_time"),
        (("PFC_WD", "Ethernet0", "detection_time"), "5", "PFC_WD of .* differ"),
        (("QUEUE", "Ethernet0|3"), {"wred_profile": "LOSSIER"}, "WRED_PROFILE has no 'LOSSIER'"),
    ],
)  # fmt: skip
def test_file_that_is_wrong_is_refused_with_its_line(
    tmp_path: Path, path: tuple[str, ...], value: object, why: str
) -> None:
    with pytest.raises(TopologyError, match=rf"config_db.json:\d+: .*{why}"):
        sonic.read(written(tmp_path, changed(*path, value=value)))


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (("BUFFER_PG",), {}, "s0:1: class 3 is lossless, and has no BUFFER_PG"),
        (("BUFFER_PG", "Ethernet0|3"), {"profile": "ingress_lossy_profile"}, "s0:1: class 3 is lossless, .* no xoff"),
        (("PORT",), {"Ethernet0": {}}, "s0 has the port 5, and its config_db 1 ports"),
    ],
)
def test_file_that_does_not_fit_the_switch_is_refused(
    tmp_path: Path, path: tuple[str, ...], value: object, why: str
) -> None:
    with pytest.raises(TopologyError, match=why):
        set_up(tmp_path, changed(*path, value=value))


def test_switches_that_disagree_are_refused(tmp_path: Path) -> None:
    topology = find_topology("dumbbell").build({})
    one = sonic.read(written(tmp_path, CONFIG))
    (tmp_path / "two").mkdir()
    speeds = {name: {"speed": "25000"} for name in PORTS}
    other = sonic.read(written(tmp_path / "two", changed("PORT", value=speeds)))
    with pytest.raises(TopologyError, match=r"link s0:4 - s1:\d: 1e\+11 bit/s at one end, 2.5e\+10 at the other"):
        sonic.apply(topology, {"s0": one, "s1": other})
    fewer = sonic.read(written(tmp_path / "two", changed("PORT_QOS_MAP", value={"Ethernet0": {"pfc_enable": "3"}})))
    with pytest.raises(TopologyError, match="differ in pfc_enable"):
        sonic.apply(topology, {"s0": one, "s1": fewer})


def test_command_writes_a_network_with_all_of_it(tmp_path: Path) -> None:
    file, out = written(tmp_path, CONFIG), tmp_path / "net.yaml"
    done = CliRunner().invoke(command, ["convert", "star", str(out), "--set", "senders=4", "--sonic", f"s0={file}"])
    assert done.exit_code == 0, done.output
    found = find_topology(str(out)).build({})
    assert found.switches == set_up(tmp_path).switches
    assert found.lossless_classes == (3, 4)


TEXTS = st.sampled_from(["", "0", "3", "-3", "3-4", "Ethernet0", "Ethernet0|3", "scheduler.0", "[SCHEDULER|x]", "NULL"])
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


@given(st.data())
def test_changed_file_is_read_or_refused_in_lines(
    tmp_path_factory: pytest.TempPathFactory, data: st.DataObject
) -> None:
    """Any value of the sample becomes any other; what is refused names the file."""
    made: Any = copy.deepcopy(CONFIG)
    at = made
    key = data.draw(st.sampled_from(sorted(at)))
    while isinstance(at[key], dict) and at[key] and data.draw(st.booleans()):
        at = at[key]
        key = data.draw(st.sampled_from(sorted(at)))
    at[key] = data.draw(VALUES)
    file = written(tmp_path_factory.mktemp("sonic"), made)
    why = "config_db.json:"
    try:
        found = sonic.read(file)
    except TopologyError as error:
        why = str(error)
    else:
        assert len(found.rates_bps) == len(found.shares) == len(found.ecn) == len(found.weights)
    assert all("config_db.json:" in line for line in why.split("\n"))
