"""Nodes of a network whose shells don't come up."""

import subprocess
from collections.abc import Sequence

import pytest

from pcn.lab.nodes import LabNode, NodeError


class Struck(LabNode):
    """Its shell ends before any output, as by a Ctrl-C while it is being started."""

    def _popen(self, cmd: Sequence[str], **params) -> subprocess.Popen[bytes]:
        return super()._popen(["false"], **params)


def test_a_shell_that_ends_at_its_start_isn_t_waited_for():
    """Without a look at it the start would never end, whatever signal comes."""
    with pytest.raises(NodeError, match=r"h0: its shell has ended \(1\)"):
        Struck("h0", [])
