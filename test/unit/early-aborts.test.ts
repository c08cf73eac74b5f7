import { chmod, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { runInProcess } from '../../src/toolrunner/process-tier.ts';
import { git } from '../../src/tools/git-process.ts';

let home: string;
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-early-'));
  await writeFile(join(home, 'git'), '#!/bin/sh\nexec /bin/sleep 600\n');
  await chmod(join(home, 'git'), 0o755);
});
afterAll(() => rm(home, { recursive: true }));

// Each begins at once, and is stopped before its process has been created.
describe('a process that is stopped while it starts', { timeout: 8_000 }, () => {
  it('ends as git', async () => {
    const stopping = new AbortController();
    const limits = { directory: home, timeout_ms: 600_000, max_bytes: 1_000_000, signal: stopping.signal };
    const running = git(['status'], { env: { PATH: home }, limits });
    stopping.abort(new Error('halted'));
    await expect(running).rejects.toThrow('halted');
  });

  it('ends as the supervisor of a call', async () => {
    const stopping = new AbortController();
    const job = { source: '', args: '{}', env: {}, header: { timeout_ms: 600_000 } };
    const running = runInProcess(['/bin/cat'], job as never, { scratch: home, signal: stopping.signal });
    stopping.abort();
    expect(await running).toBeNull();
  });
});
