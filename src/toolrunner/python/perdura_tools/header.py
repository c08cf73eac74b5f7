"""The part of a job that a supervisor reads: how to run it, without its content."""

from __future__ import annotations

import json
import os
import select
import time
from dataclasses import dataclass
from typing import Any, Optional

from .supervise import HEADER_BYTES

JOB_LIMIT = 64 << 20
PATIENCE_S = 10.0


@dataclass(frozen=True)
class Header:
    size: int
    """Bytes of the job that follow."""
    timeout_ms: int
    workspace: Optional[str]
    network: bool
    proxy_port: int


def read_header(fd: int, patience_s: Optional[float] = PATIENCE_S) -> tuple[Optional[Header], bytes]:
    """Returns the header and its bytes; None if it is invalid. Any process that reaches the socket may send it, so size
    and time are bounded.
    """
    raw = b""
    deadline = None if patience_s is None else time.monotonic() + patience_s
    poll = select.poll()
    poll.register(fd, select.POLLIN)
    while len(raw) < HEADER_BYTES:
        left = None if deadline is None else max(0.0, deadline - time.monotonic()) * 1000
        if not poll.poll(left):
            return None, b""
        chunk = os.read(fd, HEADER_BYTES - len(raw))
        if not chunk:
            return None, b""
        raw += chunk
    return parse_header(raw), raw


def parse_header(raw: bytes) -> Optional[Header]:
    try:
        found = json.loads(raw)
        header = Header(**{name: found[name] for name in Header.__dataclass_fields__})
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return header if _sound(header) else None


def _sound(header: Header) -> bool:
    numbers: tuple[Any, ...] = (header.size, header.timeout_ms, header.proxy_port)
    if not all(type(number) is int and number >= 0 for number in numbers) or type(header.network) is not bool:
        return False
    if not 0 < header.size <= JOB_LIMIT or header.timeout_ms > 86_400_000 or header.proxy_port > 65_535:
        return False
    return header.workspace is None or (isinstance(header.workspace, str) and is_below(header.workspace))


def is_below(name: str) -> bool:
    """True if the path does not leave the directory where it starts."""
    return "\0" not in name and not set(name.split("/")) & {"", ".", ".."}
