"""File, network and signal rules that an unprivileged process can set for itself."""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from dataclasses import dataclass, field
from typing import Iterable, Optional

from .syscalls import LANDLOCK_ADD, LANDLOCK_CREATE, LANDLOCK_RESTRICT, check, libc

EXECUTE, WRITE_FILE, READ_FILE, READ_DIR = 1, 2, 4, 8
TRUNCATE, IOCTL_DEVICE = 1 << 14, 1 << 15
READ = EXECUTE | READ_FILE | READ_DIR
ON_FILES = EXECUTE | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEVICE
CONNECT_TCP = 2
ALL_NETWORK, ALL_SCOPES = 3, 3
PATH_RULE, PORT_RULE = 1, 2


def abi() -> int:
    """Returns the version of Landlock; 0 if the kernel does not support it."""
    return max(0, libc.syscall(LANDLOCK_CREATE, None, ctypes.c_size_t(0), 1))


@dataclass
class Ruleset:
    """The rules of a call. Their descriptors are opened in advance, so that confining a call opens nothing."""

    level: int = field(default_factory=abi)
    paths: list[tuple[int, int]] = field(default_factory=list)

    @property
    def handled(self) -> int:
        return (1 << {1: 13, 2: 14, 3: 15, 4: 15}.get(self.level, 16)) - 1

    def allow(self, paths: Iterable[str], writable: bool = False) -> None:
        for path in paths:
            opened = self.open(path, writable)
            if opened:
                self.paths.append(opened)

    def open(self, path: str, writable: bool) -> Optional[tuple[int, int]]:
        try:
            fd = os.open(path, os.O_PATH | os.O_CLOEXEC)
        except OSError:
            return None
        return fd, self._access(fd, writable)

    def allow_opened(self, fd: int, writable: bool) -> None:
        self.paths.append((fd, self._access(fd, writable)))

    def _access(self, fd: int, writable: bool) -> int:
        access = self.handled if writable else READ
        if not stat.S_ISDIR(os.fstat(fd).st_mode):
            access &= ON_FILES
        return access & self.handled

    def enforce(self, connect_port: Optional[int] = None) -> None:
        """Confines the caller to the paths, to TCP on one port or none, and to signals within itself. Needs
        no_new_privs; closes the descriptors.
        """
        network = ALL_NETWORK if self.level >= 4 else 0
        scopes = ALL_SCOPES if self.level >= 6 else 0
        size = 24 if self.level >= 6 else 16 if self.level >= 4 else 8
        attributes = struct.pack("=QQQ", self.handled, network, scopes)
        ruleset = check(libc.syscall(LANDLOCK_CREATE, attributes, ctypes.c_size_t(size), 0), "landlock_create_ruleset")
        for fd, access in self.paths:
            check(libc.syscall(LANDLOCK_ADD, ruleset, PATH_RULE, struct.pack("=Qi", access, fd), 0), "landlock_add_rule")
        if connect_port is not None:
            rule = struct.pack("=QQ", CONNECT_TCP, connect_port)
            check(libc.syscall(LANDLOCK_ADD, ruleset, PORT_RULE, rule, 0), "landlock_add_rule")
        check(libc.syscall(LANDLOCK_RESTRICT, ruleset, 0), "landlock_restrict_self")
        for fd in (ruleset, *(fd for fd, _ in self.paths)):
            os.close(fd)
