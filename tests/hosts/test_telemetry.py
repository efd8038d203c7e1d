"""Telemetry's header: what is written is read, in Python and in C."""

import ctypes
import itertools

import pytest
from hypothesis import given, strategies as st

from pcn.controller.constants import TELEMETRY_RATES_BPS
from pcn.hosts import telemetry
from pcn.hosts.algorithms import Hop, Telemetry
from pcn.hosts.compiled.rp import _RawTelemetry
from pcn.hosts.native import CSRC, FLAGS
from pcn.hosts.wire import TELEMETRY_BYTES, WireError
from pcn.softswitch.cache.objects import build, digest

hops = st.builds(
    Hop,
    st.sampled_from(TELEMETRY_RATES_BPS),
    st.integers(0, 2**24 - 1),
    st.integers(0, 2**20 - 1).map(lambda units: units * 128),
    st.integers(0, 2**16 - 1).map(lambda units: units * 64),
)
headers = st.builds(
    Telemetry, st.integers(0, 2**16 - 1), st.just(1e-6), st.lists(hops, max_size=5).map(tuple)
)


@pytest.fixture(scope="module")
def read_in_c() -> ctypes.CDLL:
    call = (
        "void read(const uint8_t *from, double tick_s, struct rp_telemetry *to) { "
        "telemetry_read(from, tick_s, to); }"
    )
    text = f'#include "telemetry.h"\n{call}\n'
    sources = [CSRC / name for name in ("telemetry.h", "reaction_point.h", "wire.h")]
    library = ctypes.CDLL(
        str(build("libtelemetry", [text], f"{digest(sources)} {text}", FLAGS, CSRC))
    )
    library.read.argtypes = [ctypes.c_char_p, ctypes.c_double, ctypes.POINTER(_RawTelemetry)]
    return library


@given(headers)
def test_header_survives_the_wire(header):
    assert telemetry.decode(telemetry.encode(header), 1e-6) == header


@given(raw=st.binary(min_size=TELEMETRY_BYTES, max_size=TELEMETRY_BYTES))
def test_c_reads_what_python_reads(read_in_c: ctypes.CDLL, raw):
    """Of any 44 bytes."""
    raw_telemetry = _RawTelemetry()
    read_in_c.read(raw, 2.5e-9, raw_telemetry)
    read = tuple(
        Hop(hop.rate_bps, hop.ticks, hop.sent_bytes, hop.queue_bytes)
        for hop in raw_telemetry.hops[: raw_telemetry.n_hops]
    )
    assert Telemetry(raw_telemetry.path_id, raw_telemetry.tick_s, read) == telemetry.decode(
        raw, 2.5e-9
    )


def test_sixth_hop_has_no_record():
    six = Telemetry(0, 1e-6, tuple(Hop(100e9, tick, 0, 0) for tick in range(6)))
    raw = telemetry.encode(six)
    assert raw[0] == 6
    assert telemetry.decode(raw, 1e-6).hops == six.hops[:5]


@given(hops, hops)
def test_difference_of_two_hops_is_that_of_counters_that_start_again(before, after):
    ticks, sent_bytes = after.since(before)
    assert 0 <= ticks < 2**24
    assert 0 <= sent_bytes < 2**27
    assert (before.ticks + ticks) % 2**24 == after.ticks
    assert (before.sent_bytes + sent_bytes) % 2**27 == after.sent_bytes


@pytest.mark.parametrize(
    "hop",
    [Hop(33e9, 0, 0, 0), Hop(100e9, 2**24, 0, 0), Hop(100e9, 0, 2**27, 0), Hop(1e9, 0, 0, -64)],
)
def test_hop_that_does_not_fit_is_refused(hop):
    with pytest.raises(WireError, match=r"33 Gbit/s|must fit into"):
        telemetry.encode(Telemetry(0, 1e-6, (hop,)))


def test_types_of_rates_are_four_bits_and_ascend():
    assert len(TELEMETRY_RATES_BPS) == 16
    assert all(low < high for low, high in itertools.pairwise(TELEMETRY_RATES_BPS))
