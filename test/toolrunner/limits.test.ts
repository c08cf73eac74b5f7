import { randomUUID } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Limits } from '../../src/toolrunner/settings.ts';
import { type Bench, CONFINED, eventually, IS_ROOT, MAIN_TIERS, openBench, TIERS } from './support.ts';

interface Case {
  /** What the limit is set to; the others stay as they are. */
  at: number;
  /** The body of a tool that takes an amount, one below the limit and one beyond it. */
  body: string;
  below: number;
  beyond: number;
  /** How the tool ends that goes beyond it. */
  ends: RegExp;
}

/** Every limit of a call. */
const LIMITS: Record<keyof Limits, Case> = {
  memory_mb: {
    ...{ at: 160, below: 8, beyond: 400 },
    body: 'kept = bytearray(b"x" * (amount << 20)); time.sleep(1.5 if amount > 100 else 0); return len(kept) >> 20',
    ends: /out of memory|signal 9|^MemoryError/,
  },
  address_space_mb: {
    ...{ at: 600, below: 32, beyond: 2_000 },
    body: 'return len(mmap.mmap(-1, amount << 20)) >> 20',
    ends: /Cannot allocate memory|^MemoryError/,
  },
  processes: {
    ...{ at: 12, below: 3, beyond: 60 },
    body: `
children = []
for _ in range(amount):
    pid = os.fork()
    if pid == 0:
        time.sleep(3); os._exit(0)
    children.append(pid)
time.sleep(1 if amount > 12 else 0)
return len(children)`,
    ends: /Resource temporarily unavailable|too many processes|signal 9/,
  },
  open_files: {
    ...{ at: 32, below: 8, beyond: 64 },
    body: 'return len([os.open("/dev/null", os.O_RDONLY) for _ in range(amount)])',
    ends: /Too many open files/,
  },
  file_mb: {
    ...{ at: 2, below: 1, beyond: 3 },
    body: `
with open(os.environ["TMPDIR"] + "/file", "wb") as file:
    for _ in range(amount): file.write(b"x" * (1 << 20))
return amount`,
    ends: /File too large|signal 25/,
  },
  cpu_s: {
    ...{ at: 1, below: 0, beyond: 15 },
    body: `
start = time.process_time()
while time.process_time() - start < amount: pass
return amount`,
    ends: /signal (?:9|24)/,
  },
  tmp_mb: {
    ...{ at: 8, below: 4, beyond: 24 },
    body: `
for n in range(amount):
    with open(os.environ["TMPDIR"] + f"/{n}", "wb") as file: file.write(b"x" * (1 << 20))
time.sleep(1 if amount > 8 else 0)
return amount`,
    ends: /No space left|too much data/,
  },
};

const sourceOf = (body: string) => `import mmap, os, time\n\ndef tool(amount):\n${body.trim().replace(/^/gm, '    ')}\n`;

describe.each(Object.entries(MAIN_TIERS))('in the tier %s', (_, tier) => {
  describe.each(Object.entries(LIMITS))('the limit %s', (name, { at, body, below, beyond, ends }) => {
    let bench: Bench;
    beforeAll(async () => {
      bench = await openBench({ ...tier, timeout_ms: 30_000, prefork: 1, limits: { [name]: at } });
    });
    afterAll(() => bench.runner.close());

    it('lets a call be that stays below it, and ends one that goes beyond', async () => {
      expect(await bench.value(sourceOf(body), { arguments: { amount: below } })).toBe(below);
      const { error } = await bench.call(sourceOf(body), { arguments: { amount: beyond } });
      expect(error).toMatch(ends);
      expect(await bench.value(sourceOf(body), { arguments: { amount: below } })).toBe(below);
    });
  });
});

/** What the kernel says of a process: its niceness, how readily it is killed for lack of memory, its limits by their names. */
interface Standing {
  niceness: number;
  oom_score_adj: number;
  limits: Record<string, string>;
}

/** Read from outside, since not every tier lets a tool read it. */
function readStanding(pid: string): Standing {
  const read = (name: string) => readFileSync(`/proc/${pid}/${name}`, 'utf8');
  // The name of the process, in parentheses, may have spaces.
  const niceness = Number(read('stat').replace(/^.*\)/, '').trim().split(' ')[16]);
  const lines = read('limits').trim().split('\n').slice(1);
  const limits = lines
    .map((line) => /^(.+?) {2,}(\S+) +(\S+)/.exec(line)!)
    .map(([, name, soft, hard]) => [name, `${soft} ${hard}`]);
  return { niceness, oom_score_adj: Number(read('oom_score_adj')), limits: Object.fromEntries(limits) };
}

/** Returns the process id of the shell whose script has the mark. */
async function findShell(mark: string): Promise<string> {
  let pid: string | undefined;
  await eventually(() => {
    pid = readdirSync('/proc').find(
      (entry) => /^\d+$/.test(entry) && readCommand(entry).startsWith(`/bin/sh -c sleep 60; : ${mark}`),
    );
    return pid !== undefined;
  });
  return pid!;
}

function readCommand(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cmdline`, 'utf8').replaceAll('\0', ' ');
  } catch {
    return '';
  }
}

const newMark = () => `m${randomUUID()}`;

const MIB = 1024 * 1024;
const both = (value: number) => `${value} ${value}`;

/** Every limit of the kernel that a tool or command has, with the settings of this test; the others are the service's own. */
const CONFINED_LIMITS: Record<string, string> = {
  'Max address space': both(1_031 * MIB),
  'Max cpu time': both(37),
  'Max open files': both(211),
  'Max file size': both(53 * MIB),
  'Max locked memory': both(MIB),
  'Max core file size': both(0),
  'Max msgqueue size': both(0),
};
const OWN_SETTINGS: Partial<Limits> = { address_space_mb: 1_031, cpu_s: 37, open_files: 211, file_mb: 53, processes: 41 };
const COMMAND_LIMITS = {
  'Max open files': both(1_024),
  'Max file size': both(512 * MIB),
  'Max locked memory': both(MIB),
  'Max core file size': both(0),
  'Max msgqueue size': both(0),
};

describe.each(Object.entries(TIERS))('in the tier %s, the kernel', (name, tier) => {
  const own = readStanding('self');
  const confined = name in CONFINED;
  // Here the kernel counts the service's own processes too.
  const counts_others = name === 'landlock of an ordinary user' || (name === 'landlock' && !IS_ROOT);
  let bench: Bench;
  beforeAll(async () => {
    bench = await openBench({ ...tier, timeout_ms: 30_000, prefork: 1, limits: OWN_SETTINGS });
  });
  afterAll(() => bench.runner.close());

  /** A confined process gives way to the service. A limit that is not set here is the service's own. */
  function expectStanding(
    { limits: { 'Max processes': processes, ...limits }, ...standing }: Standing,
    expected: object,
    most: number,
  ) {
    expect(standing).toEqual(
      confined
        ? { niceness: Math.min(own.niceness + 5, 19), oom_score_adj: 1_000 }
        : { niceness: own.niceness, oom_score_adj: own.oom_score_adj },
    );
    const { 'Max processes': own_processes, ...others } = own.limits;
    expect(limits).toEqual(confined ? { ...others, ...expected } : others);
    if (!confined) expect(processes).toBe(own_processes);
    else if (counts_others) expect(Number(processes!.split(' ')[0])).toBeGreaterThanOrEqual(most);
    else expect(processes).toBe(both(most));
  }

  it('prefers the service to a tool and what it starts, and holds them to their limits', async () => {
    const mark = newMark();
    const ended = new AbortController();
    const source = `import subprocess\ndef tool(): subprocess.run(["/bin/sh", "-c", "sleep 60; : ${mark}"])`;
    const call = bench.call(source, {}, ended.signal).catch(() => {});
    try {
      expectStanding(readStanding(await findShell(mark)), CONFINED_LIMITS, 41);
    } finally {
      ended.abort();
      await call;
    }
  });

  it('prefers the service to a command, and holds the command to its limits', async () => {
    const mark = newMark();
    const running = await bench.runner.startConfined({ command: '/bin/sh', args: ['-c', `sleep 60; : ${mark}`] });
    try {
      expectStanding(readStanding(await findShell(mark)), COMMAND_LIMITS, 256);
    } finally {
      await running.kill();
    }
  });
});
