"""What a container gives its root, and what an unprivileged user's own namespaces give theirs:
commands that begin a test's."""

import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import needs
from others import NOBODY, shared_folder

from pcn.softswitch.cache.objects import cache_dir

ROOT = Path(__file__).resolve().parent.parent
CAPABILITIES = (
    *(
        "chown",
        "dac_override",
        "fsetid",
        "fowner",
        "mknod",
        "net_raw",
        "setgid",
        "setuid",
        "setfcap",
        "setpcap",
    ),
    *("net_bind_service", "sys_chroot", "kill", "audit_write"),  # Docker's default
    *("net_admin", "sys_admin"),  # what live networks need beside that
)
_NAMESPACES = (
    "--mount", "--pid", "--fork", "--kill-child", "--net", "--uts", "--ipc", "--mount-proc",
)  # fmt: skip
_RUN = "mount -t tmpfs -o mode=755 none /run && ip link set lo up"
_CONTAINER = f"""
{_RUN} && mount --bind /proc/sys /proc/sys && mount -o remount,ro,bind /proc/sys && mount -t sysfs -o ro sysfs /sys &&
exec setpriv --bounding-set -all,{",".join(f"+{name}" for name in CAPABILITIES)} --inh-caps -all "$@"
"""  # noqa: E501
# Python and the checkout may lie in folders that are root's alone: a tmpfs with nothing else is in
# the place of such a folder, for this command.
_REACHED = """
uid=$1 here=$2; shift 2
mount -t tmpfs kept /mnt || exit
for path in "$CHECKOUT" "$PYTHON_PREFIX" "$PYTHON_VENV"; do
    setpriv --reuid $uid --regid $uid --clear-groups test -r "$path" && continue
    for outer in $hidden; do case "$path" in "$outer"/*) continue 2 ;; esac; done
    mkdir -p "/mnt$path" && mount --bind "$path" "/mnt$path" || exit
    hidden="$hidden $path"
done
for top in $(ls /mnt); do mount -t tmpfs -o mode=755 hidden /$top || exit; done
for path in $hidden; do mkdir -p "$path" && mount --move "/mnt$path" "$path" || exit; done
cd "$here" && exec setpriv --reuid $uid --regid $uid --clear-groups "$@"
"""


@dataclass(frozen=True)
class Container:
    """`prefix`: of a command in it; `folder`: its user's; `environment`: of the command."""

    prefix: tuple[str, ...]
    folder: Path
    environment: dict[str, str]


@contextmanager
def container() -> Iterator[Container]:
    """Root with a container's default capabilities, NET_ADMIN and SYS_ADMIN, and /proc/sys and /sys
    to read only."""
    with tempfile.TemporaryDirectory() as folder:
        prefix = ("unshare", *_NAMESPACES, "--propagation", "private", "sh", "-c", _CONTAINER, "sh")
        yield Container(prefix, Path(folder), {**os.environ, "PYTHONPATH": str(ROOT / "src")})


@contextmanager
def rootless() -> Iterator[Container]:
    """Root of a user namespace that an unprivileged user makes. Its cache has what ours has
    compiled."""
    user = ("setpriv", "--reuid", str(NOBODY), "--regid", str(NOBODY), "--clear-groups")
    trial = (
        *user, "unshare", "--user", "--map-root-user", "--mount", "--net", "ip", "link", "set",
        "lo", "up",
    )  # fmt: skip
    if subprocess.run(trial, capture_output=True, check=False).returncode != 0:
        needs.missing(needs.USER_NAMESPACES)
    with shared_folder() as home:
        cache = home / "cache" / "pcn-lab"
        cache.mkdir(parents=True)
        for path in cache_dir().glob("*-*.*"):
            with suppress(FileNotFoundError):  # another test's scratch file
                shutil.copy(path, cache)
        for path in (home, *home.rglob("*")):
            os.chown(path, NOBODY, NOBODY)
        environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("XDG_")},
            **{
                "HOME": str(home),
                "XDG_CACHE_HOME": str(home / "cache"),
                "PYTHONPATH": str(ROOT / "src"),
            },
            **{"PYTHON_PREFIX": sys.base_prefix, "PYTHON_VENV": sys.prefix, "CHECKOUT": str(ROOT)},
        }
        outer = (
            "unshare", "--mount", "--propagation", "private", "sh", "-c", _REACHED, "sh",
            str(NOBODY), str(home),
        )  # fmt: skip
        inner = (
            "unshare", "--user", "--map-root-user", *_NAMESPACES, "sh", "-c",
            f'{_RUN} && exec "$@"', "sh",
        )  # fmt: skip
        yield Container((*outer, *inner), home, environment)
