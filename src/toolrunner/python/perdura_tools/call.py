"""The supervisor of one slot: keeps a confined process ready, gives it a call, sends the answer, and starts again."""

from __future__ import annotations

import array
import gc
import os
import select
import socket
import sys
from typing import Optional, Protocol

from . import runtime
from .buffers import Buffers
from .descendants import collect
from .header import Header, read_header
from .supervise import Delivery, Outcome, Tool, close_all_but, fork_tool, forget_wake_up, send_frame, supervise, write_all

CONFINED = b"!"
TAKEN = b"+"
START_PATIENCE_MS = 10_000
CALLS_PER_SLOT = 1_000
ATTEMPTS = 3


class Tier(Protocol):
    """A way to confine tools. `NamespaceTier` documents each step."""

    name: str

    def descriptors(self) -> list[int]: ...
    def enter(self, slot: int) -> None: ...
    def before_fork(self) -> None: ...
    def confine(self) -> None: ...
    def confine_for(self, header: Header, env: dict[str, str]) -> None: ...
    def prepare(self, header: Header, tool: int) -> None: ...
    def trouble(self) -> Optional[str]: ...
    def kill(self, tool: Optional[int]) -> None: ...
    def end(self) -> None: ...


def supervise_slot(tier: Tier, channel: socket.socket, slot: int) -> None:
    """Runs a slot in a fork of the zygote; never returns. In turn, it sends `ready` through the channel and receives a
    connection.
    """
    try:
        forget_wake_up()
        close_all_but(channel.fileno(), *tier.descriptors())
        gc.disable()
        tier.enter(slot)
        buffers = Buffers()
        for _ in range(CALLS_PER_SLOT):
            if not _serve_one(tier, channel, buffers):
                break
    except BaseException as failure:  # noqa: BLE001 - sent to the zygote, which reports it at its start
        _tell(channel, f"{type(failure).__name__}: {failure}"[:2000])
        os._exit(1)
    os._exit(0)


def _serve_one(tier: Tier, channel: socket.socket, buffers: Buffers) -> bool:
    """Serves one call. Returns False if the zygote has ended. A process that died while it waited is replaced first."""
    connection: Optional[int] = None
    for _ in range(ATTEMPTS):
        tier.before_fork()
        tool = fork_tool(lambda job_fd, result_fd: _tool_process(tier, job_fd, result_fd), buffers, tier.descriptors())
        try:
            _await_confined(tool)
            connection = _receive_connection(channel) if connection is None else connection
            if connection is None:
                return False
            tool.ended = collect(tool.pid) is not None
            if not tool.ended:
                _answer(tier, tool, connection, buffers)
                break
        finally:
            tier.end()
            tool.close()
    os.close(connection)
    return True


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
    """Reseeds numpy: otherwise every fork of the zygote would draw the same numbers. `random` reseeds itself."""
    numpy_random = sys.modules.get("numpy.random")
    if numpy_random:
        numpy_random.seed()


def _await_confined(tool: Tool) -> None:
    poll = select.poll()
    poll.register(tool.result.fd, select.POLLIN)
    poll.poll(START_PATIENCE_MS)
    tool.result.drain()
    if bytes(tool.result.region.content()) != CONFINED:
        tool.stderr.drain()
        said = bytes(tool.stderr.region.content()).decode("utf-8", "replace").strip()
        raise OSError(said or "the tool process was not confined in time")
    tool.result.region.size = tool.result.seen = 0


def _receive_connection(channel: socket.socket) -> int | None:
    """Returns the connection of the next call; None if the zygote has ended."""
    try:
        channel.send(b"ready")
        data, ancillary, _, _ = channel.recvmsg(1, socket.CMSG_SPACE(4))
    except (BrokenPipeError, ConnectionResetError):
        return None
    if not data or not ancillary:
        return None
    return array.array("i", ancillary[0][2])[0]


def _answer(tier: Tier, tool: Tool, connection: int, buffers: Buffers) -> None:
    header, raw = read_header(connection)
    if header is None:
        return
    try:
        # After this byte the call may have had effects, so the service must not send it to another supervisor.
        os.write(connection, TAKEN)
        tier.prepare(header, tool.pid)
        write_all(tool.job_fd, [raw])
        outcome = supervise(tool, Delivery(connection, tool.job_fd, buffers["job"], header.size), header.timeout_ms, tier.trouble)
    except OSError as refusal:
        outcome = Outcome("refused", message=str(refusal))
    tier.kill(None if tool.ended else tool.pid)
    tool.ended = True
    if outcome.kind != "gone":
        try:
            send_frame(connection, outcome, tool)
        except OSError:
            return
