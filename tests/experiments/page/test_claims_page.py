"""Each claim of docs/claims.md has an address that exists, and docs/results.md is what was run."""

import ast
import functools
import re
import subprocess
import sys
from pathlib import Path

import pytest

from pcn.experiments.define.checks import Claim
from pcn.experiments.page.claims_page import addressed, claims
from pcn.experiments.page.figures_page import documented, figure_page, index, with_verdicts
from pcn.experiments.papers import FIGURES
from pcn.experiments.papers.dctcp import claims as dctcp
from pcn.experiments.papers.hpcc import claims as hpcc
from pcn.experiments.papers.pcn import claims as pcn
from pcn.experiments.papers.swift import claims as swift
from pcn.experiments.results.documents import DOCS, section

ROOT = DOCS.parent
TEXT = (DOCS / "claims.md").read_text(encoding="utf-8")
CLAIMS = claims(TEXT)
SECTIONS = documented(DOCS)
ROWS = {
    (page_section.figure.name, claim)
    for page_section in SECTIONS
    for claim in page_section.verdicts
    if claim
}
"""The claims with a figure's verdict."""


@functools.cache
def names(path: Path) -> set[str]:
    """Of the functions and classes of a file."""
    nodes = ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    return {node.name for node in nodes if isinstance(node, (ast.FunctionDef, ast.ClassDef))}


def test_every_claim_has_an_address_or_a_reason():
    assert len(CLAIMS) == len(re.findall(r"^\| \d+\.\d+ \|", TEXT, re.MULTILINE)) == 146
    for claim in CLAIMS:
        checked = claim.tests or claim.figures or claim.choices
        assert bool(checked) != bool(claim.missing), claim.id
        assert checked or len(claim.missing) > 10, claim.id


def test_every_address_exists():
    for claim in CLAIMS:
        for file, name in claim.tests:
            assert (ROOT / file).is_file(), (claim.id, file)
            assert name in names(ROOT / file), (claim.id, name)
        for figure in claim.figures:
            assert (figure, claim.id) in ROWS, (claim.id, figure)
        for link in claim.choices:
            assert section(link).text, (claim.id, link)


def test_every_row_of_a_figure_is_an_address_of_its_claim():
    assert {(figure, claim.id) for claim in CLAIMS for figure in claim.figures} == ROWS


def test_both_pages_are_what_was_run():
    """`pcn figure NAME --docs docs` writes them, whichever NAME."""
    assert {page_section.figure.name for page_section in SECTIONS} == set(FIGURES)
    assert with_verdicts(TEXT, SECTIONS) == TEXT
    assert index(SECTIONS, TEXT) == (DOCS / "results.md").read_text(encoding="utf-8")


def test_verdicts_follow_the_figures():
    text = (
        "| 0.36 | 7.1 | a | b | | S | `tests/a.py::test_a`; [fig11](results.md#old): 9 met; "
        "[fig99](results.md) |"
    )
    (page_section,) = [
        page_section for page_section in SECTIONS if page_section.figure.name == "fig11"
    ]
    now = addressed(text, {"fig11": page_section.verdicts})
    counts = ", ".join(
        f"{count} {verdict}" for verdict, count in sorted(page_section.verdicts["0.36"].items())
    )
    assert now == text.replace("#old): 9 met", f"#fig11): {counts}")


def test_paper_s_numbers_belong_to_existing_claims():
    numbered = [var.id for var in vars(pcn).values() if isinstance(var, Claim)]
    assert len(numbered) == len(set(numbered)) > 20
    for paper in (pcn, dctcp, hpcc, swift):
        stated = {var.id for var in vars(paper).values() if isinstance(var, Claim)}
        assert stated <= {claim.id for claim in CLAIMS}


@pytest.mark.parametrize(("change", "code"), [("", 0), ("0.5", 1)])
def test_pages_are_compared_number_by_number(change, code, tmp_path):
    page = "".join(map(figure_page, SECTIONS))
    before, after = tmp_path / "before.md", tmp_path / "after.md"
    before.write_text(page, encoding="utf-8")
    after.write_text(
        page.replace("| 1.008 | ms |", f"| {change} | ms |") if change else page, encoding="utf-8"
    )
    script = Path(__file__).with_name("same_results.py")
    command = [sys.executable, str(script), str(before), str(after)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == code, done.stdout
    assert ("first at capacity" in done.stdout) == bool(code)
    rows = sum(len(page_section.summary["checks"]) for page_section in SECTIONS)
    assert f"{rows} rows" in done.stdout
