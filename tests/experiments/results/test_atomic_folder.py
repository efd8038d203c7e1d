"""Files that are written whole or not at all, in a folder where others may have put links of the
same names."""

import stat
from pathlib import Path

import pytest
from others import as_nobody, shared_folder, umask

from pcn import cli
from pcn.experiments.data.errors import ExperimentError
from pcn.experiments.results.atomic_folder import replacing, result_directory, whole


@pytest.mark.parametrize("writing", [whole, replacing])
def test_file_is_there_whole_or_not_at_all(writing, tmp_path):
    path = tmp_path / "file"
    with writing(path) as file:
        file.write(b"whole")
    assert path.read_bytes() == b"whole"

    def write(content: bytes):
        with writing(path) as file:
            file.write(content)
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        write(b"half")
    assert [entry.read_bytes() for entry in tmp_path.iterdir()] == (
        [b"whole"] if writing is replacing else []
    )


@pytest.mark.parametrize("writing", [whole, replacing])
def test_failed_write_names_its_file(writing, tmp_path):
    with pytest.raises(OSError, match="No space") as failure, writing(tmp_path / "file"):
        raise OSError(28, "No space left on device")
    assert failure.value.filename.startswith(str(tmp_path / "file"))


@pytest.mark.root
@pytest.mark.parametrize("writing", [whole, replacing])
def test_file_never_goes_through_another_user_s_link(writing):
    with shared_folder() as shared:
        secret = shared / "secret"
        secret.write_text("root's")
        secret.chmod(0o600)

        def plant():
            (shared / "out").mkdir(mode=0o777)
            for name in ("file", "file.new"):
                (shared / "out" / name).symlink_to(secret)

        as_nobody(plant)
        with umask(0), writing(shared / "out" / "file") as file:
            file.write(b"ours")
        written = shared / "out" / "file"
        assert (secret.read_text(), written.read_text()) == ("root's", "ours")
        assert (written.lstat().st_uid, stat.S_IMODE(written.lstat().st_mode)) == (0, 0o644)


def test_results_are_never_written_by_others_whatever_the_umask(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    with umask(0):
        with (
            result_directory(tmp_path / "results" / "dumbbell" / "pcn") as work,
            whole(work / "summary.json") as file,
        ):
            file.write(b"{}")
        writable = [path for path in tmp_path.rglob("*") if path.lstat().st_mode & 0o022]
    assert writable == []


def _write_result(place: Path, *files: str):
    with result_directory(place) as work:
        for name in files:
            (work / name).parent.mkdir(exist_ok=True)
            (work / name).write_text("{}")


def test_run_inside_a_comparison_moves_all_of_it(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    together = tmp_path / "results" / "traffic"

    def files() -> set[str]:
        return {
            str(path.relative_to(together.parent))
            for path in together.parent.rglob("*")
            if path.is_file()
        }

    _write_result(together, "comparison.json", "pcn/summary.json", "pfc/summary.json")
    first = {
        "traffic.1/comparison.json",
        "traffic.1/pcn/summary.json",
        "traffic.1/pfc/summary.json",
    }
    for scheme in ("pcn", "dcqcn", "pcn"):
        _write_result(together / scheme, "summary.json")
    singles = {
        "traffic/pcn/summary.json",
        "traffic/pcn.1/summary.json",
        "traffic/dcqcn/summary.json",
    }
    assert files() == first | singles
    _write_result(together, "comparison.json", "pcn/summary.json")
    second = {"traffic/comparison.json", "traffic/pcn/summary.json"}
    moved = {name.replace("traffic.1/", "traffic.2/") for name in first}
    assert files() == moved | second | {name.replace("traffic/", "traffic.1/") for name in singles}
    monkeypatch.chdir(together)
    _write_result(Path("dcqcn"), "summary.json")
    assert (together / "dcqcn" / "summary.json").is_file(), "the folder that one works in stays"


def test_folder_nested_deeper_than_comparisons_is_no_result(tmp_path):
    place = tmp_path / "run"
    folder = place
    for _ in range(20):
        folder.mkdir()
        folder = folder / "d"
    with (
        pytest.raises(ExperimentError, match="isn't a result of an earlier run"),
        result_directory(place),
    ):
        pass
    assert (place / "d" / "d").is_dir()


def test_failed_run_inside_a_comparison_moves_nothing(tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    _write_result(tmp_path / "both", "comparison.json", "pcn/summary.json")
    with pytest.raises(KeyboardInterrupt), result_directory(tmp_path / "both" / "pcn"):
        raise KeyboardInterrupt
    assert {path.name for path in tmp_path.iterdir()} == {"both", "cache"}
    assert {path.name for path in (tmp_path / "both").iterdir()} == {"comparison.json", "pcn"}


@pytest.mark.root
def test_deploy_writes_into_no_folder_of_another_user(capsys, monkeypatch):
    with shared_folder() as shared:
        assert cli.run(["deploy", "--sample"]) == 0
        (shared / "ports.yaml").write_text(capsys.readouterr().out)
        as_nobody((shared / "out").mkdir)
        words = ["deploy", "--ports", str(shared / "ports.yaml"), "--check", "--out"]
        assert cli.run([*words, str(shared / "out")]) == 1
        error = capsys.readouterr().err
        owners = "belongs to nobody (uid 65534), not to root (uid 0)"
        assert error == f"pcn: {shared}/out {owners}: choose another --out\n"
        assert list((shared / "out").iterdir()) == []
        with umask(0):
            assert cli.run([*words, str(shared / "own")]) == 0
        for path in ((shared / "own"), *(shared / "own").iterdir()):
            assert path.stat().st_mode & 0o022 == 0
        assert len(list((shared / "own").iterdir())) == 3


LONG = "x" * 300


@pytest.mark.parametrize(
    "command",
    [
        ["run", "dumbbell", "--clock", "virtual", "--out"],
        ["figure", "fig10", "--out"],
        ["sweep", "dumbbell", "--seeds", "1:2", "--out"],
        ["deploy", "--ports", "ports.yaml", "--check", "--out"],
    ],
    ids=lambda words: words[0],
)
def test_path_that_can_t_be_is_one_line(command, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert cli.run(["deploy", "--sample"]) == 0
    Path("ports.yaml").write_text(capsys.readouterr().out)
    assert cli.run([*command, LONG]) == 1
    error = capsys.readouterr().err
    assert "File name too long" in error
    assert len(error.splitlines()) == 1
    for name, shown in (
        ("\x1b[31mred", r"'\x1b[31mred'"),
        ("two\nlines", r"'two\nlines'"),
        ("\x9b1m", r"'\x9b1m'"),
    ):
        assert cli.run([*command, name]) == 2
        error = capsys.readouterr().err
        assert f"{shown}: a name without control characters is needed" in error
        assert len(error.splitlines()) == 1
    assert [path.name for path in tmp_path.iterdir()] == ["ports.yaml"]


def test_error_shows_no_control_characters(tmp_path, capsys):
    assert cli.run(["deploy", "--check", "--ports", str(tmp_path / "none")]) == 1
    capsys.readouterr()
    assert (
        cli.run(["run", "dumbbell", "--clock", "virtual", "--scheme", "\x1b]0;title\x07.py:X"]) == 1
    )
    error = capsys.readouterr().err
    assert "\x1b" not in error
    assert "\x07" not in error
