"""Finds and ends every process that a tool started, if no PID namespace does so."""

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

    This process must not die with its own parent: it ends the descendants when its input ends.
    """
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)


def descendants() -> list[int]:
    """Lists every living descendant of this process, parents first."""
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
    """Lists (pid, parent, resident bytes) of every visible process, without zombies."""
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
    """Kills all descendants and returns when none is left. The next pass finds a process that forked while it was being
    killed.

    `first` is a child that is known to be uncollected. It leads the process group, which is all that can be found
    without /proc.
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
    """Stops and lists every descendant, so that none of them can fork any more: a stopped process keeps its place in
    the user's process limit.
    """
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
    """Ends children that this process did not start itself, such as those of a lost supervisor."""
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
    """Collects every child that has ended. Returns the exit code of `wanted` (negative: signal) if it is among them."""
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
    """Waits for all children to be gone, after everything was killed."""
    while True:
        try:
            os.waitpid(-1, 0)
        except ChildProcessError:
            return


def reap_all() -> bool:
    """Collects children that have ended. Returns True if any child is left."""
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
