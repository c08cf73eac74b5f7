import { attack, attacks } from './host.ts';

const read = (path: string) => `return open(${path}).read()`;

attacks('an attack on files', [
  attack('reading a file anybody may read', read('h["files"][0]')),
  attack('reading a private file of the service', read('h["files"][1]')),
  attack('reading the workspace of another run', read('h["files"][2]')),
  attack(
    'reading the workspace of another run without having one',
    'return open(h["dir"] + "/workspaces/other/file.txt").read()',
    {
      call: {},
    },
  ),
  attack(
    'finding files of the service by walking',
    'return [f for d in ("/tmp", "/home", "/root", "/var", "/srv", "/opt", h["dir"]) for _, _, fs in os.walk(d) for f in fs if f in ("private.txt", "open.txt", "file.txt")]',
    { uncontrolled: 'a whole machine takes too long to walk where nothing hides it' },
  ),
  attack('reading the accounts of the host', 'return "root:" in open("/etc/passwd").read() or open("/etc/shadow").read()'),
  attack('writing into /usr', 'open("/usr/lib/attack", "w").close(); return True'),
  attack('writing into /etc', 'open("/etc/attack", "w").close(); return True'),
  attack('writing into the root directory', 'open("/attack", "w").close(); return True'),
  attack('changing the standard library', 'open(os.__file__, "a").write("#"); return True'),
  attack(
    'adding to installed packages',
    'import sysconfig\nopen(sysconfig.get_paths()["purelib"] + "/attack.py", "w").close(); return True',
  ),
  attack(
    'leaving compiled code for the next call',
    'import importlib.util\npath = importlib.util.cache_from_source(os.__file__)\nos.replace(path, path + "x"); return True',
  ),
  attack('following its own symbolic link', 'os.symlink(h["files"][0], "link"); return open("link").read()'),
  attack('linking to a file it cannot read', 'os.link(h["files"][0], "link"); return open("link").read()'),
  attack(
    'going through the root of another process',
    'return [open(p + h["files"][0]).read() for p in ("/proc/1/root", f"/proc/{os.getppid()}/root", "/proc/self/root")]',
    { uncontrolled: 'only root may enter the root of process 1' },
  ),
  attack('climbing out with ..', 'return open("../" * 40 + h["files"][0]).read()'),
  attack(
    'climbing out through chroot',
    'os.mkdir("d"); fd = os.open("/", os.O_RDONLY); os.chroot("d"); os.fchdir(fd); return True',
  ),
  attack(
    'using descriptors it inherited',
    `
found = []
for fd in range(3, 1024):
    try: os.fstat(fd)
    except OSError: continue
    for path in h["files"] + ["." , ".."]:
        try: found.append(os.open(path.lstrip("/"), os.O_RDONLY, dir_fd=fd))
        except OSError: pass
return found`,
    { uncontrolled: 'a fresh process inherits none, confined or not' },
  ),
  attack(
    'reading disks and memory of the machine',
    'return [open(d, "rb").read(16) for d in glob.glob("/dev/[svx]d*") + glob.glob("/dev/nvme*") + ["/dev/mem", "/dev/kmem", "/dev/port", "/proc/kcore"] if os.access(d, os.R_OK)]',
  ),
  attack('making its own device', 'os.mknod("disk", 0o660 | 0o060000, os.makedev(254, 0)); return open("disk", "rb").read(16)'),
  attack(
    'reading hardware and kernel settings below /sys',
    'return [p for p in glob.glob("/sys/**", recursive=False) for _ in os.listdir(p)]',
  ),
  attack('deleting a file of the service', 'os.remove(h["files"][0]); return True'),
  attack('truncating a file of the service', 'os.truncate(h["files"][0], 0); return True'),
  attack('renaming a file of the service', 'os.rename(h["files"][0], h["files"][0] + "x"); return True'),
  attack('changing the mode of a file of the service', 'os.chmod(h["files"][1], 0o777); return True'),
  attack('changing the owner of a file of the service', 'os.chown(h["files"][1], os.getuid(), os.getgid()); return True'),
  attack('changing the times of a file of the service', 'os.utime(h["files"][1], (1, 1)); return True'),
  attack(
    'watching directories of the service',
    'fd = libc.inotify_init1(0)\nreturn fd >= 0 and libc.inotify_add_watch(fd, h["dir"].encode(), 0xfff) >= 0',
  ),
  attack(
    'opening files by handle',
    'b = ctypes.create_string_buffer(136)\nreturn libc.name_to_handle_at(-100, b"/usr", b, ctypes.byref(ctypes.c_int()), 0) == 0',
  ),
  attack(
    'becoming root through a setuid program',
    'r = subprocess.run(["su", "-c", "id"], capture_output=True, text=True, stdin=subprocess.DEVNULL)\nreturn "uid=0" in r.stdout',
  ),
  attack(
    'making a program setuid',
    'import shutil\nshutil.copyfile("/bin/sh", "sh"); os.chmod("sh", 0o6755); os.chown("sh", 0, 0); return True',
  ),
  attack(
    'changing kernel settings',
    `
for name in ("kernel/core_pattern", "kernel/hostname", "vm/drop_caches", "kernel/ns_last_pid"):
    try:
        with open("/proc/sys/" + name, "w") as f: f.write("1")
        return name
    except OSError: pass
with open("/proc/sysrq-trigger", "w") as f: f.write("h")
return True`,
  ),
]);
