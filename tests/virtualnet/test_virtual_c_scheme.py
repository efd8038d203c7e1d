"""A scheme that is a C file alone: the same run as one of ours, by the commands' names; bad
files."""

from pathlib import Path

import pytest
from networks import star, with_flows

from pcn.hosts.algorithms import Scheme, SchemeError, find_scheme
from pcn.hosts.algorithms.base import c_file
from pcn.hosts.algorithms.check import check
from pcn.hosts.algorithms.parameters import describe
from pcn.hosts.virtual import VirtualNetwork
from pcn.topologies.model import FlowSpec

CONSTANT = """#include "reaction_point.h"
#define PARAMETERS(P) P(w_bytes, "size", 40e3, 1, 1e9, "the window")
RP_SCHEME(.summary = "a constant window", .program = "plain", .segment_bytes = 1)
static void begin(struct reaction_point *rp) { rp->window_bytes = rp->parameters->w_bytes; }
const struct reaction_point_events reaction_point = {.begin = begin};
"""


def somebody_s(name: str, tmp_path: Path) -> Scheme:
    """One of ours as a user's file."""
    ours = find_scheme(name)
    rows = " ".join(
        f'P({parameter.field}, "{parameter.kind}", {parameter.default!r}, '
        f'{parameter.least!r}, {parameter.most!r}, "{parameter.meaning}")'
        for parameter in describe(ours.parameters)
    ).replace("inf,", "__builtin_inf(),")
    rp = ours.configure().new_rp(1e9)
    marking = f'"{",".join(ours.marking)}"' if ours.marking else "NULL"
    facts = (
        f".segment_bytes = {rp.segment_bytes}, .wants_telemetry = {int(rp.wants_telemetry)}, "
        f".marking = {marking}"
    )
    file = c_file(type(rp))
    text = file.read_text()
    head = f'#include "reaction_point.h"\n#define PARAMETERS(P) {rows}\n'
    head += f'RP_SCHEME(.summary = "{ours.summary}", .program = "{ours.program}", {facts})\n'
    mine = tmp_path / f"my_{name}.c"
    mine.write_text(head + text)
    return find_scheme(str(mine))


def outcome(scheme: Scheme, **more) -> tuple[object, ...]:
    with VirtualNetwork(star(3, 40e9, delay_s=2e-6), scheme.configure(), **more) as network:
        with_flows(network, [FlowSpec(i + 1, f"h{i}", "r0", start_s=i * 3e-6) for i in range(3)])
        network.run(until_s=5e-4)
        return network.totals(), *(flow.stats() for flow in network.flows.values())


@pytest.mark.parametrize("name", ["dctcp", "swift", "hpcc"])
def test_c_file_gives_the_run_of_the_scheme_that_is_built_in(name, tmp_path):
    mine = somebody_s(name, tmp_path)
    assert mine.name == f"my_{name}"
    assert outcome(mine) == outcome(find_scheme(name))
    assert [finding for finding in check(mine) if not finding.kept] == []


def test_c_file_has_its_parameters(tmp_path):
    file = tmp_path / "constant.c"
    file.write_text(CONSTANT)
    scheme = find_scheme(str(file))
    assert scheme is find_scheme(scheme.reference)
    assert (scheme.name, scheme.summary, scheme.marking) == ("constant", "a constant window", ())
    assert scheme.configure().new_rp(1e9).window_bytes == 40e3
    assert scheme.configure({"w_bytes": "7KB"}).new_rp(1e9).window_bytes == 7e3
    with pytest.raises(SchemeError, match="w_bytes = 2e\\+09: it must be from 1 to 1e\\+09"):
        scheme.configure({"w_bytes": 2e9})
    assert not scheme.configure().new_np().period_s


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (("RP_SCHEME", "// RP_SCHEME"), "parameters"),
        (('.summary = "a constant window", ', ""), "RP_SCHEME needs .summary and .program"),
        (("reaction_point = {", "another = {"), "undeclared|no struct reaction_point_events"),
        (("#define PARAMETERS(P)", "//"), "PARAMETERS"),
        (("begin(struct", "begin(strut"), "strut"),
    ],
)
def test_c_file_that_is_no_scheme_is_refused(change, match, tmp_path):
    file = tmp_path / "wrong.c"
    file.write_text(CONSTANT.replace(*change))
    with pytest.raises(SchemeError, match=match) as raised:
        find_scheme(str(file))
    assert str(file) in str(raised.value)


def test_c_file_that_is_not_there_is_refused(tmp_path):
    with pytest.raises(SchemeError, match=r"no file .*none\.c"):
        find_scheme(str(tmp_path / "none.c"))
