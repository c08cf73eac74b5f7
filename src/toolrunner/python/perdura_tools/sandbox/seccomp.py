"""The system-call filter, as classic BPF."""

from __future__ import annotations

import ctypes
import errno
import struct
from dataclasses import dataclass
from typing import Iterable, Optional

from . import syscall_table as calls
from .syscalls import MACHINE, check, libc

LOAD, JUMP_EQ, JUMP_GE, JUMP_SET, AND, RETURN = 0x20, 0x15, 0x35, 0x45, 0x54, 0x06
ALLOW, KILL, ERROR = 0x7FFF0000, 0x80000000, 0x00050000
NUMBER, ARCH, ARGUMENT = 0, 4, 16
X32 = 0x40000000
NEW_NAMESPACE = 0x7E020000
TERMINAL_INJECTION = (0x5412, 0x541C)
F_SETOWN, F_SETSIG, F_SETOWN_EX, F_SETLEASE, F_SETDELEG = 8, 10, 15, 1024, 1040
FIOSETOWN, SIOCSPGRP = 0x8901, 0x8902
MSG_FASTOPEN = 0x20000000
AF_UNIX, AF_INET, AF_INET6, AF_NETLINK = 1, 2, 10, 16
SOCK_STREAM, TYPE_MASK, IPPROTO_TCP = 1, 0xF, 6


@dataclass(frozen=True)
class Policy:
    """The parts that differ between uses of the filter; everything else is the same for all."""

    families: tuple[int, ...] = (AF_UNIX, AF_INET, AF_INET6)
    """The address families that `socket()` may use."""
    tcp_only: bool = False
    """Internet sockets can only be plain TCP, the one protocol Landlock has rules for."""
    on_host: bool = False
    """The tool can name processes and files that are not its own (no namespaces)."""
    shared_files: bool = False
    """Files of the service belong to the tool's own user."""
    own_pid: Optional[int] = None
    """The only process that may receive signals, if nothing else limits them."""
    big_memory: bool = False
    """memfd and System V memory are allowed."""


class Program:
    """Builds instructions, and counts their jumps."""

    def __init__(self) -> None:
        self.code: list[bytes] = []

    def add(self, code: int, value: int, if_true: int = 0, if_false: int = 0) -> None:
        self.code.append(struct.pack("=HBBI", code, if_true, if_false, value))

    def error(self, number: int) -> None:
        self.add(RETURN, ERROR | number)

    def refuse(self, number: int, reason: int = errno.EPERM) -> None:
        self.add(JUMP_EQ, number, 0, 1)
        self.error(reason)

    def when(self, number: int, body: "Program") -> None:
        """Runs the body for one system call. A body that makes no decision falls through to the rest."""
        body.add(LOAD, NUMBER)
        self.add(JUMP_EQ, number, 0, len(body.code))
        self.code += body.code

    def load_argument(self, index: int) -> None:
        self.add(LOAD, ARGUMENT + 8 * index)

    def bytes(self) -> bytes:
        return b"".join(self.code)


def build_filter(policy: Policy, machine: str = MACHINE) -> bytes:
    column, architecture = calls.ARCHITECTURES[machine]
    program = Program()
    program.add(LOAD, ARCH)
    program.add(JUMP_EQ, architecture, 1, 0)
    program.add(RETURN, KILL)
    program.add(LOAD, NUMBER)
    program.add(JUMP_GE, calls.NEWEST_KNOWN + 1, 0, 1)
    program.error(errno.ENOSYS)
    for number in _numbers(_denied(policy), column):
        program.refuse(number)
    if not policy.big_memory:
        for number in _numbers([calls.DENIED_MEMORY], column):
            program.refuse(number, errno.ENOSYS)
    special = {name: pair[column] for name, pair in calls.SPECIAL.items()}
    # glibc falls back to clone, whose flags a filter can see.
    program.refuse(special["clone3"], errno.ENOSYS)
    _clone(program, special)
    _ioctl(program, policy, special)
    _fcntl(program, policy, special)
    _processes(program, policy, column)
    _sockets(program, policy, special)
    program.add(RETURN, ALLOW)
    return program.bytes()


def _denied(policy: Policy) -> list[calls.Table]:
    on_host = [calls.DENIED_ON_HOST] if policy.on_host else []
    return [calls.DENIED, *on_host, *([calls.DENIED_ON_FOREIGN_FILES] if policy.shared_files else [])]


def _numbers(tables: Iterable[calls.Table], column: int) -> list[int]:
    return sorted({pair[column] for table in tables for pair in table.values() if pair[column] is not None})


def _clone(program: Program, special: dict[str, int]) -> None:
    body = Program()
    body.load_argument(0)
    body.add(JUMP_SET, NEW_NAMESPACE, 0, 1)
    body.error(errno.EPERM)
    program.when(special["clone"], body)


def _ioctl(program: Program, policy: Policy, special: dict[str, int]) -> None:
    body = Program()
    body.load_argument(1)
    for request in (*TERMINAL_INJECTION, *((FIOSETOWN, SIOCSPGRP) if policy.on_host else ())):
        body.refuse(request)
    program.when(special["ioctl"], body)


def _fcntl(program: Program, policy: Policy, special: dict[str, int]) -> None:
    """Refuses commands that set a descriptor's owner or a lease.

    The owner receives signals from the kernel, and a process of the host could be set as one. A lease delays others
    who open a file.
    """
    body = Program()
    body.load_argument(1)
    for command in (F_SETLEASE, F_SETDELEG, *((F_SETOWN, F_SETSIG, F_SETOWN_EX) if policy.on_host else ())):
        body.refuse(command)
    program.when(special["fcntl"], body)


def _processes(program: Program, policy: Policy, column: int) -> None:
    first = [calls.SELF_ONLY_FIRST, *([calls.SELF_ONLY_FIRST_SHARED_PIDS] if policy.on_host else [])]
    second = [calls.SELF_ONLY_SECOND_SHARED_PIDS] if policy.on_host else []
    rules = [(number, 0, 0) for number in _numbers(first, column)] + [(number, 1, 0) for number in _numbers(second, column)]
    if policy.own_pid is not None:
        rules += [(number, 0, policy.own_pid) for number in _numbers([calls.SIGNALS], column)]
    for number, argument, allowed in rules:
        body = Program()
        body.load_argument(argument)
        body.add(JUMP_EQ, allowed, 1, 0)
        body.error(errno.EPERM)
        program.when(number, body)


def _sockets(program: Program, policy: Policy, special: dict[str, int]) -> None:
    pair = Program()
    pair.load_argument(0)
    pair.add(JUMP_EQ, AF_UNIX, 1, 0)
    pair.error(errno.EAFNOSUPPORT)
    program.when(special["socketpair"], pair)
    program.when(special["socket"], _tcp_socket(policy) if policy.tcp_only else _family_socket(policy))
    if policy.tcp_only:
        # A fast open connects without passing Landlock's rule for connections.
        for name, argument in (("sendto", 3), ("sendmsg", 2), ("sendmmsg", 3)):
            body = Program()
            body.load_argument(argument)
            body.add(JUMP_SET, MSG_FASTOPEN, 0, 1)
            body.error(errno.EPERM)
            program.when(special[name], body)


def _family_socket(policy: Policy) -> Program:
    body = Program()
    body.load_argument(0)
    for index, family in enumerate(policy.families):
        body.add(JUMP_EQ, family, len(policy.families) - index, 0)
    body.error(errno.EAFNOSUPPORT)
    return body


def _tcp_socket(policy: Policy) -> Program:
    body = _family_socket(policy)
    body.load_argument(1)
    body.add(AND, TYPE_MASK)
    body.add(JUMP_EQ, SOCK_STREAM, 1, 0)
    body.error(errno.EAFNOSUPPORT)
    body.load_argument(2)
    body.add(JUMP_EQ, 0, 2, 0)
    body.add(JUMP_EQ, IPPROTO_TCP, 1, 0)
    body.error(errno.EAFNOSUPPORT)
    return body


class _FilterProgram(ctypes.Structure):
    _fields_ = [("length", ctypes.c_ushort), ("filter", ctypes.c_void_p)]


def install(program: bytes) -> None:
    """Installs the filter permanently, for this process and everything it starts. Needs no_new_privs."""
    buffer = ctypes.create_string_buffer(program, len(program))
    argument = _FilterProgram(len(program) // 8, ctypes.addressof(buffer))
    result = libc.prctl(22, ctypes.c_ulong(2), ctypes.byref(argument), ctypes.c_ulong(0), ctypes.c_ulong(0))
    check(result, "seccomp")
