"""System calls that Python's standard library does not offer."""

from __future__ import annotations

import ctypes
import os
import platform
import struct
from typing import Optional

libc = ctypes.CDLL(None, use_errno=True)

CLONE_NEWNS = 0x00020000
CLONE_NEWCGROUP = 0x02000000
CLONE_NEWUTS = 0x04000000
CLONE_NEWIPC = 0x08000000
CLONE_NEWUSER = 0x10000000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000

MS_RDONLY, MS_NOSUID, MS_NODEV, MS_NOEXEC = 1, 2, 4, 8
MS_BIND, MS_REC, MS_PRIVATE, MS_SLAVE = 4096, 16384, 1 << 18, 1 << 19
MNT_DETACH = 2
AT_FDCWD, AT_RECURSIVE, AT_EMPTY_PATH = -100, 0x8000, 0x1000
OPEN_TREE_CLONE, OPEN_TREE_CLOEXEC, MOVE_MOUNT_FROM_FD, MOVE_MOUNT_TO_FD = 1, 0o2000000, 4, 0x40

PR_SET_PDEATHSIG, PR_SET_DUMPABLE, PR_CAPBSET_DROP, PR_SET_NO_NEW_PRIVS, PR_SET_CHILD_SUBREAPER = 1, 4, 24, 38, 36
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
CAPABILITY_VERSION_3 = 0x20080522

MACHINE = platform.machine()
# Numbers above 423 are the same on all machines.
NUMBERS = {
    "x86_64": {"capset": 126, "pivot_root": 155},
    "aarch64": {"capset": 91, "pivot_root": 41},
}.get(MACHINE, {})
OPEN_TREE, MOVE_MOUNT, MOUNT_SETATTR, LANDLOCK_CREATE, LANDLOCK_ADD, LANDLOCK_RESTRICT = 428, 429, 442, 444, 445, 446


def check(result: int, what: str) -> int:
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{what}: {os.strerror(number)}")
    return result


def unshare(flags: int) -> None:
    check(libc.unshare(flags), f"unshare({flags:#x})")


def setns(fd: int, kind: int) -> None:
    check(libc.setns(fd, kind), "setns")


def mount(source: Optional[str], target: str, kind: Optional[str], flags: int = 0, data: Optional[str] = None) -> None:
    encoded = [part.encode() if part is not None else None for part in (source, target, kind, data)]
    result = libc.mount(encoded[0], encoded[1], encoded[2], ctypes.c_ulong(flags), encoded[3])
    check(result, f"mount {source} on {target}")


def detach(target: str) -> None:
    check(libc.umount2(target.encode(), MNT_DETACH), f"umount {target}")


def pivot_here() -> None:
    """Makes the current directory the root and detaches the old root."""
    check(libc.syscall(NUMBERS["pivot_root"], b".", b"."), "pivot_root")
    detach(".")
    os.chdir("/")


def set_mount_flags(target: str, flags: int, recursive: bool = False) -> None:
    """Sets flags on a mount. MS_RDONLY, MS_NOSUID, MS_NODEV and MS_NOEXEC have the numbers of the MOUNT_ATTR flags."""
    _set_flags((AT_FDCWD, target), flags, AT_RECURSIVE if recursive else 0)


def set_opened_flags(tree: int, flags: int) -> None:
    """Sets flags on a detached copy and everything mounted in it, before anybody can see it."""
    _set_flags((tree, ""), flags, AT_RECURSIVE | AT_EMPTY_PATH)


def _set_flags(place: tuple[int, str], flags: int, how: int) -> None:
    attributes = struct.pack("=QQQQ", flags, 0, 0, 0)
    result = libc.syscall(MOUNT_SETATTR, place[0], place[1].encode(), how, attributes, ctypes.c_size_t(len(attributes)))
    check(result, f"mount_setattr {place[1]}")


def clone_tree(path: str) -> int:
    """Returns a detached copy of the mounts at the path, to be placed in another mount namespace."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE
    return check(libc.syscall(OPEN_TREE, AT_FDCWD, path.encode(), flags), f"open_tree {path}")


def clone_opened(fd: int) -> int:
    """Returns a detached copy of the mounts at a descriptor."""
    flags = OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | AT_EMPTY_PATH
    return check(libc.syscall(OPEN_TREE, fd, b"", flags), "open_tree")


def move_opened(tree: int, place: int) -> None:
    check(libc.syscall(MOVE_MOUNT, tree, b"", place, b"", MOVE_MOUNT_FROM_FD | MOVE_MOUNT_TO_FD), "move_mount")


def move_mount(fd: int, target: str) -> None:
    check(libc.syscall(MOVE_MOUNT, fd, b"", AT_FDCWD, target.encode(), MOVE_MOUNT_FROM_FD), f"move_mount to {target}")


def prctl(option: int, value: int = 0, third: int = 0) -> int:
    return libc.prctl(option, ctypes.c_ulong(value), ctypes.c_ulong(third), ctypes.c_ulong(0), ctypes.c_ulong(0))


def no_new_privileges() -> None:
    check(prctl(PR_SET_NO_NEW_PRIVS, 1), "no_new_privs")


def drop_capabilities() -> None:
    """Drops every set of capabilities. A process without CAP_SETPCAP has no bounding set to lower and needs none."""
    prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
    for capability in range(64):
        if prctl(PR_CAPBSET_DROP, capability) < 0:
            break
    header = struct.pack("=II", CAPABILITY_VERSION_3, 0)
    check(libc.syscall(NUMBERS["capset"], header, b"\0" * 24), "capset")


def die_with_parent(signal_number: int = 9) -> None:
    """Makes the kernel kill this process when its parent ends. A change of user clears this, so it must be repeated
    after each.
    """
    prctl(PR_SET_PDEATHSIG, signal_number)


def write_file(path: str, text: str) -> None:
    with open(path, "w", encoding="ascii") as file:
        file.write(text)


def map_own_ids(uid: int, gid: int) -> None:
    """Maps the caller's ids to themselves in a new user namespace, in which no other user exists."""
    write_file("/proc/self/setgroups", "deny")
    write_file("/proc/self/uid_map", f"{uid} {uid} 1")
    write_file("/proc/self/gid_map", f"{gid} {gid} 1")
