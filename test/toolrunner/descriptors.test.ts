import { execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { describe, expect, it } from 'vitest';

const SCRIPT = fileURLToPath(new URL('../support/machine/without-descriptors.ts', import.meta.url));
const RUN = 'ulimit -n 256 && exec "$0" --disable-warning=ExperimentalWarning "$1" "$2"';

describe.each(['auto', 'process'])('a process without a descriptor left, with the isolation %s', (isolation) => {
  it('reports that, whatever it was about to start, and works again when it has some', { timeout: 120_000 }, async () => {
    const { stdout } = await promisify(execFile)('bash', ['-c', RUN, process.execPath, SCRIPT, isolation]);
    const outcomes = JSON.parse(stdout) as Record<string, { without: unknown; with: unknown }>;
    const lack = { code: 'too_many_open_files', message: expect.any(String) };
    const expected = Object.keys(outcomes).map((name) => [name, { without: lack, with: 'works' }]);
    expect(expected.length).toBe(5);
    expect(outcomes).toEqual(Object.fromEntries(expected));
  });
});
