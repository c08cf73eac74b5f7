"""Keeps one tool process: gives it its job, collects what it says, ends it and everything it started.

The supervisor runs trusted code only. The tool holds nothing but the write ends of three
pipes, so it cannot forge, close or flood the channel to Node: Node gets one JSON line, from here.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
import time
from dataclasses import dataclass, field
from typing import Callable, Optional, Sequence

from .descendants import collect

OUTPUT_LIMIT = 64 * 1024
RESULT_LIMIT = 1 << 20
TICK_MS = 100


Trouble = Callable[[], Optional[str]]
"""Looks at a running call; names what is wrong with it, if anything."""


@dataclass
class Pipe:
    """The reading end of a pipe and the first `limit` bytes that came through it."""

    fd: int
    limit: int
    data: bytearray = field(default_factory=bytearray)
    seen: int = 0

    def drain(self) -> bool:
        """Takes what is there; False when the pipe is at its end."""
        for _ in range(64):
            try:
                chunk = os.read(self.fd, 1 << 16)
            except BlockingIOError:
                return True
            if not chunk:
                return False
            self.seen += len(chunk)
            if len(self.data) < self.limit:
                self.data += chunk[: self.limit - len(self.data)]
        return True


@dataclass
class Tool:
    """A forked process that waits for its job on `job_fd`."""

    pid: int
    job_fd: int
    result: Pipe
    stdout: Pipe
    stderr: Pipe
    job_open: bool = True
    ended: bool = False
    """Its end was collected; its number may be someone else's now."""

    def close_job(self) -> None:
        if self.job_open:
            self.job_open = False
            os.close(self.job_fd)

    def close(self) -> None:
        self.close_job()
        for pipe in (self.result, self.stdout, self.stderr):
            os.close(pipe.fd)


@dataclass(frozen=True)
class Outcome:
    kind: str
    """returned, raised, invalid, too_large, timed_out, ended, gone, refused, or the watch's trouble"""
    text: str = ""
    exit: int | None = None


def fork_tool(body: Callable[[int, int], None], keep: Sequence[int] = ()) -> Tool:
    """Forks; the child has /dev/null, two pipes and what is kept, and runs `body(job_fd, result_fd)`."""
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
    for fd in (result[0], out[0], err[0]):
        os.set_blocking(fd, False)
    return Tool(pid, job[1], Pipe(result[0], RESULT_LIMIT + 2), Pipe(out[0], OUTPUT_LIMIT), Pipe(err[0], OUTPUT_LIMIT))


def close_all_but(*keep: int) -> None:
    """Closes every descriptor above 2 that is not named: a fork inherits more than it should."""
    for fd in map(int, os.listdir("/dev/fd")):
        if fd > 2 and fd not in keep:
            try:
                os.close(fd)
            except OSError:
                continue


_wake_up: list[int] = []


def wake_up_reader() -> int:
    """A descriptor that becomes readable when a child ends (works where pidfds do not exist)."""
    if not _wake_up:
        reader, writer = os.pipe()
        os.set_blocking(reader, False)
        os.set_blocking(writer, False)
        signal.signal(signal.SIGCHLD, lambda *_: None)
        signal.set_wakeup_fd(writer, warn_on_full_buffer=False)
        _wake_up.append(reader)
    return _wake_up[0]


def forget_wake_up() -> None:
    """In a fork: the descriptor belongs to the parent."""
    signal.set_wakeup_fd(-1)
    _wake_up.clear()


def supervise(tool: Tool, job: bytes, hang_up_fd: int, timeout_ms: int, trouble: Trouble | None = None) -> Outcome:
    """Hands the job over and waits for the reply, the end of the process, the deadline or a hang-up."""
    deadline = time.monotonic() + timeout_ms / 1000
    waker = wake_up_reader()
    poll = select.poll()
    pipes = {pipe.fd: pipe for pipe in (tool.result, tool.stdout, tool.stderr)}
    for fd in (*pipes, hang_up_fd, waker):
        poll.register(fd, select.POLLIN)
    pending = memoryview(job)
    os.set_blocking(tool.job_fd, False)
    poll.register(tool.job_fd, select.POLLOUT)
    next_look = time.monotonic() + TICK_MS / 1000
    while True:
        now = time.monotonic()
        if now >= deadline:
            return Outcome("timed_out")
        if trouble and now >= next_look:
            found = trouble()
            if found:
                return Outcome(found)
            next_look = time.monotonic() + TICK_MS / 1000
        wait = min(deadline, next_look if trouble else deadline) - now
        for fd, event in poll.poll(max(1, int(wait * 1000) + 1)):
            if fd == tool.job_fd:
                pending = _feed(tool.job_fd, pending)
                if not pending:
                    poll.unregister(fd)
                    tool.close_job()
            elif fd == waker:
                _drain_quietly(waker)
            elif fd == hang_up_fd:
                return Outcome("gone")
            elif not pipes[fd].drain():
                poll.unregister(fd)
        outcome = _settled(tool)
        if outcome:
            return outcome


def _feed(fd: int, pending: memoryview) -> memoryview:
    try:
        return pending[os.write(fd, pending) :]
    except BlockingIOError:
        return pending
    except OSError:
        return pending[:0]


def _drain_quietly(fd: int) -> None:
    try:
        os.read(fd, 4096)
    except BlockingIOError:
        return


def _settled(tool: Tool) -> Outcome | None:
    """A complete reply wins; else a reply beyond the limit; else the end of the process."""
    reply = _reply(tool)
    if reply:
        return reply
    status = collect(tool.pid)
    if status is None:
        return None
    tool.ended = True
    tool.result.drain()
    return _reply(tool) or Outcome("ended", exit=status)


def _reply(tool: Tool) -> Outcome | None:
    data = tool.result.data
    end = data.find(b"\n")
    if end < 0:
        return Outcome("too_large") if tool.result.seen > RESULT_LIMIT + 1 else None
    text = data[1:end].decode("utf-8", "replace")
    if data[:1] == b"R":
        return Outcome("returned", text)
    if data[:1] == b"E":
        return Outcome("raised", text)
    return Outcome("invalid")


def frame(outcome: Outcome, tool: Tool, started: float) -> bytes:
    """The one line Node reads."""
    report = {
        "kind": outcome.kind,
        "text": outcome.text,
        "exit": outcome.exit,
        "stdout": _text(tool.stdout),
        "stderr": _text(tool.stderr),
        "stdout_bytes": tool.stdout.seen,
        "stderr_bytes": tool.stderr.seen,
        "duration_ms": round((time.monotonic() - started) * 1000, 3),
    }
    return json.dumps(report).encode("ascii") + b"\n"


def _text(pipe: Pipe) -> str:
    pipe.drain()
    return pipe.data.decode("utf-8", "replace")


def write_all(fd: int, data: bytes) -> None:
    rest = memoryview(data)
    while rest:
        rest = rest[os.write(fd, rest) :]


if sys.version_info < (3, 9):
    raise SystemExit("Perdura's tools need Python 3.9 or newer")
