import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { MAIN_TIERS } from '../support.ts';
import { attack, attacks } from './host.ts';

const PACKAGE = fileURLToPath(new URL('../../../src/toolrunner/python', import.meta.url));
const ask = (program: string) =>
  JSON.parse(
    execFileSync('python3', ['-c', `import sys, json; sys.path.insert(0, ${JSON.stringify(PACKAGE)})\n${program}`]).toString(),
  );

const [machine, denied] = ask(`
import platform
from perdura_tools.sandbox import syscall_table as t
column = t.ARCHITECTURES[platform.machine()][0]
print(json.dumps([platform.machine(), [[n, p[column]] for table in (t.DENIED, t.DENIED_MEMORY) for n, p in table.items() if p[column] is not None]]))`) as [
  string,
  [string, number][],
];

const EPERM_OR_ENOSYS = '(-1, -38)';

attacks(
  'an attack on the kernel',
  [
    ...denied.map(([name, number]) =>
      attack(`the system call ${name}`, `return syscall(${number}, 0, 0, 0, 0, 0, 0) not in ${EPERM_OR_ENOSYS}`),
    ),
    attack('system calls newer than the filter', `return [n for n in range(457, 520) if syscall(n, 0, 0, 0, 0, 0, 0) != -38]`),
    attack('clone3, whose flags no filter can see', 'return syscall(435, 0, 0) != -38'),
    attack(
      'clone with a new user namespace',
      `return syscall(${machine === 'x86_64' ? 56 : 220}, 0x10000000 | 17, 0, 0, 0, 0) != -1`,
    ),
    attack('loosening the filter', 'return libc.prctl(22, 0, 0) == 0 or libc.prctl(38, 0, 0, 0, 0) == 0'),
    attack(
      'undoing Landlock with another ruleset',
      'import struct\nr = syscall(444, struct.pack("QQQ", 1, 0, 0), 24, 0)\nlibc.syscall(446, r, 0)\nreturn open(h["files"][0]).read()',
    ),
    attack(
      'sockets of families with a large attack surface',
      `
found = []
for family in range(3, 48):
    if family == 10: continue
    for kind in (1, 2, 3, 5):
        try: socket.socket(family, kind, 0); found.append((family, kind))
        except OSError: pass
return found`,
    ),
    attack(
      'a raw socket',
      'return [k for k in (socket.IPPROTO_ICMP, socket.IPPROTO_RAW) for s in [socket.socket(socket.AF_INET, socket.SOCK_RAW, k)]]',
    ),
    ...(machine === 'x86_64'
      ? [
          attack(
            'system calls of the x32 kind',
            'return [n for n in (0, 1, 59, 101) if syscall(0x40000000 | n, 0, 0, 0) != -38]',
          ),
          attack(
            'system calls of the 32-bit kind',
            `
m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
m.write(bytes([0x53, 0xb8, 20, 0, 0, 0, 0xcd, 0x80, 0x5b, 0xc3]))
return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(m)))() > 0`,
            { expect: (answer) => expect(answer.error).toMatch(/signal 31/) },
          ),
        ]
      : []),
  ],
  {},
  MAIN_TIERS,
);

describe('the filter', () => {
  it.each(['x86_64', 'aarch64'])('has only jumps that land inside the program for %s', (arch) => {
    const lengths = ask(`
import struct, itertools
from perdura_tools.sandbox.seccomp import build_filter, Policy
out = []
for tcp, processes, files, pid in itertools.product((False, True), (False, True), (False, True), (None, 7)):
    program = build_filter(Policy(families=(2, 10) if tcp else (), tcp_only=tcp, on_host=processes, shared_files=files, own_pid=pid), ${JSON.stringify(arch)})
    code = [struct.unpack("=HBBI", program[i:i + 8]) for i in range(0, len(program), 8)]
    for at, (op, yes, no, value) in enumerate(code):
        assert op & 7 != 5 or (at + 1 + max(yes, no) < len(code)), (at, op)
    assert code[-1] == (6, 0, 0, 0x7fff0000)
    out.append(len(code))
print(json.dumps(out))`) as number[];
    expect(lengths).toHaveLength(16);
    expect(Math.max(...lengths)).toBeLessThan(4096);
  });

  it.each([
    ['x86_64', 72, 16],
    ['aarch64', 25, 29],
  ])('lets nobody name a process that the kernel signals, and nobody take a lease, for %s', (arch, fcntl, ioctl) => {
    const answers = ask(`
import struct
from perdura_tools.sandbox.seccomp import build_filter, Policy
from perdura_tools.sandbox.syscall_table import ARCHITECTURES

def run(program, number, argument):
    data = struct.pack("=IIQ6Q", number, ARCHITECTURES[${JSON.stringify(arch)}][1], 0, 0, argument, 0, 0, 0, 0)
    at, held = 0, 0
    while True:
        code, yes, no, value = struct.unpack("=HBBI", program[at * 8 : at * 8 + 8])
        at += 1
        if code == 0x06: return value
        if code == 0x20: held = struct.unpack_from("=I", data, value)[0]
        elif code == 0x54: held &= value
        else: at += yes if {0x15: held == value, 0x35: held >= value, 0x45: bool(held & value)}[code] else no

out = []
calls = [*((${fcntl}, command) for command in (8, 10, 15, 1024, 1040, 4)), *((${ioctl}, request) for request in (0x8901, 0x8902, 0x5412, 0x541B))]
for on_host in (True, False):
    program = build_filter(Policy(on_host=on_host), ${JSON.stringify(arch)})
    answers = ["refused" if run(program, *call) == 0x00050001 else "allowed" for call in calls]
    out.append(answers)
print(json.dumps(out))`);
    const [yes, no] = ['allowed', 'refused'];
    expect(answers).toEqual([
      [no, no, no, no, no, yes, no, no, no, yes],
      [yes, yes, yes, no, no, yes, yes, yes, no, yes],
    ]);
  });

  it('knows no number twice', () => {
    expect(
      ask(`
from perdura_tools.sandbox import syscall_table as t
tables = [v for v in vars(t).values() if isinstance(v, dict) and all(isinstance(p, tuple) and len(p) == 2 for p in v.values()) and v is not t.ARCHITECTURES]
twice = []
for column in (0, 1):
    seen = {}
    for table in tables:
        for name, pair in table.items():
            if pair[column] is not None and seen.setdefault(pair[column], name) != name: twice.append((name, seen[pair[column]]))
print(json.dumps(twice))`),
    ).toEqual([]);
  });
});
