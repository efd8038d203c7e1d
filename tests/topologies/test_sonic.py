"""config_db.json of SONiC on switches of any topology."""

import copy
import json
import re
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, strategies as st

from pcn.base.errors import TopologyError
from pcn.commands.topology import topology as command
from pcn.experiments import runner
from pcn.hosts.algorithms import find_scheme
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.buffers import Share
from pcn.topologies.ecn import EcnThresholds
from pcn.topologies.formats import pcn, sonic
from pcn.topologies.formats.known import FORMATS
from pcn.topologies.formats.sonic import config_db, pfc
from pcn.topologies.lookup import find_topology
from pcn.topologies.model import FlowSpec, Topology
from pcn.topologies.star import star
from pcn.topologies.watchdog import Watchdog
from pcn.virtualnet import VirtualError

FILES = Path(__file__).parent / "files"
PORTS = [f"Ethernet{4 * number}" for number in range(5)]
CONFIG = {
    "DEVICE_METADATA": {"localhost": {"hwsku": "any", "type": "LeafRouter"}},
    "PORT": {name: {"lanes": "1,2,3,4", "speed": "100000",
    "mtu": "9100"} for name in reversed(PORTS)},
    "BUFFER_POOL": {
        "ingress_lossless_pool": {"mode": "dynamic", "size": "8388608", "type": "ingress"},
        "egress_lossless_pool": {"mode": "static", "size": "99999999", "type": "egress"},
    },
    "BUFFER_PROFILE": {
        "pg_lossless_100000_5m_profile": {
            "pool": "ingress_lossless_pool", "size": "50096", "xoff": "46000", "xon": "4096", (
                "xon_offset"
            ): "2288",
            "dynamic_th": "-3",
        },
        "ingress_lossy_profile": {"pool": "ingress_lossless_pool", "size": "0", "static_th": (
            "500000"
        )},
        "egress": {"pool": "egress_lossless_pool", "size": "0", "dynamic_th": "7"},
        "whole": {"pool": "egress_lossless_pool", "size": "0", "static_th": "99999999"},
        "low": {"pool": "egress_lossless_pool", "size": "0", "dynamic_th": "3"},
        "fixed": {"pool": "egress_lossless_pool", "size": "0", "static_th": "1000000"},
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
    "TC_TO_PRIORITY_GROUP_MAP": {"AZURE": {str(tc): str(tc if tc in (3, 4,
    7) else 0) for tc in range(8)}},
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
        **{name: {"action": "forward", "detection_time": "200",
        "restoration_time": "300"} for name in PORTS},
    },
    "SCHEDULER": {
        "scheduler.0": {"type": "DWRR", "weight": "14"},
        "scheduler.1": {"type": "DWRR", "weight": "15"},
        "strict": {"type": "STRICT"},
    },
    "QUEUE": {
        f"{','.join(PORTS)}|3-4": {"scheduler": "[SCHEDULER|scheduler.1]", "wred_profile": (
            "AZURE_LOSSLESS"
        )},
        **{f"{name}|0": {"scheduler": "scheduler.0", "wred_profile": "LOSSY"} for name in PORTS},
        **{f"{name}|6": {"scheduler": "strict"} for name in PORTS},
    },
}  # fmt: skip


def written(tmp_path: Path, config) -> Path:
    file = tmp_path / "config_db.json"
    file.write_text(json.dumps(config, indent=1))
    return file


def changed(*path: str, value) -> dict[str, Any]:
    config = copy.deepcopy(CONFIG)
    at = config
    for key in path[:-1]:
        at = at[key]
    at[path[-1]] = value
    return config


def set_up(tmp_path: Path, config=CONFIG) -> Topology:
    return sonic.apply(star(4, 1, rate_bps=10e9), {"s0": sonic.read(written(tmp_path, config))})


def test_switch_has_what_the_file_has(tmp_path):
    topology = set_up(tmp_path)
    switch = topology.switch("s0")
    assert topology.lossless_classes == (3, 4)
    assert {link.rate_bps for link in topology.links} == {100e9}
    assert switch.ecn == (EcnThresholds(250e3, 1048576, 0.05),)
    assert [(schedule.weights, schedule.port) for schedule in switch.schedules] == [
        ((14, 0, 0, 15, 15, 0, 0, 0), None)
    ]
    assert switch.watchdog == Watchdog("forward", 0.2, 0.3, 0.05)
    lossless = switch.buffer.share(2, 100e9, 3, lossless=True)
    # `xoff` is the headroom behind the threshold, and `size` holds it.
    assert lossless == Share(1 / 8, 0, 4096, 46_000, 2288, traffic_class=3)
    assert switch.buffer.share(1, 100e9, 0, lossless=False).fixed_bytes == 500_000
    assert switch.buffer.size_bytes == 8_388_608 + 5 * 2 * (4096 + 46_000)


def test_written_file_has_rows_of_all_ports_once(tmp_path):
    """A reader changes alpha in one line a class, of a file whose lines fit a screen."""
    everywhere = changed(
        "BUFFER_PG", f"{','.join(PORTS)}|0", value={"profile": "ingress_lossy_profile"}
    )
    for name in ("Ethernet0|0", "Ethernet4|0"):
        del everywhere["BUFFER_PG"][name]
    topology = set_up(tmp_path, everywhere)
    text = pcn.write(topology)
    assert [text.count(f"class: {number}}}\n        - ") for number in (0, 3, 4)] == [1, 1, 1]
    assert "port:" not in text
    assert text.count("k_min:") == text.count("weights:") == 1
    assert max(map(len, text.split("\n"))) <= 100
    net = tmp_path / "net.yaml"
    net.write_text(text)
    assert find_topology(str(net)).build({}).switches == topology.switches


def test_written_file_has_rows_that_differ_by_port(tmp_path):
    topology = set_up(tmp_path)
    switch = topology.switch("s0")
    # Only the first port has a row of class 0.
    assert [share.port for share in switch.buffer.shares] == [1, None, None, None]
    net = tmp_path / "net.yaml"
    net.write_text(pcn.write(topology))
    assert find_topology(str(net)).build({}).switches == topology.switches


@pytest.mark.parametrize(
    ("ecn", "expected"),
    [
        ("ecn_all", [(250e3, 0.05, "green"), (90e3, 1.0, "yellow")]),
        (
            "ecn_green",
            [(250e3, 0.05, "green"), (2**32 - 1, 0.0, "yellow"), (2**32 - 1, 0.0, "red")],
        ),
        ("ecn_yellow", [(2**32 - 1, 0.0, "green"), (90e3, 1.0, "yellow"), (2**32 - 1, 0.0, "red")]),
        ("ecn_green_red", [(250e3, 0.05, "green"), (2**32 - 1, 0.0, "yellow")]),
        ("ecn_none", []),
    ],
)
def test_switch_has_thresholds_by_colour(tmp_path, ecn, expected):
    """A colour whose packets aren't marked has a threshold that no queue reaches; one without
    thresholds green's."""
    profile = {**CONFIG["WRED_PROFILE"]["AZURE_LOSSLESS"], "ecn": ecn}
    profile |= {"yellow_min_threshold": "90000", "yellow_max_threshold": "200000"}
    switch = set_up(tmp_path, changed("WRED_PROFILE", "AZURE_LOSSLESS", value=profile)).switch("s0")
    assert [
        (thresholds.k_min_bytes, thresholds.p_max, thresholds.colour) for thresholds in switch.ecn
    ] == expected


def test_pool_of_the_run_is_that_of_the_file(tmp_path):
    with VirtualNetwork(set_up(tmp_path), find_scheme("dcqcn").configure()) as network:
        for number in range(4):
            network.add_flow(FlowSpec(number, f"h{number}", "r0", size_bytes=3_000_000))
        assert network.run(until_s=1.0, finish=True)
        assert network.buffer_stats("s0").shared_bytes == 8_388_608


def test_headroom_that_is_too_small_is_refused(tmp_path):
    config = changed("BUFFER_PROFILE", "pg_lossless_100000_5m_profile", "xoff", value="20000")
    with pytest.raises(
        VirtualError,
        match=r"s0:1,2,3,4,5: class 3: .*headroom of 20000 bytes: after a PAUSE falls due",
    ):
        VirtualNetwork(set_up(tmp_path, config), find_scheme("pfc").configure())


REFUSED = r"""
PORT {} => no port
PORT/Ethernet0/speed "fast" => PORT.Ethernet0.speed: 'fast'
PORT/Ethernet0 5 => a mapping is wanted
BUFFER_PROFILE/egress/dynamic_th "99" => -15 to 15
BUFFER_PROFILE/egress/static_th "9" => either dynamic_th or static_th
BUFFER_PROFILE/egress/size "-1" => a whole number from 0
BUFFER_PG/Ethernet0|0/profile "none" => BUFFER_PROFILE has no 'none'
BUFFER_PG/Ethernet0|9 {} => PORT\|FIRST-LAST
BUFFER_PG/Ethernet0 {} => PORT\|FIRST-LAST
TC_TO_QUEUE_MAP/AZURE/3 "2" => class 3 has queue 2: a lossless class has one of
TC_TO_PRIORITY_GROUP_MAP/AZURE/5 "4" => class 5 has priority group 4: a lossless class
PORT_QOS_MAP/Ethernet0/tc_to_pg_map "B" => TC_TO_PRIORITY_GROUP_MAP has no 'B'
PORT_QOS_MAP/Ethernet0/pfc_enable "3,7" => classes from 0 to 6
PORT_QOS_MAP/Ethernet0/pfc_enable "3" => pfc_enable of .* differ
WRED_PROFILE/AZURE_LOSSLESS/green_min_threshold "2000000" => k_min <= k_max
WRED_PROFILE/AZURE_LOSSLESS/green_drop_probability "101" => p_max 1.01
WRED_PROFILE/AZURE_LOSSLESS/red_min_threshold "5" => has red_min_threshold and red_max_threshold
SCHEDULER/scheduler.0/type "WRR" => choose from DWRR and STRICT
SCHEDULER/scheduler.0/weight "0" => from 1
PFC_WD/Ethernet0/action "alert" => choose from drop and forward
PFC_WD/Ethernet0 {} => detection_time
PFC_WD/Ethernet0/detection_time "5" => PFC_WD.Ethernet4: differs from that of Ethernet0
PORT_QOS_MAP/Ethernet4/pfcwd_sw_enable "3" => Ethernet4: differs .* or pfcwd_sw_enable does
BUFFER_POOL/ingress_lossless_pool {"mode": "dynamic"} => no size, as in the dynamic buffer model
BUFFER_POOL {} => BUFFER_POOL has no ingress_lossless_pool
BUFFER_PROFILE/ingress_lossy_profile/pool "egress_lossless_pool" => is of egress_lossless_pool
BUFFER_QUEUE {"Ethernet0|3-4": {"profile": "limit"}} => BUFFER_PROFILE has no 'limit'
BUFFER_QUEUE {"Ethernet0|0-2": {"profile": "low"}} => BUFFER_QUEUE.Ethernet0\|0-2: low limits what
BUFFER_QUEUE {"Ethernet0|3": {"profile": "fixed"}} => BUFFER_QUEUE.Ethernet0\|3: fixed limits what
BUFFER_PORT_INGRESS_PROFILE_LIST {"Ethernet0": {"profile_list": "egress,low"}}
    => Ethernet0: low limits
QUEUE/lc1|asic0|Ethernet0|3 {} => a queue of another line card \(HOST\|ASIC\|PORT\|QUEUE\)
SCHEDULER/scheduler.0/cir "1250000000" => scheduler.0: cir: no rate is guaranteed
SCHEDULER/scheduler.0 {"type": "STRICT", "pir": "9", "meter_type": "packets"}
    => meter_type 'packets': pir is in bytes a second
PORT_QOS_MAP/Ethernet0/scheduler "scheduler.0" => a port has no shaper here
QUEUE/Ethernet0|3 {"wred_profile": "LOSSIER"} => WRED_PROFILE has no 'LOSSIER'
"""
"""A path and the value there, in JSON; what the error has."""


@pytest.mark.parametrize(
    ("path", "value", "why"), re.findall(r"^(\S+) (.+)\s+=> (.+)", REFUSED, re.MULTILINE)
)
def test_file_that_is_wrong_is_refused_with_its_line(tmp_path, path, value, why):
    file = written(tmp_path, changed(*path.split("/"), value=json.loads(value)))
    with pytest.raises(TopologyError, match=rf"config_db.json:\d+: .*{why}"):
        sonic.read(file)


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (
            ("BUFFER_PG",),
            {},
            r"config_db.json:\d+: PORT_QOS_MAP.Ethernet0: lossless class 3, 4: no BUFFER_PG",
        ),
        (
            ("BUFFER_PG", "Ethernet0|3"),
            {"profile": "ingress_lossy_profile"},
            r"Ethernet0\|3: lossless class 3: .* has no xoff",
        ),
        (
            ("BUFFER_PG", "Ethernet0|3"),
            {"profile": "NULL"},
            r"json:\d+: BUFFER_PG.Ethernet0\|3: .* is NULL: the switch",
        ),
        (
            ("BUFFER_POOL", "ingress_lossless_pool", "xoff"),
            "400000",
            r"json:\d+: .*xoff: .* 5 ports share 400000 bytes",
        ),
        (
            ("PORT", "Ethernet0", "mtu"),
            "1000",
            r"json:\d+: PORT.Ethernet0.mtu: frames of 1058 bytes .* don't fit",
        ),
        (("PORT",), {"Ethernet0": {}}, "s0 has the port 5, and its config_db 1 ports"),
    ],
)
def test_file_that_does_not_fit_the_switch_is_refused(tmp_path, path, value, why):
    with pytest.raises(TopologyError, match=why):
        set_up(tmp_path, changed(*path, value=value))


def test_all_that_lossless_classes_lack_is_named_at_once(tmp_path):
    with pytest.raises(TopologyError) as error:
        set_up(tmp_path, changed("BUFFER_PG", value={"Ethernet0|3": {"profile": "NULL"}}))
    lines = str(error.value).splitlines()
    assert len(lines) == 6  # five ports, of which one has two reasons
    assert all("config_db.json:" in line and "show buffer information" in line for line in lines)


def test_headrooms_that_their_pool_holds_are_reserved(tmp_path):
    """Five ports with two lossless classes of 46,000 bytes: a pool of 460,000 is enough for all at
    once."""
    path = ("BUFFER_POOL", "ingress_lossless_pool", "xoff")
    assert set_up(tmp_path, changed(*path, value="460000")) == set_up(tmp_path)
    less = written(tmp_path, changed(*path, value="459999"))
    with pytest.raises(TopologyError, match="--leave-out headroom-pool"):
        sonic.apply(star(4, 1), {"s0": sonic.read(less)})
    left = sonic.apply(star(4, 1, rate_bps=10e9), {"s0": sonic.read(less, [sonic.HEADROOM_POOL])})
    assert left == set_up(tmp_path)
    with pytest.raises(TopologyError, match=r"'pool' can't be left out; .* headroom-pool"):
        sonic.read(less, ["pool"])


def test_limits_of_outputs_that_do_not_limit_or_are_left_out_change_nothing(tmp_path):
    harmless = {"Ethernet0|3-4": {"profile": "whole"}, "Ethernet0|0": {"profile": "egress"}}
    harmless |= {"Ethernet0|8-15": {"profile": "low"}, "Ethernet400|3": {"profile": "low"}}
    assert set_up(tmp_path, changed("BUFFER_QUEUE", value=harmless)) == set_up(tmp_path)
    limits = written(tmp_path, changed("BUFFER_QUEUE", value={"Ethernet0|3-4": {"profile": "low"}}))
    assert sonic.apply(star(4, 1), {"s0": sonic.read(limits, [sonic.EGRESS])}) == set_up(tmp_path)


def test_queues_of_multicast_packets_change_nothing(tmp_path):
    rows = {**CONFIG["QUEUE"], "Ethernet0|8-9": {"scheduler": "scheduler.0"}, "Ethernet0|10-15": {}}
    assert set_up(tmp_path, changed("QUEUE", value=rows)) == set_up(tmp_path)


@pytest.mark.parametrize(("threshold", "resume"), [("30000", 2288), ("5000", 904), ("4000", 0)])
def test_resume_is_at_the_higher_of_xon_and_its_offset(tmp_path, threshold, resume):
    profile = {**CONFIG["BUFFER_PROFILE"]["pg_lossless_100000_5m_profile"], "static_th": threshold}
    del profile["dynamic_th"]
    topology = set_up(
        tmp_path, changed("BUFFER_PROFILE", "pg_lossless_100000_5m_profile", value=profile)
    )
    buffer = topology.switch("s0").buffer
    assert buffer.share(1, 100e9, 3, lossless=True).resume_bytes == resume


def rows_of_watchdog(*ports: str, classes: str | None = None) -> dict[str, Any]:
    """Returns a configuration with a watchdog at these ports alone, and `pfcwd_sw_enable` of
    all."""
    config = changed(
        "PFC_WD",
        value={name: row for name, row in CONFIG["PFC_WD"].items() if name in ("GLOBAL", *ports)},
    )
    for row in config["PORT_QOS_MAP"].values():
        row |= {} if classes is None else {"pfcwd_sw_enable": classes}
    return config


@pytest.mark.parametrize(
    ("config", "ports", "classes"),
    [
        (rows_of_watchdog(*PORTS), (), ()),
        (rows_of_watchdog(*PORTS, classes="3,4"), (), ()),
        (rows_of_watchdog(*PORTS, classes="4,6"), (), (4,)),
        (rows_of_watchdog("Ethernet0", "Ethernet12"), (1, 4), ()),
        (rows_of_watchdog("Ethernet8", classes="3"), (3,), (3,)),
    ],
)
def test_watchdog_is_at_the_ports_and_classes_of_the_file(tmp_path, config, ports, classes):
    watchdog = set_up(tmp_path, config).switch("s0").watchdog
    assert watchdog == Watchdog("forward", 0.2, 0.3, 0.05, ports, classes)


def test_watchdog_of_no_class_is_none(tmp_path):
    assert set_up(tmp_path, rows_of_watchdog(*PORTS, classes="")).switch("s0").watchdog is None
    mixed = rows_of_watchdog(*PORTS)
    mixed["PORT_QOS_MAP"]["Ethernet0"]["pfcwd_sw_enable"] = ""
    watchdog = set_up(tmp_path, mixed).switch("s0").watchdog
    assert watchdog.ports == (2, 3, 4, 5)


def test_leaf_of_a_static_model_is_mapped_whole():
    """Its headrooms fit their pool, its output queues have the whole of theirs."""
    topology = sonic.apply(star(3, 1), {"s0": sonic.read(FILES / "leaf.config_db.json")})
    switch = topology.switch("s0")
    assert switch.buffer.size_bytes == 26_531_072 + 4 * 2 * (18_432 + 160_000)
    assert switch.buffer.share(4, 100e9, 4, lossless=True).alpha == 1 / 8
    assert {
        thresholds.k_min_bytes for thresholds in switch.ecn if thresholds.colour == "green"
    } == {50e3}
    assert switch.watchdog == Watchdog("drop", 0.2, 0.2, 0.2)


def test_leaf_of_a_dynamic_model_is_refused_by_what_it_lacks(tmp_path):
    """Its switch computes the pool's size and the profiles itself: first the size is missing, then
    the profiles."""
    file = FILES / "dynamic.config_db.json"
    with pytest.raises(
        TopologyError,
        match=r"json:15: BUFFER_POOL.ingress_lossless_pool: no size, as in the dynamic",
    ):
        sonic.read(file)
    config = json.loads(file.read_text())
    config["BUFFER_POOL"]["ingress_lossless_pool"]["size"] = "26531072"
    with pytest.raises(
        TopologyError, match=r"BUFFER_PG.Ethernet0\|3-4: lossless class 3, 4: its profile is NULL"
    ):
        sonic.apply(star(3, 1), {"s0": sonic.read(written(tmp_path, config))})


def test_option_whose_rate_the_file_would_replace_is_refused(tmp_path):
    file, out = written(tmp_path, CONFIG), tmp_path / "net.json"
    call = ["convert", "star", str(out), "--set", "senders=4", "--sonic", str(file)]
    done = CliRunner().invoke(command, [*call, "--set", "rate_bps=25G"])
    assert isinstance(done.exception, TopologyError)
    assert "rate_bps=25G: link h0:0 - s0:1 has 100 Gbit/s by the config_db's speed" in str(
        done.exception
    )
    assert not out.exists()
    assert CliRunner().invoke(command, [*call, "--set", "rate_bps=100G"]).exit_code == 0


def test_switches_that_disagree_are_refused(tmp_path):
    topology = find_topology("dumbbell").build({})
    fast = sonic.read(written(tmp_path, CONFIG))
    (tmp_path / "two").mkdir()
    speeds = {name: {"speed": "25000"} for name in PORTS}
    slow = sonic.read(written(tmp_path / "two", changed("PORT", value=speeds)))
    with pytest.raises(
        TopologyError, match=r"link s0:4 - s1:\d: 1e\+11 bit/s at one end, 2.5e\+10 at the other"
    ):
        sonic.apply(topology, {"s0": fast, "s1": slow})
    fewer = sonic.read(
        written(tmp_path / "two", changed("PORT_QOS_MAP", value={"Ethernet0": {"pfc_enable": "3"}}))
    )
    with pytest.raises(TopologyError, match="differ in pfc_enable"):
        sonic.apply(topology, {"s0": fast, "s1": fewer})


def test_command_writes_a_network_with_all_of_it(tmp_path):
    file, out = written(tmp_path, CONFIG), tmp_path / "net.yaml"
    done = CliRunner().invoke(
        command, ["convert", "star", str(out), "--set", "senders=4", "--sonic", f"s0={file}"]
    )
    assert done.exit_code == 0, done.output
    topology = find_topology(str(out)).build({})
    assert topology.switches == set_up(tmp_path).switches
    assert topology.lossless_classes == (3, 4)


TEXTS = st.sampled_from(
    ["", "0", "3", "-3", "3-4", "Ethernet0", "Ethernet0|3", "scheduler.0", "[SCHEDULER|x]", "NULL"]
)
VALUES = st.recursive(
    st.one_of(st.none(), st.booleans(), st.integers(-9, 9), TEXTS),
    lambda inner: st.one_of(st.lists(inner, max_size=2), st.dictionaries(TEXTS, inner, max_size=3)),
    max_leaves=6,
)


@given(st.data())
def test_changed_file_is_read_or_refused_in_lines(tmp_path_factory, data):
    """Any value of the sample becomes any other; what is refused names the file."""
    config = copy.deepcopy(CONFIG)
    at = config
    key = data.draw(st.sampled_from(sorted(at)))
    while isinstance(at[key], dict) and at[key] and data.draw(st.booleans()):
        at = at[key]
        key = data.draw(st.sampled_from(sorted(at)))
    at[key] = data.draw(VALUES)
    file = written(tmp_path_factory.mktemp("sonic"), config)
    why = "config_db.json:"
    try:
        switch = sonic.read(file)
    except TopologyError as error:
        why = str(error)
    else:
        assert (
            len(switch.rates_bps)
            == len(switch.shares)
            == len(switch.ecn)
            == len(switch.schedulers)
            == len(switch.lacking)
        )
    assert all("config_db.json:" in line for line in why.split("\n"))


def test_result_states_the_thresholds_that_ports_had(tmp_path):
    """Those of the file, read back from the switches; XOFF is none where a shared buffer has the
    thresholds."""
    network = tmp_path / "net.yaml"
    write = FORMATS["pcn"].write
    network.write_text(write(set_up(tmp_path)))
    place = runner.run(
        f"traffic?topology={network}&workload=W1&pattern=uniform",
        scheme="dcqcn", clock="virtual", settings=["count=20"], out=tmp_path / "out",
    )  # fmt: skip
    summary = json.loads((place / "summary.json").read_text())
    assert (summary["parameters"]["K_min"], summary["parameters"]["K_max"]) == (250e3, 1048576)
    assert summary["parameters"]["P_max"] == pytest.approx(0.05, rel=1e-6)
    assert (summary["flow_control"]["xoff_bytes"], summary["flow_control"]["xon_bytes"]) == (
        None,
        None,
    )
    page = (place / "report.html").read_text()
    assert "thresholds of shared buffers at 1 of 1 switches" in page
    assert "250 KB at all ports, of their switches" in page
    assert "512 KB" not in page


def test_map_that_all_ports_name_is_checked_once(tmp_path, monkeypatch):
    """4,000 ports and a map of 4,000 classes, a file of 360 KB, took 275 s."""
    checked: list[str] = []
    check = pfc.check_map
    monkeypatch.setattr(
        config_db, "check_map", lambda at, *rest: (checked.append(at.where), check(at, *rest))
    )
    names = [f"Ethernet{number}" for number in range(50)]
    config = {
        "PORT": {name: {} for name in names},
        "PORT_QOS_MAP": {name: {"tc_to_queue_map": "a", "pfc_enable": "3"} for name in names},
        "TC_TO_QUEUE_MAP": {"a": {"3": "3"}, "b": {"3": "4"}},
    }
    assert sonic.read(written(tmp_path, config)).lossless == {3}
    assert checked == ["TC_TO_QUEUE_MAP.a"]
    config["PORT_QOS_MAP"]["Ethernet7"]["tc_to_queue_map"] = "b"
    with pytest.raises(TopologyError, match="class 3 has queue 4"):
        sonic.read(written(tmp_path, config))
