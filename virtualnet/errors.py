"""What can go wrong in virtual time."""

from __future__ import annotations

from pathlib import Path

from pcn.base.errors import LabError, error_text


class VirtualError(LabError):
    """The network can't be built, or its run can't go on; the text has the reason."""


class CallbackError(VirtualError):
    """An endpoint's Python code or a scheduled function raised; the cause carries its traceback."""

    def __init__(self, source: str, now_s: float, cause: BaseException) -> None:
        super().__init__(
            f"{source}, at {now_s * 1e6:.6f} us of simulated time: "
            f"{error_text(cause, Path(__file__).parent)}"
        )
        self.now_s = now_s

    def __reduce__(self) -> tuple[type[VirtualError], tuple[str]]:
        """Pickles the error as its text alone: another process may lack the class of its cause."""
        return VirtualError, (str(self),)
