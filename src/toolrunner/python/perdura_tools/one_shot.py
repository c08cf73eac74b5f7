"""Runs a call without confinement, in a fresh interpreter.

Reads the job from stdin, answers on descriptor 3, and treats the end of stdin as the order to stop. The tool's
processes are found as its descendants, which works even for processes that have left its process group.
"""

from __future__ import annotations

import os

from . import runtime
from .buffers import Buffers
from .descendants import adopt_orphans, kill_descendants
from .header import Header, read_header
from .supervise import Delivery, fork_tool, send_frame, supervise, write_all

RESULT_FD = 3


def main() -> None:
    adopt_orphans()
    header, raw = read_header(0)
    if header is None:
        os._exit(64)
    buffers = Buffers()
    tool = fork_tool(lambda job_fd, result_fd: runtime.serve_job(job_fd, result_fd, _settle), buffers)
    try:
        write_all(tool.job_fd, [raw])
        outcome = supervise(tool, Delivery(0, tool.job_fd, buffers["job"], header.size), header.timeout_ms)
    finally:
        kill_descendants(None if tool.ended else tool.pid)
    if outcome.kind != "gone":
        send_frame(RESULT_FD, outcome, tool)
    os._exit(0)


def _settle(_: Header, env: dict[str, str]) -> None:
    if "PERDURA_WORKSPACE" in env:
        os.chdir(env["PERDURA_WORKSPACE"])
