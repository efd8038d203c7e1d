"""`pcn run --clock paced`: a run in virtual time that goes on with real time."""

import pytest

from pcn import LabError, run

SETTINGS = ["duration=2ms"]


def test_paced_run_has_the_numbers_of_virtual_time(tmp_path):
    virtual = run("dumbbell", settings=SETTINGS, out=tmp_path / "virtual").summary
    result = run("dumbbell", clock="paced", k=50, settings=SETTINGS, out=tmp_path / "paced")
    paced = result.summary
    assert paced["digest"] == virtual["digest"]
    assert paced["steady"] == virtual["steady"]
    assert [check["measured"] for check in paced["checks"]] == [
        check["measured"] for check in virtual["checks"]
    ]
    assert (paced["clock"], paced["k"], virtual["k"]) == ("paced", 50, 1)
    assert any("of real time late, the worst" in note for note in paced["notes"])
    assert not any("real time" in note for note in virtual["notes"])
    assert paced["wall_s"] >= 50 * 2e-3
    assert "paced clock" in (tmp_path / "paced" / "report.html").read_text()


def test_two_clocks_of_paced_runs_are_compared(tmp_path):
    run("dumbbell", clock="virtual,paced", k=1, settings=SETTINGS, out=tmp_path / "both")
    assert {path.name for path in (tmp_path / "both").iterdir() if path.is_dir()} >= {
        "paced",
        "virtual",
    }


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"clock": "virtual", "k": 2.0}, "virtual time isn't stretched; --clock paced is"),
        ({"clock": "paced", "target": "bmv2"}, "--target bmv2: virtual time has the softswitch"),
        ({"clock": "pacd"}, "pacd.*paced"),
    ],
)
def test_run_refuses_what_its_clock_has_not(options, message, tmp_path):
    with pytest.raises(LabError, match=message):
        run("dumbbell", out=tmp_path / "out", **options)
    assert not [*tmp_path.iterdir()]
