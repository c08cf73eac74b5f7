"""Finding and ending every process a tool started, where no PID namespace does it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time

PR_SET_PDEATHSIG = 1
PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 5.0


def adopt_orphans() -> None:
    """Makes this process the parent of orphaned descendants, and mortal with its own parent (Linux)."""
    if sys.platform == "linux":
        libc = ctypes.CDLL(None)
        libc.prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)


def descendants() -> list[int]:
    """Every living descendant of this process, parents first."""
    children: dict[int, list[int]] = {}
    for pid, parent, _ in process_table():
        children.setdefault(parent, []).append(pid)
    found: list[int] = []
    queue = [os.getpid()]
    while queue:
        mine = children.get(queue.pop(), [])
        found += mine
        queue += mine
    return found


def process_table() -> list[tuple[int, int, int]]:
    """(pid, parent, resident bytes) of every process that can be seen, zombies left out."""
    page = os.sysconf("SC_PAGE_SIZE")
    table = []
    for entry in os.listdir("/proc"):
        if not entry.isdigit():
            continue
        try:
            with open(f"/proc/{entry}/stat", "rb") as file:
                stat = file.read()
        except OSError:
            continue
        fields = stat[stat.rindex(b")") + 2 :].split()
        if fields[0] != b"Z":
            table.append((int(entry), int(fields[1]), int(fields[21]) * page))
    return table


def kill_descendants(first: int) -> None:
    """Returns when none is left; a process that forks while it is being killed is met by the next pass."""
    if sys.platform != "linux":
        _signal_group(first)
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        if sys.platform == "linux":
            living = descendants()
            for pid in living:
                _signal(pid, signal.SIGSTOP)
            for pid in living:
                _signal(pid)
        if not _reap_all():
            return
        time.sleep(0.001)


def _reap_all() -> bool:
    """Collects what ended; whether any child is left."""
    while True:
        try:
            pid, _ = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return False
        if pid == 0:
            return True


def _signal(pid: int, number: int = signal.SIGKILL) -> None:
    try:
        os.kill(pid, number)
    except OSError:
        return


def _signal_group(pid: int) -> None:
    try:
        os.killpg(pid, signal.SIGKILL)
    except OSError:
        return
