"""Limits of one process, and of one call as a whole."""

from __future__ import annotations

import os
import resource
from dataclasses import dataclass

from ..descendants import process_table

MB = 1 << 20
NICENESS = 5


@dataclass(frozen=True)
class Limits:
    memory_mb: int = 512
    """Resident memory of all processes together; enforced by the watch."""
    address_space_mb: int = 2048
    """The address space of one process; 0 for no limit, which some runtimes need."""
    processes: int = 64
    open_files: int = 256
    file_mb: int = 64
    cpu_s: int = 40
    """The CPU seconds of one process; 0 for no limit."""
    tmp_mb: int = 64


def apply(limits: Limits, process_allowance: int = 0) -> None:
    """Applies the limits. `process_allowance` is the number of the user's other processes, if the kernel counts those too."""
    wanted = {
        resource.RLIMIT_AS: limits.address_space_mb * MB,
        resource.RLIMIT_CPU: limits.cpu_s,
        resource.RLIMIT_NPROC: limits.processes + process_allowance,
        resource.RLIMIT_NOFILE: limits.open_files,
        resource.RLIMIT_FSIZE: limits.file_mb * MB,
        resource.RLIMIT_MEMLOCK: MB,
    }
    for kind, value in wanted.items():
        if value:
            _lower(kind, value)
    for kind in (resource.RLIMIT_CORE, resource.RLIMIT_MSGQUEUE):
        _lower(kind, 0)
    os.nice(NICENESS)


def _lower(kind: int, value: int) -> None:
    hard = resource.getrlimit(kind)[1]
    value = value if hard == resource.RLIM_INFINITY else min(value, hard)
    resource.setrlimit(kind, (value, value))


def prefer_as_oom_victim() -> None:
    """Makes the kernel kill a tool first when the machine runs out of memory. The process must be dumpable: others cannot write here."""
    try:
        # Bytes: a codec would be loaded from a folder that this user may not be allowed to read.
        with open("/proc/self/oom_score_adj", "wb", buffering=0) as file:
            file.write(b"1000")
    except OSError:
        return


def resident_bytes(pids: set[int]) -> int:
    return sum(size for pid, _, size in process_table() if pid in pids)


def tasks_of_user(uid: int) -> int:
    """Counts the threads of all of the user's processes, as RLIMIT_NPROC does."""
    count = 0
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and os.stat(f"/proc/{entry}").st_uid == uid:
                count += len(os.listdir(f"/proc/{entry}/task"))
        except OSError:
            continue
    return count
