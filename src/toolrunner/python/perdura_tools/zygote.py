"""The fork server: it runs only trusted code, is sealed at its start, and always keeps a few confined processes ready.

stdin brings one line of settings and then stays open; its end is the order to stop. stdout gets `{"ready": …}` or
`{"failed": …}`, then one JSON line per event to report.
"""

from __future__ import annotations

import array
import gc
import importlib
import json
import os
import select
import socket
import sys
from dataclasses import dataclass
from typing import Any, Optional

from . import coerce, descendants  # noqa: F401 - loaded here, since nothing of ours can be loaded inside the sandbox
from .call import Tier, supervise_slot
from .sandbox import namespaces
from .sandbox.landlock_tier import LandlockTier
from .sandbox.namespace_tier import NamespaceTier
from .sandbox.setting import read_setting
from .sandbox.syscalls import PR_SET_CHILD_SUBREAPER, prctl
from .supervise import close_all_but, quiet_read, wake_up_reader

MOST_SLOTS = 128
SPARE = 8
LOSSES = 10
REST_MS = 10_000
WARM = ("asyncio", "dataclasses", "datetime", "decimal", "enum", "json", "linecache", "re", "traceback", "typing", "uuid")


@dataclass
class Slot:
    pid: int
    number: int
    channel: socket.socket
    state: str = "starting"
    """starting, idle or busy; busy lasts until the slot is ready again."""


def main() -> None:
    settings = json.loads(sys.stdin.buffer.raw.readline())  # type: ignore[union-attr]
    try:
        zygote = Zygote(settings)
    except Exception as failure:  # noqa: BLE001 - the reason goes to the service, which may try another tier
        say(failed=f"{type(failure).__name__}: {failure}")
        os._exit(1)
    zygote.serve()


def say(**what: Any) -> None:
    os.write(1, json.dumps(what).encode("ascii") + b"\n")


class Zygote:
    def __init__(self, settings: dict[str, Any]):
        self.prefork: int = settings["prefork"]
        self.slots: dict[int, Slot] = {}
        """The slots by the descriptor of their channel."""
        self.leaving: dict[int, int] = {}
        """The numbers of slots that are ending and still clean up, by process."""
        self.waiting: list[socket.socket] = []
        self.losses = 0
        # Bound before sealing: the path is not visible from inside, but the descriptor stays open.
        self.listener = socket.socket(socket.AF_UNIX)
        self.listener.bind(settings["socket"])
        self.listener.listen(512)
        self.pids: Optional[namespaces.PidNamespaces] = None
        self.tier = self._confinement(settings)
        self._import(settings["preload"])
        close_all_but(self.listener.fileno(), *([self.pids.fd] if self.pids else []), *self.tier.descriptors())
        self.waker = wake_up_reader()
        gc.collect()
        gc.freeze()

    def _confinement(self, settings: dict[str, Any]) -> Tier:
        setting = read_setting(settings)
        if settings["tier"] == "landlock":
            prctl(PR_SET_CHILD_SUBREAPER, 1)
            return LandlockTier(setting)
        tier = NamespaceTier(setting)
        pid = tier.seal()
        if pid:
            namespaces.stay_outside(pid)
        self.pids = namespaces.PidNamespaces()
        return tier

    def _import(self, packages: list[str]) -> None:
        """Imports packages after sealing: their import code sees no more than a tool would."""
        os.environ.clear()
        os.environ.update(PATH="/usr/local/bin:/usr/bin:/bin", HOME="/tmp", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")
        for name in (*WARM, *packages):
            try:
                importlib.import_module(name)
            except BaseException as failure:  # noqa: BLE001 - a package that cannot load must not stop every tool
                say(log=f"could not preload {name}: {type(failure).__name__}: {failure}")

    def serve(self) -> None:
        self.poll = select.poll()
        for fd in (0, self.listener.fileno(), self.waker):
            self.poll.register(fd, select.POLLIN)
        self._prove()
        say(ready={"tier": self.tier.name})
        while True:
            events = self.poll.poll(0 if self._short() else REST_MS)
            for fd, _ in events:
                if fd == 0:
                    self._stop()
                elif fd == self.listener.fileno():
                    self.waiting.append(self.listener.accept()[0])
                elif fd == self.waker:
                    self._reap()
                else:
                    self._hear(fd)
            self._hand_over()
            if self._short():
                self._spawn()
            elif not events or len(self._idle()) > self.prefork + SPARE:
                self._retire()

    def _prove(self) -> None:
        """Prepares one slot completely; if that fails, the tier is unavailable."""
        self._spawn()
        first = next(iter(self.slots.values()))
        answer = first.channel.recv(4096)
        if answer != b"ready":
            say(failed=answer.decode("utf-8", "replace") or "the first confined process ended")
            os._exit(1)
        first.state = "idle"

    def _idle(self) -> list[Slot]:
        return [slot for slot in self.slots.values() if slot.state == "idle"]

    def _short(self) -> bool:
        """True if there are too few slots. Slots that are starting count: more of them would only slow those down."""
        free = sum(slot.state != "busy" for slot in self.slots.values())
        return free < self.prefork + len(self.waiting) and len(self.slots) + len(self.leaving) < MOST_SLOTS

    def _spawn(self) -> None:
        taken = {slot.number for slot in self.slots.values()} | set(self.leaving.values())
        number = next(number for number in range(MOST_SLOTS) if number not in taken)
        mine, theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        pid = self.pids.fork() if self.pids else os.fork()
        if pid == 0:
            supervise_slot(self.tier, theirs, number)
        theirs.close()
        self.slots[mine.fileno()] = Slot(pid, number, mine)
        self.poll.register(mine.fileno(), select.POLLIN)

    def _hear(self, fd: int) -> None:
        """Handles a message of a slot: it is ready, or it is ending. Its end is collected separately."""
        slot = self.slots.get(fd)
        if slot is None:
            return
        try:
            word = slot.channel.recv(4096)
        except OSError:
            word = b""
        if word == b"ready":
            slot.state = "idle"
        else:
            self._forget(slot)
            if word:
                say(log=f"a slot of the tool sandbox failed: {word.decode('utf-8', 'replace')}")

    def _forget(self, slot: Slot) -> None:
        fd = slot.channel.fileno()
        if self.slots.pop(fd, None):
            self.leaving[slot.pid] = slot.number
            self.poll.unregister(fd)
            slot.channel.close()

    def _hand_over(self) -> None:
        for slot in self._idle():
            if not self.waiting:
                return
            if _send(slot, self.waiting[0]):
                self.waiting.pop(0).close()
                self.losses = 0

    def _retire(self) -> None:
        """Ends one slot if more are ready than were recently needed."""
        idle = self._idle()
        if len(idle) > self.prefork:
            self._forget(idle[-1])

    def _reap(self) -> None:
        quiet_read(self.waker)
        while True:
            try:
                pid, status = os.waitpid(-1, os.WNOHANG)
            except ChildProcessError:
                return
            if pid == 0:
                return
            for slot in [slot for slot in self.slots.values() if slot.pid == pid]:
                self._forget(slot)
            self.leaving.pop(pid, None)
            if status:
                self._after_loss(pid)

    def _after_loss(self, pid: int) -> None:
        """Cleans up after a lost supervisor. Without a PID namespace, this process has adopted that supervisor's processes."""
        self.losses += 1
        say(log=f"a supervisor of the tool sandbox ended unexpectedly (process {pid})")
        if not self.pids:
            descendants.end_orphans({slot.pid for slot in self.slots.values()} | set(self.leaving))
        if self.losses >= LOSSES:
            os._exit(1)

    def _stop(self) -> None:
        """Ends everything. Calls in progress notice that their connections end; the end of PID 1 ends the remaining processes."""
        for slot in list(self.slots.values()):
            self._forget(slot)
        if not self.pids:
            descendants.await_children()
        os._exit(0)


def _send(slot: Slot, connection: socket.socket) -> bool:
    slot.state = "busy"
    try:
        rights = (socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [connection.fileno()]))
        slot.channel.sendmsg([b"j"], [rights])
        return True
    except OSError:
        return False
