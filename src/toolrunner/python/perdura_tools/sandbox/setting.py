"""The settings that a confinement receives at its start."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Optional

from . import seccomp
from .host_paths import HostPath
from .limits import Limits


@dataclass(frozen=True)
class Setting:
    limits: Limits
    uid: int
    gid: int
    root: str
    """The empty directory on which the sealed file system is built."""
    scratch: str
    """The directory for files that calls write, if the kernel cannot give each call its own /tmp."""
    read_only: tuple[str, ...]
    host_paths: tuple[HostPath, ...] = ()
    workspaces: Optional[str] = None
    egress_socket: Optional[str] = None
    landlock_level: Optional[int] = None
    families: tuple[int, ...] = field(default=(seccomp.AF_UNIX, seccomp.AF_INET, seccomp.AF_INET6))


def read_setting(settings: dict[str, Any]) -> Setting:
    return Setting(
        limits=Limits(**settings["limits"]),
        uid=settings["uid"],
        gid=settings["gid"],
        root=settings["root"],
        scratch=settings["scratch"],
        read_only=tuple(settings["read_only"]),
        host_paths=tuple(HostPath(**given) for given in settings.get("host_paths", ())),
        workspaces=settings["workspaces"],
        egress_socket=settings["egress_socket"],
        landlock_level=settings["landlock_level"],
    )
