"""A NIC's choice by trees, csrc/pacing_trees.h, against the choice that looks at each flow,
csrc/pacing.h: the same."""

import ctypes
from functools import lru_cache
from random import Random

from hypothesis import given, strategies as st

from pcn.hosts.native import CSRC, FLAGS
from pcn.softswitch.cache.objects import build, digest

NEVER = 2**64 - 1
_FUNCTIONS = """
#include "pacing_trees.h"
static uint64_t unpaused_at(const void *until, uint32_t class, uint64_t at)
{
    uint64_t from = ((const uint64_t *)until)[class];
    return from > at ? from : at;
}
struct pacing_trees *trees_new(void) { return calloc(1, sizeof(struct pacing_trees)); }
void trees_free(struct pacing_trees *trees) { pacing_trees_free(trees); }
bool trees_build(struct pacing_trees *trees, const struct pacing_flow *flows, uint32_t n)
{
    return pacing_trees_build(trees, flows, n);
}
void trees_set(struct pacing_trees *trees, const struct pacing_flow *flows, uint32_t i)
{
    pacing_trees_set(trees, flows, i);
}
void choices(const struct pacing_trees *trees, struct pacing_flow *flows, uint32_t n, const uint64_t *until,
             uint64_t free_at, uint64_t control, uint32_t last, struct pacing_choice *to)
{
    to[0] = pacing_choose(flows, n, unpaused_at, until, free_at, control, last);
    to[1] = pacing_trees_choose(trees, flows, n, unpaused_at, until, free_at, control, last);
}
uint32_t after(const struct pacing_flow *flows, uint32_t n, uint32_t number) { return pacing_after(flows, n, number); }
"""  # noqa: E501


class Flow(ctypes.Structure):
    """struct pacing_flow"""

    _fields_ = (
        *((name, ctypes.c_uint64) for name in ("next", "end", "eligible")),
        ("number", ctypes.c_uint32),
        ("priority", ctypes.c_uint8),
    )


class Choice(ctypes.Structure):
    """struct pacing_choice"""

    _fields_ = (("when", ctypes.c_uint64), ("action", ctypes.c_int), ("index", ctypes.c_uint32))


@lru_cache(maxsize=1)
def core() -> ctypes.CDLL:
    files = [CSRC / "pacing_trees.h", CSRC / "pacing.h"]
    library = ctypes.CDLL(
        str(build("libtrees", [_FUNCTIONS], digest(files) + _FUNCTIONS, FLAGS, CSRC))
    )
    pointer, u32, u64 = ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint64
    library.trees_new.restype = pointer
    library.trees_free.argtypes = [pointer]
    library.trees_build.argtypes = [pointer, pointer, u32]
    library.trees_build.restype = ctypes.c_bool
    library.trees_set.argtypes = [pointer, pointer, u32]
    library.choices.argtypes = [pointer, pointer, u32, pointer, u64, u64, u32, pointer]
    library.after.argtypes = [pointer, u32, u32]
    library.after.restype = u32
    return library


class Nic:
    """Flows that come and go, and their trees. Times are small, so that many are equal."""

    def __init__(self, rng: Random, ends: bool):
        self.rng, self.ends, self.flows = rng, ends, list[Flow]()
        self.classes = rng.choice([[3], [3], [0, 3], list(range(8))])
        self.trees = core().trees_new()

    def time(self, never: float) -> int:
        return NEVER if self.rng.random() < never else self.rng.randrange(40)

    def array(self) -> ctypes.Array[Flow]:
        return (Flow * max(1, len(self.flows)))(*self.flows)

    def add(self):
        used = {flow.number for flow in self.flows}
        number = next(n for n in iter(lambda: self.rng.randrange(10_000), None) if n not in used)
        end = self.time(0.5) if self.ends else NEVER
        self.flows.append(Flow(self.time(0.3), end, 0, number, self.rng.choice(self.classes)))
        self.flows.sort(key=lambda flow: int(flow.number))
        assert core().trees_build(self.trees, self.array(), len(self.flows))

    def remove(self):
        del self.flows[self.rng.randrange(len(self.flows))]
        assert core().trees_build(self.trees, self.array(), len(self.flows))

    def change(self):
        index = self.rng.randrange(len(self.flows))
        self.flows[index].next = self.time(0.3)
        core().trees_set(self.trees, self.array(), index)

    def compare(self) -> int:
        """The action, which both choose."""
        until = (ctypes.c_uint64 * 8)(*(self.rng.choice([0, 0, self.time(0.3)]) for _ in range(8)))
        last = self.rng.choice(
            [NEVER & 0xFFFFFFFF, *(flow.number for flow in self.flows), self.rng.randrange(10_000)]
        )
        choices = (Choice * 2)()
        core().choices(
            self.trees, self.array(), len(self.flows), until, self.time(0.1), self.time(0.6), last,
            choices
        )  # fmt: skip
        by_each, by_trees = ((choice.when, choice.action, choice.index) for choice in choices)
        assert by_trees == by_each
        return int(by_each[1])


@given(st.integers(0, 2**32), st.integers(1, 70), st.booleans())
def test_trees_choose_what_a_look_at_each_flow_does(seed, flows, ends):
    rng = Random(seed)
    nic = Nic(rng, ends)
    try:
        for _ in range(flows):
            nic.add()
        for _ in range(40):
            step = rng.random()
            if step < 0.1:
                nic.add()
            elif step < 0.2 and len(nic.flows) > 1:
                nic.remove()
            else:
                nic.change()
            nic.compare()
    finally:
        core().trees_free(nic.trees)


def test_every_action_is_compared():
    actions: list[int] = []
    for ends in (True, False):
        nic = Nic(Random(1), ends)
        for _ in range(30):
            nic.add()
        actions += [nic.compare() for _ in range(500)]
        core().trees_free(nic.trees)
    assert all(actions.count(action) > 10 for action in range(4))


@given(st.lists(st.integers(0, 50), unique=True, min_size=1), st.integers(0, 60))
def test_flow_after_a_number_is_the_first_that_has_a_larger_one(numbers, number):
    flows = (Flow * len(numbers))(*(Flow(0, NEVER, 0, number, 3) for number in sorted(numbers)))
    expected = next((i for i, flow in enumerate(flows) if flow.number > number), len(flows))
    assert core().after(flows, len(flows), number) == expected
