import { spawn } from 'node:child_process';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { getOrReport } from '../support/machine/had.ts';
import { npmPackages } from '../support/machine/npm-packages.ts';
import { baseEnv, type Child, childOf } from '../support/machine/processes.ts';
import { pathOf, personAt, textsOf } from './support.ts';

const modules = await getOrReport('the mock server aimock', () => npmPackages(['@copilotkit/aimock@1.43.0']));

interface Surface {
  what: string;
  /** The part of the address that follows the host. */
  at: string;
  provider: object;
  /** True if its errors have the status alone, and no name of their kind. */
  is_nameless?: boolean;
}

const SURFACES: Surface[] = [
  { what: 'chat completions', at: '/v1', provider: {} },
  { what: "OpenRouter's interface", at: '/api/v1', provider: {}, is_nameless: true },
  { what: "Azure's interface", at: '', provider: { provider_type: 'azure_openai', azure_deployment: 'gpt-4o' } },
  { what: "Anthropic's interface", at: '', provider: { provider_type: 'anthropic_messages' } },
];

describe.skipIf(!modules).each(SURFACES)('an independent mock of $what', ({ what, at, provider, is_nameless }) => {
  let here: TestInstallation;
  let person: ReturnType<typeof personAt>;
  let mock: Child;
  let home: string;
  let provider_id: string;
  beforeAll(async () => {
    here = await shareInstallation();
    person = personAt(here);
    home = await mkdtemp(join(tmpdir(), 'perdura-aimock-'));
    const config = join(home, 'config.json');
    await writeFile(config, JSON.stringify({ llm: { fixtures: pathOf('aimock/answers.json') }, port: 0 }));
    const program = join(modules!, '@copilotkit/aimock/dist/aimock-cli.js');
    mock = childOf(spawn(process.execPath, [program, '--config', config], { env: baseEnv(), stdio: ['ignore', 'pipe', 'pipe'] }));
    await mock.prints(/listening on \S+/);
    const url = /listening on (\S+)/.exec(mock.output())?.[1];
    const api_key_token_name = await person.token('mock', 'any');
    const values = { name: what, base_url: `${url}${at}`, default_model: 'gpt-4o', api_key_token_name, ...provider };
    provider_id = await person.provider(values);
  });
  afterAll(async () => {
    await here?.stop();
    await mock?.end('SIGKILL');
    if (home) await rm(home, { recursive: true, force: true });
  });

  const run = async (prompt: string) => person.run(prompt, { provider_id, ...(await person.withLook()) });

  it('has its pieces put together, and its tokens counted', async () => {
    const task = await run('greet');
    expect(task).toMatchObject({ status: 'completed', response: 'Hello from the mock, in several pieces.', truncated: false });
    expect(task.usage.total_in).toBeGreaterThan(0);
    expect(task.usage.total_out).toBeGreaterThan(0);
  });

  it('has its thinking kept apart', async () => {
    expect(await run('think')).toMatchObject({ status: 'completed', response: 'Four.' });
  });

  it('has an answer marked that its limit cut', async () => {
    expect(await run('cut')).toMatchObject({ status: 'completed', response: 'Half of', truncated: true });
  });

  it('answers with JSON', async () => {
    const workflow = { output_schema: { type: 'object', properties: { a: { type: 'number' } }, required: ['a'] } };
    expect(await person.run('as data', { provider_id }, workflow)).toMatchObject({ status: 'completed', response: { a: 1 } });
  });

  it.each([
    ['after its text', 'count'],
    ['around its text', 'first a call'],
  ])('has the calls %s made', async (_where, prompt) => {
    const task = await run(prompt);
    expect(task).toMatchObject({ status: 'completed', response: 'It snows.', turns: 2 });
    expect(textsOf(task, 'tool')).toEqual(['{"result": "Snow in Oslo."}', '{"result": "Snow in Rome."}']);
  });

  it.each(['disconnect', 'malformed', 'crowded', 'overloaded'])('is asked again after one failure: %s', async (prompt) => {
    expect(await run(prompt)).toMatchObject({ status: 'completed', response: 'In the end.' });
  });

  const refusals = [
    ['no credits', 'quota_exhausted', 'Insufficient credits'],
    ['out of credit', 'quota_exhausted', 'You exceeded your current quota'],
    ['wrong key', 'model_unauthorized', 'Incorrect API key provided'],
    ['too long', 'context_window_full', 'maximum context length is 8192 tokens'],
  ] as const;
  it.each(refusals.filter(([prompt]) => !is_nameless || prompt !== 'out of credit'))(
    'has its refusal understood: %s',
    async (prompt, error_code, sentence) => {
      const task = await run(prompt);
      expect(task).toMatchObject({ status: 'failed', error_code });
      expect(task.error).toContain(sentence);
    },
  );
});
