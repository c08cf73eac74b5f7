"""Puts every call in its own PID, mount and network namespaces, inside a sealed outer set."""

from __future__ import annotations

import os
import signal

from . import root_tree
from .syscalls import (
    CLONE_NEWCGROUP, CLONE_NEWIPC, CLONE_NEWNET, CLONE_NEWNS, CLONE_NEWPID, CLONE_NEWUSER, CLONE_NEWUTS, MS_NODEV,
    MS_NOEXEC, MS_NOSUID, MS_PRIVATE, MS_RDONLY, MS_REC, MS_SLAVE, PR_SET_DUMPABLE, die_with_parent, drop_capabilities,
    map_own_ids, mount, no_new_privileges, prctl, setns, unshare, write_file,
)  # fmt: skip

MOST_DESCRIPTORS = 4096
SEALED = CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_NEWNET


def seal(tree: root_tree.Tree) -> int:
    """Leaves the host. Returns 0 in the process that is inside, and in the caller the child's PID to wait for.

    As root, the tree is built first with root's rights, so that an interpreter below a private directory can be
    bound. The user is changed before anything else happens. Any other user creates a user namespace first.
    """
    die_with_parent()
    if os.geteuid() == 0:
        unshare(CLONE_NEWNS)
        mount(None, "/", None, MS_REC | MS_SLAVE)
        root_tree.enter(tree)
        become(tree.uid, tree.gid)
        unshare(SEALED)
        map_own_ids(tree.uid, tree.gid)
    else:
        uid, gid = os.getuid(), os.getgid()
        unshare(SEALED)
        map_own_ids(uid, gid)
        mount(None, "/", None, MS_REC | MS_SLAVE)
        root_tree.enter(tree)
    pid = os.fork()
    if pid == 0:
        die_with_parent()
        mount(None, "/", None, MS_REC | MS_PRIVATE)
        mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)
    return pid


def become(uid: int, gid: int) -> None:
    os.setgroups([])
    os.setresgid(gid, gid, gid)
    os.setresuid(uid, uid, uid)
    # After a change of user, root owns the process's own /proc entries, but the ID maps are written there.
    prctl(PR_SET_DUMPABLE, 1)
    die_with_parent()


def stay_outside(pid: int) -> None:
    """Runs the process that the service knows. It waits for the process inside, and each ends with the other."""
    die_with_parent()
    # The descriptors are not listed: the process inside may have mounted its own /proc here, in which this process does not
    # exist.
    os.closerange(3, MOST_DESCRIPTORS)
    for fd in (0, 1):
        os.close(fd)
    _, status = os.waitpid(pid, 0)
    os._exit(os.waitstatus_to_exitcode(status) & 0xFF)


class PidNamespaces:
    """Forks children that are PID 1 of a namespace each."""

    def __init__(self) -> None:
        self.fd = os.open("/proc/self/ns/pid", os.O_RDONLY | os.O_CLOEXEC)

    def fork(self) -> int:
        unshare(CLONE_NEWPID)
        pid = os.fork()
        if pid:
            # A process may request the next namespace only from its own.
            setns(self.fd, CLONE_NEWPID)
        return pid


def as_init() -> None:
    """Prepares PID 1. The kernel ignores a tool's signals to it unless it has a handler; Python sets one for SIGINT."""
    die_with_parent()
    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGPIPE):
        signal.signal(number, signal.SIG_IGN)


def own_mounts() -> None:
    """Gives a slot its own mounts, with only its own processes in /proc."""
    unshare(CLONE_NEWNS)
    mount(None, "/", None, MS_REC | MS_PRIVATE)
    mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC)


def private_world(tmp_mb: int, kept: tuple[str, ...]) -> None:
    """Gives a call its own temporary space, and its own, empty network."""
    unshare(CLONE_NEWNS | CLONE_NEWNET)
    root_tree.mount_private_places(tmp_mb, kept)
    os.chdir("/tmp")


def randomise_next_pid() -> None:
    try:
        write_file("/proc/sys/kernel/ns_last_pid", str(2 + int.from_bytes(os.urandom(2), "big") % 30_000))
    except OSError:
        return


class Hidden:
    """Directories that the supervisor can still reach after they are covered for everybody else."""

    def __init__(self) -> None:
        self.fd = os.open(root_tree.HIDDEN, os.O_PATH | os.O_DIRECTORY | os.O_CLOEXEC)
        mount("tmpfs", root_tree.HIDDEN, "tmpfs", MS_RDONLY | MS_NOSUID | MS_NODEV, "size=4k,mode=0500,nr_inodes=2")

    def path(self, name: str) -> str:
        return f"/proc/self/fd/{self.fd}/{name}"


def kill_namespace() -> None:
    """Kills everything but the caller, PID 1; no process can escape this by forking."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return


def own_user_namespace() -> None:
    """Creates a user namespace, so that the process limit counts this call alone and no right reaches beyond it."""
    uid, gid = os.getuid(), os.getgid()
    prctl(PR_SET_DUMPABLE, 1)
    unshare(CLONE_NEWUSER)
    map_own_ids(uid, gid)


