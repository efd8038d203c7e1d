"""What a script that `pcn p4 import` runs can't do: reach the network, run as root, see the
environment, go on behind its end, or without end."""

import fcntl
import json
import os
import socket
import sys
from collections.abc import Iterator

import pytest
from import_scripts import NOBODY, PAIR, Scripts, as_user
from others import shared_folder

from pcn.p4net.errors import P4NetError
from pcn.p4net.importing import sandbox
from pcn.p4net.importing.record import NetworkRecord, RecordError


@pytest.fixture
def scripts(monkeypatch, capsys) -> Iterator[Scripts]:
    as_user(monkeypatch)
    with shared_folder() as folder:
        (folder / "router.json").touch()
        monkeypatch.chdir(folder)
        yield Scripts(folder, capsys)


def printed_by(scripts: Scripts, code: str) -> str:
    """What a script prints whose network is up."""
    return scripts.imported(f"{PAIR}net.start()\n{code}")[1]


def test_script_reaches_no_network(scripts: Scripts):
    with socket.create_server(("127.0.0.1", 0)) as server:
        server.setblocking(False)
        port = server.getsockname()[1]
        printed = printed_by(
            scripts,
            f"import socket\n"
            f"try:\n    socket.create_connection(('127.0.0.1', {port}), 5)\n"
            "except OSError as error:\n    print(type(error).__name__)\n"
            "print(socket.if_nameindex())\n",
        )
        with pytest.raises(BlockingIOError):
            server.accept()
    assert printed.splitlines()[0] in ("OSError", "ConnectionRefusedError")
    assert "[(1, 'lo')]" in printed


def test_script_sees_three_variables_of_the_environment(scripts: Scripts, monkeypatch):
    monkeypatch.setenv("PCN_TOKEN", "secret")
    monkeypatch.setenv("LANG", "C.UTF-8")
    printed = printed_by(scripts, "import os\nprint(sorted(os.environ))\n")
    assert set(json.loads(printed.replace("'", '"'))) - {"LC_CTYPE"} == {"HOME", "LANG", "PATH"}


@pytest.mark.parametrize("uid", ["", "0", "x"])
def test_script_is_never_run_as_root(scripts: Scripts, monkeypatch, uid):
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    monkeypatch.setenv("SUDO_UID", uid)
    line = scripts.refused("open('ran', 'w')\n")
    assert line.endswith(
        "network.py isn't run as root: call `pcn` as another user; under `sudo` a script runs as "
        "the user who called it"
    )
    assert not (scripts.folder / "ran").exists()


@pytest.mark.root
def test_script_under_sudo_is_the_user_s(scripts: Scripts):
    printed = printed_by(
        scripts,
        "import os\nopen('mine', 'w').close()\nprint(os.getresuid(), os.getresgid())\n"
        "try:\n    os.setuid(0)\nexcept PermissionError:\n    print('stays')\n",
    )
    status = (scripts.folder / "mine").stat()
    assert (status.st_uid, status.st_gid) == (int(NOBODY), int(NOBODY))
    numbers = (int(NOBODY),) * 3
    assert printed.splitlines() == [f"{numbers} {numbers}", "stays"]


def test_script_without_an_end_is_ended(scripts: Scripts, monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS", 1)
    assert scripts.refused("while True:\n    pass\n").endswith("network.py was ended after 1 s")


def test_network_of_a_script_without_an_end_stays(scripts: Scripts, monkeypatch):
    monkeypatch.setattr(sandbox, "SECONDS", 2)
    out, errors = scripts.imported(PAIR + "net.start()\nwhile True:\n    pass\n")
    assert out.endswith("2 hosts, 1 switch, 2 links\n")
    assert "was ended after 2 s; the network is as it was before" in errors


@pytest.mark.parametrize("end", ["", "import os\nos._exit(0)\n", "while True:\n    pass\n"])
def test_children_of_a_script_end_with_it(scripts: Scripts, monkeypatch, end):
    """Each holds a lock that the system takes from it when it ends."""
    monkeypatch.setattr(sandbox, "SECONDS", 2)
    locked = scripts.folder / "locked"
    scripts.imported(
        PAIR
        + f"""
import fcntl, os, signal
net.start()
ready, holds = os.pipe()
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)
        file = open({str(locked)!r}, "w")
        fcntl.flock(file, fcntl.LOCK_EX)
        os.write(holds, b"1")
        while True:
            pass
    os._exit(0)
os.read(ready, 1)
{end}"""
    )
    with locked.open() as file:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)


def test_output_of_a_script_is_bounded(scripts: Scripts):
    printed = printed_by(scripts, "for _ in range(200):\n    print('x' * 65536)\n")
    assert len(printed) <= 64 * 1024 + 1


def test_memory_of_a_script_is_bounded(scripts: Scripts):
    assert "network.py:1: MemoryError" in scripts.refused("bytearray(3 << 30)\n")


def test_programs_that_a_script_starts_are_not_run(scripts: Scripts):
    text = (
        PAIR
        + """
import os, subprocess
net.start()
os.system("touch by-system")
subprocess.run("touch by-run", shell=True, check=True)
subprocess.check_output(["touch", "by-output"]).decode().split()
os.popen("touch by-popen").read()
h1.popen(["touch", "by-node"])
"""
    )
    out, _ = scripts.imported(text, "--json")
    assert json.loads(out)["left_out"] == {
        "programs that the script starts": [
            "touch by-system", "touch by-run", "touch by-output", "touch by-popen",
        ],
        "commands of nodes": ["h1: touch by-node"],
    }  # fmt: skip
    assert {path.name for path in scripts.folder.iterdir()} == {
        "network.py",
        "net.json",
        "router.json",
    }


_REFUSING = """
import json, os, sys
request = json.loads(sys.argv[1])
if not request["with_network"]:
    os.write(request["report"], b'{"kind": "refused", "reason": "Operation not permitted"}\\n')
"""


def test_system_without_namespaces_refuses_the_script(scripts: Scripts, monkeypatch):
    monkeypatch.setattr(
        sandbox, "_command", lambda request: [sys.executable, "-c", _REFUSING, request]
    )
    assert scripts.refused("").endswith(
        "isn't run: the system gives it no network namespace (Operation not permitted); `sudo` "
        "before the command can, or add --with-network to run it all the same"
    )
    assert "builds no network" in scripts.refused("", "--with-network")


@pytest.mark.parametrize(
    "report",
    ["{}", "[]", "no JSON", '{"kind": "network", "network": {"hosts": 1}}', 50_000 * "["],
    ids=["empty", "list", "text", "hosts", "deep"],
)
def test_report_of_another_shape_is_refused(tmp_path, monkeypatch, report):
    as_user(monkeypatch)
    code = "import json, os, sys; r = json.loads(sys.argv[1])['report']; "
    code += f"os.write(r, {report.encode()!r} + b'\\n')"
    monkeypatch.setattr(sandbox, "_command", lambda request: [sys.executable, "-c", code, request])
    with pytest.raises(P4NetError, match="its record can't be read"):
        sandbox.run(tmp_path / "network.py")


def test_record_of_another_shape_is_refused():
    with pytest.raises(RecordError):
        NetworkRecord.of_document({"hosts": [{"name": "h1"}], "switches": [], "links": []})
