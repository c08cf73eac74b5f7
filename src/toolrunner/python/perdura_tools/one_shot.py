"""The runner without confinement: one fresh interpreter per call.

Reads the job from stdin, answers on descriptor 3, and treats the end of stdin as the
order to stop. What the tool started is found again by being its descendant, which holds
even for processes that left its process group.
"""

from __future__ import annotations

import json
import os
import time

from . import runtime
from .descendants import adopt_orphans, kill_descendants
from .supervise import fork_tool, frame, supervise, write_all

RESULT_FD = 3


def main() -> None:
    started = time.monotonic()
    adopt_orphans()
    line, rest = _first_line(0)
    if not line or rest:
        os._exit(64)
    job = json.loads(line)
    tool = fork_tool(runtime.serve_job)
    try:
        outcome = supervise(tool, line, 0, job["timeout_ms"])
    finally:
        kill_descendants(None if tool.ended else tool.pid)
    if outcome.kind != "gone":
        write_all(RESULT_FD, frame(outcome, tool, started))
    os._exit(0)


def _first_line(fd: int) -> tuple[bytes, bytes]:
    data = bytearray()
    while b"\n" not in data:
        chunk = os.read(fd, 1 << 16)
        if not chunk:
            return b"", b""
        data += chunk
    end = data.index(b"\n") + 1
    return bytes(data[:end]), bytes(data[end:])
