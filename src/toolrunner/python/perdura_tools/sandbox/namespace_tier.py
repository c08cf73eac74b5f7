"""The strong tier: a sealed outer set of namespaces, a PID namespace per slot, and new other namespaces for every call."""

from __future__ import annotations

import os
from typing import Optional

from .. import descendants
from ..header import Header
from . import limits, namespaces, relay, root_tree, seccomp
from .limits import MB
from .setting import Setting
from .syscalls import CLONE_NEWNET, CLONE_NEWNS, PR_SET_DUMPABLE, clone_tree, drop_capabilities, move_mount, no_new_privileges, prctl, setns


class NamespaceTier:
    name = "namespaces"
    proxy_port = relay.PORT

    def __init__(self, setting: Setting):
        self._setting = setting
        self._filter = seccomp.build_filter(seccomp.Policy(families=setting.families))
        given = [host_path.path for host_path in setting.host_paths]
        self._kept = tuple(path for path in (*setting.read_only, *given) if path.startswith("/tmp/"))

    def seal(self) -> int:
        """Leaves the host. Returns 0 inside; outside, the PID to wait for. Everything that follows happens inside."""
        setting = self._setting
        binds = []
        if setting.workspaces:
            binds.append(root_tree.Bind(setting.workspaces, f"{root_tree.HIDDEN}/workspaces", writable=True))
        if setting.egress_socket:
            binds.append(root_tree.Bind(setting.egress_socket, f"{root_tree.HIDDEN}/egress.sock", writable=True))
        read_only = root_tree.system_paths(list(setting.read_only))
        return namespaces.seal(root_tree.Tree(setting.root, read_only, tuple(binds), setting.host_paths, setting.uid, setting.gid))

    def descriptors(self) -> list[int]:
        """Lists the descriptors that must stay open from the zygote to the tool process."""
        return []

    def enter(self, slot: int) -> None:
        """Prepares a slot's supervisor, once. It is PID 1 of the slot's namespace."""
        namespaces.as_init()
        namespaces.own_mounts()
        self._hidden = namespaces.Hidden()
        self._mounts = os.open("/proc/self/ns/mnt", os.O_RDONLY | os.O_CLOEXEC)
        no_new_privileges()
        prctl(PR_SET_DUMPABLE, 0)

    def before_fork(self) -> None:
        namespaces.randomise_next_pid()

    def confine(self) -> None:
        """Confines the tool process before the job is known."""
        namespaces.private_world(self._setting.limits.tmp_mb, self._kept)
        namespaces.own_user_namespace()
        limits.prefer_as_oom_victim()
        drop_capabilities()
        limits.apply(self._setting.limits)
        seccomp.install(self._filter)

    def confine_for(self, header: Header, env: dict[str, str]) -> None:
        """Completes the confinement in the tool process, when the job is known and before any of its code runs."""
        if header.workspace:
            os.umask(0o002)
            os.chdir(root_tree.WORKSPACE)

    def prepare(self, header: Header, tool: int) -> None:
        """Prepares the call in the supervisor, when the job is known but the tool process does not have it yet."""
        if header.workspace:
            self._mount_workspace(header.workspace, tool)
        if header.network:
            relay.fork_relay(lambda: self._into_network(tool), self._hidden.path("egress.sock"), self._hidden.fd)

    def _mount_workspace(self, name: str, tool: int) -> None:
        detached = clone_tree(self._hidden.path(f"workspaces/{name}"))
        theirs = os.open(f"/proc/{tool}/ns/mnt", os.O_RDONLY)
        setns(theirs, CLONE_NEWNS)
        try:
            move_mount(detached, root_tree.WORKSPACE)
        finally:
            setns(self._mounts, CLONE_NEWNS)
            os.close(theirs)
            os.close(detached)

    def _into_network(self, tool: int) -> None:
        theirs = os.open(f"/proc/{tool}/ns/net", os.O_RDONLY)
        setns(theirs, CLONE_NEWNET)
        os.close(theirs)

    def trouble(self) -> Optional[str]:
        """Returns the reason why a running call must end; None if it may continue."""
        others = {pid for pid, _, _ in descendants.process_table()} - {os.getpid()}
        return "out_of_memory" if limits.resident_bytes(others) > self._setting.limits.memory_mb * MB else None

    def kill(self, tool: Optional[int]) -> None:
        """Ends the call. When this returns, none of its processes is running."""
        namespaces.kill_namespace()

    def end(self) -> None:
        """Cleans up. When this returns, nothing of the call is left."""
        namespaces.kill_namespace()
        descendants.collect_all()
