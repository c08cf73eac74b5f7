"""Finding and ending every process a tool started, if no PID namespace does it."""

from __future__ import annotations

import ctypes
import os
import signal
import sys
import time
from typing import Optional

PR_SET_CHILD_SUBREAPER = 36
PATIENCE_S = 5.0
MOST_PASSES = 50


def adopt_orphans() -> None:
    """Makes this process the parent of orphaned descendants (Linux).

    It must not die with its own parent: it is the one that ends them, when its input ends.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


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


def kill_descendants(first: Optional[int] = None) -> None:
    """Returns when none is left; a process that forks while it is being killed is met by the next pass.

    `first` is a child known to be uncollected; it leads the process group that is all one can find without /proc.
    """
    if first is not None:
        if sys.platform != "linux":
            _signal_group(first)
        _signal(first)
        _await(first)
    until = time.monotonic() + PATIENCE_S
    while reap_all() and time.monotonic() < until:
        if sys.platform == "linux":
            for pid in _stopped():
                _signal(pid)
        time.sleep(0.001)


def _stopped() -> list[int]:
    """Every descendant, none of which can fork any more: what was stopped keeps its place among the user's processes."""
    stopped: set[int] = set()
    for _ in range(MOST_PASSES):
        running = [pid for pid in descendants() if pid not in stopped]
        if not running:
            break
        for pid in running:
            _signal(pid, signal.SIGSTOP)
        stopped.update(running)
    return list(stopped)


def _await(pid: int) -> None:
    try:
        os.waitpid(pid, 0)
    except ChildProcessError:
        return


def end_orphans(known: set[int]) -> None:
    """Ends children this process did not start itself: what a lost supervisor left behind."""
    for _ in range(1000):
        strangers = [pid for pid, parent, _ in process_table() if parent == os.getpid() and pid not in known]
        if not strangers:
            return
        for pid in strangers:
            _signal(pid)
            _await(pid)


def await_children(patience_s: float = PATIENCE_S) -> None:
    until = time.monotonic() + patience_s
    while reap_all() and time.monotonic() < until:
        time.sleep(0.005)


def collect(wanted: int) -> Optional[int]:
    """Collects every child that ended; the exit code of `wanted` (negative: signal) if it is among them."""
    found = None
    while True:
        try:
            pid, status = os.waitpid(-1, os.WNOHANG)
        except ChildProcessError:
            return found
        if pid == 0:
            return found
        if pid == wanted:
            found = os.waitstatus_to_exitcode(status)


def collect_all() -> None:
    """After everything was killed: waits until it is gone."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def reap_all() -> bool:
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
