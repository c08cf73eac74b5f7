"""The tier without confinement, for isolation `none`: it only keeps track of processes."""

from __future__ import annotations

import os
from typing import Optional

from .. import descendants
from ..header import Header
from .scratch import set_home
from .setting import Setting


class UnconfinedTier:
    name = "process"

    def __init__(self, setting: Setting):
        self._home = os.path.join(setting.scratch, f"command-{os.getpid()}")

    def descriptors(self) -> list[int]:
        return []

    def enter(self, slot: int) -> None:
        descendants.adopt_orphans()

    def before_fork(self) -> None:
        os.mkdir(self._home, 0o700)

    def confine(self) -> None:
        os.chdir(self._home)

    def confine_for(self, header: Header, env: dict[str, str]) -> None:
        set_home(env, self._home)

    def prepare(self, header: Header, tool: int) -> None:
        return

    def trouble(self) -> Optional[str]:
        return None

    def kill(self, tool: Optional[int]) -> None:
        descendants.kill_descendants(tool)

    def end(self) -> None:
        from .scratch import remove_tree

        descendants.kill_descendants()
        remove_tree(self._home)
