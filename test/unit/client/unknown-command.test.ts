import { spawnSync } from 'node:child_process';
import { resolve } from 'node:path';
import { expect, it } from 'vitest';
import { baseEnv } from '../../support/machine/processes.ts';

const CLI = resolve(import.meta.dirname, '../../../src/main/cli.ts');

it.each([
  ['taks', '; did you mean tasks?'],
  ['constructor', '.'],
])('perdura %s names no command', (name, hint) => {
  const child = spawnSync(process.execPath, ['--disable-warning=ExperimentalWarning', CLI, name], { env: baseEnv() });
  expect([child.status, `${child.stdout}`, `${child.stderr}`]).toEqual([
    2,
    '',
    `perdura has no command ${name}${hint} perdura --help lists all commands\n`,
  ]);
});
