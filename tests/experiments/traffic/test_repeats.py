"""What classes of traffic repeat: how `--reliability` is read, and what a run with it shows."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest

from pcn.cli import run
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.traffic.repeats import reliability
from pcn.experiments.traffic.spec import from_reference, parse_spec
from pcn.hosts.reliability import Reliability, Repeats

FLOWS = "src,dst,start_s,size_bytes,class\n" + "".join(f"h{n},r0,0,200000,1\n" for n in range(4))


def test_reliability_is_read_by_class():
    by_class = reliability(["0=selective,timeout=200us,reordering=2us", "4=go-back-n"])
    assert by_class == {
        0: Reliability(Repeats.SELECTIVE, 200e-6, 2e-6),
        4: Reliability(Repeats.GO_BACK_N),
    }


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["selective"], "--reliability selective: write CLASS=go-back-n or CLASS=selective"),
        (["7=selective"], "classes are 0 to 6"),
        (["0=tcp"], "write CLASS=go-back-n"),
        (["0=selective,timeout=5"], "timeout: '5' has no unit"),
        (["0=selective,timeout=0s"], "timeout_s is 0: seconds, above 0"),
        (
            ["0=selective,timeout=1ms,timeout=2ms"],
            "'timeout=2ms': timeout=TIME and reordering=TIME, each once",
        ),
        (["0=selective,rto=1ms"], "'rto=1ms'"),
        (["0=selective", "0=go-back-n"], "class 0 has one already"),
    ],
)
def test_reliability_names_what_is_wrong(texts, message):
    with pytest.raises(ExperimentError) as caught:
        reliability(texts)
    assert message in str(caught.value)


def test_reference_keeps_reliability():
    spec = parse_spec("star", reliability=["0=selective,timeout=1ms", "1=go-back-n"])
    assert from_reference(spec.reference) == spec
    assert spec.repeats[1].repeats is Repeats.GO_BACK_N


def _run(folder: Path, *more: str) -> int:
    (folder / "flows.csv").write_text(FLOWS)
    words = [
        "run", "traffic", "--topology", "star", "--flows", str(folder / "flows.csv"), "--scheme",
        "dctcp",
    ]  # fmt: skip
    return run([*words, "--out", str(folder / "out"), *more])


def test_run_repeats_what_a_short_queue_loses(tmp_path):
    words = ["--set", "queue_packets=10", "--reliability", "1=selective,timeout=1ms"]
    assert _run(tmp_path, "--clock", "virtual", *words) == 0
    table = pq.read_table(tmp_path / "out/flows.parquet")
    assert all(table["finished"].to_pylist())
    repeated = sum(table["repeated_packets"].to_pylist())
    sent, received = (sum(table[f"{name}_packets"].to_pylist()) for name in ("sent", "received"))
    assert repeated > 0
    assert sent == received + repeated
    assert "Queues refused" in (tmp_path / "out/report.html").read_text()


def test_live_run_refuses_reliability(tmp_path, capsys):
    assert _run(tmp_path, "--clock", "live", "--reliability", "1=selective") != 0
    assert "--reliability: in virtual time alone; give --clock virtual" in capsys.readouterr().err
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("value", ["-1", "1.5", "ten"])
def test_queue_packets_is_a_whole_number(tmp_path, value, capsys):
    assert _run(tmp_path, "--clock", "virtual", "--set", f"queue_packets={value}") != 0
    assert "queue_packets" in capsys.readouterr().err
