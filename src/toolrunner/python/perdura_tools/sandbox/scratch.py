"""Private directories, for kernels that cannot give each call its own file system.

A tool may be changing such a directory while it is measured or removed, and its supervisor may be root. Every name
is therefore looked up in a directory that is already open, and no link is followed.
"""

from __future__ import annotations

import errno
import os
import stat
from typing import Optional

MOST_ENTRIES = 20_000
MOST_LEVELS = 128
ROUNDS = 10_000
O_PATH = getattr(os, "O_PATH", 0)
DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
EXCHANGED = (errno.ENOENT, errno.ENOTDIR, errno.ELOOP)


SHARED = "/tmp"
"""The home and temporary directory where each call has its own file system."""


def set_home(env: dict[str, str], home: str) -> None:
    """Names the private directory in the environment, unless the call has named another one."""
    for name in ("HOME", "TMPDIR"):
        if env.get(name, SHARED) == SHARED:
            env[name] = home


class _TooMuch(Exception):
    pass


class _Count:
    def __init__(self, limit: int):
        self.left, self.entries = limit, MOST_ENTRIES

    def add(self, blocks: int) -> None:
        self.left -= blocks * 512
        self.entries -= 1
        if self.left < 0 or self.entries < 0:
            raise _TooMuch


def fits(root: str, limit: int) -> bool:
    """True if a directory holds less than the limit; False also if a tool prevents the check."""
    try:
        _measure(os.open(root, DIRECTORY), _Count(limit), 1)
    except FileNotFoundError:
        return True
    except (OSError, _TooMuch):
        return False
    return True


def _measure(fd: int, count: _Count, level: int) -> None:
    try:
        if level > MOST_LEVELS:
            raise _TooMuch
        with os.scandir(fd) as found:
            for entry in found:
                try:
                    count.add(entry.stat(follow_symlinks=False).st_blocks)
                except FileNotFoundError:
                    continue
                if entry.is_dir(follow_symlinks=False):
                    inner = _enter(fd, entry.name)
                    if inner is not None:
                        _measure(inner, count, level + 1)
    finally:
        os.close(fd)


def _enter(parent: int, name: str) -> Optional[int]:
    """Opens a directory; None if the name is not a directory any more."""
    try:
        return os.open(name, DIRECTORY, dir_fd=parent)
    except OSError as reason:
        if reason.errno in EXCHANGED:
            return None
        raise


def remove_tree(root: str) -> None:
    """Removes a directory whose modes and depth a tool has chosen; does nothing if there is none.

    Directories are moved up before they are emptied, so two descriptors are enough for any depth.
    """
    parent = os.open(os.path.dirname(root), os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        name = os.path.basename(root)
        fd = _enter_closed(parent, name)
        if fd is None:
            return
        try:
            _empty(fd)
        finally:
            os.close(fd)
        os.rmdir(name, dir_fd=parent)
    finally:
        os.close(parent)


def _empty(fd: int) -> None:
    for _ in range(ROUNDS):
        names = os.listdir(fd)
        if not names:
            return
        for name in names:
            _remove_or_flatten(fd, name)
    raise OSError("a directory could not be removed: something writes in it")


def _remove_or_flatten(root: int, name: str) -> None:
    if _unlink(root, name):
        return
    fd = _enter_closed(root, name)
    if fd is None:
        return
    try:
        for child in os.listdir(fd):
            if not _unlink(fd, child):
                _move_up(fd, child, root)
    finally:
        os.close(fd)
    try:
        os.rmdir(name, dir_fd=root)
    except OSError as reason:
        # If the directory has been filled again, the next round finds it.
        if reason.errno not in (*EXCHANGED, errno.ENOTEMPTY):
            raise


def _unlink(fd: int, name: str) -> bool:
    """Removes an entry that is not a directory; returns False for a directory."""
    try:
        os.unlink(name, dir_fd=fd)
    except FileNotFoundError:
        return True
    except (IsADirectoryError, PermissionError):
        # For a directory, Linux raises IsADirectoryError, and other systems PermissionError.
        if not _is_other(fd, name):
            return False
        os.unlink(name, dir_fd=fd)
    return True


def _is_other(fd: int, name: str) -> bool:
    try:
        return not stat.S_ISDIR(os.stat(name, dir_fd=fd, follow_symlinks=False).st_mode)
    except FileNotFoundError:
        return False


def _move_up(fd: int, name: str, root: int) -> None:
    inner = _enter_closed(fd, name)
    if inner is None:
        return
    os.close(inner)
    try:
        os.rename(name, os.urandom(16).hex(), src_dir_fd=fd, dst_dir_fd=root)
    except OSError as reason:
        if reason.errno not in EXCHANGED:
            raise


def _enter_closed(parent: int, name: str) -> Optional[int]:
    """Opens a directory, even if its owner removed the rights to it; None if the name is not a directory. Changes only
    what was opened.
    """
    try:
        if not O_PATH:
            os.chmod(name, 0o700, dir_fd=parent, follow_symlinks=False)
        found = os.open(name, DIRECTORY | O_PATH, dir_fd=parent)
    except OSError as reason:
        if reason.errno in EXCHANGED:
            return None
        raise
    if not O_PATH:
        return found
    try:
        place = f"/proc/self/fd/{found}"
        os.chmod(place, 0o700)
        return os.open(place, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    finally:
        os.close(found)
