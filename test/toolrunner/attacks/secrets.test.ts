import { readdirSync, readFileSync } from 'node:fs';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { type Bench, CONFINED, openBench } from '../support.ts';
import { type Host, openHost, sourceOf } from './host.ts';

/** Everything a process can read of itself, searched for a text that is never put together, so that the search does not find itself. */
const SEARCH = `
half = len(h["needle"]) // 2
first = bytes(h["needle"][half:], "ascii")[::-1]
second = bytes(h["needle"][:half], "ascii")[::-1]
found = []
for line in open("/proc/self/maps"):
    place, mode = line.split()[:2]
    if "r" not in mode or "[v" in line: continue
    low, high = (int(x, 16) for x in place.split("-"))
    try:
        with open("/proc/self/mem", "rb") as memory:
            memory.seek(low); data = memory.read(high - low)
    except (OSError, ValueError): continue
    at = data.find(first)
    while at >= 0:
        if data[at + len(first):at + len(first) + len(second)] == second: found.append(line)
        at = data.find(first, at + 1)
    del data
return len(found)`;

const reversed = (text: string) => [...text].reverse().join('');

describe.each(Object.entries(CONFINED))('secrets in the tier %s', (name, tier) => {
  let host: Host;
  let bench: Bench;
  beforeAll(async () => {
    host = await openHost();
    bench = await openBench({ timeout_ms: 10_000, prefork: 1, workspaces: host.workspaces, ...tier });
  });
  afterAll(async () => {
    await bench.runner.close();
    await host.close();
  });

  it('are in no process list while a call uses them', async () => {
    const secret = `secret-${Math.random()}`;
    const call = bench.call('import time\ndef tool(): time.sleep(0.4)', { env: { KEY: secret } });
    await new Promise((resolve) => setTimeout(resolve, 200));
    const seen = readdirSync('/proc').filter(
      (pid) =>
        /^\d+$/.test(pid) &&
        pid !== `${process.pid}` &&
        [`/proc/${pid}/cmdline`, `/proc/${pid}/environ`].some((path) => read(path).includes(secret)),
    );
    expect(seen).toEqual([]);
    expect((await call).error).toBeNull();
  });

  it.skipIf(name.startsWith('landlock'))('of one call are not in the memory of the next', async () => {
    const secret = `secret-${Math.random()}-${Math.random()}`;
    await bench.call('import os\ndef tool(): return os.environ["KEY"] * 100', { env: { KEY: secret } });
    for (let round = 0; round < 3; round += 1)
      expect(await bench.value(sourceOf(SEARCH), { arguments: { h: { needle: reversed(secret) } } })).toBe(false);
  });

  it.skipIf(name.startsWith('landlock'))('would be found by that search if they were there', async () => {
    const env = { KEY: 'a-needle-in-the-memory' };
    expect(await bench.value(sourceOf(SEARCH), { env, arguments: { h: { needle: reversed(env.KEY) } } })).toBeGreaterThan(0);
  });

  it('of the service are not in anything a tool can collect', async () => {
    const collect = `
parts = [repr(dict(os.environ)), repr(sys.argv), repr(list(sys.modules)), repr(os.listdir("."))]
for root in ("/proc", "/etc", "/run", "/tmp", "/dev", "/workspace", h["dir"]):
    for path, dirs, files in os.walk(root):
        if path.count("/") > 4: dirs.clear()
        for f in files[:200]:
            if f in ("kmsg", "kpagecount", "kpageflags", "kpagecgroup", "pagemap", "random", "urandom", "zero", "full", "kcore", "trace_pipe"): continue
            try:
                fd = os.open(os.path.join(path, f), os.O_RDONLY | os.O_NONBLOCK)
                parts.append(os.read(fd, 20_000).decode("latin1")); os.close(fd)
            except OSError: pass
text = " ".join(parts)
print(text[:60_000])
return h["needle"][::-1] in text`;
    const answer = await bench.call(sourceOf(collect), { arguments: { h: { ...host.facts, needle: reversed(host.canary) } } });
    expect(answer).toMatchObject({ error: null, result: '{"result": false}' });
    expect(JSON.stringify(answer)).not.toContain(host.canary);
  });

  it('of two calls at once are each its own', async () => {
    const ask = (key: string) =>
      bench.value(
        'import os, time\ndef tool():\n a = os.environ["KEY"]; time.sleep(0.2); return [a == os.environ["KEY"], a[0]]',
        { env: { KEY: key.repeat(8) } },
      );
    expect(await Promise.all(['a', 'b', 'c', 'd'].map(ask))).toEqual(['a', 'b', 'c', 'd'].map((key) => [true, key]));
  });
});

function read(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}
