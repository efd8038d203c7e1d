"""`pcn counters`, `pcn registers`: the place that a cell has; `pcn tables`: how values look."""

from types import SimpleNamespace
from typing import cast

import pytest

from pcn import entry_text
from pcn.commands.read import _placed, _shown
from pcn.controller.programs import Program
from pcn.lab.attach import Attached
from pcn.topologies.dumbbell import dumbbell


def attached(*tables: str) -> Attached:
    """A network whose switch s0 has a program with these tables."""
    switch = SimpleNamespace(tables=lambda: list(tables))
    return cast(Attached, SimpleNamespace(topology=dumbbell(), switches={"s0": switch}))


@pytest.mark.parametrize(
    ("tables", "size", "cell", "place", "link"),
    [
        (("ipv4_lpm", "pfc_config"), 4096, 4 * 8 + 3, (35, 4, 3), "s0->s1"),
        (("ipv4_lpm", "pfc_config"), 4096, 400 * 8 + 3, (3203, 400, 3), "-"),
        (("ipv4_lpm", "pfc_config"), 512, 4, (4, 4, None), "s0->s1"),
        (("ipv4_lpm", "pfc_config"), 1024, 35, (35, None, None), "-"),
        (("ipv4_lpm",), 4096, 35, (35, None, None), "-"),
        (("ipv4_lpm",), 512, 4, (4, None, None), "-"),
    ],
)
def test_cell_has_a_port_only_where_the_program_declares_it(tables, size, cell, place, link):
    lab = attached(*tables)
    [(columns, value)] = _placed(lab, "s0", size, {cell: 7})
    assert (tuple(columns.values()), value) == (place, 7)
    assert _shown(lab, "s0", columns) == (*("-" if part is None else part for part in place), link)


@pytest.mark.parametrize("name", ["pcn", "dctcp", "hpcc", "qcn_in", "tcd"])
def test_cells_of_the_project_s_programs_have_the_sizes_that_are_known(name):
    """By port and class, or by port; flows' buckets and slots by neither."""
    schema = Program.compiled(name).schema
    sizes = {extern.alias: extern.size for extern in (*schema.registers, *schema.counters)}
    assert {sizes["transmitted"], sizes["pn"]} == {4096}
    assert sizes.get("sent_bytes", 512) == 512
    assert sizes.get("occupants", 0) not in (512, 4096)


@pytest.mark.parametrize(
    ("name", "bitwidth", "raw", "shown"),
    [
        ("dst_mac", 48, 0x080000000111, "08:00:00:00:01:11"),
        ("dst_addr", 48, 0x080000000111, "08:00:00:00:01:11"),
        ("dstAddr", 48, 0x080000000111, "08:00:00:00:01:11"),
        ("hdr.ipv4.dstAddr", 32, 0x0A000303, "10.0.3.3"),
        ("hdr.ipv6.dst_addr", 128, 1, "::1"),
        ("register_address", 16, 7, 7),
        ("cookie", 48, 7, 7),
        ("dst_addr", 32, "10.0.3.3", "10.0.3.3"),
    ],
)
def test_table_s_value_is_an_address_by_its_name_and_width(name, bitwidth, raw, shown):
    assert entry_text.value(name, bitwidth, raw) == shown
