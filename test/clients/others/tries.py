"""Tries programs of others one by one, and prints the outcome of each."""

from collections.abc import Callable


def run(tries: dict[str, Callable[[], object]]) -> None:
    for name, work in tries.items():
        try:
            result = f"works    {work()!r}"
        except Exception as error:
            result = f"refused  {error}"
        print(f"{name:34}{result}", flush=True)
