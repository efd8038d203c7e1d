"""What goes wrong in an experiment, as one sentence that the command line can print."""

from __future__ import annotations

from pcn.base.errors import LabError


class ExperimentError(LabError):
    """An experiment could not be run, or not finished. The message is one line, names the thing and
    the way out."""
