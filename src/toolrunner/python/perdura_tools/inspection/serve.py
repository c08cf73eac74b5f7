"""Runs a long-lived process that answers each JSON line with one JSON line."""

from __future__ import annotations

import json
import os
import resource
import sys
from typing import Any

from .tool_file import inspect_source

ADDRESS_SPACE = 1 << 30

# Uses everything that Python's parser and `ast` load only when a source needs it: the tables of Unicode for names and
# for \N{…}, `inspect` for docstrings, the printer of expressions for warnings.
REHEARSAL = """
from enum import Enum
class Größe(Enum):
    KLEIN = "\\N{EN DASH}"
def tool(größe: Größe, x: unknown.Hint[1 + 1] = -1.5, *, y: "list[str]" = ()) -> f"{1!r:>{2}}":
    '''Does nothing.

    Args:
        größe: a size
    '''
    assert (x, "a tuple is always true"), rf"\\d{x=}"
"""


def main() -> None:
    rehearse()
    _lock_down()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        sys.stdout.write(_answer(request) + "\n")
        sys.stdout.flush()


def rehearse() -> None:
    """Inspects a sample and a file with an error. Once locked down, the process can load no module."""
    for source in (REHEARSAL, "def tool(:", "def tool(): return '\\N{NO SUCH NAME}'"):
        _answer({"id": 0, "name": "tool", "source": source})


def _answer(request: dict[str, Any]) -> str:
    try:
        return json.dumps({"id": request["id"], **inspect_source(request["name"], request["source"])}, allow_nan=False)
    except (RecursionError, MemoryError) as reason:
        message = f"the source is too complex to analyse ({type(reason).__name__})"
    except Exception as reason:  # noqa: BLE001 - whatever the parser raises, the caller gets a sentence and the next source its turn
        message = f"the source cannot be analysed ({type(reason).__name__}: {reason})"
    return json.dumps({"id": request["id"], "error": {"message": message, "line": 1, "column": 1}})


def _lock_down() -> None:
    """Gives up all rights: the parser reads hostile text, and if an attacker took it over, there must be nothing to
    steal.

    Measures that the system lacks are skipped; that is safe because nothing the helper reads is executed.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    if sys.platform != "linux":
        return
    os.nice(5)
    resource.setrlimit(resource.RLIMIT_AS, (ADDRESS_SPACE, ADDRESS_SPACE))
    resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
    try:
        from ..sandbox import landlock, seccomp, syscalls

        syscalls.no_new_privileges()
        if landlock.abi():
            landlock.Ruleset().enforce()
        seccomp.install(seccomp.build_filter(seccomp.Policy(families=(), on_host=True, shared_files=True)))
    except (OSError, KeyError):
        return
