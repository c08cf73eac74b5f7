import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import { expect, it } from 'vitest';
import { isAlive } from '../support/machine/npm-start.ts';
import { childOf } from '../support/machine/processes.ts';
import { until } from '../support/until.ts';

/** A run like Vitest's: its tests are in a process that it starts, and one of their children is in a separate session. */
const RUN = `
  const { spawn } = await import('node:child_process');
  const { default: setup } = await import(process.argv[1]);
  const end = setup();
  const tests = \`
    const { spawn } = require('node:child_process');
    const children = [false, true].map((detached) => spawn('sleep', ['600'], { detached, stdio: 'ignore' }).pid);
    console.log('tests ' + [process.pid, ...children].join(' '));
    setInterval(() => {}, 60_000);
  \`;
  const { folderOfRun } = await import(process.argv[2]);
  console.log('folder ' + (await folderOfRun('perdura-mark-')));
  const child = spawn(process.execPath, ['--eval', tests], { stdio: ['ignore', 'inherit', 'inherit'] });
  process.stdin.once('data', async () => {
    child.kill('SIGKILL');
    await end();
    process.exit();
  });
`;

it.each(['SIGKILL', 'SIGINT', 'end'] as const)('no process or folder of a test outlives the run: %s', async (how) => {
  const flags = ['--disable-warning=ExperimentalWarning', '--input-type=module', '--eval', RUN];
  const modules = ['ends-with-run', 'run-mark'].map((name) => new URL(`../support/harness/${name}.ts`, import.meta.url).href);
  const process_of_run = spawn(process.execPath, [...flags, ...modules], { stdio: ['pipe', 'pipe', 'inherit'] });
  const run = childOf(process_of_run);
  await run.prints(/tests .*\n/);
  const pids = /tests (.*)\n/.exec(run.output())![1]!.split(' ').map(Number);
  const folder = /folder (.*)\n/.exec(run.output())![1]!;
  expect(existsSync(folder)).toBe(true);
  expect(pids.map(isAlive)).toEqual([true, true, true]);

  if (how === 'end') process_of_run.stdin.end('end');
  else run.signal(how);
  await run.ended;
  await until('the end of its processes', async () => !pids.some(isAlive));
  await run.closed;
  expect(run.output().match(/killed: \d+ sleep 600/g)).toHaveLength(2);
  expect(existsSync(folder)).toBe(false);
});
