import { chmodSync, mkdtempSync, readdirSync, rmdirSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { startToolRunner } from '../../src/toolrunner/index.ts';
import { openBench, processesWith, TIERS } from './support.ts';

describe.each(Object.entries(TIERS))('closing a runner in the tier %s', (_, options) => {
  it('ends calls in flight and leaves no process, descriptor or directory', async () => {
    const scratch_dir = mkdtempSync(join(tmpdir(), 'closing-'));
    chmodSync(scratch_dir, 0o711);
    const fds = readdirSync('/proc/self/fd').length;
    const bench = await openBench({ ...options, scratch_dir });
    await bench.runner.inspect('tool', 'def tool(): pass');
    const pending = bench.call('import time\ndef tool(): time.sleep(60)');
    await bench.value('def tool(): return 1');
    expect(processesWith(scratch_dir).length).toBeGreaterThan(1);
    await bench.runner.close();
    expect((await pending).error).toBe('the tool runner was closed');
    expect(processesWith(scratch_dir)).toEqual([]);
    expect(readdirSync(scratch_dir)).toEqual([]);
    rmdirSync(scratch_dir);
    // Connections that files before this one left in the process may come and go.
    await expect.poll(() => readdirSync('/proc/self/fd').length, { timeout: 10_000 }).toBeLessThanOrEqual(fds);
    await expect(bench.call('def tool(): pass')).rejects.toThrow('the tool runner was closed');
    await expect(bench.runner.startConfined({ command: 'true' })).rejects.toThrow('the tool runner was closed');
  });
});

describe('starting a runner', () => {
  it('fails if there is no interpreter, and names its path', async () => {
    await expect(startToolRunner({ python: '/nonexistent/python' })).rejects.toThrow(
      'There is no usable Python interpreter at "/nonexistent/python"',
    );
  });
});
