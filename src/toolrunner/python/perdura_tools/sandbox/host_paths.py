"""Host paths that a command is given. Users named them, so everything about them is checked."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from typing import Iterable


@dataclass(frozen=True)
class HostPath:
    path: str
    """Absolute and in normal form; the service has checked it by this name."""
    writable: bool


def open_exactly(path: str, root: str = "/") -> int:
    """Opens a path below the root as an O_PATH descriptor, without following a symbolic link on the way.

    So exactly the path that was checked by name is opened, whatever has replaced it since.
    """
    if os.path.normpath(path) != path or not path.startswith("/") or path == "/":
        raise OSError(f"the path {path} cannot be given: it is not in normal form")
    fd = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    for name in path.strip("/").split("/"):
        try:
            inner = os.open(name, os.O_PATH | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=fd)
        except OSError as reason:
            raise OSError(f"the path {path} cannot be given: {reason.strerror}") from None
        finally:
            os.close(fd)
        fd = inner
        if stat.S_ISLNK(os.fstat(fd).st_mode):
            os.close(fd)
            raise OSError(f"the path {path} cannot be given: {name} has become a symbolic link")
    return fd


def is_directory(fd: int) -> bool:
    return stat.S_ISDIR(os.fstat(fd).st_mode)


def make_place(root: str, path: str, directory: bool) -> None:
    """Creates a mount point below a root in which nothing foreign is mounted yet. Follows no symbolic link."""
    *parents, last = path.strip("/").split("/")
    fd = os.open(root, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        for name in parents:
            inner = _make_directory(fd, name)
            os.close(fd)
            fd = inner
        if directory:
            os.close(_make_directory(fd, last))
        else:
            _make_file(fd, last)
    finally:
        os.close(fd)


def _make_directory(parent: int, name: str) -> int:
    try:
        os.mkdir(name, 0o755, dir_fd=parent)
    except FileExistsError:
        pass
    return os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)


def _make_file(parent: int, name: str) -> None:
    try:
        os.close(os.open(name, os.O_CREAT | os.O_EXCL | os.O_WRONLY | os.O_NOFOLLOW, 0o644, dir_fd=parent))
    except FileExistsError:
        return


def outermost(paths: Iterable[str]) -> list[str]:
    """Returns the paths that lie in none of the others."""
    chosen: list[str] = []
    for path in sorted(set(paths)):
        if not any(path.startswith(other + "/") for other in chosen):
            chosen.append(path)
    return chosen
