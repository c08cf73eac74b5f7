import { execFile } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { getOrReport } from '../support/machine/had.ts';
import { baseEnv } from '../support/machine/processes.ts';
import { pythonWith } from '../support/machine/python-venv.ts';
import { says } from '../support/peers/model-server.ts';
import { pathOf, personAt } from './support.ts';

const environment = await getOrReport('a generated client', () => pythonWith(['openapi-python-client==0.29.1']));
const run = promisify(execFile);

describe.skipIf(!environment)('a client that openapi-python-client generates', () => {
  let here: TestInstallation;
  let home: string;
  beforeAll(async () => {
    here = await shareInstallation();
    home = await mkdtemp(join(tmpdir(), 'perdura-generated-'));
  });
  afterAll(async () => {
    await here?.stop();
    if (home) await rm(home, { recursive: true, force: true });
  });

  it('has a type for every response, starts a run and reads it', { timeout: 120_000 }, async () => {
    const { python, venv } = environment!;
    const folder = join(home, 'generated');
    const env = { ...baseEnv(), PATH: `${join(venv, 'bin')}:${baseEnv().PATH}` };
    const args = [
      'generate',
      '--url',
      `${here.url}/openapi.json`,
      '--output-path',
      folder,
      '--meta',
      'none',
      '--fail-on-warning',
    ];
    const { stdout: said } = await run(join(venv, 'bin', 'openapi-python-client'), args, { env });
    expect(said).not.toMatch(/warning|unable/i);
    here.model.script(says('Hello from a generated client.'));
    const provider_id = await personAt(here).provider({ name: 'generated', base_url: here.model.url });
    const program = [pathOf('generated_client.py'), folder, here.url, here.people.alice.token, provider_id];
    const { stdout } = await run(python, program, { env });
    const seen = JSON.parse(stdout);
    expect(seen).toMatchObject({
      status: 'completed',
      response: 'Hello from a generated client.',
      roles: ['user', 'assistant'],
      workflow: true,
      missing: 'Problem',
    });
    expect(seen.logs).toEqual(expect.arrayContaining(['prompt_received', 'model_call', 'completed']));
    expect(seen.modules).toBeGreaterThan(500);
  });
});
