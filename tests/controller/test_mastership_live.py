"""Who may write to a switch, when other controllers come and go."""

import contextlib
import logging
import os
import subprocess
import uuid
from collections.abc import Iterator

import forks
import needs
import pytest

from pcn.controller import settings
from pcn.controller.errors import PrimaryError
from pcn.controller.switch import SwitchClient
from pcn.lab.attach import attach
from pcn.lab.lab import Lab
from pcn.topologies.dumbbell import dumbbell

pytestmark = pytest.mark.root


@pytest.fixture(params=needs.TARGETS)
def lab(request, tmp_path) -> Iterator[Lab]:
    name = f"m{os.getpid()}-{uuid.uuid4().hex[:8]}"
    with Lab(
        dumbbell(pairs=1),
        log_dir=tmp_path / "logs",
        name=name,
        target=needs.target(request.param),
        dilation=500,
        scheme="pfc",
        agents=False,  # it is about switches
    ) as lab:
        yield lab


@contextlib.contextmanager
def rival(lab: Lab, election_id: int) -> Iterator[SwitchClient]:
    """Another controller, primary at s1."""
    running = lab.network.switches["s1"]
    with SwitchClient.connect("other", running.address, running.device_id) as client:
        client.become_primary(election_id)
        yield client


def pcn(lab: Lab, *words: str) -> subprocess.CompletedProcess[str]:
    return forks.run("pcn", *words, "-n", lab.record.name)


def xoff(lab: Lab) -> set[float]:
    return {row["xoff"] for row in settings.read(lab.switches["s1"]).values()}


# Above 64 bits too: an election id has 128.
@pytest.mark.parametrize("theirs", [1000, 2**64 + 5])
def test_who_has_gone_is_followed(lab: Lab, theirs, caplog):
    remembers = lab.record.target == "softswitch"  # as the specification has it; BMv2 forgets
    with rival(lab, theirs):
        pass
    with caplog.at_level(logging.WARNING), attach(lab.record.name) as attached:
        client = attached.primary("s1")
        assert client.election_id == (theirs + 1 if remembers else 2)
        assert set(settings.change(client, {"xoff": 300e3})) == {1, 2}
    message = f"s1: the primary controller with election id {theirs} has gone: we take {theirs + 1}"
    assert caplog.messages == [message] * remembers
    done = pcn(lab, "set", "s1", "xoff=310KB", "--json")
    assert (done.returncode, xoff(lab)) == (0, {310e3})
    assert len(done.stderr.splitlines()) == remembers


def test_who_is_there_is_named(lab: Lab):
    with rival(lab, 1000):
        with (
            attach(lab.record.name) as attached,
            pytest.raises(
                PrimaryError,
                match=r"s1: .* with election id 1000 \(ours is 2\): .* --election-id 1001",
            ),
        ):
            attached.primary("s1")
        done = pcn(lab, "set", "s1", "xoff=300KB")
        assert (done.returncode, done.stdout) == (1, "")
        assert done.stderr == (
            "pcn: s1: another controller is primary, with election id 1000 (ours is 2): "
            "end it, or take over with --election-id 1001\n"
        )
        assert pcn(lab, "set", "s1", "xoff=300KB", "--election-id", "1001").returncode == 0
        assert xoff(lab) == {300e3}
        with attach(lab.record.name, election_id=1002) as attached:
            settings.change(attached.primary("s1"), {"xoff": 320e3})
        assert xoff(lab) == {320e3}
    assert pcn(lab, "set", "s1", "--election-id", "0").returncode == 2


def test_an_election_id_that_another_has_already(lab: Lab):
    with (
        rival(lab, 2),
        attach(lab.record.name) as attached,
        pytest.raises(PrimaryError, match="--election-id 3"),
    ):
        attached.primary("s1")


def test_our_own_controller_writes_again_when_the_other_has_gone(lab: Lab):
    """And while it is connected, names it."""
    with rival(lab, 1000) as client:
        settings.change(client, {"xoff": 300e3})
        with pytest.raises(PrimaryError, match=r"with election id 1000 \(ours is 1\)"):
            settings.change(lab.primary("s1"), {"xoff": 310e3})
        assert xoff(lab) == {300e3}
    settings.change(lab.primary("s1"), {"xoff": 310e3})
    assert xoff(lab) == {310e3}
    assert lab.switches["s1"].election_id == (1001 if lab.record.target == "softswitch" else 1)


def test_mastership_keeps_only_the_last_arbitration_update(lab: Lab):
    """In the process that keeps a network up, which never reads them."""
    for theirs in range(2, 12):
        with rival(lab, theirs):
            pass
    arbitration = lab.switches["s1"]._arbitration
    assert arbitration._answers.qsize() <= 1
    settings.change(lab.primary("s1"), {"xoff": 300e3})
