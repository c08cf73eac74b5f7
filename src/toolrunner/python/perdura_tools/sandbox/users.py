"""A user for each sandbox of the tier `landlock`: the kernel counts processes by user, and lets those of one user meet."""

from __future__ import annotations

import errno
import random
import socket
from typing import Optional

from . import limits

UNUSED = range(60_706, 61_184)
"""Left alone by distributions and by systemd."""


class ClaimedUser:
    """Given to no other sandbox of any service on this machine for as long as this object lives."""

    def __init__(self, reserved: int):
        # Containers do not see each other's claims; each tries them in its own order, so they seldom collide.
        for uid in random.sample(UNUSED, len(UNUSED)):
            holder = _claim(uid) if uid != reserved else None
            # Processes of a sandbox whose supervisor was killed may still run, and count.
            if holder and limits.tasks_of_user(uid) == 0:
                self.uid, self._holder = uid, holder
                return
        raise OSError(f"every user kept for tools ({UNUSED.start} to {UNUSED.stop - 1}) is in use: let fewer calls and commands run at once")


def _claim(uid: int) -> Optional[socket.socket]:
    """An abstract name is bound once, and free again when its holder ends, however it ends."""
    holder = socket.socket(socket.AF_UNIX)
    try:
        holder.bind(f"\0perdura-tool-user-{uid}")
        return holder
    except OSError as refusal:
        holder.close()
        if refusal.errno != errno.EADDRINUSE:
            raise
        return None
