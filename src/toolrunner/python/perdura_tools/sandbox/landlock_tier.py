"""The tier for containers, where namespaces are forbidden: Landlock, seccomp, limits, and a user per slot if possible."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Optional

from .. import descendants
from ..header import Header
from . import host_paths, landlock, limits, namespaces, root_tree, scratch, seccomp, users
from .limits import MB
from .setting import Setting
from .syscalls import PR_SET_CHILD_SUBREAPER, PR_SET_DUMPABLE, die_with_parent, drop_capabilities, no_new_privileges, prctl

# Version 3 is the first to cover truncation; 4 covers TCP, and 6 signals.
NEEDED, NEEDED_FOR_NETWORK, NEEDED_FOR_SIGNALS = 3, 4, 6
WRITABLE_DEVICES = ("/dev/null", "/dev/zero", "/dev/full")


class LandlockTier:
    name = "landlock"

    def __init__(self, setting: Setting):
        self._setting = setting
        self._rules = landlock.Ruleset(min(landlock.abi(), setting.landlock_level or 99))
        self._switches_user = os.geteuid() == 0
        if self._rules.level < NEEDED:
            raise OSError(f"Landlock version {NEEDED} is needed (Linux 6.2); this kernel has {self._rules.level or 'none'}")
        self._rules.allow(root_tree.SYSTEM + root_tree.SYSTEM_ETC + setting.read_only)
        self._rules.allow(f"/dev/{name}" for name in root_tree.DEVICES)
        self._rules.allow(WRITABLE_DEVICES, writable=True)
        for given in setting.host_paths:
            self._rules.allow_opened(host_paths.open_exactly(given.path), given.writable)
        self._unscoped = self._rules.level < NEEDED_FOR_SIGNALS and not self._switches_user
        self._filters = {network: seccomp.build_filter(self._policy(network)) for network in (False, True)}
        self._allowance = 0 if self._switches_user else limits.tasks_of_user(os.getuid()) + 4 * setting.limits.processes

    def descriptors(self) -> list[int]:
        return [fd for fd, _ in self._rules.paths]

    def enter(self, slot: int) -> None:
        """Prepares a slot's supervisor, once. It adopts whatever its tools orphan."""
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        prctl(PR_SET_DUMPABLE, 0)
        if self._switches_user:
            self._user = users.ClaimedUser(self._setting.uid)
        self._home = os.path.join(self._setting.scratch, f"slot-{slot}")

    def before_fork(self) -> None:
        scratch.remove_tree(self._home)
        os.mkdir(self._home, 0o700)
        if self._switches_user:
            os.chown(self._home, self._user.uid, self._setting.gid)

    def confine(self) -> None:
        os.chdir(self._home)
        if self._switches_user:
            namespaces.become(self._user.uid, self._setting.gid)
            drop_capabilities()
        else:
            die_with_parent()
        prctl(PR_SET_DUMPABLE, 1)
        limits.prefer_as_oom_victim()
        no_new_privileges()
        limits.apply(self._setting.limits, self._allowance)

    def confine_for(self, header: Header, env: dict[str, str]) -> None:
        """Sets the rules as the last step before the tool's code: they depend on the job and cannot be widened later."""
        scratch.set_home(env, self._home)
        rules = replace(self._rules, paths=list(self._rules.paths))
        rules.allow([self._home], writable=True)
        if header.workspace:
            workspace = os.path.join(self._setting.workspaces or "", header.workspace)
            rules.allow([workspace], writable=True)
            os.umask(0o002)
            os.chdir(workspace)
        rules.enforce(connect_port=header.proxy_port if header.network else None)
        program = seccomp.build_filter(self._policy(header.network, os.getpid())) if self._unscoped else self._filters[header.network]
        seccomp.install(program)

    def _policy(self, network: bool, own_pid: Optional[int] = None) -> seccomp.Policy:
        return seccomp.Policy(
            families=(seccomp.AF_INET, seccomp.AF_INET6) if network else (),
            tcp_only=True,
            on_host=True,
            shared_files=not self._switches_user,
            own_pid=own_pid,
        )

    def prepare(self, header: Header, tool: int) -> None:
        if header.network and self._rules.level < NEEDED_FOR_NETWORK:
            raise PermissionError(f"network access cannot be confined here: Landlock version {NEEDED_FOR_NETWORK} is needed (Linux 6.7)")

    def trouble(self) -> Optional[str]:
        living = descendants.descendants()
        if limits.resident_bytes(set(living)) > self._setting.limits.memory_mb * MB:
            return "out_of_memory"
        if len(living) > self._setting.limits.processes:
            return "too_many_processes"
        return None if scratch.fits(self._home, self._setting.limits.tmp_mb * MB) else "too_much_data"

    def kill(self, tool: Optional[int]) -> None:
        descendants.kill_descendants(tool)

    def end(self) -> None:
        descendants.kill_descendants()
        scratch.remove_tree(self._home)
