import { execFile, spawn } from 'node:child_process';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { baseEnv } from '../support/machine/processes.ts';
import { testPython } from '../support/machine/python-venv.ts';
import { loseConnection, TRICKY } from '../support/peers/broken-stream.ts';

const SOURCE = resolve(import.meta.dirname, '../../clients/python');
const PROGRAM = join(import.meta.dirname, 'python_program.py');
const run = promisify(execFile);

let python: string;
let venv: string;
let folder: string;
let here: TestInstallation;
beforeAll(async () => {
  ({ python, venv } = await testPython());
  folder = await mkdtemp(join(tmpdir(), 'perdura-python-client-'));
  await cp(SOURCE, join(folder, 'source'), { recursive: true });
  await run(python, ['-m', 'build', '--no-isolation', '--outdir', join(folder, 'dist'), join(folder, 'source')]);
  const wheel = join(folder, 'dist/perdura-0.1.0-py3-none-any.whl');
  await run(python, ['-m', 'zipfile', '-e', wheel, join(folder, 'site')]);
  here = await shareInstallation();
}, 300_000);
afterAll(async () => {
  await here?.stop();
  if (folder) await rm(folder, { recursive: true, force: true });
});

describe('the Python client', () => {
  it.each(['sync', 'async'])('follows a run over a lost connection: %s', async (kind) => {
    const workflow_id = await here.workflow();
    const env = { ...baseEnv(), PYTHONPATH: join(folder, 'site') };
    const { last, names } = await loseConnection(here, workflow_id, (url) =>
      spawn(python, [PROGRAM, kind, url, here.people.alice.token, workflow_id], { env, stdio: 'pipe' }),
    );
    expect(last).toEqual({ status: 'completed', text: TRICKY, names, refused: ['not_found', 404, true], lacks: [] });
  });

  it('has types that fit the program and the client itself', async () => {
    const env = { ...process.env, MYPYPATH: join(SOURCE, 'src') };
    const args = ['-m', 'mypy', '--strict', '--cache-dir', join(venv, '.mypy'), PROGRAM, join(SOURCE, 'src/perdura')];
    expect((await run(python, args, { env })).stdout).toMatch(/^Success: no issues found in 7 source files/);
    const { stdout } = await run(python, ['-m', 'zipfile', '-l', join(folder, 'dist/perdura-0.1.0-py3-none-any.whl')]);
    expect(stdout).toContain('perdura/py.typed');
  });
});
