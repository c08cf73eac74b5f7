"""The system calls that tools may not use: name to (x86_64, aarch64) number, None if the machine does not have it."""

from __future__ import annotations

from typing import Optional

Table = dict[str, tuple[Optional[int], Optional[int]]]


def _same(**numbers: int) -> Table:
    return {name: (number, number) for name, number in numbers.items()}


# Other processes, namespaces, mounts, kernel state, and calls with a large attack surface.
DENIED: Table = {
    "ptrace": (101, 117), "process_vm_readv": (310, 270), "process_vm_writev": (311, 271), "kcmp": (312, 272),
    "unshare": (272, 97), "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "add_key": (248, 217), "request_key": (249, 218), "keyctl": (250, 219), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "kexec_load": (246, 104), "kexec_file_load": (320, 294),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106), "open_by_handle_at": (304, 265),
    "name_to_handle_at": (303, 264), "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142), "acct": (163, 89),
    "quotactl": (179, 60), "syslog": (103, 116), "iopl": (172, None), "ioperm": (173, None), "settimeofday": (164, 170),
    "clock_settime": (227, 112), "adjtimex": (159, 171), "clock_adjtime": (305, 266), "sethostname": (170, 161),
    "setdomainname": (171, 162), "personality": (135, 92), "modify_ldt": (154, None), "vhangup": (153, 58),
    "lookup_dcookie": (212, 18), "fanotify_init": (300, 262), "fanotify_mark": (301, 263), "nfsservctl": (180, 42),
    "uselib": (134, None), "sysfs": (139, None), "mbind": (237, 235), "set_mempolicy": (238, 237),
    "migrate_pages": (256, 238), "move_pages": (279, 239), "vmsplice": (278, 75),
    **_same(pidfd_getfd=438, process_madvise=440, open_tree=428, move_mount=429, fsopen=430, fsconfig=431, fsmount=432,
            fspick=433, mount_setattr=442, quotactl_fd=443, io_uring_setup=425, io_uring_enter=426, io_uring_register=427,
            memfd_secret=447, process_mrelease=448, set_mempolicy_home_node=450),
}  # fmt: skip

# Memory and messages that outlive the process or escape the limit on resident memory.
DENIED_MEMORY: Table = {
    "memfd_create": (319, 279), "shmget": (29, 194), "shmat": (30, 196), "msgget": (68, 186), "semget": (64, 190),
    "mq_open": (240, 180),
}  # fmt: skip

# Landlock does not cover these calls, which could change files that belong to the service's own user.
DENIED_ON_FOREIGN_FILES: Table = {
    "chmod": (90, None), "fchmod": (91, 52), "fchmodat": (268, 53), "chown": (92, None), "fchown": (93, 55),
    "lchown": (94, None), "fchownat": (260, 54), "utime": (132, None), "utimes": (235, None), "futimesat": (261, None),
    "utimensat": (280, 88), "setxattr": (188, 5), "lsetxattr": (189, 6), "fsetxattr": (190, 7), "removexattr": (197, 14),
    "lremovexattr": (198, 15), "fremovexattr": (199, 16), **_same(fchmodat2=452),
}  # fmt: skip

# Landlock does not prevent a tool from watching directories that it cannot list.
DENIED_ON_HOST: Table = {"inotify_init": (253, None), "inotify_init1": (294, 26)}

# The first (or second) argument is a process; only 0, the caller itself, is allowed.
SELF_ONLY_FIRST: Table = {"prlimit64": (302, 261)}
SELF_ONLY_FIRST_SHARED_PIDS: Table = {
    "sched_setaffinity": (203, 122), "sched_setscheduler": (144, 119), "sched_setparam": (142, 118),
    "sched_setattr": (314, 274),
}  # fmt: skip
SELF_ONLY_SECOND_SHARED_PIDS: Table = {"setpriority": (141, 140), "ioprio_set": (251, 30)}

# Signals, if neither a PID namespace, another user nor Landlock limits their reach.
SIGNALS: Table = {
    "kill": (62, 129), "tkill": (200, 130), "tgkill": (234, 131), "rt_sigqueueinfo": (129, 138),
    "rt_tgsigqueueinfo": (297, 240), **_same(pidfd_open=434),
}  # fmt: skip

SPECIAL: Table = {
    "clone": (56, 220), "ioctl": (16, 29), "fcntl": (72, 25), "socket": (41, 198), "socketpair": (53, 199), "sendto": (44, 206),
    "sendmsg": (46, 211), "sendmmsg": (307, 269), **_same(clone3=435),
}  # fmt: skip

# For a tool, newer calls than these do not exist.
NEWEST_KNOWN = 456
ARCHITECTURES = {"x86_64": (0, 0xC000003E), "aarch64": (1, 0xC00000B7)}
