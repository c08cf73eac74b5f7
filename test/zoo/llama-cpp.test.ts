import { execFile, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { getOrReport } from '../support/machine/had.ts';
import { baseEnv, type Child, childOf, freePort } from '../support/machine/processes.ts';
import { pythonWith } from '../support/machine/python-venv.ts';
import { startDroppingProxy } from '../support/peers/dropping-proxy.ts';
import { until } from '../support/until.ts';
import { logsOf, pathOf, personAt, textsOf } from './support.ts';

const PACKAGES = ['xllamacpp==2026.10.11549', 'gguf==0.19.0'];
const environment = await getOrReport('a server of llama.cpp', () => pythonWith(PACKAGES));
const CONTEXT = 4_096;

function startPython(...args: (string | number)[]): Child & { finish(): Promise<unknown> } {
  const process_of_it = spawn(environment!.python, args.map(String), { env: baseEnv(), stdio: ['pipe', 'pipe', 'pipe'] });
  const child = childOf(process_of_it);
  const finish = () => {
    process_of_it.stdin.end();
    return child.ended;
  };
  return { ...child, finish };
}

/** As MCP servers and libraries write them. llama.cpp refuses most of them as they are. */
const ODD_SCHEMAS: object[] = [
  { enum: [] },
  { type: 'array', prefixItems: [{ type: 'string' }], items: false },
  { type: 'array', items: [{ type: 'string' }] },
  { type: 'array', items: true },
  { type: 'object', properties: { any: true } },
  { $ref: '#/$defs/Text' },
  { type: 'array', items: { $ref: '#' } },
  { type: 'string', pattern: '^(?=.*[A-Z]).+$' },
  { type: 'string', pattern: '\\p{L}', format: 'ipv7' },
  { not: { type: 'string' } },
  { type: ['string', 'null'], default: null },
  { anyOf: [{ type: 'object' }, { const: 5 }] },
  { type: 'object', patternProperties: { '^x': { type: 'string' } } },
  {},
];

describe.skipIf(!environment)('a server of llama.cpp', { timeout: 90_000 }, () => {
  let here: TestInstallation;
  let person: ReturnType<typeof personAt>;
  let home: string;
  let model_file: string;
  let port: number;
  let server: Child;
  let provider_id: string;
  const serve = () => startPython(pathOf('llama_server.py'), model_file, port, CONTEXT);

  beforeAll(async () => {
    home = await mkdtemp(join(tmpdir(), 'perdura-llama-'));
    model_file = join(home, 'tiny.gguf');
    await promisify(execFile)(environment!.python, [pathOf('tiny_model.py'), model_file]);
    port = await freePort();
    server = serve();
    await server.prints(/serves/);
    here = await shareInstallation();
    person = personAt(here);
    provider_id = await person.provider({ name: 'llama.cpp', base_url: `http://127.0.0.1:${port}` });
  });
  afterAll(async () => {
    await here?.stop();
    await server?.end('SIGKILL');
    await rm(home, { recursive: true, force: true });
  });

  const workflow = (agent: object = {}) => here.workflow({ agent: { provider_id, ...agent } });
  const run = (prompt: string, agent: object = {}, settings: object = {}) =>
    person.run(prompt, { provider_id, ...agent }, settings);

  it('passes the test of a provider', async () => {
    expect(await here.alice.ok(here.alice.post(`/api/providers/${provider_id}/test`))).toEqual({
      success: true,
      models: ['tiny'],
      error: null,
    });
  });

  it('answers in pieces, and says what that costs', async () => {
    const task_id = await here.prompt(await workflow());
    const events = await here.events(task_id);
    const deltas = events.filter(({ type }) => type === 'message_delta').map(({ data }) => data.delta);
    expect(deltas.join('')).toBe('Hello from a tiny model.');
    const task = await here.ended(task_id);
    expect(task).toMatchObject({ status: 'completed', response: 'Hello from a tiny model.', truncated: false });
    expect(task.usage.total_out).toBe(7);
    // A token is a byte to this model: an estimate would be a quarter of it.
    expect(task.usage.total_in).toBeGreaterThan(40);
    expect(task.usage.estimated).toBe(false);
  });

  it('calls a tool, and gets its result', async () => {
    const task = await run('Do it.', await person.withLook());
    expect(task).toMatchObject({ status: 'completed', response: 'It is cold!', turns: 1 });
    expect(textsOf(task, 'tool')).toEqual(['{"result": "Snow in Oslo."}']);
  });

  it.each(ODD_SCHEMAS)('is sent a schema that it takes: %j', async (x) => {
    const input_schema = { type: 'object', properties: { x }, required: ['x'], $defs: { Text: { type: 'string' } } };
    const tool_definitions = [{ name: 'odd', description: 'Odd.', input_schema }];
    const task = await run('Do it.', { ...(await person.withLook()), tool_definitions });
    expect(task.error).toBeNull();
    expect(task).toMatchObject({ status: 'completed', response: 'It is cold!', turns: 1 });
  });

  it('compacts a conversation that is longer than its window, and says how large that is', async () => {
    const source_code = "def look(city: str) -> str:\n    return 'AGAIN ' + 'x' * 1_000\n";
    const look = await person.withLook();
    await here.alice.ok(here.alice.put(`/api/custom-tools/${look.custom_tool_ids[0]}`, { source_code }));
    const task = await run('Do it.', look, { max_turns: 6 });
    expect(task).toMatchObject({ status: 'completed', turns: 6 });
    expect(logsOf(task)).toEqual(expect.arrayContaining(['context_window_full', 'compaction']));
    const models = await here.alice.ok(here.alice.get(`/api/models?provider_id=${provider_id}`));
    expect(models).toMatchObject([{ id: 'tiny', context_window: CONTEXT }]);
  });

  it('reports a prompt that is longer than its window', async () => {
    const task = await run(`Read this: ${'x'.repeat(CONTEXT)}`);
    expect(task).toMatchObject({ status: 'failed', error_code: 'context_window_full' });
    expect(task.error).toMatch(/exceeds the available context size \(4096 tokens\)/);
  });

  it('answers with JSON of a schema', async () => {
    const output_schema = {
      type: 'object',
      properties: { warm: { type: 'boolean' }, kind: { enum: ['snow', 'rain'] } },
      required: ['warm', 'kind'],
      additionalProperties: false,
    };
    const task = await run('Do it.', {}, { output_schema });
    expect(task.status).toBe('completed');
    expect(typeof task.response.warm).toBe('boolean');
  });

  it('has an answer marked that its limit cut', async () => {
    const task = await run('Write forever.', {}, { max_output_tokens: 16 });
    expect(task).toMatchObject({ status: 'completed', response: ' and'.repeat(16), truncated: true, usage: { total_out: 16 } });
  });

  it('has an answer marked that its window cut', async () => {
    const task = await run('Write forever.');
    expect(task).toMatchObject({ status: 'completed', truncated: true });
    expect(task.usage.total_in + task.usage.total_out).toBeGreaterThan(CONTEXT - 100);
  });

  it('answers in full after it was killed while it answered', async () => {
    const task_id = await here.prompt(await workflow(), 'Write forever.');
    await here.events(task_id, { enough: ({ type }) => type === 'message_delta' });
    await server.end('SIGKILL');
    server = serve();
    const task = await here.ended(task_id, 60_000);
    expect(task).toMatchObject({ status: 'completed', truncated: true });
    const events = await here.events(task_id);
    expect(events.filter(({ data }) => data.event === 'attempt_reset').length).toBeGreaterThan(0);
  });

  it.runIf(process.platform === 'linux')('is waited for while it loads its model', async () => {
    await server.end('SIGKILL');
    const lease = startPython(pathOf('lease.py'), model_file);
    await lease.prints(/held/);
    server = serve();
    const proxy = await startDroppingProxy(`http://127.0.0.1:${port}`);
    const isLoading = () =>
      fetch(`http://127.0.0.1:${port}/v1/models`).then(
        ({ status }) => status === 503,
        () => false,
      );
    await until('the server loads its model', isLoading);
    const behind_proxy = await person.provider({ name: 'behind a proxy', base_url: proxy.url });
    const task_id = await here.prompt(await workflow({ provider_id: behind_proxy }));
    await until('the worker asks it', async () => proxy.counts().opened > 0 && (await isLoading()));
    await lease.finish();
    expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Hello from a tiny model.' });
    await proxy.stop();
  });
});
