"""Files of flows that are refused: each in one line, with the place and the way out."""

import re
import struct
from collections.abc import Iterator

import pytest
from test_flow_files import AFTER, CM, written
from test_flow_lines import CSV

from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.traffic.flow_files.reading import read_flows

REFUSED = [
    ("", "src, dst, size missing: the first line has the columns, as src,dst,start_s,size_bytes"),
    (f"{CSV}h0,r0,0,{2**63}\n", f":5: size {2**63}: from 1 B"),
    (f"{CSV}h0,r0,0,1{5000 * '0'}\n", ":5: "),
    (
        f"{CM}0->1 start 0 size 9 send_done_trigger 1\n0->2 start 0 size 9 send_done_trigger 1\n"
        "0->3 trigger 1 size 9\ntrigger id 1 oneshot\n",
        ":6: trigger 1: a oneshot, which 2 connections activate",
    ),
    (b"\xd4\xc3\xb2\xa1" + bytes(20), "its frames aren't Ethernet's"),
    (struct.pack("<IHHIIII", 0xA1B2C3D4, 2, 4, 0, 0, 96, 1), "no RoCEv2 data over IPv4 is in it"),
]
IN_LINES = r"""
src,dst,start_s,size_bytes\n => has no flow
CSV h0,r0,-1,5\n => :5: start: '-1': must not be negative
CSV h0,r0,1,2.5\n => :5: size: '2.5': must be whole bytes
CSV h0,r0,1,0\n => :5: size 0: from 1 B to 2^63 - 1 B are possible
CSV h0,r0\n => :5: 2 columns, not the 4 of the first line
CSV h0,r0,1,5,3\n => :5: 5 columns, not the 4 of the first line
CSV \n\nh0,r0,1,5,\n => :7: 5 columns
src,dst,size,shade\nh0,r0,5B,3\n => :1: no column 'shade'; choose from src, dst, start, size
src,dst,size,start_m\nh0,r0,5B,3\n => :1: column 'start_m': 'm' is no unit of a time
src,dst,size,after\nh0,r0,5B,3\n => flow 0 waits for flow 3, which is missing
src,dst,size,size_bytes\nh0,r0,5B,3\n => :1: a column stands there twice
src,dst,size\nh0,r0,5\n => :2: size: '5' has no unit: write 5KB, 5MB or 5B
src,dst,size,class\nh0,r0,5B,7\n => :2: class 7: flows have 0 to 6
src,dst,size,rate\nh0,r0,5B,0\n => :2: a rate must be above 0
2\n0 1 3 100 1000 2\n => :1: 1 flows: the first line counts 2
1\n0 1 3 100 1000\n => :2: 5 words: a flow is SRC DST PG DPORT SIZE START, as 2 1 3 100 200000000 2
1\n0 1 3 100 200KB 2\n => :2: SIZE '200KB' is no whole number: a flow is SRC DST PG
1\n0 1 3 2.5 100 1000\n => :2: DPORT '2.5' is no whole number: a flow is SRC DST PG
Nodes 2\n0->1 start 10us size 5\n => :2: start '10us': a number of us, without a unit, as start 10
Nodes 2\n0->1 start 0 size 1KB\n => :2: size '1KB': a number of bytes, without a unit, as size 1000
Nodes 2\n0->1 start x size 1KB\n => :2: start 'x': a number of us, without a unit, as start 1000
1\n0 1 7 100 1000 2\n => :2: class 7: flows have 0 to 6
Nodes 2\nConnections 1\n0->1 start 0\n => :3: size is missing
Nodes 2\n0->1 id 1 trigger 1 size 5\n => :2: trigger 1: a connection names it
Nodes 2\nFailures 3\n => :2: Failures: links don't fail here
Nodes 2\n0->1 startt 0 size 5\n => :2: no word 'startt' of a connection; did you mean 'start'
CSV h0,r0,inf,5\n => :5: start: 'inf' is no time: write it like 500us
CSV h0,r0,nan,5\n => :5: start: 'nan' is no time
CSV h0,r0,1e400,5\n => :5: start: '1e400' is too much
CSV h0,r0,1e15,5\n => :5: start 1e+15 s: flows start within 1,000,000 s
CSV h0,r0,18446744.0738,5\n => :5: start 1.84467e+07 s: flows start within
CSV h0,r0,0,64QB\n => :5: size: '64QB' is no size in bytes: write it like 64KB
CSV h0,"r0,0,5\n => unexpected end of data
AFTER 3,h0,r0,0,5B,3\n => flow 3 waits for itself
AFTER 3,h0,r0,0,5B,9\n => flow 3 waits for flow 9, which is missing
AFTER 3,h0,r0,0,5B,4\n4,h0,r0,0,5B,3\n => flows wait for each other: 3 -> 4 -> 3
AFTER 2,h0,r0,0,5B,0\n => : flow id 2 is used twice
AFTER 3,h0,r0,0,5B,0+5us 1\n => :5: after: '0+5us 1': each flow has a time behind it, or none has
AFTER 3,h0,r0,0,5B,0+5KB\n => :5: after: '5KB'
src,dst,size,after,acknowledged\nh0,r0,1B,,\nh0,r0,1B,0,1\n
    => :3: acknowledged: '1' is no id of the row's `after`
src,dst,size,colour\nh0,r0,1B,blue\n => :2: colour: 'blue'; choose from green, yellow, red
src,dst,size,class,colour\nh0,r0,1B,6,red\n => :2: red in class 6: classes 1 to 4 have colours
AFTER 3,h0,r0,0,5B,0;1\n => :5: after: '0;1' isn't the id of a flow
CM 0->1 start 0 trigger 1 size 9\n => :3: a connection has a start or a trigger: one of them
CM 0->1 size 9\n => :3: a connection has a start or a trigger: one of them
CM 0->1 trigger 1 size 9\n => :3: trigger 1: a connection names it, and no line
CM 0->1 trigger 1 size 9\ntrigger id 1 oneshot\n => :4: trigger 1: it starts connections, and no
CM 0->1 trigger 1 size 9 send_done_trigger 1\ntrigger id 1 oneshot\n => flow 0 waits for itself
CM 0->1 start 0 size 9 send_done_trigger 1\ntrigger id 1 barrier count 2\n
    => :4: trigger 1: a barrier of
CM Connections 2\n0->1 start 0 size 9\n => :3: Connections 2, but the file has 1: htsim refuses
CM Triggers 1\n0->1 start 0 size 9\n => :3: Triggers 1, but the file has 0: htsim refuses
Connections\n0->1 start 0 size 9\n => :1: 'Connections': write it like Connections 16
CM 0->1 start 0 size 9 id 0\n => :3: id '0': a number from 1 to 16,777,215
CM 0->1 start 0 size 9 id 7\n0->1 start 5 size 9 id 7\n => :4: id 7 stands in line 3 already
CM 0->1 id 9 trigger 1 size 9 send_done_trigger 1\ntrigger id 1 oneshot\n => flow 9 waits for itself
CM trigger id 1 barrier\n => :3: count '': a barrier has the number
CM trigger id 1\n => :3: a trigger is: trigger id N oneshot
CM trigger id 0 oneshot\n => :3: trigger '0': a number from 1
CM trigger id 1 oneshot\ntrigger id 1 oneshot\n => :4: trigger 1 stands there twice
CM failure switch_type TOR\n => :3: failure: links don't fail here
id,src,dst,size\n1,h0,r0,1B\n1,h1,r0,1B\n => : flow id 1 is used twice
PAR1nonsense => this can't be read as Parquet
"""
"""Whose lines stand before, if any, and a text; a message."""


def in_lines() -> Iterator[tuple[str, str]]:
    heads = {"CSV": CSV, "AFTER": AFTER, "CM": CM, "": ""}
    for head, text, message in re.findall(
        r"^(?:(CSV|AFTER|CM) )?(\S.*)\s+=> (.+)", IN_LINES, re.MULTILINE
    ):
        yield heads[head] + text.replace(r"\n", "\n"), message


@pytest.mark.parametrize(("text", "message"), [*REFUSED, *in_lines()])
def test_reader_refuses_flows_in_one_line(tmp_path, text, message, capfd):
    path = written(tmp_path, text)
    with pytest.raises(ExperimentError, match=re.escape(message)) as caught:
        read_flows(path)
    assert len(str(caught.value).splitlines()) == 1
    assert str(caught.value).startswith(str(path))
    assert capfd.readouterr().err == ""
