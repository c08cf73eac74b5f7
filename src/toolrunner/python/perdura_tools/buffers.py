"""The buffers through which a call's bytes pass in its supervisor.

The next tool process is forked from the supervisor and sees its memory, so no part of a call may become a Python
object there. The bytes are read into, and written from, pages that the kernel empties in every fork.
"""

from __future__ import annotations

import mmap
import os
from typing import Optional

OUTPUT_LIMIT = 64 * 1024
RESULT_LIMIT = 1 << 20
WINDOW = 256 * 1024
# Includes the letter before a reply and the line break after it.
REPLY_LIMIT = RESULT_LIMIT + 2
MADV_WIPEONFORK = 18


class Region:
    """A part of the pages that are wiped on fork, filled from the front."""

    def __init__(self, pages: mmap.mmap, start: int, length: int):
        self.view = memoryview(pages)[start : start + length]
        self.size = 0
        self._pages = pages
        self._start = start

    @property
    def full(self) -> bool:
        return self.size == len(self.view)

    def take(self, fd: int) -> Optional[int]:
        """Reads once into the free part. Returns the number of bytes: 0 at the end, None if nothing is available yet."""
        try:
            count = os.readv(fd, [self.view[self.size :]])
        except BlockingIOError:
            return None
        except ConnectionResetError:
            return 0
        self.size += count
        return count

    def content(self) -> memoryview:
        return self.view[: self.size]

    def find(self, byte: int) -> int:
        """Returns the index of a byte's first occurrence, or -1, without copying the searched bytes."""
        at = self._pages.find(bytes([byte]), self._start, self._start + self.size)
        return at - self._start if at >= 0 else -1


class Buffers:
    """All regions of one supervisor, created once and emptied for every call."""

    def __init__(self) -> None:
        sizes = {"result": REPLY_LIMIT, "stdout": OUTPUT_LIMIT, "stderr": OUTPUT_LIMIT, "job": WINDOW, "waste": WINDOW}
        self._pages = mmap.mmap(-1, sum(sizes.values()), flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
        _forgetful(self._pages)
        self._regions: dict[str, Region] = {}
        start = 0
        for name, size in sizes.items():
            self._regions[name] = Region(self._pages, start, size)
            start += size

    def __getitem__(self, name: str) -> Region:
        return self._regions[name]

    def empty(self) -> None:
        for region in self._regions.values():
            region.size = 0


def _forgetful(pages: mmap.mmap) -> None:
    """Marks the pages to be wiped on fork. Systems that lack this have no confinement either, and one supervisor per call."""
    try:
        pages.madvise(MADV_WIPEONFORK)
    except (AttributeError, OSError, ValueError):
        return


class Stream:
    """The reading end of a pipe, and the first bytes that came through it."""

    def __init__(self, fd: int, region: Region, waste: Region):
        self.fd = fd
        self.region = region
        self.seen = 0
        self._waste = waste

    def drain(self) -> bool:
        """Reads what is available. Returns False if the pipe is at its end."""
        for _ in range(64):
            if self.region.full:
                self._waste.size = 0
            count = (self._waste if self.region.full else self.region).take(self.fd)
            if not count:
                return count is None
            self.seen += count
        return True
