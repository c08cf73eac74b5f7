"""Runs a long-running command under the same confinement as a tool call: a stdio server, a shell.

The command has this process's stdin, stdout and stderr. Descriptor 3 brings one line of settings and then stays
open: its end is the order to stop. On descriptor 4, the process writes `{"started": true}` or `{"failed": …}` once.
"""

from __future__ import annotations

import json
import os
import select
import signal
import sys
from typing import Any, NoReturn

from . import descendants
from .call import Tier
from .header import Header
from .sandbox import namespaces
from .sandbox.landlock_tier import LandlockTier
from .sandbox.namespace_tier import NamespaceTier
from .sandbox.setting import read_setting
from .sandbox.unconfined_tier import UnconfinedTier
from .supervise import close_all_but, forget_wake_up, quiet_read, wake_up_reader

CONTROL, STATUS = 3, 4
LOOK_MS = 250
KILLED = 128


def main() -> None:
    settings = json.loads(_first_line(CONTROL))
    try:
        tier = _confinement(settings)
        tier.enter(settings["slot"])
        tier.before_fork()
        child = _fork_or_end(tier, settings)
    except Exception as failure:  # noqa: BLE001 - the caller receives the reason why the command did not start
        _say(failed=f"{failure}" or type(failure).__name__, errno=getattr(failure, "errno", None))
        os._exit(1)
    _say(started=True)
    os.close(STATUS)
    _hand_over_streams()
    code = _keep(tier, child)
    tier.end()
    os._exit(code)


def _confinement(settings: dict[str, Any]) -> Tier:
    if settings["tier"] == "process":
        return UnconfinedTier(read_setting(settings))
    if settings["tier"] == "landlock":
        return LandlockTier(read_setting(settings))
    tier = NamespaceTier(read_setting(settings))
    pid = tier.seal()
    if pid:
        # The streams belong to the command: their end must be seen when the command ends.
        _hand_over_streams()
        namespaces.stay_outside(pid)
    return tier


def _fork_or_end(tier: Tier, settings: dict[str, Any]) -> int:
    try:
        return _fork_command(tier, settings)
    except OSError:
        tier.end()
        raise


def _fork_command(tier: Tier, settings: dict[str, Any]) -> int:
    """Forks the command. The child confines itself, waits until the supervisor has prepared everything, and becomes the
    command.
    """
    ready, go, failure = os.pipe(), os.pipe(), os.pipe()
    child = os.fork()
    if child == 0:
        try:
            forget_wake_up()
            os.setsid()
            tier.confine()
            os.write(ready[1], b"+")
            if os.read(go[0], 1) != b"+":
                os._exit(1)
            _become(tier, settings, failure[1])
        except BaseException as reason:  # noqa: BLE001 - reported through the pipe
            os.write(failure[1], f"{reason}".encode("utf-8", "replace")[:2000] or b"?")
        os._exit(127)
    for fd in (ready[1], go[0], failure[1]):
        os.close(fd)
    if os.read(ready[0], 1) == b"+":
        tier.prepare(_header(settings), child)
        os.write(go[1], b"+")
    reason = os.read(failure[0], 4096)
    for fd in (ready[0], go[1], failure[0]):
        os.close(fd)
    if reason:
        raise OSError(reason.decode("utf-8", "replace"))
    return child


def _header(settings: dict[str, Any]) -> Header:
    return Header(1, 0, settings["workspace"], settings["network"], settings["proxy_port"])


def _become(tier: Tier, settings: dict[str, Any], failure: int) -> NoReturn:
    """Executes the command. A successful exec closes every pipe, by which the supervisor detects it."""
    close_all_but(failure, *tier.descriptors())
    tier.confine_for(_header(settings), settings["env"])
    if settings["umask"] is not None:
        os.umask(settings["umask"])
    if settings["cwd"]:
        os.chdir(settings["cwd"])
    for number in (signal.SIGPIPE, signal.SIGCHLD, signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, signal.SIG_DFL)
    environment = settings["env"]
    try:
        os.execvpe(settings["argv"][0], settings["argv"], environment)
    except FileNotFoundError:
        raise OSError(f"{settings['argv'][0]}: no such command inside the sandbox") from None


def _hand_over_streams() -> None:
    null = os.open("/dev/null", os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(null, fd)
    os.close(null)


def _keep(tier: Tier, child: int) -> int:
    """Waits until the command ends, the order to stop comes, or a limit is exceeded. Returns the exit code to report."""
    waker = wake_up_reader()
    poll = select.poll()
    for fd in (CONTROL, waker):
        poll.register(fd, select.POLLIN)
    while True:
        status = descendants.collect(child)
        if status is not None:
            return status if status >= 0 else KILLED - status
        for fd, _ in poll.poll(LOOK_MS):
            if fd == CONTROL:
                tier.kill(child)
                return KILLED + signal.SIGKILL
            quiet_read(waker)
        if tier.trouble():
            tier.kill(child)
            return KILLED + signal.SIGKILL


def _first_line(fd: int) -> bytes:
    data = bytearray()
    while not data.endswith(b"\n"):
        chunk = os.read(fd, 1 << 16)
        if not chunk:
            sys.exit(64)
        data += chunk
    return bytes(data)


def _say(**what: Any) -> None:
    try:
        os.write(STATUS, json.dumps(what).encode("ascii") + b"\n")
    except OSError:
        return
