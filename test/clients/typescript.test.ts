import { execFile, spawn } from 'node:child_process';
import { copyFile, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { baseEnv } from '../support/machine/processes.ts';
import { loseConnection, TRICKY } from '../support/peers/broken-stream.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const COMPILER = {
  module: 'nodenext',
  target: 'es2022',
  strict: true,
  noEmit: true,
  types: ['node'],
  typeRoots: [join(ROOT, 'node_modules/@types')],
};
const run = promisify(execFile);

let here: TestInstallation;
let folder: string;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'perdura-client-'));
  here = await shareInstallation();
});
afterAll(async () => {
  await here?.stop();
  await rm(folder, { recursive: true, force: true });
});

it('follows a run over a lost connection from its package alone, with types', { timeout: 120_000 }, async () => {
  const packed = await run('npm', ['pack', '--silent', '--pack-destination', folder], { cwd: join(ROOT, 'clients/typescript') });
  await writeFile(join(folder, 'package.json'), '{"private": true, "type": "module"}');
  await run('npm', ['install', '--no-audit', '--no-fund', '--prefer-offline', `./${packed.stdout.trim()}`], { cwd: folder });
  await copyFile(join(import.meta.dirname, 'typescript-program.mts'), join(folder, 'program.mts'));
  await writeFile(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions: COMPILER, files: ['program.mts'] }));
  await run(join(ROOT, 'node_modules/.bin/tsc'), ['-p', folder]);

  const workflow_id = await here.workflow();
  await here.workflow();
  const { last, names } = await loseConnection(here, workflow_id, (url) =>
    spawn(process.execPath, ['program.mts', url, here.people.alice.token, workflow_id], {
      cwd: folder,
      env: baseEnv(),
      stdio: 'pipe',
    }),
  );
  expect(last).toEqual({
    status: 'completed',
    response: TRICKY,
    text: TRICKY,
    names,
    refused: [true, 'not_found', 404, true],
  });
});
