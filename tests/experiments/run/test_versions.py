"""Where a result comes from, by git: of a repository that the test makes."""

import subprocess
from pathlib import Path

import pytest

from pcn.experiments.run import versions


@pytest.fixture
def checkout(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(versions, "ROOT", tmp_path)
    return tmp_path


def git(root: Path, *arguments: str) -> str:
    identity = ["-c", "user.name=somebody", "-c", "user.email=somebody@example.org"]
    return subprocess.run(
        ["git", "-C", str(root), *identity, *arguments], capture_output=True, text=True, check=True
    ).stdout.strip()


def test_a_commit_and_what_was_changed_since(checkout: Path):
    git(checkout, "init", "-q")
    for name in "abcde":
        (checkout / f"{name}.p4").write_text("1")
    git(checkout, "add", ".")
    git(checkout, "commit", "-qm", "all")
    provenance = versions.provenance()
    assert (provenance["commit"], provenance["tree"]) == (
        git(checkout, "rev-parse", "HEAD"),
        "clean",
    )
    (checkout / "a.p4").write_text("2")
    assert versions.provenance()["tree"] == "changed: a.p4"
    for name in "bcdef":
        (checkout / f"{name}.p4").write_text("2")
    assert versions.provenance()["tree"] == "changed: a.p4, b.p4, c.p4 and 3 more"
    git(checkout, "reset", "-q", "--hard")
    git(checkout, "mv", "a.p4", "g.p4")
    (checkout / "f.p4").unlink()
    assert versions.checkout()["tree"] == "changed: a.p4 -> g.p4"


def test_no_repository(checkout: Path):
    provenance = versions.provenance()
    assert (provenance["commit"], provenance["tree"]) == ("unknown", "unknown")


def test_within_somebodys_repository(tmp_path, monkeypatch):
    """As in an environment that a user keeps there."""
    site_packages = tmp_path / "site-packages"
    site_packages.mkdir()
    git(tmp_path, "init", "-q")
    git(tmp_path, "commit", "-qm", "theirs", "--allow-empty")
    monkeypatch.setattr(versions, "ROOT", site_packages)
    assert versions.provenance()["commit"] == "unknown"
