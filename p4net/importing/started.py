"""Stand-ins for programs that a script starts: none runs. simple_switch_CLI's commands are
recorded, others are noted as left out."""

from __future__ import annotations

import io
import os
import shlex
import subprocess
from typing import Any

from pcn.p4net.importing import shell
from pcn.p4net.importing.recorder import RECORDER, EndedError, TableCommands


class _Input(io.BytesIO):
    """What a script writes to a program, as text or bytes."""

    def write(self, text: Any) -> int:
        return super().write(text.encode() if isinstance(text, str) else text)

    def close(self) -> None:
        pass


class Program:
    """A process of `subprocess` that has ended, with nothing printed."""

    def __init__(self, args: Any, *_arguments: Any, **options: Any) -> None:
        self.args, self.pid, self.returncode = args, 1, 0
        self._is_text = bool(
            options.get("text") or options.get("universal_newlines") or options.get("encoding")
        )
        self._words = _words(args)
        self._source = options.get("stdin")
        self.stdin: Any = _Input() if self._source == subprocess.PIPE else None
        self.stdout = self.stderr = io.StringIO() if self._is_text else io.BytesIO()
        self._noted = False
        if self.stdin is None:
            self._note(b"")

    def _note(self, sent: bytes) -> None:
        if self._noted:
            return
        self._noted = True
        command = self.args if isinstance(self.args, str) else shlex.join(self._words)
        path = getattr(self._source, "name", "")
        if shell.is_cli(self._words) and (sent or (isinstance(path, str) and path)):
            text = sent.decode("utf-8", "replace")
            port = shell.port_of(self._words)
            RECORDER.tables.append(TableCommands("", port, "" if sent else path, text))
        elif not shell.table_commands(command):
            note_program(command)

    def communicate(self, input: Any = None, timeout: Any = None) -> tuple[Any, Any]:
        """Takes the commands that go to a program."""
        if self.stdin is not None:
            self.stdin.write(input or b"")
            self._note(self.stdin.getvalue())
        return ("", "") if self._is_text else (b"", b"")

    def wait(self, *_arguments: Any, **_options: Any) -> int:
        self.communicate()
        return 0

    def poll(self) -> int:
        return self.wait()

    def kill(self, *_arguments: Any) -> None:
        pass

    terminate = send_signal = kill

    def __enter__(self) -> Program:
        return self

    def __exit__(self, *_reason: object) -> None:
        self.communicate()

    def __class_getitem__(cls, _kind: Any) -> type[Program]:
        return cls


def _words(args: Any) -> list[str]:
    if isinstance(args, (str, bytes)):
        text = args if isinstance(args, str) else args.decode("utf-8", "replace")
        try:
            return shlex.split(text)
        except ValueError:
            return text.split()
    if isinstance(args, (list, tuple)):
        flat = [word for part in args for word in (part if isinstance(part, list) else [part])]
        return [os.fsdecode(word) if isinstance(word, bytes) else str(word) for word in flat]
    return [str(args)]


def note_program(command: str) -> None:
    """Notes a program that isn't run."""
    for part in shell.parts(command):
        if not shell.is_mute(part):
            RECORDER.leave_out("programs that the script starts", part)


def _system(command: str | bytes | os.PathLike[str] | os.PathLike[bytes]) -> int:
    command = os.fsdecode(command)
    if not shell.table_commands(command):
        note_program(command)
    return 0


def _end(*_arguments: Any, **_options: Any) -> None:
    raise EndedError


def install() -> None:
    """Puts the stand-ins in place of the functions that start programs."""
    subprocess.Popen = Program  # type: ignore[misc,assignment]
    os.system = _system
    for name in ("execv", "execve", "execvp", "execvpe", "execl", "execle", "execlp", "execlpe"):
        setattr(os, name, _end)
    for name in ("spawnl", "spawnle", "spawnlp", "spawnlpe", "spawnv", "spawnve", "spawnvp"):
        setattr(os, name, lambda *_arguments: 0)
