"""A long-lived process that answers one JSON line with one JSON line."""

from __future__ import annotations

import json
import sys

from .tool_file import inspect_source


def main() -> None:
    for line in sys.stdin.buffer:
        request = json.loads(line)
        try:
            answer = inspect_source(request["name"], request["source"])
        except (RecursionError, MemoryError) as reason:
            answer = {"error": {"message": f"the source is too complex to analyse ({type(reason).__name__})", "line": 1, "column": 1}}
        sys.stdout.write(json.dumps({"id": request["id"], **answer}) + "\n")
        sys.stdout.flush()
