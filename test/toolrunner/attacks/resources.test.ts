import { expect } from 'vitest';
import { MAIN_TIERS } from '../support.ts';
import { attack, attacks } from './host.ts';

const says = (pattern: RegExp) => ({ expect: (answer: { error: string | null }) => expect(answer.error).toMatch(pattern) });
const MEMORY = /out of memory|Cannot allocate memory|signal 9|cannot allocate|^MemoryError|too much data/;

attacks(
  'an attack on memory',
  [
    attack('more memory than one process may have', 'return len(bytearray(3 << 30))', says(MEMORY)),
    attack('memory a little at a time', 'kept = []\nwhile True: kept.append(bytearray(os.urandom(1) * (8 << 20)))', says(MEMORY)),
    attack(
      'memory in many processes',
      `
for _ in range(12):
    if os.fork() == 0:
        kept = bytearray(b"x" * (100 << 20)); time.sleep(60)
time.sleep(60)`,
      says(MEMORY),
    ),
    attack(
      'memory shared between processes',
      `
kept = []
while True:
    m = mmap.mmap(-1, 64 << 20); m.write(b"x" * (64 << 20)); kept.append(m)`,
      says(MEMORY),
    ),
    attack('memory behind a descriptor', 'fd = os.memfd_create("x"); return os.write(fd, b"x" * 1000)'),
    attack('memory of the System V kind', 'return libc.shmget(0, 1 << 30, 0o1600) >= 0'),
  ],
  { timeout_ms: 15_000 },
  MAIN_TIERS,
);

attacks(
  'an attack on resources',
  [
    attack(
      'filling the temporary directory',
      `
for n in range(20):
    with open(os.environ["TMPDIR"] + f"/fill{n}", "wb") as f:
        for _ in range(4): f.write(b"x" * (8 << 20))
time.sleep(0.5)
return True`,
      says(/No space left|too much data|quota/),
    ),
    attack(
      'filling the shared memory directory',
      'with open("/dev/shm/fill", "wb") as f:\n    for _ in range(8): f.write(b"x" * (4 << 20))\nreturn True',
      says(/No space left|Permission denied/),
    ),
    attack(
      'more files than there is room for',
      `
d = os.environ["TMPDIR"]
for n in range(60_000): os.close(os.open(f"{d}/{n}", os.O_CREAT | os.O_WRONLY))
time.sleep(0.5)
return True`,
      says(/No space left|too much data|timed out/),
    ),
    attack(
      'one endless file',
      'with open(os.environ["TMPDIR"] + "/endless", "wb") as f:\n    while True: f.write(b"x" * (1 << 20))',
      says(/File too large|No space left|too much data|signal 25/),
    ),
    attack(
      'a directory too deep to remove',
      `
os.chdir(os.environ["TMPDIR"])
for n in range(6000):
    os.mkdir("d" * 20, 0o700); os.chdir("d" * 20)
os.mkdir("closed", 0)
return False`,
    ),
    attack(
      'directories that refuse to be read',
      'os.chdir(os.environ["TMPDIR"])\nos.makedirs("a/b/c"); open("a/b/c/f", "w").close()\nfor d in ("a/b/c", "a/b", "a"):\n    try: os.chmod(d, 0)\n    except OSError: pass\nreturn False',
    ),
    attack(
      'every descriptor',
      'kept = []\nwhile True: kept.append(os.open("/dev/null", os.O_RDONLY))',
      says(/Too many open files/),
    ),
    attack(
      'a result nested beyond measure',
      'r = []\nfor _ in range(100_000): r = [r]\nreturn r',
      says(/not JSON-serialisable|recursion/),
    ),
    attack('a message beyond measure', 'raise ValueError("x" * 50_000_000)', {
      expect: (answer) => expect(answer.error?.length).toBe(8_000),
    }),
    attack('a crash of the interpreter', 'ctypes.string_at(0)', says(/signal 11/)),
    attack(
      'recursion beyond measure',
      'sys.setrecursionlimit(10**9)\nf = lambda: f()\nf()',
      says(/signal 11|timed out|out of memory|recursion/),
    ),
    attack('a core dump', 'resource.setrlimit(resource.RLIMIT_CORE, (1 << 30, 1 << 30)); return True'),
  ],
  { timeout_ms: 10_000 },
  MAIN_TIERS,
);

attacks(
  'an attack that does not end',
  [
    attack('every processor', 'for _ in range(16):\n    if os.fork() == 0: break\nwhile True: pass', says(/timed out/)),
    attack(
      'an endless loop that catches everything',
      'while True:\n    try:\n        while True: time.sleep(1)\n    except BaseException: pass',
      says(/timed out/),
    ),
    attack('an endless regular expression', 'import re\nreturn re.match("(a+)+$", "a" * 40 + "b")', says(/timed out/)),
    attack(
      'ignoring every signal',
      'for s in range(1, 65):\n    try: signal.signal(s, signal.SIG_IGN)\n    except (OSError, ValueError): pass\nwhile True: time.sleep(9)',
      says(/timed out/),
    ),
    attack('endless output', 'while True: print("x" * 65536)', {
      expect: (answer) => expect([answer.error, answer.stdout.length]).toEqual(['timed out', 65_536]),
    }),
    attack('endless output below Python', 'b = b"x" * 65536\nwhile True: os.write(1, b); os.write(2, b)', says(/timed out/)),
    attack(
      'an endless reply',
      'b = b"R" * 65536\nwhile True:\n    for fd in range(3, 32):\n        try: os.write(fd, b)\n        except OSError: pass',
      says(/larger than|timed out|invalid/),
    ),
    attack(
      'a reply without an end',
      'for fd in range(3, 32):\n    try: os.write(fd, b"R{")\n    except OSError: pass\ntime.sleep(60)',
      says(/timed out/),
    ),
  ],
  { timeout_ms: 1_500 },
  MAIN_TIERS,
);
