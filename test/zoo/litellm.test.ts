import { spawn } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { getOrReport } from '../support/machine/had.ts';
import { baseEnv, type Child, childOf, freePort } from '../support/machine/processes.ts';
import { pythonWith } from '../support/machine/python-venv.ts';
import { type Answer, asks, breaksOff, fails, says, sends } from '../support/peers/model-server.ts';
import { personAt, textsOf } from './support.ts';

const environment = await getOrReport('a LiteLLM proxy', () => pythonWith(['litellm[proxy]==1.106.12']));

const KEY = `sk-${randomBytes(24).toString('hex')}`;

/** The models of the proxy, all of them the scripted one: without limits, with a budget, through the other way of the proxy. */
const configOf = (api_base: string) => ({
  model_list: [
    { model_name: 'scripted', litellm_params: { model: 'openai/scripted', api_base, api_key: 'upstream' } },
    {
      model_name: 'poor',
      litellm_params: {
        ...{ model: 'openai/scripted', api_base, api_key: 'upstream', max_budget: 0.000001, budget_duration: '1d' },
        ...{ input_cost_per_token: 1, output_cost_per_token: 1 },
      },
    },
    { model_name: 'claude', litellm_params: { model: 'hosted_vllm/scripted', api_base, api_key: 'upstream' } },
  ],
  router_settings: { num_retries: 0, disable_cooldowns: true },
  litellm_settings: { num_retries: 0, telemetry: false },
  general_settings: { master_key: KEY },
});

const refuses =
  (status: number, error: object): Answer =>
  (response) => {
    response.writeHead(status, { 'content-type': 'application/json' });
    response.end(JSON.stringify({ error }));
  };
const piece = {
  id: 'c',
  object: 'chat.completion.chunk',
  choices: [{ index: 0, delta: { content: 'Half' }, finish_reason: null }],
};

describe.skipIf(!environment)('a LiteLLM proxy', { timeout: 90_000 }, () => {
  let here: TestInstallation;
  let person: ReturnType<typeof personAt>;
  let proxy: Child;
  let home: string;
  let url: string;
  let key: string;
  beforeAll(async () => {
    here = await shareInstallation();
    person = personAt(here);
    home = await mkdtemp(join(tmpdir(), 'perdura-litellm-'));
    const config = join(home, 'config.yaml');
    await writeFile(config, JSON.stringify(configOf(here.model.url)));
    const port = await freePort();
    url = `http://127.0.0.1:${port}`;
    const args = ['--config', config, '--host', '127.0.0.1', '--port', String(port)];
    const env = { ...baseEnv(), LITELLM_LOCAL_MODEL_COST_MAP: 'True' };
    proxy = childOf(spawn(join(environment!.venv, 'bin', 'litellm'), args, { env, stdio: ['ignore', 'pipe', 'pipe'] }));
    await proxy.prints(/Uvicorn running on/, 150_000);
    key = await person.token('litellm', KEY);
  }, 180_000);
  afterAll(async () => {
    await here?.stop();
    await proxy?.end('SIGKILL');
    if (home) await rm(home, { recursive: true, force: true });
  });

  const providers = new Map<string, Promise<string>>();
  function withModel(model: string, provider_type = 'openai_compatible'): Promise<string> {
    const made =
      providers.get(model) ??
      person.provider({ name: `LiteLLM ${model}`, provider_type, base_url: url, default_model: model, api_key_token_name: key });
    providers.set(model, made);
    return made;
  }
  /** Runs a prompt of an agent with the tool `look`, with these answers of the model behind the proxy. */
  async function run(answers: Answer[], model = 'scripted'): Promise<Record<string, any>> {
    here.model.script(...answers);
    return person.run('How is the weather?', { provider_id: await withModel(model), ...(await person.withLook()) });
  }

  it('passes the test of a provider', async () => {
    here.model.script(says('Yes.'));
    const tested = await here.alice.ok(here.alice.post(`/api/providers/${await withModel('scripted')}/test`));
    expect(tested).toMatchObject({ success: true, error: null });
    expect(tested.models.sort()).toEqual(['claude', 'poor', 'scripted']);
  });

  it('streams calls and text, and says what they cost', async () => {
    const calls = asks({ name: 'look', args: { city: 'Oslo' } }, { name: 'look', id: 'call_2', args: { city: 'Rome' } });
    const task = await run([calls, says('Snow in both.')]);
    expect(task).toMatchObject({ status: 'completed', response: 'Snow in both.', turns: 2 });
    expect(textsOf(task, 'tool')).toEqual(['{"result": "Snow in Oslo."}', '{"result": "Snow in Rome."}']);
    expect(task.usage).toMatchObject({ total_in: 20, total_out: 10, estimated: false });
  });

  it('speaks the Messages API, too', async () => {
    here.model.script(asks({ name: 'look', args: { city: 'Oslo' } }), says('Snow in Oslo.'));
    const provider_id = await withModel('claude', 'anthropic_messages');
    const task = await person.run('How is the weather?', { provider_id, ...(await person.withLook()) });
    expect(task).toMatchObject({ status: 'completed', response: 'Snow in Oslo.', turns: 1 });
  });

  it.each([
    ['is limited', fails(429, { message: 'Slow down', headers: { 'retry-after': '1' } })],
    ['fails', fails(500)],
    ['breaks off', breaksOff('Half')],
    [
      'reports an error in its stream',
      sends(`data: ${JSON.stringify(piece)}\n\ndata: {"error": {"message": "It died", "code": 500}}\n\n`),
    ],
  ])('is asked again if the model behind it %s', async (_what, failure) => {
    expect(await run([failure, says('At last.')])).toMatchObject({ status: 'completed', response: 'At last.' });
  });

  it.each([
    [
      'a wrong key',
      'model_unauthorized',
      refuses(401, { message: 'Incorrect API key provided', code: 'invalid_api_key' }),
      /Incorrect API key/,
    ],
    [
      'a used-up quota',
      'quota_exhausted',
      refuses(429, { message: 'You exceeded your current quota' }),
      /exceeded your current quota/,
    ],
    [
      'a full window',
      'context_window_full',
      refuses(400, { message: "This model's maximum context length is 8192 tokens.", code: 'context_length_exceeded' }),
      /maximum context length is 8192/,
    ],
  ])('passes %s of the model behind it', async (_what, error_code, failure, sentence) => {
    const task = await run([failure]);
    expect(task).toMatchObject({ status: 'failed', error_code });
    expect(task.error).toMatch(sentence);
    expect(task.error).not.toMatch(/[{<]/);
  });

  it('marks an answer that the limit of the model cut', async () => {
    expect(await run([says('Half of', { finish: 'length' })])).toMatchObject({ status: 'completed', truncated: true });
  });

  it('is not asked again when the budget of its model is spent', async () => {
    expect(await run([says('Expensive.')], 'poor')).toMatchObject({ status: 'completed' });
    const asked = here.model.requests.length;
    const task = await run([], 'poor');
    expect(task).toMatchObject({ status: 'failed', error_code: 'quota_exhausted' });
    expect(task.logs.filter(({ event }: { event: string }) => event === 'retry')).toEqual([]);
    expect(here.model.requests).toHaveLength(asked);
  });

  it('says that it does not know a model', async () => {
    const task = await run([], 'unknown');
    expect(task.status).toBe('failed');
    expect(task.error).toMatch(/Invalid model name passed in model=unknown/);
  });
});
