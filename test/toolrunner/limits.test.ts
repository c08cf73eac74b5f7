import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { Limits } from '../../src/toolrunner/settings.ts';
import { type Bench, MAIN_TIERS, openBench } from './support.ts';

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
