"""Runs a long-lived process that answers each JSON line with one JSON line."""

from __future__ import annotations

import json
import os
import resource
import sys

from .tool_file import inspect_source

ADDRESS_SPACE = 1 << 30


def main() -> None:
    _lock_down()
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            answer = inspect_source(request["name"], request["source"])
        except (RecursionError, MemoryError) as reason:
            answer = {"error": {"message": f"the source is too complex to analyse ({type(reason).__name__})", "line": 1, "column": 1}}
        sys.stdout.write(json.dumps({"id": request["id"], **answer}) + "\n")
        sys.stdout.flush()


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
