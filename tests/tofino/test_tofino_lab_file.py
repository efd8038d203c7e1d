"""ports.yaml: the sample, each fault with its line, field and way out, and text that is none."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings, strategies as st

from pcn.controller.tofino.chips import TOFINO2
from pcn.controller.tofino.lab_file import SAMPLE, read
from pcn.controller.tofino.model import Qcn, Tcd
from pcn.topologies.tree import FileError

TEXT = SAMPLE.read_text()


def test_sample_has_the_values_of_its_comments():
    lab = read(SAMPLE)
    assert (lab.switch, lab.device, lab.pipes, lab.mtu) == ("tofino", 1, 2, 1514)
    assert [port.number for port in lab.ports] == [128, 136, 144]
    assert [port.panel for port in lab.ports] == ["1/0", "3/0", "5/0"]
    assert {port.speed_bps for port in lab.ports} == {100_000_000_000}
    assert [port.pfc.xoff_bytes for port in lab.ports] == [512_000, 512_000, 256_000]
    assert [traffic_class.number for traffic_class in lab.lossless] == [3]
    assert [traffic_class.priority for traffic_class in lab.classes] == list(range(8))
    assert [str(route.network) for route in lab.routes] == [
        "10.0.0.1/32",
        "10.0.0.2/32",
        "10.0.1.0/24",
    ]
    assert (lab.tcd, lab.qcn) == (Tcd(), Qcn())


def test_ports_of_tofino_2_begin_at_8_and_have_8_lanes(sample_of_tofino2: Path):
    lab = read(sample_of_tofino2)
    assert (lab.chip, lab.pipes) == (TOFINO2, 2)
    assert [(port.number, port.panel, port.lanes) for port in lab.ports] == [
        (136, "1/0", range(8)),
        (144, "3/0", range(8)),
        (152, "5/0", range(8)),
    ]
    sample_of_tofino2.write_text(sample_of_tofino2.read_text().replace("pipes: 2 ", "# "))
    assert read(sample_of_tofino2).pipes == 4


OF_TOFINO_2 = r"""
port: 136, panel => port: 128, panel => those of Tofino 2 are 8 to 71, plus 128 times the pipe
port: 136, panel: 1/0 => port: 200, panel: 1/0 => 200 is no port at the front
port: 136, panel: 1/0 => port: 140, panel: 1/4 => a port of 400G takes 8 lanes of its connector
panel: 1/0, speed: 400G => panel: 1/4, speed: 100G
    => port 136 is lane 0 of its connector, panel 1/4 is lane 4
panel: 1/0, speed: 400G, fec: yes => panel: 1/0, speed: 200G => port 136: 200G needs `fec: yes`
panel: 1/0, speed: 400G => panel: 1/0, speed: 800G => a port of Tofino 2 has one of 10G, 25G
xoff: 512KB => xoff: 19MB => the buffer has 30.8 free: lower them
k_max: 200KB => k_max: 93MB => no queue is longer than 92.3 MB
"""


def faults(text: str) -> list[list[str]]:
    rows = text.strip().replace("\n    =>", " =>").splitlines()
    return [[part.replace(r"\n", "\n") for part in row.split(" => ")] for row in rows]


@pytest.mark.parametrize(("old", "new", "message"), faults(OF_TOFINO_2))
def test_fault_of_tofino_2_is_reported(old, new, message, sample_of_tofino2: Path):
    text = sample_of_tofino2.read_text()
    assert old in text
    sample_of_tofino2.write_text(text.replace(old, new, 1))
    with pytest.raises(FileError) as error:
        read(sample_of_tofino2)
    assert message in str(error.value)


def test_what_may_be_left_out_is_as_the_sample_has_it(tmp_path):
    short = """
pfc: {xoff: 512KB, xon: 509KB, headroom: 100KB}
ports:
  - {port: 128, panel: 1/0, speed: 100G}
routes:
  - {to: 10.0.0.1, port: 128, mac: 02:00:00:00:00:01}
"""
    (tmp_path / "ports.yaml").write_text(short)
    lab, sample = read(tmp_path / "ports.yaml"), read(SAMPLE)
    assert (lab.switch, lab.device, lab.pipes, lab.mtu, lab.classes) == (
        *(sample.switch, sample.device, sample.pipes, sample.mtu),
        sample.classes,
    )
    assert (lab.tcd, lab.qcn) == (sample.tcd, sample.qcn)
    assert not lab.ports[0].fec
    assert not lab.ports[0].autoneg


FAULTS = r"""
switch: tofino => switch: a b => switch: 'a b': letters
chip: tofino => chip: tofino3 => chip: 'tofino3': it is tofino or tofino2
device: 1 => device: 0 => device: '0': a whole number from 1
device: 1 => device: ١ => device: '١': a whole number from 1
pipes: 2 => pipes: 3 => pipes: '3': a Tofino 1 has 2 or 4
mtu: 1514B => mtu: 100KB => mtu: '100KB': from 256 to 9216 bytes are possible
lossless: yes => lossless: maybe => classes.3.lossless: 'maybe': write yes or no
3: {priority => 8: {priority => classes.8: '8': a whole number from 0 to 7
{priority: 7} => {prio: 7} => classes.7.prio: no such field; did you mean 'priority'?
, lossless: yes =>  => classes: none is lossless: write `3: {lossless: yes}`
xoff: 512KB => xoff: 512QB => pfc.xoff: '512QB' is no size in bytes: write it like 64KB
xoff: 512KB => xoff: 1e999B => pfc.xoff: '1e999B' is too much
xon: 509KB => xon: 600KB => pfc: xon 600000 B is above xoff 512000 B
headroom: 100KB => head: 100KB => pfc.headroom: missing
panel: 1/0, speed: 100G, fec: yes => panel: 1/0 => ports[0].speed: missing
panel: 1/0, => panel: 1-0, => ports[0].panel: '1-0': write it as CONNECTOR/LANE
port: 128, panel => port: 192, panel
    => ports[0].port: 192 is no port at the front: those of Tofino 1 are 0 to 63, plus 128
speed: 100G, fec: yes => speed: 11G => ports[0].speed: '11G': a port of Tofino 1 has one of 10G, 25G
port: 128, panel: 1/0 => port: 130, panel: 1/2
    => ports[0]: a port of 100G takes 4 lanes of its connector
port: 128, panel: 1/0, speed: 100G, fec: yes => port: 129, panel: 1/0, speed: 25G
    => ports[0]: port 129 is lane 1 of its connector, panel 1/0 is lane 0
- {port: 128, panel: 1/0, speed: 100G, fec: yes} => - 128 => ports[0]: a mapping is wanted here
port: 128, panel => port: [128], panel => ports[0].port: one value is wanted here
to: 10.0.0.1, => to: 10.0.0.256, => routes[0].to: Octet 256
to: 10.0.0.1, => to: 10.0.0.1/24, => routes[0].to: 10.0.0.1/24 has host bits set
to: 10.0.0.1, => to: 0.0.0.0/0, => routes[0].to: a route for everything is the table's default entry
02:00:00:00:00:01 => 02:00:00:00:01 => routes[0].mac: '02:00:00:00:01': write it like
02:00:00:00:00:01 => 01:00:5e:00:00:01 => routes[0].mac: '01:00:5e:00:00:01' is a multicast address
k_max: 200KB => k_max: 4KB => tcd: k_min 5000 B is above k_max 4000 B
k_max: 200KB => k_max: 42MB => tcd: k_max 42000000 B: no queue is longer than 41.9 MB
p_max: 1% => p_max: 101% => tcd.p_max: '101%': more than all
delay: 1us => delay: 2ms => tcd.delay: '2ms': above 0 and up to 1ms are possible
epsilon: 0.05 => epsilon: 0.001 => tcd.epsilon: '0.001': 0.01 at least
looks: 6 => looks: 256 => tcd.looks: '256': a whole number from 1 to 255
q_eq: 26KB => q_eq: 999B => qcn.q_eq: '999B': from 1000 to 200000 bytes are possible
q_eq: 26KB => q_eq: 1MB => qcn.q_eq: '1MB': from 1000 to 200000 bytes are possible
sample: 150KB => sample: 9B => qcn.sample: '9B': from 64 to 1000000000 bytes are possible
culprit: sojourn => culprit: random => qcn.culprit: 'random': a Tofino chooses by arrival or sojourn
port: 136, panel => port: 128, panel => port 128 stands in line 19 already
to: 10.0.0.2 => to: 10.0.0.1 => prefix 10.0.0.1/32 stands in line 29 already
port: 136, mac => port: 140, mac => route 10.0.0.2/32: no port 140; `ports` has 128, 136, 144
port: 144\n => port: 272\n => port 272 is in pipe 2; with `pipes: 2` there is none
headroom: 100KB => headroom: 3KB => port 128: headroom 3000 B: give it two frames at least, 3028 B
{xoff: 256KB, xon: 253KB => {xoff: 1KB, xon: 1KB
    => port 144: xoff 1000 B is less than a frame, 1514 B
xoff: 512KB => xoff: 9MB => the buffer has 14.7 free: lower them
{port: 136, panel: 3/0 => {port: 129, panel: 1/1
    => ports[1]: a port of 100G takes 4 lanes of its connector and starts at 1/0
{port: 136, panel: 3/0, speed: 100G => {port: 130, panel: 1/2, speed: 25G
    => panel 1/2 is a lane of port 128, which starts at 1/0
pfc: => pcf: => pcf: no such field; did you mean 'pfc'?
device: 1 => pipes: 2 => pipes: stands in line 5 already
ports:\n => ports: 3\nrest:\n => ports: a list is wanted here
routes: => routes: []\nrest: => routes: the list is empty
mtu: 1514B => mtu: [1514 => this is no YAML
mtu: 1514B => mtu: *other => this is no YAML: found undefined alias
"""
"""A text of the sample, the one in its place, the message."""


@pytest.mark.parametrize(("old", "new", "message"), faults(FAULTS))
def test_fault_is_reported_with_line_field_and_way_out(old, new, message, tmp_path):
    assert old in TEXT
    path = tmp_path / "ports.yaml"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(FileError) as error:
        read(path)
    lines = str(error.value).splitlines()
    reported = [line for line in lines if message in line]
    assert reported, lines
    place, number, _ = reported[0].split(":", 2)
    assert place == str(path)
    assert 1 <= int(number) <= len(path.read_text().splitlines())


def test_the_line_is_that_of_the_fault(tmp_path):
    path = tmp_path / "ports.yaml"
    path.write_text(TEXT.replace("autoneg: no", "autoneg: 3").replace("02:00:00:00:00:03", "none"))
    with pytest.raises(FileError) as error:
        read(path)
    wanted = {
        number: line.split(":")[0].strip()
        for number, line in enumerate(path.read_text().splitlines(), 1)
        if "autoneg" in line or "none" in line
    }
    assert [int(line.split(":")[1]) for line in str(error.value).splitlines()] == sorted(wanted)


def test_all_faults_are_reported_at_once(tmp_path):
    path = tmp_path / "ports.yaml"
    text = (
        TEXT.replace("switch: tofino ", "switch: '' ")
        .replace("speed: 100G", "speed: 1G")
        .replace("to: 10", "to: 300")
    )
    path.write_text(text)
    with pytest.raises(FileError) as error:
        read(path)
    assert len(str(error.value).splitlines()) == 1 + 3 + 3


@pytest.mark.parametrize("text", ["", "# nothing\n", "---\n"])
def test_empty_file_names_the_command_that_writes_one(text, tmp_path):
    (tmp_path / "ports.yaml").write_text(text)
    with pytest.raises(FileError, match=r"pcn deploy --sample|a mapping is wanted"):
        read(tmp_path / "ports.yaml")


def test_files_that_are_not_there_or_no_text(tmp_path):
    with pytest.raises(FileError, match=r"none\.yaml: No such file"):
        read(tmp_path / "none.yaml")
    with pytest.raises(FileError, match="Is a directory"):
        read(tmp_path)
    (tmp_path / "binary").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(FileError, match="no text in UTF-8"):
        read(tmp_path / "binary")
    (tmp_path / "nul").write_text("switch: \x00")
    with pytest.raises(FileError, match="no text in UTF-8"):
        read(tmp_path / "nul")


@given(st.data())
@settings(max_examples=150, suppress_health_check=list(HealthCheck))
def test_a_damaged_file_is_read_or_refused(tmp_path, data):
    """Cut, swapped and overwritten anywhere: never anything but a lab, or a FileError."""
    text = TEXT
    for _ in range(data.draw(st.integers(1, 4))):
        at = data.draw(st.integers(0, len(text)))
        length = data.draw(st.integers(0, 30))
        text = (
            text[:at]
            + data.draw(st.text("0123456789:{}[],-ab &*!%\n\t'\"", max_size=8))
            + text[at + length :]
        )
    path = tmp_path / "ports.yaml"
    path.write_text(text)
    with contextlib.suppress(FileError):
        assert list(read(path).faults()) == []


@pytest.mark.parametrize(
    "text", ["ports: " + 20_000 * "[", "ports: " + 20_000 * "[" + 20_000 * "]", 5_000 * "{a: "]
)
def test_reader_of_yaml_refuses_what_is_nested_too_deeply(tmp_path, text):
    path = tmp_path / "ports.yaml"
    path.write_text(text)
    with pytest.raises(FileError, match="nested too deeply") as caught:
        read(path)
    assert len(str(caught.value).splitlines()) == 1


@pytest.mark.parametrize(
    ("old", "new"),
    [("mtu: 1514B", "mtu: 1514"), ("delay: 1us", "delay: 1"), ("xoff: 512KB", "xoff: 512")],
)
def test_reader_of_yaml_refuses_bare_numbers_of_a_unit(tmp_path, old, new):
    path = tmp_path / "ports.yaml"
    path.write_text(TEXT.replace(old, new, 1))
    with pytest.raises(FileError, match="has no unit: write "):
        read(path)
