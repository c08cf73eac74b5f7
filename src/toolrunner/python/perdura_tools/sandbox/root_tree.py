"""Builds the file system of a confined process: the system and the interpreter are read-only, and nothing of the
service is visible.
"""

from __future__ import annotations

import os
from dataclasses import dataclass, field

from .host_paths import HostPath, is_directory, make_place, open_exactly, outermost
from .syscalls import (
    MS_BIND, MS_NODEV, MS_NOEXEC, MS_NOSUID, MS_RDONLY, MS_REC, clone_opened, mount, move_opened, pivot_here,
    set_mount_flags, set_opened_flags, write_file,
)  # fmt: skip

SYSTEM = ("/usr", "/lib", "/lib32", "/lib64", "/bin", "/sbin")
SYSTEM_ETC = tuple(
    f"/etc/{name}"
    for name in ("ssl", "pki", "ca-certificates", "ca-certificates.conf", "ld.so.cache", "alternatives", "localtime", "timezone", "nsswitch.conf", "mime.types", "services", "protocols")
)
DEVICES = ("null", "zero", "full", "random", "urandom")
READ_ONLY = MS_RDONLY | MS_NOSUID | MS_NODEV
HIDDEN = "/run/perdura"
WORKSPACE = "/workspace"


@dataclass(frozen=True)
class Bind:
    source: str
    target: str
    writable: bool = False


@dataclass(frozen=True)
class Tree:
    """The file system to build. `at` is an existing empty directory outside every bound path."""

    at: str
    read_only: tuple[str, ...]
    binds: tuple[Bind, ...] = ()
    host_paths: tuple[HostPath, ...] = ()
    uid: int = 0
    gid: int = 0
    tmp_mb: int = 64
    directories: tuple[str, ...] = field(default=(WORKSPACE, HIDDEN))


def system_paths(prefixes: list[str]) -> tuple[str, ...]:
    """Lists the paths that every confined process may read, the most general ones first, without duplicates."""
    chosen: list[str] = []
    for path in (*SYSTEM, *SYSTEM_ETC, *sorted(prefixes, key=len)):
        inside = any(path == other or path.startswith(other + "/") for other in chosen if not os.path.islink(other))
        if os.path.lexists(path) and not inside:
            chosen.append(path)
    return tuple(chosen)


def enter(tree: Tree) -> None:
    """Builds the tree and makes it the root. The caller must be in its own mount namespace."""
    # Opened before anything can hide the paths, and in this namespace, because only its own mounts can be cloned.
    given = [(host_path, open_exactly(host_path.path)) for host_path in sorted(tree.host_paths, key=lambda it: it.path)]
    umask = os.umask(0o022)
    mount("tmpfs", tree.at, "tmpfs", MS_NOSUID | MS_NODEV, "size=1m,mode=0755,nr_inodes=1k")
    for path in tree.read_only:
        _bind(tree.at, Bind(path, path))
    for directory in ("/dev", "/proc", "/tmp", "/etc", "/run", *tree.directories):
        os.makedirs(tree.at + directory, exist_ok=True)
    for bind in tree.binds:
        _bind(tree.at, bind)
    _devices(tree.at + "/dev")
    _accounts(tree)
    # The kernel allows a fresh /proc only for a process that already sees a complete one.
    mount("/proc", tree.at + "/proc", None, MS_BIND | MS_REC)
    _host_paths(tree.at, given)
    os.umask(umask)
    os.chdir(tree.at)
    pivot_here()
    set_mount_flags("/dev", MS_RDONLY | MS_NOSUID | MS_NOEXEC)
    set_mount_flags("/", READ_ONLY)


def _host_paths(root: str, given: list[tuple[HostPath, int]]) -> None:
    """Mounts the host paths as the last step: once a foreign path is mounted, nothing more is created below the root."""
    for host_path, fd in given:
        make_place(root, host_path.path, is_directory(fd))
    for host_path, fd in given:
        tree, place = clone_opened(fd), open_exactly(host_path.path, root)
        set_opened_flags(tree, (MS_NOSUID | MS_NODEV) if host_path.writable else READ_ONLY)
        move_opened(tree, place)
        for done in (tree, place, fd):
            os.close(done)


def _bind(root: str, bind: Bind) -> None:
    target = root + bind.target
    if os.path.islink(bind.source) and not bind.writable:
        os.makedirs(os.path.dirname(target), exist_ok=True)
        if not os.path.lexists(target):
            os.symlink(os.readlink(bind.source), target)
        return
    _place(target, os.path.isdir(bind.source))
    mount(bind.source, target, None, MS_BIND | MS_REC)
    set_mount_flags(target, (MS_NOSUID | MS_NODEV) if bind.writable else READ_ONLY, recursive=True)


def _place(target: str, is_directory: bool) -> None:
    """Creates a mount point."""
    if is_directory:
        os.makedirs(target, exist_ok=True)
    elif not os.path.lexists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o644))


def _devices(at: str) -> None:
    mount("tmpfs", at, "tmpfs", MS_NOSUID, "size=16k,mode=0755,nr_inodes=32")
    for name in DEVICES:
        os.close(os.open(f"{at}/{name}", os.O_CREAT | os.O_WRONLY, 0o644))
        mount(f"/dev/{name}", f"{at}/{name}", None, MS_BIND)
    os.symlink("/proc/self/fd", f"{at}/fd")
    for number, name in enumerate(("stdin", "stdout", "stderr")):
        os.symlink(f"/proc/self/fd/{number}", f"{at}/{name}")
    os.mkdir(f"{at}/shm")


def _accounts(tree: Tree) -> None:
    etc = tree.at + "/etc"
    write_file(f"{etc}/passwd", f"tool:x:{tree.uid}:{tree.gid}::/tmp:/bin/sh\n")
    write_file(f"{etc}/group", f"tool:x:{tree.gid}:\n")
    write_file(f"{etc}/hosts", "127.0.0.1 localhost\n::1 localhost\n")


def mount_private_places(tmp_mb: int, kept: tuple[str, ...] = ()) -> None:
    """Mounts the private places in the confined process's own mount and PID namespaces.

    `kept` are bound paths below /tmp that the private /tmp would hide. Mounts inside them are kept too.
    """
    held = [(path, os.open(path, os.O_PATH | os.O_CLOEXEC)) for path in outermost(kept)]
    mount("tmpfs", "/tmp", "tmpfs", MS_NOSUID | MS_NODEV, f"size={tmp_mb}m,mode=0700,nr_inodes=16k")
    mount("tmpfs", "/dev/shm", "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC, "size=16m,mode=0700,nr_inodes=1k")
    for path, fd in held:
        _place(path, os.path.isdir(f"/proc/self/fd/{fd}"))
        mount(f"/proc/self/fd/{fd}", path, None, MS_BIND | MS_REC)
        os.close(fd)
