"""The supervisor of one slot: keeps a confined process ready, gives it a call, answers, and starts afresh."""

from __future__ import annotations

import array
import gc
import json
import os
import select
import socket
import sys
import time
from typing import Any, Optional, Protocol

from . import runtime
from .supervise import Outcome, Tool, close_all_but, fork_tool, forget_wake_up, frame, supervise, write_all

CONFINED = b"!"
JOB_LIMIT = 64 << 20
JOB_PATIENCE_S = 10.0
START_PATIENCE_MS = 10_000
CALLS_PER_SLOT = 1_000


class Tier(Protocol):
    """A way to confine; `NamespaceTier` says what each step is for."""

    name: str

    def descriptors(self) -> list[int]: ...
    def enter(self, slot: int) -> None: ...
    def before_fork(self) -> None: ...
    def confine(self) -> None: ...
    def confine_for(self, job: dict[str, Any]) -> None: ...
    def prepare(self, job: dict[str, Any], tool: int) -> None: ...
    def trouble(self) -> Optional[str]: ...
    def kill(self, tool: Optional[int]) -> None: ...
    def end(self) -> None: ...


def supervise_slot(tier: Tier, channel: socket.socket, slot: int) -> None:
    """Runs in a fork of the zygote and never returns. The channel says `ready` and brings a connection, in turn."""
    try:
        forget_wake_up()
        close_all_but(channel.fileno(), *tier.descriptors())
        gc.disable()
        tier.enter(slot)
        for _ in range(CALLS_PER_SLOT):
            if not _serve_one(tier, channel):
                break
    except BaseException as failure:  # noqa: BLE001 - the zygote is told, and reports it at its start
        _tell(channel, f"{type(failure).__name__}: {failure}"[:2000])
        os._exit(1)
    os._exit(0)


def _serve_one(tier: Tier, channel: socket.socket) -> bool:
    """One call; False when the zygote went away."""
    tier.before_fork()
    tool = fork_tool(lambda job_fd, result_fd: _tool_process(tier, job_fd, result_fd), tier.descriptors())
    try:
        _await_confined(tool)
        connection = _receive_connection(channel)
        if connection is not None:
            _answer(tier, tool, connection)
            os.close(connection)
        return connection is not None
    finally:
        tier.end()
        tool.close()


def _tell(channel: socket.socket, reason: str) -> None:
    try:
        channel.send(reason.encode())
    except OSError:
        os.write(2, reason.encode() + b"\n")


def _tool_process(tier: Tier, job_fd: int, result_fd: int) -> None:
    tier.confine()
    gc.enable()
    os.write(result_fd, CONFINED)
    _reseed()
    runtime.serve_job(job_fd, result_fd, tier.confine_for)


def _reseed() -> None:
    """Every fork of the zygote would draw the same numbers; `random` sees to itself."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random:
        numpy_random.seed()


def _await_confined(tool: Tool) -> None:
    poll = select.poll()
    poll.register(tool.result.fd, select.POLLIN)
    poll.poll(START_PATIENCE_MS)
    tool.result.drain()
    if bytes(tool.result.data) != CONFINED:
        tool.stderr.drain()
        raise OSError(tool.stderr.data.decode("utf-8", "replace").strip() or "the tool process was not confined in time")
    tool.result.data.clear()
    tool.result.seen = 0


def _receive_connection(channel: socket.socket) -> int | None:
    """None when the zygote went away."""
    try:
        channel.send(b"ready")
        data, ancillary, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(4))
    except (BrokenPipeError, ConnectionResetError):
        return None
    if not data or not ancillary:
        return None
    return array.array("i", ancillary[0][2])[0]


def _answer(tier: Tier, tool: Tool, connection: int) -> None:
    started = time.monotonic()
    line = _read_job(connection)
    job = _parse(line)
    if job is None:
        return
    try:
        tier.prepare(job, tool.pid)
        outcome = supervise(tool, line, connection, job["timeout_ms"], tier.trouble)
    except OSError as refusal:
        outcome = Outcome("refused", str(refusal))
    tier.kill(None if tool.ended else tool.pid)
    tool.ended = True
    if outcome.kind != "gone":
        try:
            write_all(connection, frame(outcome, tool, started))
        except OSError:
            return


def _read_job(connection: int) -> bytes:
    """One line, from whoever reached the socket: bounded in size and time."""
    data = bytearray()
    deadline = time.monotonic() + JOB_PATIENCE_S
    poll = select.poll()
    poll.register(connection, select.POLLIN)
    while not data.endswith(b"\n"):
        left = deadline - time.monotonic()
        if left <= 0 or len(data) > JOB_LIMIT or not poll.poll(left * 1000):
            return b""
        chunk = os.read(connection, 1 << 18)
        if not chunk:
            return b""
        data += chunk
    return bytes(data)


def _parse(line: bytes) -> dict[str, Any] | None:
    """A job is complete or it is nobody's."""
    try:
        job = json.loads(line)
        texts = (job["name"], job["source"], *job["env"], *job["env"].values())
        sound = b"\n" not in line[:-1] and all(isinstance(text, str) for text in texts) and isinstance(job["arguments"], dict)
        workspace = job.get("workspace") or "x"
        sound = sound and isinstance(workspace, str) and not set(workspace.split("/")) & {"", ".", ".."}
        return job if sound and isinstance(job["timeout_ms"], int) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return None
