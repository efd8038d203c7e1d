"""`pcn p4 run --clock virtual`: traffic by words and by scripts, tables and JSON, captures;
refusals."""

import json
import struct
from typing import Any

import pytest
from exercise import EXAMPLE, write_exercise
from hypothesis import given, strategies as st
from p4net_switches import error_of

from pcn.cli import run
from pcn.p4net import sending
from pcn.p4net.packets import udp
from pcn.p4net.traffic import capture
from pcn.p4net.tutorials import read_exercise

RUN = ["p4", "run", str(EXAMPLE), "--clock", "virtual"]


def result(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    assert run([*RUN, "--json", *words]) == 0
    return json.loads(capsys.readouterr().out)


def hosts(report: dict[str, Any]) -> dict[str, tuple[int, int]]:
    return {
        host["host"]: (host["sent_frames"], host["received_frames"]) for host in report["hosts"]
    }


def test_run_without_traffic_sends_a_datagram_between_each_pair(capsys):
    report = result(capsys)
    assert hosts(report) == {"h1": (2, 2), "h2": (2, 2), "h3": (2, 2)}
    assert (report["traversals"], report["dropped_by_programs"], report["inside"]) == (10, 0, 0)


def test_run_notes_datagrams_for_which_hosts_have_no_route(capsys, tmp_path):
    """A kernel reports that a network is unreachable, and others are reached."""
    folder = write_exercise(tmp_path / "exercise")
    topology = json.loads((folder / "topology.json").read_text())
    del topology["hosts"]["h1"]["commands"]
    (folder / "topology.json").write_text(json.dumps(topology))
    assert run(["p4", "run", str(folder), "--clock", "virtual", "--json"]) == 0
    printed = capsys.readouterr()
    assert hosts(json.loads(printed.out)) == {"h1": (0, 2), "h2": (2, 1), "h3": (2, 1)}
    assert "note: 2 datagrams aren't sent: h1 has no route to 10.0.2.2" in printed.err
    words = ["--send", "h1,h2"]
    assert run(["p4", "run", str(folder), "--clock", "virtual", *words]) == 1


def test_run_counts_what_queues_refuse(capsys):
    """10 Mbit/s for a second into a link of 8: 250 frames too many, of which the queue holds 64."""
    report = result(capsys, "--send", "h1,h3,rate=10M,length=1000")
    (port,) = [port for port in report["ports"] if port["port"] == "s1:3"]
    assert hosts(report)["h1"] == (1250, 0)
    assert port["tail_drops"] == pytest.approx(250 - 65, abs=2)
    assert port["tail_drops_by_queue"] == [port["tail_drops"], 0, 0, 0, 0, 0, 0, 0]
    assert hosts(report)["h3"] == (0, 1250 - port["tail_drops"])
    delay_s = report["hosts"][2]["longest_delay_s"]
    assert delay_s == pytest.approx(65e-3 + 1e-3, rel=0.02)


def test_run_is_equal_twice_and_differs_by_seed(capsys):
    words = [
        "--send",
        "h1,h3,rate=5M,length=1000,times=poisson",
        "--send",
        "h2,h3,rate=9M,times=bursts,on=5ms,off=9ms",
    ]
    first = result(capsys, *words)
    assert first == result(capsys, *words)
    assert first["digest"] != result(capsys, *words, "--seed", "2")["digest"]


def test_run_samples_queues_and_counts_marks(capsys):
    """20 frames at once, at a byte a microsecond: 19, 18 ... 0 wait, a millisecond each. s1 has no
    threshold."""
    words = [
        "--send", "h1,h3,rate=4G,length=1000,until=40us,tos=1", "--sample", "100us", "--for",
        "20ms",
    ]  # fmt: skip
    report = result(capsys, *words)
    (port,) = [port for port in report["ports"] if port["port"] == "s1:3"]
    assert port["sent_frames"] == 20
    assert port["queue_most_packets"] == 19
    assert port["queue_mean_packets"] == pytest.approx(sum(range(20)) / 20, rel=0.03)
    assert hosts(report)["h3"] == (0, 20)
    assert [host["marked_ce_frames"] for host in report["hosts"]] == [0, 0, 0]


def test_run_prints_tables(capsys):
    assert run([*RUN, "--send", "h1,h2"]) == 0
    text = capsys.readouterr().out
    assert "Ports of switches" in text
    assert "1 passes of switches, 0 dropped by programs; digest" in text


def test_run_sends_to_addresses_and_frames_in_hex(capsys):
    """To the router's h3 by its address: as by its name; to a group, which it drops; a frame byte
    by byte."""
    by_name = result(capsys, "--send", "h1,h3,rate=1M")
    by_address = result(capsys, "--send", "h1,10.0.3.3,rate=1M")
    assert by_name == by_address
    assert hosts(result(capsys, "--send", "h1,239.0.0.1"))["h3"] == (0, 0)
    frame = udp(read_exercise(EXAMPLE), "h1", "h3", bytes(18)).hex()
    report = result(capsys, "--send", f"h1,hex={frame},rate=480k,until=10ms")
    assert hosts(report)["h1"] == (10, 0)
    assert hosts(report)["h3"] == (0, 10)


def test_run_takes_jumbo_frames_by_an_option(capsys):
    words = [*RUN, "--send", "h1,h3,length=4000"]
    assert run(words) == 1
    text = "h1,h3,length=4000: a frame of 4000 bytes: 2048 is the most; --jumbo allows 9216"
    assert text in capsys.readouterr().err
    assert run([*words, "--jumbo", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["hosts"][2]["received_bytes"] == 4000


def test_run_goes_on_behind_commands_that_fail(tmp_path, capsys):
    folder = write_exercise(tmp_path / "exercise", cli_input="s1-commands.txt")
    (folder / "s1-commands.txt").write_text("register_read threshold 0\nregister_read treshold 0\n")
    words = ["p4", "run", str(folder), "--clock", "virtual", "--send", "h1,h3"]
    complaint = (
        f"{folder}/s1-commands.txt:2: register_read: no register 'treshold'; did you mean "
        "'threshold'?"
    )
    assert run(words) == 3
    output = capsys.readouterr()
    assert output.err == f"note: {complaint}\n"
    assert output.out.splitlines()[-1] == "1 of 2 commands failed"
    assert run([*words, "--json"]) == 3
    report = json.loads(capsys.readouterr().out)
    assert (report["commands"], report["commands_failed"]) == (2, 1)
    assert report["complaints"] == {"s1": [complaint]}
    assert report["entries_read"] == {"s1": ["threshold[0] = 0"]}
    assert [host["received_frames"] for host in report["hosts"]] == [0, 0, 1]
    assert run([*words, "--strict"]) == 1
    assert complaint in capsys.readouterr().err
    assert run(["p4", "trace", str(folder), "--send", "h1,h3"]) == 3
    output = capsys.readouterr()
    assert output.err == f"note: {complaint}\n"
    assert output.out.splitlines()[-2:] == ["packets: 1", "1 of 2 commands failed"]
    assert run(["p4", "trace", str(folder), "--send", "h1,h3", "--steps", "-"]) == 3
    assert all(line.startswith("{") for line in capsys.readouterr().out.splitlines())


def test_script_prepares_sources_controllers_and_applications(tmp_path, capsys):
    script = tmp_path / "echo.py"
    script.write_text(
        "from pcn.p4net.packets import udp\n\n\n"
        "def start(network):\n"
        "    answer = udp(network.value, 'h3', 'h1', b'answer')\n"
        "    network.react('h3', lambda frame: network.send('h3', frame.time_s, answer))\n"
        "    network.send('h1', 1e-3, udp(network.value, 'h1', 'h3', b'question'))\n"
    )
    report = result(capsys, "--script", str(script))
    assert hosts(report) == {"h1": (1, 1), "h2": (0, 0), "h3": (1, 1)}
    script.write_text("x = 1\n")
    assert run([*RUN, "--script", str(script)]) == 1
    assert "has no function start(network)" in capsys.readouterr().err


def test_captures_have_each_port_and_can_be_sent_again(tmp_path, capsys):
    folder = tmp_path / "captures"
    words = ["--send", "h1,h3,rate=1M,length=500,until=50ms", "--pcap", str(folder)]
    first = result(capsys, *words)
    assert len(list(folder.iterdir())) == 2 * 5
    came, left = capture(folder / "s1-eth1_in.pcap"), capture(folder / "s1-eth3_out.pcap")
    assert len(came.frames) == len(left.frames) == hosts(first)["h1"][0] == 13
    assert (folder / "s2-eth1_in.pcap").read_bytes() == (folder / "s1-eth3_out.pcap").read_bytes()
    assert [struct.unpack_from("B", frame, 22)[0] for frame in left.frames] == [63] * 13
    again = tmp_path / "again"
    report = result(
        capsys, "--send", f"h1,pcap={folder}/s1-eth1_in.pcap,from=20ms", "--pcap", str(again)
    )
    assert hosts(report)["h3"] == (0, 13)
    assert capture(again / "s2-eth2_out.pcap").frames == capture(folder / "s2-eth2_out.pcap").frames
    assert capture(again / "s1-eth1_in.pcap").times_s == pytest.approx(came.times_s, abs=2e-9)
    result(capsys, *words)  # into the same folder


WRONG = [
    ("h1", "write SRC,DST,... or SRC,pcap=FILE"),
    ("h1,h2,rat=1M", "no such name; did you mean 'rate'"),
    ("h1,h2,rate=1", "'1' has no unit"),
    ("h1,h2,rate=0", "out of range"),
    ("h1,h2,length=10", "at least 42 bytes"),
    ("h1,h2,length=9217", "out of range"),
    ("h1,h2,length=3000", "a frame of 3000 bytes: 2048 is the most; --jumbo"),
    ("h1,h2,times=poisson", "needs a rate"),
    ("h1,h2,rate=1M,times=often", "equal, poisson, bursts are possible"),
    ("h1,h2,rate=1M,times=bursts", "both must be above 0"),
    ("h1,h2,rate", "write NAME=VALUE"),
    ("h1,h2,tos=1,tos=2", "each name once"),
    ("h1,h9", "no host 'h9'"),
    ("h9,h1", "no host 'h9'"),
    ("h1,pcap=/nowhere.pcap", "No such file"),
    ("h1,pcap=x,tos=1", "a capture's frames are sent as they are"),
]


@pytest.mark.parametrize(("words", "why"), WRONG, ids=[words for words, _ in WRONG])
def test_wrong_traffic_is_refused_in_a_line(words, why, capsys):
    assert run([*RUN, "--send", words]) == 1
    text = capsys.readouterr().err
    assert why in text
    assert len(text.splitlines()) == 1


def test_options_of_the_other_clock_are_refused(capsys):
    assert run([*RUN, "--name", "x"]) == 2
    assert "--name: is for the live clock alone" in capsys.readouterr().err
    assert run(["p4", "run", str(EXAMPLE), "--send", "h1,h2", "--seed", "3"]) == 2
    assert "--send, --seed: is for the virtual clock alone" in capsys.readouterr().err


WORD = st.one_of(
    st.sampled_from(["h1", "h2", "rate=1M", "pcap=x", "tos=999", "times=equal", "=", ""]),
    st.text(max_size=6),
)


@given(st.lists(WORD, max_size=5).map(",".join))
def test_any_words_are_traffic_or_one_line(text):
    error = error_of(lambda: sending.read(text))
    assert (
        len(error.splitlines()) <= 1 + text.count("\n") + text.count("\r")
        or not error.isprintable()
    )
