"""Supervises one tool process: gives it its job, collects its output, and notices its end.

The supervisor runs only trusted code. The tool has only the ends of its pipes, so it cannot forge, close or flood
the channel to Node: everything that Node receives comes from the supervisor.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass
from typing import Any, Callable, Optional, Sequence

from .buffers import REPLY_LIMIT, Buffers, Region, Stream
from .descendants import collect

HEADER_BYTES = 1024
"""A job begins with a header of this length, padded with spaces. It holds what a supervisor needs to know, and no secret."""
TICK_MS = 100

Trouble = Callable[[], Optional[str]]
"""Returns the name of a problem with a running call; None if there is none."""


@dataclass
class Tool:
    """A forked process that waits for its job on `job_fd`."""

    pid: int
    job_fd: int
    result: Stream
    stdout: Stream
    stderr: Stream
    job_open: bool = True
    ended: bool = False
    """True if its end was collected; its number may now belong to another process."""

    def close_job(self) -> None:
        if self.job_open:
            self.job_open = False
            os.close(self.job_fd)

    def close(self) -> None:
        self.close_job()
        for stream in (self.result, self.stdout, self.stderr):
            os.close(stream.fd)


@dataclass(frozen=True)
class Outcome:
    kind: str
    """returned, raised, invalid, too_large, timed_out, ended, gone, refused, or a `Trouble`"""
    exit: Optional[int] = None
    message: str = ""


def fork_tool(body: Callable[[int, int], None], buffers: Buffers, keep: Sequence[int] = ()) -> Tool:
    """Forks a tool process. The child has /dev/null, two pipes and the descriptors in `keep`, and runs `body(job_fd,
    result_fd)`.
    """
    buffers.empty()
    job, result, out, err = (os.pipe() for _ in range(4))
    wake_up_reader()
    pid = os.fork()
    if pid == 0:
        try:
            signal.set_wakeup_fd(-1)
            signal.signal(signal.SIGCHLD, signal.SIG_DFL)
            os.setsid()
            null = os.open("/dev/null", os.O_RDONLY)
            for source, target in ((null, 0), (out[1], 1), (err[1], 2)):
                os.dup2(source, target)
            close_all_but(job[0], result[1], *keep)
            body(job[0], result[1])
        except BaseException as failure:  # noqa: BLE001 - reported as the process's end
            os.write(2, f"tool process could not start: {failure!r}\n".encode())
        os._exit(71)
    for fd in (job[0], result[1], out[1], err[1]):
        os.close(fd)
    for fd in (result[0], out[0], err[0], job[1]):
        os.set_blocking(fd, False)
    streams = [Stream(fd, buffers[name], buffers["waste"]) for fd, name in ((result[0], "result"), (out[0], "stdout"), (err[0], "stderr"))]
    return Tool(pid, job[1], *streams)


def close_all_but(*keep: int) -> None:
    """Closes every descriptor above 2 that is not listed: a fork inherits more than it should."""
    for fd in map(int, os.listdir("/dev/fd")):
        if fd > 2 and fd not in keep:
            try:
                os.close(fd)
            except OSError:
                continue


_wake_up: list[int] = []


def wake_up_reader() -> int:
    """Returns a descriptor that becomes readable when a child ends; this also works without pidfds."""
    if not _wake_up:
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        _wake_up.append(reader)
    return _wake_up[0]


def forget_wake_up() -> None:
    """Forgets the descriptor in a fork: it belongs to the parent."""
    signal.set_wakeup_fd(-1)
    _wake_up.clear()


@dataclass
class Delivery:
    """A job that is being copied from the connection to the tool, one window at a time."""

    source: int
    target: int
    window: Region
    left: int
    """Bytes that have not been read yet."""
    sent: int = 0
    dropped: bool = False
    """True if nobody reads the job any more: the tool process has ended, and its end is collected separately."""

    def done(self) -> bool:
        return self.left == 0 and self.sent == self.window.size

    def receive(self) -> bool:
        """Reads the next window. Returns False if the source ends too early."""
        self.window.size = self.sent = 0
        count = os.readv(self.source, [self.window.view[: min(self.left, len(self.window.view))]])
        self.window.size, self.left = count, self.left - count
        return count > 0

    def send(self) -> None:
        if self.dropped:
            self.sent = self.window.size
            return
        try:
            self.sent += os.write(self.target, self.window.view[self.sent : self.window.size])
        except BlockingIOError:
            return
        except OSError:
            self.dropped, self.sent = True, self.window.size


def supervise(tool: Tool, delivery: Delivery, timeout_ms: int, trouble: Optional[Trouble] = None) -> Outcome:
    """Sends the job and waits for the reply, the end of the process, the deadline or a hang-up."""
    deadline = time.monotonic() + timeout_ms / 1000
    next_look = time.monotonic() + TICK_MS / 1000
    streams = {stream.fd: stream for stream in (tool.result, tool.stdout, tool.stderr)}
    waker = wake_up_reader()
    while True:
        now = time.monotonic()
        if now >= deadline:
            return Outcome("timed_out")
        if trouble and now >= next_look:
            found = trouble()
            if found:
                return Outcome(found)
            next_look = time.monotonic() + TICK_MS / 1000
        until = min(deadline, next_look) if trouble else deadline
        for fd in _await((*streams, waker), delivery, until - now):
            if fd == delivery.source:
                if delivery.done() or not delivery.receive():
                    return Outcome("gone")
            elif fd == delivery.target:
                delivery.send()
            elif fd == waker:
                quiet_read(waker)
            elif not streams[fd].drain():
                del streams[fd]
        if delivery.done():
            tool.close_job()
        outcome = _settled(tool)
        if outcome:
            return outcome


def _await(readable: Sequence[int], delivery: Delivery, seconds: float) -> list[int]:
    """Returns the descriptors that are ready. The job's two ends take turns."""
    poll = select.poll()
    for fd in readable:
        poll.register(fd, select.POLLIN)
    if delivery.sent < delivery.window.size:
        poll.register(delivery.target, select.POLLOUT)
    else:
        poll.register(delivery.source, select.POLLIN)
    return [fd for fd, _ in poll.poll(max(1, int(seconds * 1000) + 1))]


def quiet_read(fd: int) -> None:
    try:
        os.read(fd, 4096)
    except BlockingIOError:
        return


def _settled(tool: Tool) -> Optional[Outcome]:
    """Returns the outcome: a complete reply, or else a reply that is too large, or else the end of the process."""
    reply = _reply(tool)
    if reply:
        return reply
    status = collect(tool.pid)
    if status is None:
        return None
    tool.ended = True
    tool.result.drain()
    return _reply(tool) or Outcome("ended", exit=status)


def _reply(tool: Tool) -> Optional[Outcome]:
    region = tool.result.region
    end = region.find(ord("\n"))
    if end < 0:
        return Outcome("too_large") if tool.result.seen >= REPLY_LIMIT else None
    letter = region.view[0]
    region.size = end
    kinds = {ord("R"): "returned", ord("E"): "raised"}
    return Outcome(kinds.get(letter, "invalid"))


def send_frame(fd: int, outcome: Outcome, tool: Tool) -> None:
    """Sends one line that describes what follows, and then the unchanged bytes."""
    has_text = outcome.kind in ("returned", "raised")
    for stream in (tool.stdout, tool.stderr):
        stream.drain()
    parts = [tool.result.region.content()[1:] if has_text else b"", tool.stdout.region.content(), tool.stderr.region.content()]
    report: dict[str, Any] = {
        "kind": outcome.kind,
        "exit": outcome.exit,
        "message": outcome.message,
        "sizes": [len(part) for part in parts],
        "stdout_bytes": tool.stdout.seen,
        "stderr_bytes": tool.stderr.seen,
    }
    write_all(fd, [json.dumps(report).encode("ascii") + b"\n", *parts])


def write_all(fd: int, parts: Sequence[Any]) -> None:
    rest = [memoryview(part) for part in parts if len(part)]
    while rest:
        count = os.writev(fd, rest)
        while rest and count >= len(rest[0]):
            count -= len(rest.pop(0))
        if rest:
            rest[0] = rest[0][count:]


if sys.version_info < (3, 9):
    raise SystemExit("Perdura's tools need Python 3.9 or newer")
