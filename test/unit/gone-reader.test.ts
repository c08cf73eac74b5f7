import { spawn } from 'node:child_process';
import { resolve } from 'node:path';
import { text } from 'node:stream/consumers';
import { expect, it } from 'vitest';
import { baseEnv } from '../support/machine/processes.ts';

const CLI = resolve(import.meta.dirname, '../../src/main/cli.ts');
const TERMINAL = resolve(import.meta.dirname, '../../src/main/terminal.ts');

/** Runs a program whose output nobody reads; returns its exit code and errors. */
async function runUnread(args: string[]) {
  const child = spawn(process.execPath, ['--disable-warning=ExperimentalWarning', ...args], { env: baseEnv(), stdio: 'pipe' });
  child.stdout.destroy();
  const ended = new Promise<number | null>((done) => child.once('close', done));
  return Promise.all([ended, text(child.stderr)]);
}

it.each([['--help'], ['completions', 'bash']])('perdura %s ends without a word once nobody reads it', async (...args) => {
  expect(await runUnread([CLI, ...args])).toEqual([141, '']);
});

it.each([
  [true, 7],
  [false, 141],
])('a process that stays is not ended by that, and any other one is: %s', async (stays, code) => {
  const program = `import { endWithReader, say } from '${TERMINAL}';
    endWithReader(${stays});
    process.stdout.on('error', () => process.exit(7));
    say('started');`;
  expect(await runUnread(['--input-type=module', '-e', program])).toEqual([code, '']);
});

it('another fault of an output ends it with that fault', async () => {
  const program = `import { endWithReader } from '${TERMINAL}';
    endWithReader(true);
    process.stderr.emit('error', Object.assign(new Error('the disk is full'), { code: 'ENOSPC' }));`;
  expect(await runUnread(['--input-type=module', '-e', program])).toEqual([1, expect.stringContaining('the disk is full')]);
});
