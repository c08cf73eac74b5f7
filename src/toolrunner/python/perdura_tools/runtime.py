"""Runs one job in the tool's own process and writes one reply: a line `R<json>` or `E<message>`.

Everything that the reply needs is bound as a default argument when this module loads. A tool that replaces
`os.write` or `json.dumps` therefore does not affect the reply.
"""

from __future__ import annotations

import io
import json
import linecache
import os
import sys
import traceback
import types
from typing import Any, Callable

from .header import Header, read_header

MESSAGE_LIMIT = 8000
PLAIN = {str, int, float, bool, list, dict, None, "str", "int", "float", "bool", "list", "dict", "None"}


def serve_job(job_fd: int, result_fd: int, confine: Callable[[Header, dict[str, str]], None] | None = None) -> None:
    """Reads the job, runs it, replies and ends the process; never returns.

    `confine` is the last step before the tool's code; it may extend the environment.
    """
    pid = os.getpid()
    header, _ = read_header(job_fd, patience_s=None)
    if header is None:
        os._exit(0)
    job = json.loads(_read_exactly(job_fd, header.size))
    os.close(job_fd)
    if confine:
        confine(header, job["env"])
    reply = execute(job)
    finish(result_fd, reply, pid)


def execute(job: dict[str, Any]) -> str:
    """Returns the reply to one job. It contains whatever the tool raises; no exception leaves this function."""
    name = job["name"]
    filename = f"<tool {name}>"
    _fresh_environment(job)
    _fresh_streams()
    try:
        try:
            return "R" + render(_call(job, name, filename))
        except SystemExit as stop:
            return failed(f"tool called sys.exit({stop.code!r})")
        except MemoryError:
            return failed("out of memory")
        except NotJson as reason:
            return failed(str(reason))
        except BaseException as failure:  # noqa: BLE001 - a tool may raise anything
            text = message_of(failure)
            _print_traceback(failure, filename)
            return failed(text)
    finally:
        _flush()


def _call(job: dict[str, Any], name: str, filename: str) -> Any:
    source = job["source"].lstrip("\ufeff")
    linecache.cache[filename] = (len(source), None, source.splitlines(True), filename)
    module = types.ModuleType("tool")
    module.__file__ = filename
    sys.modules["tool"] = module
    exec(compile(source, filename, "exec", dont_inherit=True), module.__dict__)
    function = module.__dict__[name]
    args, kwargs = _bind(function, _coerced(function, job.get("arguments") or {}))
    value = function(*args, **kwargs)
    if hasattr(value, "__await__"):
        import asyncio

        async def wait() -> Any:
            return await value

        value = asyncio.run(wait())
    return value


def _coerced(function: Any, arguments: dict[str, Any]) -> dict[str, Any]:
    """Converts arguments. Most tools declare only types that JSON has, so the converter is loaded only for the others."""
    hints = (getattr(function, "__annotations__", None) or {}).values()
    defaults = (*(getattr(function, "__defaults__", None) or ()), *(getattr(function, "__kwdefaults__", None) or {}).values())
    if all(isinstance(hint, (type, str, type(None))) and hint in PLAIN for hint in hints) and all(
        default is None or type(default) in PLAIN for default in defaults
    ):
        return arguments
    from .coerce import coerce_arguments

    return coerce_arguments(function, arguments)


def _bind(function: Any, arguments: dict[str, Any]) -> tuple[list[Any], dict[str, Any]]:
    """Passes positional-only parameters by position, and all others by name."""
    code = getattr(function, "__code__", None)
    kwargs = dict(arguments)
    args: list[Any] = []
    for parameter in code.co_varnames[: code.co_posonlyargcount] if code else ():
        if parameter not in kwargs:
            break
        args.append(kwargs.pop(parameter))
    return args, kwargs


def failed(message: str) -> str:
    """Encodes the message as a JSON string, so that it contains no line break and no lone surrogate."""
    return "E" + json.dumps(message)


class NotJson(Exception):
    """The tool returned a value that JSON cannot represent."""


def render(value: Any, _dumps: Any = json.dumps) -> str:
    """Renders a dict unchanged, and any other value under `result`."""
    try:
        return _dumps(value if isinstance(value, dict) else {"result": value}, ensure_ascii=False, allow_nan=False)
    except (TypeError, ValueError, RecursionError) as reason:
        kind = type(value).__name__
        raise NotJson(f"the return value (of type {kind}) is not JSON-serialisable: {message_of(reason)}") from None


def message_of(failure: BaseException) -> str:
    try:
        text = str(failure)[:MESSAGE_LIMIT]
    except BaseException:  # noqa: BLE001 - __str__ is the tool's
        text = ""
    return text or type(failure).__name__


def finish(fd: int, reply: str, pid: int, _exit: Any = os._exit, _write: Any = os.write, _getpid: Any = os.getpid) -> None:
    """Writes the reply and ends at once: no thread, atexit hook or finaliser of the tool runs after it.

    If a fork that the tool made gets here, it ends without a reply: the call belongs to the original process.
    """
    if _getpid() != pid:
        _exit(0)
    rest = reply.encode("utf-8", "replace") + b"\n"
    try:
        while rest:
            rest = rest[_write(fd, rest) :]
        _exit(0)
    except BaseException:  # noqa: BLE001 - the tool closed the channel; its absence is reported
        _exit(70)


def _read_exactly(fd: int, size: int) -> bytes:
    data = bytearray()
    while len(data) < size:
        chunk = os.read(fd, size - len(data))
        if not chunk:
            os._exit(0)
        data += chunk
    return bytes(data)


def _fresh_environment(job: dict[str, Any]) -> None:
    os.environ.clear()
    os.environ.update(job.get("env") or {})
    if "TZ" in os.environ:
        import time

        time.tzset()


def _fresh_streams() -> None:
    sys.stdin = sys.__stdin__ = io.TextIOWrapper(io.BufferedReader(io.FileIO(0, closefd=False)), encoding="utf-8")
    sys.stdout = sys.__stdout__ = _writer(1)
    sys.stderr = sys.__stderr__ = _writer(2)


def _writer(fd: int) -> io.TextIOWrapper:
    raw = io.FileIO(fd, "w", closefd=False)
    return io.TextIOWrapper(io.BufferedWriter(raw), encoding="utf-8", errors="backslashreplace", line_buffering=True)


def _print_traceback(failure: BaseException, filename: str) -> None:
    """Prints the tool's own stack frames to its stderr, which the run's log shows."""
    try:
        lines = traceback.TracebackException.from_exception(failure, limit=50)
        lines.stack[:] = [frame for frame in lines.stack if frame.filename == filename] or lines.stack[-1:]
        sys.__stderr__.write("".join(lines.format())[-MESSAGE_LIMIT:])
    except BaseException:  # noqa: BLE001 - a broken exception must not hide the message
        return


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr, sys.__stdout__, sys.__stderr__):
        try:
            stream.flush()
        except BaseException:  # noqa: BLE001 - the tool may have replaced or closed it
            continue
