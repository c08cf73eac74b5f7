"""Users for the sandboxes of the tier `landlock`: the kernel counts processes by user, and processes of one user can
reach each other.
"""

from __future__ import annotations

import errno
import random
import socket
from typing import Optional

from . import limits

UNUSED = range(60_706, 61_184)
"""Ids that neither distributions nor systemd use."""


class ClaimedUser:
    """A user that no other sandbox of any service on this machine has, for as long as this object lives."""

    def __init__(self, reserved: int):
        # Containers do not see each other's claims. Each tries the users in its own order, so collisions are rare.
        for uid in random.sample(UNUSED, len(UNUSED)):
            holder = _claim(uid) if uid != reserved else None
            # Processes of a sandbox whose supervisor was killed may still run, and the kernel counts them.
            if holder and limits.tasks_of_user(uid) == 0:
                self.uid, self._holder = uid, holder
                return
        raise OSError(f"every user kept for tools ({UNUSED.start} to {UNUSED.stop - 1}) is in use: let fewer calls and commands run at once")


def _claim(uid: int) -> Optional[socket.socket]:
    """Claims a user by binding an abstract socket name. The name is free again when its holder ends, for whatever reason."""
    holder = socket.socket(socket.AF_UNIX)
    try:
        holder.bind(f"\0perdura-tool-user-{uid}")
        return holder
    except OSError as refusal:
        holder.close()
        if refusal.errno != errno.EADDRINUSE:
            raise
        return None
