"""The entry point of every Python process that the tool runner starts: `python -I main.py <command>`.

The package's own directory is on the import path only while it loads. A tool can therefore neither import it by
accident nor shadow one of its modules.
"""

import os
import sys


def main() -> None:
    here = os.path.dirname(os.path.abspath(__file__))
    sys.path.insert(0, here)
    try:
        if sys.argv[1] == "inspect":
            from perdura_tools.inspection.serve import main as command
        elif sys.argv[1] == "one-shot":
            from perdura_tools.one_shot import main as command
        elif sys.argv[1] == "zygote":
            from perdura_tools.zygote import main as command
        elif sys.argv[1] == "confine":
            from perdura_tools.confine import main as command
        else:
            raise SystemExit(f"unknown command {sys.argv[1]!r}")
    finally:
        sys.path.remove(here)
    command()


main()
