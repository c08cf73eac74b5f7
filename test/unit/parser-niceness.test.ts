import { spawn } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { expect, it } from 'vitest';

const CHILD = fileURLToPath(new URL('../../src/parsers/child/process.ts', import.meta.url));

/** Without the right to lower the niceness of a process, which only root has. */
const unprivileged = process.getuid?.() === 0 ? ['setpriv', '--bounding-set=-sys_nice', '--inh-caps=-sys_nice'] : [];

it('a parser of a service that gives way to others starts', async () => {
  const command = ['nice', '-n', '10', ...unprivileged, process.execPath, CHILD];
  const parser = spawn(command[0]!, command.slice(1), { stdio: ['ignore', 'ignore', 'ignore', 'ipc'] });
  const started = await new Promise((resolve) => {
    parser.once('message', resolve);
    parser.once('exit', (code) => resolve(`ended with ${code}`));
  });
  expect(started).toBe('ready');
  parser.disconnect();
});
