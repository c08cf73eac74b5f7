import { closeSync, openSync } from 'node:fs';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { findOutage } from '../../../src/domain/outages.ts';
import { startToolRunner } from '../../../src/toolrunner/index.ts';
import { git } from '../../../src/tools/git-process.ts';
import { createWorkspaces } from '../../../src/tools/workspaces.ts';

/*
 * A program that runs with a low limit of open files. It does what a worker does for a call while no descriptor is left, and
 * again when there are some; it prints the outcomes.
 */

const { signal } = new AbortController();
const home = await mkdtemp(join(tmpdir(), 'perdura-descriptors-'));
const parent = join(home, 'workspaces');
await mkdir(parent);
const runner = await startToolRunner({ isolation: process.argv[2] as 'auto', workspaces: parent, scratch_dir: home });
const call = { name: 'one', source: 'def one() -> int:\n    return 1\n', arguments: {}, env: {}, call_key: 'key' };
const limits = { directory: home, timeout_ms: 10_000, max_bytes: 1_000_000, signal };
const env = { PATH: process.env.PATH ?? '' };
let made = 0;

const OPERATIONS: Record<string, () => Promise<unknown>> = {
  'a custom tool': () => runner.run(call, signal),
  'a command': async () => {
    const { exit, stdin } = await runner.startConfined({ command: '/bin/true' });
    stdin.end();
    return exit;
  },
  'an inspection': () => runner.inspect('one', call.source),
  git: () => git(['version'], { env, limits }),
  'a workspace': () => createWorkspaces(parent).openDirectory(`task-${++made}`, async () => {}),
};

function takeAll(): () => void {
  const taken: number[] = [];
  try {
    for (;;) taken.push(openSync('/dev/null', 'r'));
  } catch {
    return () => taken.forEach(closeSync);
  }
}

const outcomes: Record<string, { without: unknown; with: unknown }> = {};
for (const [name, operation] of Object.entries(OPERATIONS)) {
  // The first round loads what it needs, but starts nothing that would be used again.
  if (name !== 'an inspection') await operation();
  const giveBack = takeAll();
  const without = await operation().then(
    (result) => ({ result }),
    (error: Error) => ({ code: findOutage(error)?.code ?? null, message: error.message }),
  );
  giveBack();
  const again = await operation().then(
    () => 'works',
    (error: Error) => error.message,
  );
  outcomes[name] = { without, with: again };
}
await runner.close();
await rm(home, { recursive: true, force: true });
process.stdout.write(JSON.stringify(outcomes));
