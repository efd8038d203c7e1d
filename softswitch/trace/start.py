"""A live switch's steps to its log and to a file."""

from __future__ import annotations

import logging
import time

from pcn.base import owner_only
from pcn.softswitch.errors import StartError
from pcn.softswitch.log_file import STEPS, LogFile
from pcn.softswitch.native import NativeSwitch
from pcn.softswitch.options import Options
from pcn.softswitch.trace import json_lines
from pcn.softswitch.trace.decoder import Step
from pcn.softswitch.trace.lines import Lines
from pcn.softswitch.trace.tracer import Tracer


def start(native: NativeSwitch, options: Options, log: logging.Logger) -> Tracer:
    """Writes steps from now on: as simple_switch's lines where the log has its level debug or
    trace, as JSON where there is a file for it. Raises StartError."""
    began_ns = 0 if options.manual_clock else time.time_ns() - native.now_ns
    writers = []
    if options.logs_steps:
        writers.append(_Text(began_ns, options, log.getChild(STEPS)).write)
    if options.trace is not None:
        writers.append(_Json(began_ns, options).write)
    tracer = Tracer(
        native,
        writers,
        lambda count: log.warning("%d steps of packets are lost: too many at once", count),
    )
    tracer.start()
    return tracer


class _Text:
    def __init__(self, began_ns: int, options: Options, log: logging.Logger) -> None:
        self._lines = Lines(options.log_level == "trace")
        self._began_ns = began_ns
        self._log = log

    def write(self, step: Step) -> None:
        seconds, ns = divmod(self._began_ns + step.time_ns, 1_000_000_000)
        clock = time.strftime("%H:%M:%S", time.localtime(seconds))
        for level, line in self._lines.of(step):
            self._log.debug(
                "[%s.%03d] [bmv2] [%s] [thread 1] %s", clock, ns // 1_000_000, level, line
            )


class _Json:
    """A full disk loses lines, as of the log. Times are since 1970, or by the manual clock."""

    def __init__(self, began_ns: int, options: Options) -> None:
        path = options.trace
        assert path is not None
        try:
            handle = owner_only.output(path)
        except (OSError, owner_only.NotPrivateError) as error:
            raise StartError(f"cannot write {path}: {getattr(error, 'strerror', error)}") from error
        self._file = LogFile(handle, path)
        self._began_ns, self._switch = began_ns, str(options.device_id)

    def write(self, step: Step) -> None:
        text = json_lines.line(self._switch, step._replace(time_ns=self._began_ns + step.time_ns))
        self._file.handle(logging.makeLogRecord({"msg": text}))
