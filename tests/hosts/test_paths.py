"""A flow's paths: csrc/paths.h beside a model, and the ports that hosts/paths.py draws."""

import ctypes
from functools import lru_cache

import pytest
from hypothesis import given, strategies as st

from pcn.hosts.native import CSRC, FLAGS
from pcn.hosts.paths import BY_FLOW, Paths
from pcn.softswitch.cache.objects import build, digest

_FUNCTIONS = """
#include "paths.h"
struct paths *new(const uint16_t *ports, uint32_t n, uint64_t gap, bool avoids)
{
    return paths_new(ports, n, gap, avoids);
}
void release(struct paths *paths) { free(paths); }
uint16_t next(struct paths *paths, uint64_t now) { return paths_next(paths, now); }
void avoid(struct paths *paths, uint16_t port, uint32_t penalty) { paths_avoid(paths, port, penalty); }
"""  # noqa: E501
MARK, NACK, MOST = 1, 4, 15


@lru_cache(maxsize=1)
def core() -> ctypes.CDLL:
    library = ctypes.CDLL(
        str(build("libpaths", [_FUNCTIONS], digest([CSRC / "paths.h"]) + _FUNCTIONS, FLAGS, CSRC))
    )
    pointer, u16, u32, u64 = ctypes.c_void_p, ctypes.c_uint16, ctypes.c_uint32, ctypes.c_uint64
    signatures = {
        "new": (pointer, [pointer, u32, u64, ctypes.c_bool]),
        "release": (None, [pointer]),
        "next": (u16, [pointer, u64]),
        "avoid": (None, [pointer, u16, u32]),
    }
    for name, (result, arguments) in signatures.items():
        function = getattr(library, name)
        function.restype, function.argtypes = result, arguments
    return library


class Model:
    """What paths.h has, a count a port."""

    def __init__(self, ports: tuple[int, ...], gap: int, avoids: bool):
        self.ports, self.gap, self.avoids = ports, gap, avoids
        self.skips = dict.fromkeys(ports, 0)
        self.at, self.last = len(ports) - 1, 0

    def next(self, now: int) -> int:
        stays = self.gap != 0 and now - self.last <= self.gap
        self.last = now
        if not stays:
            first = True
            for _ in self.ports:
                self.at = (self.at + 1) % len(self.ports)
                if self.skips[self.ports[self.at]] == 0:
                    break
                self.skips[self.ports[self.at]] -= first
                first = False
        return self.ports[self.at]

    def avoid(self, port: int, penalty: int):
        if self.avoids and port in self.skips:
            self.skips[port] = min(self.skips[port] + penalty, MOST)


steps = st.lists(
    st.one_of(
        st.tuples(st.just("next"), st.integers(0, 100)),
        st.tuples(st.just("avoid"), st.integers(0, 300), st.sampled_from([MARK, NACK])),
    ),
    max_size=200,
)


@given(n=st.integers(1, 256), gap=st.sampled_from([0, 50]), avoids=st.booleans(), taken=steps)
def test_paths_take_ports_in_turn_and_leave_out_marked_ones(n, gap, avoids, taken):
    ports = Paths("packet", n).ports_of(1, 2, 3)
    model, handle = (
        Model(ports, gap, avoids),
        core().new((ctypes.c_uint16 * n)(*ports), n, gap, avoids),
    )
    now = 0
    for step in taken:
        if step[0] == "next":
            now += step[1]
            assert core().next(handle, now) == model.next(now)
        else:
            # one that it may not have
            port = ports[step[1]] if step[1] < n else 0xC000 | step[1] % 256
            core().avoid(handle, port, step[2])
            model.avoid(port, step[2])
    core().release(handle)


def test_port_names_its_place_and_draws_differ_by_flow():
    for ports in ("random", "counted"):
        paths = Paths("packet", 256, ports=ports)
        seen = paths.ports_of(1, 0x0A000001, 7)
        assert [port & 0xFF for port in seen] == list(range(256))
        assert min(seen) >= 0xC000
        assert (len({port >> 8 for port in seen}) == 1) == (ports == "counted")
        assert seen == paths.ports_of(1, 0x0A000001, 7)
        others = [
            paths.ports_of(*whose) for whose in ((2, 0x0A000001, 7), (1, 9, 7), (1, 0x0A000001, 8))
        ]
        if ports == "random":
            assert len({seen, *others}) == 4


def test_paths_refuse_what_cannot_be():
    for settings in (
        {"per": "byte"},
        {"ports": "any"},
        {"entropies": 0},
        {"entropies": 257},
        {"gap_s": 0.0},
    ):
        with pytest.raises(ValueError, match=next(iter(settings))):
            Paths(**settings)
    assert not BY_FLOW.sprays
    assert not Paths("packet", 1).sprays
