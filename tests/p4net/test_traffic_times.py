"""When frames are sent: rates, distributions, captures."""

import struct
import tempfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, strategies as st
from p4net_switches import error_of

from pcn.base.pcapng import PcapngWriter
from pcn.p4net import traffic
from pcn.p4net.errors import P4NetError


def test_frames_at_a_rate_have_equal_distances():
    times = traffic.at_rate(1000, 0.5, 0.51)
    assert times == pytest.approx(0.5 + np.arange(10) * 1e-3)
    assert traffic.at_rate(3, 1.0, 1.0).size == 0


def test_poisson_process_has_its_rate_and_its_variance():
    """Counts in 20,000 windows: mean and variance are the rate's within five standard errors."""
    times = traffic.poisson(100.0, 0.0, 2000.0, seed=3)
    assert (np.diff(times) > 0).all()
    assert times[-1] < 2000
    counts = np.histogram(times, np.arange(0, 2000.05, 0.1))[0]
    assert counts.mean() == pytest.approx(10, abs=5 * np.sqrt(10 / counts.size))
    assert counts.var() == pytest.approx(10, abs=5 * np.sqrt((10 + 2 * 10**2) / counts.size))
    assert (
        traffic.poisson(100.0, 0.0, 5.0, seed=3) == traffic.poisson(100.0, 0.0, 5.0, seed=3)
    ).all()
    assert traffic.poisson(100.0, 0.0, 5.0, seed=4)[0] != times[0]


def test_bursts_send_at_their_rate_and_in_their_share_of_time():
    times = traffic.on_off(1000.0, 0.02, 0.06, 0.0, 2000.0, seed=1)
    gaps = np.diff(times)
    assert gaps.min() > 0
    assert np.median(gaps) == pytest.approx(1e-3)
    # A share of 1/4 of the time; a burst ends between two frames, which adds half a frame a burst.
    assert times.size == pytest.approx(2000 * 1000 / 4 + 2000 / 0.08 / 2, rel=0.03)


@pytest.mark.parametrize(
    ("rate", "start", "end"),
    [(0.0, 0, 1), (-1.0, 0, 1), (1.0, 2, 1), (1.0, 0, float("inf")), (1e12, 0, 1)],
)
def test_rate_without_an_end_or_above_the_most_is_refused(rate, start, end):
    for draw in (traffic.at_rate, traffic.poisson):
        with pytest.raises(P4NetError):
            draw(rate, start, end)


def pcap(order: str, magic: int, frames: list[tuple[int, int, bytes]], link: int = 1) -> bytes:
    records = [
        struct.pack(f"{order}IIII", s, f, len(frame), len(frame)) + frame for s, f, frame in frames
    ]
    return struct.pack(f"{order}IHHIIII", magic, 2, 4, 0, 0, 65535, link) + b"".join(records)


FRAMES = st.lists(
    st.tuples(st.integers(0, 10**7), st.binary(min_size=1, max_size=200)), max_size=10
)


@given(st.sampled_from("<>"), st.sampled_from([(0xA1B2C3D4, 10**6), (0xA1B23C4D, 10**9)]), FRAMES)
def test_capture_is_read_with_its_times(order, form, frames):
    magic, units = form
    moments = np.cumsum([gap for gap, _ in frames]) + 3 * units if frames else []
    listed = [
        (int(at) // units, int(at) % units, frame)
        for at, (_, frame) in zip(moments, frames, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.pcap"
        path.write_bytes(pcap(order, magic, listed))
        capture = traffic.capture(path)
    assert capture.frames == [frame for _, frame in frames]
    expected = [(at - moments[0]) / units for at in moments]
    assert capture.times_s == pytest.approx(expected, abs=1e-6)


@given(st.binary(max_size=80), st.booleans())
def test_any_bytes_are_a_capture_or_one_line(data, headed):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "x.pcap"
        path.write_bytes(pcap("<", 0xA1B2C3D4, []) + data if headed else data)
        assert len(error_of(lambda: traffic.capture(path)).splitlines()) <= 1


def test_capture_in_pcapng_is_read(tmp_path):
    path = tmp_path / "x.pcapng"
    with path.open("wb") as file:
        writer = PcapngWriter(file, "eth0", "", "")
        for time_ns in (1_700_000_000_000_000_001, 1_700_000_000_000_000_008):
            writer.write(time_ns, bytes(60), incoming=True)
    assert traffic.capture(path).times_s == pytest.approx([0, 7e-9], abs=1e-15)


def test_capture_of_other_links_and_cut_frames_is_refused(tmp_path):
    path = tmp_path / "x.pcap"
    path.write_bytes(pcap("<", 0xA1B2C3D4, [], link=101))
    with pytest.raises(P4NetError, match="aren't Ethernet's"):
        traffic.capture(path)
    cut = bytearray(pcap("<", 0xA1B2C3D4, [(1, 0, bytes(60))]))
    cut[24 + 12] = 99
    path.write_bytes(cut)
    with pytest.raises(P4NetError, match="60 of 99 bytes were captured"):
        traffic.capture(path)
    path.write_bytes(pcap("<", 0xA1B2C3D4, [(2, 0, bytes(60)), (1, 0, bytes(60))]))
    with pytest.raises(P4NetError, match="aren't in the order of their times"):
        traffic.capture(path)
