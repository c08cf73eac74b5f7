import { expect } from 'vitest';
import { CONFINED } from '../support.ts';
import { attack, attacks } from './host.ts';
import { SESSION_BOMB } from './session-bomb.ts';

const ends = { expect: (answer: { error: string | null }) => expect(answer.error).not.toBeNull() };
/** It counts by what is left behind. */
const UNCONTROLLED = { uncontrolled: 'it wins by what it leaves behind, not by what it returns' };
const answers = { expect: (answer: { error: string | null }) => expect(answer.error).toBeNull() };

attacks('an attack on processes', [
  attack(
    'reading the arguments of other processes',
    'return [c for p in glob.glob("/proc/[0-9]*/cmdline") for c in [open(p).read()] if "canary" in c or "vitest" in c]',
  ),
  attack('reading the environment of the service', 'return open(f"/proc/{h[\'node\']}/environ").read()'),
  attack('reading the environment of a neighbour', 'return open(f"/proc/{h[\'neighbour\']}/environ").read()'),
  attack(
    'reading the environment of its parents',
    'return [t for p in (1, os.getppid()) for t in [open(f"/proc/{p}/environ").read()] if t]',
  ),
  attack(
    'reading the memory of its parent',
    'p = os.getppid()\nf = open(f"/proc/{p}/maps"); a = int(f.readline().split("-")[0], 16)\nm = open(f"/proc/{p}/mem", "rb"); m.seek(a); return len(m.read(64))',
  ),
  attack('listing the descriptors of its parent', 'return os.listdir(f"/proc/{os.getppid()}/fd")'),
  attack('tracing its parent', 'return libc.ptrace(16, os.getppid(), 0, 0) == 0'),
  attack('reading its parent with process_vm_readv', 'return libc.process_vm_readv(os.getppid(), 0, 0, 0, 0, 0) >= 0'),
  attack('taking a descriptor from its parent', 'fd = os.pidfd_open(os.getppid())\nreturn syscall(438, fd, 0, 0) >= 0'),
  attack('signalling the service', 'os.kill(h["node"], 0); return True'),
  attack('signalling a neighbour', 'os.kill(h["neighbour"], signal.SIGKILL); return True'),
  attack(
    'killing its supervisor',
    'try: os.kill(os.getppid(), signal.SIGKILL)\nexcept OSError: pass\ntime.sleep(0.05); return False',
    answers,
  ),
  attack(
    'stopping its supervisor',
    'try: os.kill(os.getppid(), signal.SIGSTOP)\nexcept OSError: pass\ntime.sleep(0.05); return False',
    answers,
  ),
  attack(
    'flooding its supervisor with signals',
    `
for n in range(200):
    for s in (signal.SIGCHLD, signal.SIGINT, signal.SIGHUP, signal.SIGTERM, signal.SIGUSR1, signal.SIGALRM, signal.SIGPIPE, signal.SIGXCPU):
        try: os.kill(os.getppid(), s)
        except OSError: pass
time.sleep(0.05)
return False`,
    answers,
  ),
  ...Object.entries({
    F_SETOWN: 'fcntl.fcntl(one, 8, h["neighbour"])',
    F_SETOWN_EX: 'fcntl.fcntl(one, 15, struct.pack("ii", 1, h["neighbour"]))',
    FIOSETOWN: 'fcntl.ioctl(one, 0x8901, struct.pack("i", h["neighbour"]))',
    SIOCSPGRP: 'fcntl.ioctl(one, 0x8902, struct.pack("i", h["neighbour"]))',
  }).map(([name, owner]) =>
    attack(
      `having the kernel signal a neighbour by ${name}`,
      `
import fcntl, struct
one, other = socket.socketpair()
${owner}
fcntl.fcntl(one, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
other.send(b"x")
return True`,
    ),
  ),
  attack(
    'signalling everything it may',
    'signal.signal(signal.SIGTERM, signal.SIG_IGN)\ntry: os.kill(-1, signal.SIGTERM)\nexcept OSError: pass\nreturn False',
  ),
  attack(
    'lowering the limits of its supervisor',
    'r = resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (3, 3)); return True',
  ),
  attack('slowing down the service', 'os.setpriority(os.PRIO_PROCESS, h["node"], 19); return True'),
  attack('pinning the service to one processor', 'os.sched_setaffinity(h["node"], {0}); return True'),
  attack('stopping its own group', 'os.killpg(0, signal.SIGSTOP); return False', ends),
  attack('killing itself', 'os.kill(os.getpid(), signal.SIGKILL); return False', ends),
  attack('becoming another program instead of answering', 'os.execv("/bin/sh", ["sh", "-c", "sleep 60"]); return True', ends),
  attack('a fork bomb', 'while True:\n    try: os.fork()\n    except OSError: pass', ends),
  attack(
    'a bomb of threads',
    'n = 0\nwhile n < 5000:\n    threading.Thread(target=time.sleep, args=(60,), daemon=True).start(); n += 1\nreturn n',
    ends,
  ),
  attack('many children at once', 'n = 0\nwhile n < 300:\n    if os.fork() == 0: time.sleep(60)\n    n += 1\nreturn n', ends),
  attack(
    'a daemon that outlives the call',
    `
mark = "h" + str(h["node"])
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        for s in range(1, 32):
            try: signal.signal(s, signal.SIG_IGN)
            except (OSError, ValueError): pass
        libc.prctl(1, 0); time.sleep(60)
    os._exit(0)
return False`,
    { ...answers, ...UNCONTROLLED },
  ),
  attack('raising its own limits', 'resource.setrlimit(resource.RLIMIT_NPROC, (10_000, 10_000)); return True'),
  attack('raising its own priority', 'os.setpriority(os.PRIO_PROCESS, 0, -10); return True'),
  attack('becoming another user', 'os.setuid(0); return True'),
  attack('becoming the user it was', 'os.setresuid(h["node"], h["node"], h["node"]); return True', {
    uncontrolled: 'only root may become another user',
  }),
  attack(
    'taking capabilities back',
    'import struct\nhdr = struct.pack("II", 0x20080522, 0); data = struct.pack("IIIIII", *[0xffffffff] * 6)\nreturn libc.capset(hdr, data) == 0',
  ),
  attack('creating a user namespace', 'return libc.unshare(0x10000000) == 0'),
  attack('creating a mount namespace', 'return libc.unshare(0x20000) == 0'),
  attack('mounting over the system', 'return libc.mount(b"tmpfs", b"/usr", b"tmpfs", 0, None) == 0'),
  attack(
    'undoing the mounts that hide the host',
    'return any(libc.umount2(p, 2) == 0 for p in (b"/", b"/tmp", b"/proc", b"/run/perdura", b"/dev"))',
  ),
  attack(
    'entering the namespaces of its parent',
    'return [n for n in os.listdir("/proc/1/ns") if libc.setns(os.open(f"/proc/1/ns/{n}", os.O_RDONLY), 0) == 0]',
  ),
  attack('pushing input into a terminal', 'import fcntl\nfcntl.ioctl(0, 0x5412, b"x"); return True'),
]);

/** Its processes share one user with the service, and starve the whole machine: `test/long/session-bomb.test.ts`. */
const { 'landlock of an ordinary user': _, ...separate } = CONFINED;
attacks('an attack on the schedule of processes', [SESSION_BOMB], {}, separate);
