"""What this user has on disk alone: folders, files and sockets that no other user of the machine
reads or replaces.

A process loads code from its cache, and signals what its records name. So both belong to this user,
whatever the umask is, even if another user was there first or placed a link. Root is trusted, as it
may do anything anyway.
"""

from __future__ import annotations

import errno
import fcntl
import itertools
import os
import stat
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from os import geteuid
from pathlib import Path

PRIVATE, PUBLIC = 0o700, 0o755
"""Modes of folders: for this user alone; or readable by others, as results are."""
_MOST_LINKS = 40
_SEALS = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW
_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


class NotPrivateError(Exception):
    """Another user may change what stands there; the message names the path and its owner.
    `removable`: it is this user's, who may remove it."""

    def __init__(self, message: str, removable: bool = False) -> None:
        super().__init__(message)
        self.removable = removable

    def line(self, remedy: str) -> str:
        """Returns the message with the way out: `remedy`, if it isn't to remove it."""
        return f"{self}: {'remove it, or ' if self.removable else ''}{remedy}"


def folder(path: Path) -> Path:
    """Makes sure that `path` is this user's alone (mode 0700), and returns it without links. Makes
    what is missing.

    Only this user and root can put another folder into its place, so paths below it may be opened
    by name. Raises NotPrivateError; OSError where it can't be made.
    """
    real = Path(os.path.realpath(path.parent)) / path.name
    _require_trusted_above(real)
    handle = open_folder(real, PRIVATE)
    try:
        # again: another user may have made meanwhile what was missing, as in /tmp
        _require_trusted_above(real)
        mode = stat.S_IMODE(os.fstat(handle).st_mode)
        if mode & ~PRIVATE and not _read_only(handle):
            os.fchmod(handle, mode & PRIVATE)
    finally:
        os.close(handle)
    return real


def open_folder(path: Path, mode: int = PUBLIC) -> int:
    """Opens a folder that this user owns and no other may write; makes it, and those above it,
    where it is missing.

    A descriptor for `open_file`: what is opened by it is in this folder, even where a folder above
    is another user's, who may rename this one. Raises NotPrivateError; OSError where it can't be
    made.
    """
    make_folder(path, mode)
    with held(path.parent) as above:
        place = above / (path.name or ".")
        try:
            handle = os.open(place, _FOLDER)
        except OSError as error:
            if error.errno in (errno.ELOOP, errno.ENOTDIR) and place.is_symlink():
                raise NotPrivateError(f"{path} is a symbolic link") from None
            error.filename = str(path)
            raise
    try:
        _require_own(path, os.fstat(handle))
    except BaseException:
        os.close(handle)
        raise
    return handle


def make_folder(path: Path, mode: int = PUBLIC) -> None:
    """Makes a folder, and those above it with the same mode, where they are missing: no other user
    may write them, whatever the umask. Raises as `held`."""
    with held(path, mode):
        pass


@contextmanager
def held(path: Path, make: int | None = None) -> Iterator[Path]:
    """Yields a name by which the folder at `path` stays the same one while the block lasts: a
    descriptor's, in /proc.

    For files that go into a folder that another user may write, or that is below one: he may rename
    folders on the path, and put links there, between any two system calls. A name below the one
    that is yielded leads into the folder that was found here, whatever the path leads to by then;
    so libraries that take only paths can write there. `make`: the mode of folders that are missing;
    None makes none.

    Links on the path are followed as `output` follows them. Raises NotPrivateError, OSError.
    """
    folder, name = _followed(path, make)
    try:
        if name:
            number = errno.ENOTDIR if path.exists() else errno.ENOENT
            raise OSError(number, os.strerror(number), str(path))
        yield _name_of(folder)
    finally:
        os.close(folder)


@contextmanager
def scratch(folder: Path, prefix: str) -> Iterator[Path]:
    """Yields a new, empty folder of a held one, which only this user may enter (mode 0700), held
    and locked (flock) while the block lasts; then it is removed with what is in it. What is to stay
    is renamed from there.

    The owner of `folder` may rename it, or put another into its place: the name that is yielded
    leads to this one. Raises OSError.
    """
    place = folder / f"{prefix}{os.urandom(6).hex()}"
    place.mkdir(PRIVATE)
    try:
        handle = lock(place)
        try:
            status = os.fstat(handle)
            same = _name_of(handle)
            if (
                status.st_uid != geteuid()
                or stat.S_IMODE(status.st_mode) & ~PRIVATE
                or any(same.iterdir())
            ):
                raise OSError(errno.EEXIST, "another user has put another folder there", str(place))
            try:
                yield same
            finally:
                clear(handle)
        finally:
            os.close(handle)
    finally:
        with suppress(OSError):  # another user has moved it: it is empty, and he may remove it
            place.rmdir()


def lock(folder: Path) -> int:
    """Opens a folder, which is no link, and locks it (flock) until the descriptor is closed. Raises
    OSError; BlockingIOError where another process has it."""
    handle = os.open(folder, _FOLDER)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BaseException:
        os.close(handle)
        raise
    return handle


def clear(handle: int) -> None:
    """Removes what is in an opened folder of this user's, as far as that can be done."""
    import shutil  # a switch, which clears none, starts without it

    for path in [*_name_of(handle).iterdir()]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path, ignore_errors=True)
        else:
            with suppress(OSError):
                path.unlink()


def _name_of(handle: int) -> Path:
    """Returns the name of an opened folder for this process and others of this user; its number is
    the one that this /proc has, which may be of another namespace."""
    return Path("/proc") / Path("/proc/self").readlink() / "fd" / str(handle)


def new_folder(path: Path) -> Path:
    """Makes a folder that wasn't there, readable by others: `path`, or the first free one of
    NAME.2, NAME.3, ... Raises NotPrivateError, OSError."""
    with held(path.parent, PUBLIC) as above:
        for number in itertools.count(1):
            candidate = path if number == 1 else path.with_name(f"{path.name}.{number}")
            with suppress(FileExistsError):
                (above / candidate.name).mkdir(PUBLIC)
                return candidate
    raise AssertionError


def open_file(name: str, flags: int, folder: int) -> int:
    """Opens a file of an opened folder, without following a link. Raises OSError."""
    return os.open(name, flags | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644, dir_fd=folder)


def read(path: Path) -> bytes:
    """Returns the content of a file that this user owns and no other may write. Raises
    NotPrivateError, OSError."""
    try:
        handle = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise NotPrivateError(f"{path} is a symbolic link") from None
        raise
    with os.fdopen(handle, "rb") as file:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            raise NotPrivateError(f"{path} is no file")
        _require_own(path, status)
        return file.read()


def new_file(path: Path) -> int:
    """Opens a file that wasn't there, to write: no link is followed, no other user may write it.
    Raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC, 0o644)


def append_to(path: Path) -> int:
    """Opens a file that is there, to write at its end: no link is followed. Raises OSError."""
    return os.open(path, os.O_WRONLY | os.O_APPEND | os.O_NOFOLLOW | os.O_CLOEXEC)


def output(path: Path, *, append: bool = False, overwrite: bool = True) -> int:
    """Opens a file that the user names, to write: with `append` at its end, else from its
    beginning, and without `overwrite` only where there is none.

    Links on the path are followed where they are this user's or root's: another user, who may write
    a folder of it, has no part in where this one's bytes go. So no file with several names is
    opened in such a folder either, nor a named pipe of another user's, who may also leave it full.
    Raises NotPrivateError, FileExistsError, OSError.
    """
    folder, name = _followed(path)
    try:
        if not name:
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
        flags = (
            os.O_WRONLY | os.O_CREAT | os.O_CLOEXEC | os.O_NONBLOCK | (os.O_APPEND if append else 0)
        )
        flags |= 0 if Path(name).is_absolute() else os.O_NOFOLLOW
        handle = os.open(name, flags | (0 if overwrite else os.O_EXCL), 0o644, dir_fd=folder)
        try:
            status = os.fstat(handle)
            if stat.S_ISREG(status.st_mode) and status.st_nlink > 1 and _is_shared(folder):
                raise NotPrivateError(f"{path} has another name, and others may write its folder")
            named = not Path(name).is_absolute()  # a pipe of a shell's is /dev/stdout
            if named and stat.S_ISFIFO(status.st_mode) and not _is_trusted(status, folder):
                raise NotPrivateError(f"{path} is a pipe of {owner(status.st_uid)}")
            os.set_blocking(handle, True)
            if stat.S_ISREG(status.st_mode) and not append:
                os.ftruncate(handle, 0)
        except BaseException:
            os.close(handle)
            raise
    finally:
        os.close(folder)
    return handle


def _followed(path: Path, make: int | None = None) -> tuple[int, str]:
    """Returns a descriptor of a file's folder, and the file's name there, which is no link; or its
    whole path, if it is an opened file's in /proc. Of a folder: its descriptor, and no name.
    `make`: the mode of missing folders, of which `path` is then one. Raises NotPrivateError,
    OSError."""
    pending = [*reversed(path.parts)]
    folder, links = os.open(".", os.O_PATH | os.O_CLOEXEC), 0
    # with fewer pending names than that, what is missing isn't where a link leads
    of_path = len(pending)
    try:
        while pending:
            name = pending.pop()
            try:
                here = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=folder)
            except FileNotFoundError:
                if make is not None and len(pending) < of_path:
                    # another thread or process may have made it since
                    with suppress(FileExistsError):
                        os.mkdir(name, make, dir_fd=folder)
                    pending.append(name)
                    continue
                if pending or make is not None:
                    raise
                return folder, name
            status = os.fstat(here)
            if stat.S_ISLNK(status.st_mode):
                try:
                    in_proc = status.st_dev == Path("/proc").stat().st_dev
                    if not in_proc and not _is_trusted(status, folder):
                        raise NotPrivateError(
                            f"{path}: {name} is a symbolic link of {owner(status.st_uid)}"
                        )
                    target = os.readlink("", dir_fd=here)
                finally:
                    os.close(here)
                links += 1
                if links > _MOST_LINKS:
                    raise OSError(errno.ELOOP, os.strerror(errno.ELOOP))
                if not in_proc:
                    of_path = min(of_path, len(pending))
                    pending += reversed(Path(target).parts)
                    continue
                # The kernel's own, to what is open, whichever name that has by now.
                here = os.open(name, os.O_PATH | os.O_CLOEXEC, dir_fd=folder)
                status = os.fstat(here)
                name = f"{os.path.realpath(f'/proc/self/fd/{folder}')}/{name}"
            if stat.S_ISDIR(status.st_mode):
                # Ctrl-C may come after each step: the one that is closed is never closed again.
                above, folder = folder, here
                os.close(above)
            else:
                os.close(here)
                if pending:
                    raise NotADirectoryError(errno.ENOTDIR, os.strerror(errno.ENOTDIR))
                return folder, name
        return folder, ""
    except BaseException as error:
        os.close(folder)
        if isinstance(error, OSError):
            error.filename = str(path)
        raise


def _is_trusted(link: os.stat_result, folder: int) -> bool:
    """Returns whether a link or a pipe is root's, this user's, or of the system's folder /, which
    in a user namespace may be of a user that isn't known there."""
    return link.st_uid in (0, geteuid()) or os.path.samestat(
        Path(f"/proc/self/fd/{folder}").stat(), Path("/").stat()
    )


def _is_shared(folder: int) -> bool:
    """Returns whether another user than root may put a file into an opened folder."""
    status = Path(f"/proc/self/fd/{folder}").stat()
    return status.st_uid not in (0, geteuid()) or _others_may_write(status)


def memory(name: str, size: int) -> int:
    """Makes memory of `size` bytes without a file: only processes of this user can open it, by
    `open_memory`, while this one has the descriptor open. Raises OSError."""
    handle = os.memfd_create(name, os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    try:
        os.fchmod(handle, 0o600)
        os.ftruncate(handle, size)
        fcntl.fcntl(handle, fcntl.F_ADD_SEALS, _SEALS)
    except BaseException:
        os.close(handle)
        raise
    return handle


def open_memory(path: Path) -> int:
    """Opens what a process of this user made by `memory`, by its name there, /proc/PID/fd/N. Its
    size never changes. Raises NotPrivateError; OSError where the process or its descriptor is
    gone."""
    handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | os.O_NONBLOCK)
    try:
        _require_own(path, os.fstat(handle))
        if not _is_sealed(handle):
            raise NotPrivateError(f"{path} is no memory of a fixed size")
    except BaseException:
        os.close(handle)
        raise
    return handle


def _is_sealed(handle: int) -> bool:
    """Returns whether a descriptor is memory of a sealed size, which can be mapped safely."""
    try:
        return fcntl.fcntl(handle, fcntl.F_GET_SEALS) & _SEALS == _SEALS
    except OSError:  # not memory at all
        return False


@contextmanager
def unshared() -> Iterator[None]:
    """Restricts sockets that the block makes to this user, from their first moment on."""
    before = os.umask(0o177)
    try:
        yield
    finally:
        os.umask(before)


def owner(uid: int) -> str:
    """Returns a user's name and number."""
    import pwd

    try:
        return f"{pwd.getpwuid(uid).pw_name} (uid {uid})"
    except KeyError:
        return f"uid {uid}"


def _require_trusted_above(path: Path) -> None:
    """No other user can rename the folders on the path. The owner of / is the system: root, or how
    a container shows it."""
    trusted = {0, geteuid(), Path("/").stat().st_uid}
    for above in path.parents:
        try:
            status = above.lstat()
        except FileNotFoundError:
            continue
        if status.st_uid not in trusted:
            raise NotPrivateError(
                f"{above} belongs to {owner(status.st_uid)}, who may replace {path}"
            )
        if _others_may_write(status) and not status.st_mode & stat.S_ISVTX:
            raise NotPrivateError(
                f"{above} may be written by others ({_mode(status)}), who may replace {path}"
            )


def _require_own(path: Path, status: os.stat_result) -> None:
    if status.st_uid != geteuid():
        raise NotPrivateError(
            f"{path} belongs to {owner(status.st_uid)}, not to {owner(geteuid())}"
        )
    if _others_may_write(status):
        raise NotPrivateError(f"{path} may be written by others ({_mode(status)})", removable=True)


def _others_may_write(status: os.stat_result) -> bool:
    """Returns whether other users may write a file. A group whose one member is the file's user
    isn't another."""
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _own_group(status.st_gid)


def _own_group(gid: int) -> bool:
    """Returns whether a group has this user alone, by its members and by all users' own groups.
    Where users aren't listed, as by some directories, another may have it as his own: then the list
    may lack this user, too."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(geteuid()), grp.getgrgid(gid)
    except KeyError:
        return False
    users = pwd.getpwall()
    if group.gr_name != user.pw_name or user.pw_name not in {listed.pw_name for listed in users}:
        return False
    return not (
        set(group.gr_mem) | {listed.pw_name for listed in users if listed.pw_gid == gid}
    ) - {user.pw_name}


def _mode(status: os.stat_result) -> str:
    return f"mode {stat.S_IMODE(status.st_mode):04o}"


def _read_only(handle: int) -> bool:
    return bool(os.fstatvfs(handle).f_flag & os.ST_RDONLY)
