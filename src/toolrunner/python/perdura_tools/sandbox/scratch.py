"""Private directories, for kernels that cannot give each call its own file system."""

from __future__ import annotations

import os
import stat

MOST_ENTRIES = 20_000


def fits(root: str, limit: int) -> bool:
    """Whether a directory holds less than the limit. If a tool prevents the check, the answer is no."""
    total = entries = 0
    queue = [root]
    while queue:
        try:
            with os.scandir(queue.pop()) as found:
                for entry in found:
                    entries += 1
                    total += entry.stat(follow_symlinks=False).st_blocks * 512
                    if entry.is_dir(follow_symlinks=False):
                        queue.append(entry.path)
                    if total > limit or entries > MOST_ENTRIES:
                        return False
        except FileNotFoundError:
            continue
        except OSError:
            return False
    return True


def remove_tree(root: str) -> None:
    """Removes a directory made by a tool, whose modes and depth are the tool's choice.

    Directories are moved up before they are emptied, so no path grows; links are never followed.
    """
    if not os.path.isdir(root):
        return
    os.chmod(root, 0o700)
    while names := os.listdir(root):
        for name in names:
            _remove_or_flatten(root, os.path.join(root, name))
    os.rmdir(root)


def _remove_or_flatten(root: str, path: str) -> None:
    if not _is_directory(path):
        os.unlink(path)
        return
    os.chmod(path, 0o700)
    for name in os.listdir(path):
        child = os.path.join(path, name)
        if _is_directory(child):
            os.chmod(child, 0o700)
            os.rename(child, os.path.join(root, os.urandom(16).hex()))
        else:
            os.unlink(child)
    os.rmdir(path)


def _is_directory(path: str) -> bool:
    return stat.S_ISDIR(os.lstat(path).st_mode)
