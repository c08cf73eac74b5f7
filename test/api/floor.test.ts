import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import { afterAll, beforeAll, expect, it } from 'vitest';
import { jobs } from '../../src/parsers/child/jobs.ts';
import type { Client, Reply } from '../support/client.ts';
import { declaredEndpoints } from '../support/contract/endpoints.ts';
import { largestShapes } from '../support/contract/largest-shapes.ts';
import { parsersInUse } from '../support/contract/parser-sites.ts';
import { helpers, startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { lateOf, listMeasured, startProber } from '../support/machine/floor-probe.ts';
import { type Child, startFloorService } from '../support/machine/processes.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { docxOf, pdfOf } from '../support/runs/documents.ts';
import { someOf } from '../support/some-of.ts';
import { type World, worldOf } from './contract-world.ts';

/** What the issue asks for: 99 of 100 answers within this. */
const WITHIN_MS = 250;

const DEEP_PAGE = '<div>'.repeat(100_000);
const KEYS = Array.from({ length: 60_000 }, (_, index) => ({ [`k${index}`]: 1 }));
const WIDE = Object.fromEntries(KEYS.flatMap((key) => Object.entries(key)));
const PDF = pdfOf('(a) Tj '.repeat(500_000), { compressed: true });
const DOCX = docxOf('<w:r/>'.repeat(100_000), 20 * 1024 * 1024);
const OBJECTS = new TextEncoder().encode(`[${'{},'.repeat(8_000_000)}{}]`);
const SKILLS = Array.from({ length: 20_000 }, (_, index) => ({ name: `s${index}`, instructions: 'x' }));
const LONG = 'word 1.2.3.4 +1 650 253 0000 a@b.example '.repeat(20_000);
const PATTERNED_SCHEMA = {
  type: 'object',
  properties: Object.fromEntries(
    Array.from({ length: 400 }, (_, i) => [`p${i}`, { type: 'string', pattern: `^([a-z]{1,40}){1,9}${i}$` }]),
  ),
};
const UNIQUE = JSON.stringify(Array.from({ length: 40_000 }, (_, index) => [index]));
const NESTED_SCHEMA = {
  allOf: Array.from({ length: 900 }, (_, index) => ({
    anyOf: [{ minLength: index }, { type: 'object', required: [`f${index}`] }],
  })),
};
const HEAVY_PATTERNS = Array.from({ length: 90 }, (_, index) => `(?i)(\\pL{1,30}[a-z]{1,30}){1,15}x${index}$`);

/** The database, the engine and the model. The measured service is a separate process. */
let here: TestInstallation;
let service: Child;
let user: Client;
let does: ReturnType<typeof helpers>;
let prober: Awaited<ReturnType<typeof startProber>>;
let hostile: Server;
let hostile_url: string;
let world: World;
let made = 0;
const name = () => `floor ${++made}`;
const post = (path: string, body: unknown) => user.post(path, body);
const id = async (path: string, body: unknown) => (await user.ok(post(path, body), 201)).id as string;
const guardrail = (guardrail_type: string, config: object) => post('/api/guardrails', { name: name(), guardrail_type, config });
const checked = async (guardrail_type: string, config: object, said: string) =>
  post(`/api/guardrails/${(await user.ok(guardrail(guardrail_type, config), 201)).id}/check`, { text: said });

async function upload(filename: string, content: string | Uint8Array): Promise<Reply> {
  const form = new FormData();
  form.append('file', new Blob([content as never]), filename);
  form.append('source_id', await id('/api/knowledge-sources', { name: name() }));
  return user.send('POST', '/api/knowledge-items/upload', { body: form });
}

/** A run whose model calls one tool. */
async function run(tool: string, args: object, options: Parameters<typeof does.workflow>[0]): Promise<Reply> {
  const workflow_id = await does.workflow(options);
  here.model.script(asks({ name: tool, args }), says('done'));
  const task = await does.ended(await does.prompt(workflow_id), 60_000);
  return { status: task.status === 'completed' ? 200 : 500, headers: new Headers(), body: task };
}

const guarded = async (config: object, guardrail_type = 'prompt') => {
  const guardrail_ids = [(await user.ok(guardrail(guardrail_type, config), 201)).id];
  const agent_id = await id('/api/agents', { name: name() });
  return { agent_id, workflow_id: await id('/api/workflows', { agent_id, guardrail_ids }) };
};

interface Case {
  /** Packages that have to deal with it, and jobs of the pool. */
  parsers: string[];
  jobs: (keyof typeof jobs)[];
  send(): Promise<Reply>;
}

/** The worst that each parser can be sent, through the doors that lead to it. */
const CORPUS: Record<string, Case> = {
  'a page nested 100,000 deep, uploaded': {
    ...{ parsers: ['html-to-text'], jobs: ['document'] },
    send: () => upload('deep.html', DEEP_PAGE),
  },
  'a page nested 100,000 deep, fetched by a run': {
    ...{ parsers: ['html-to-text'], jobs: ['page'] },
    send: () => run('web_fetch', { url: hostile_url }, { agent: { builtin_tools: ['web_fetch'] } }),
  },
  'a PDF of excessive length': {
    ...{ parsers: ['unpdf'], jobs: ['document'] },
    send: () => upload('long.pdf', PDF),
  },
  'a Word document that unpacks to 20 MB': {
    ...{ parsers: ['mammoth', 'fflate'], jobs: ['document'] },
    send: () => upload('bomb.docx', DOCX),
  },
  'JSON of eight million objects': {
    ...{ parsers: [], jobs: ['document'] },
    send: () => upload('many.json', OBJECTS),
  },
  'patterns that are dear to compile': {
    ...{ parsers: ['re2js'], jobs: ['config'] },
    send: () => guardrail('prompt', { forbidden_patterns: HEAVY_PATTERNS }),
  },
  'a long text under many patterns': {
    ...{ parsers: ['re2js'], jobs: ['prompt'] },
    send: () => checked('prompt', { forbidden_patterns: Array.from({ length: 60 }, (_, i) => `[a-z]+ .*${i}x`) }, LONG),
  },
  'a long text searched for personal data': {
    ...{ parsers: ['libphonenumber-js', 'validator', 're2js'], jobs: ['answer'] },
    send: () => checked('output', { pii_detection: true, action: 'redact' }, LONG),
  },
  'a schema that is dear to compile': {
    ...{ parsers: ['ajv'], jobs: ['config'] },
    send: () => guardrail('request', { json_schema: NESTED_SCHEMA }),
  },
  'an array of 40,000 that must be unique': {
    ...{ parsers: ['ajv'], jobs: ['request'] },
    send: () => checked('request', { json_schema: { uniqueItems: true } }, UNIQUE),
  },
  'a prompt under a dear schema': {
    ...{ parsers: ['ajv'], jobs: ['request'] },
    send: async () => {
      const { workflow_id } = await guarded({ json_schema: { uniqueItems: true } }, 'request');
      return post(`/api/workflows/${workflow_id}/prompt`, { prompt: UNIQUE });
    },
  },
  'an output schema that is dear to compile': {
    ...{ parsers: ['ajv', 're2js'], jobs: ['outputSchema'] },
    send: async () =>
      post('/api/workflows', { agent_id: await id('/api/agents', { name: name() }), output_schema: PATTERNED_SCHEMA }),
  },
  'an answer under a dear output schema': {
    ...{ parsers: ['ajv'], jobs: ['output'] },
    send: async () => {
      const workflow_id = await does.workflow({ workflow: { output_schema: { type: 'array', uniqueItems: true } } });
      here.model.script(says(UNIQUE), says('[]'));
      const task = await does.ended(await does.prompt(workflow_id), 60_000);
      return { status: task.error_code === 'internal' ? 500 : 200, headers: new Headers(), body: task };
    },
  },
  'a chat message under dear patterns': {
    ...{ parsers: ['re2js'], jobs: ['prompt'] },
    send: async () => {
      const { agent_id } = await guarded({ required_patterns: ['([a-z ]{1,50}){1,20}never'] });
      return post(`/api/agents/${agent_id}/chat`, { message: 'word '.repeat(30_000) });
    },
  },
  'arguments under a dear schema': {
    ...{ parsers: ['ajv'], jobs: ['arguments'] },
    send: () => {
      const nested = { name: 'nested', description: '', parameters: { type: 'object', ...NESTED_SCHEMA } };
      return run('nested', {}, { agent: { tool_definitions: [{ type: 'function', function: nested }] } });
    },
  },
  'schemas of a hostile MCP server': {
    ...{ parsers: ['@modelcontextprotocol/sdk/validation'], jobs: ['schemas'] },
    send: async () => {
      const connection_config = { url: `${hostile_url}/mcp` };
      return post(`/api/mcps/${await id('/api/mcps', { name: name(), transport_type: 'http', connection_config })}/test`, {});
    },
  },
  'a tool whose rows share no column, shown as a table': {
    ...{ parsers: [], jobs: [] },
    send: async () => {
      const source = `EFFECT = "read"\ndef rows() -> list:\n    return [{"k%d" % i: 1} for i in range(${KEYS.length / 2})]\n`;
      const workflow_id = await does.workflow({ tools: [source], workflow: { tsv_tool_results: true } });
      here.model.script((response, request) => asks({ name: request.tools![0]!.function.name })(response, request), says('done'));
      const task = await does.ended(await does.prompt(workflow_id), 60_000);
      return { status: task.status === 'completed' ? 200 : 500, headers: new Headers(), body: task };
    },
  },
  'a bundle of 20,000 skills': {
    ...{ parsers: [], jobs: [] },
    send: () =>
      post('/api/skills/import?dry_run=true', {
        ...{ version: '1.0', resource_type: 'skill' },
        items: SKILLS,
      }),
  },
  'a definition of a tool with 60,000 parameters': {
    ...{ parsers: [], jobs: [] },
    send: () =>
      post('/api/agents', {
        name: name(),
        tool_definitions: [{ type: 'function', function: { name: 'wide', parameters: { type: 'object', properties: WIDE } } }],
      }),
  },
  'a custom tool with 60,000 parameters': {
    ...{ parsers: [], jobs: [] },
    send: () =>
      post('/api/custom-tools', {
        ...{ name: `wide_${++made}`, source_code: `def wide_${made}(**given):\n    return 1\n` },
        parameters_schema: { type: 'object', properties: WIDE },
      }),
  },
  'JSON of two million objects, imported': {
    ...{ parsers: [], jobs: [] },
    send: () => post('/api/skills/import', `{"items":[${'{},'.repeat(2_000_000)}{}]}`),
  },
  'a skill of 8 MB, imported': {
    ...{ parsers: [], jobs: [] },
    send: () => post('/api/skills/import', { items: [{ name: name(), instructions: 'long "text"\n'.repeat(500_000) }] }),
  },
  'fields that nobody knows': {
    ...{ parsers: [], jobs: [] },
    send: () =>
      post('/api/agents', {
        name: name(),
        ...Object.fromEntries(
          Object.keys(WIDE)
            .slice(0, 45_000)
            .map((key) => [key, 1]),
        ),
      }),
  },
  'an MCP server with 12,000 variables': {
    ...{ parsers: [], jobs: [] },
    send: () =>
      post('/api/mcps', {
        ...{ name: name(), transport_type: 'stdio' },
        connection_config: {
          command: 'x',
          env: Object.fromEntries(
            Object.entries(WIDE)
              .slice(0, 12_000)
              .map(([key]) => [key, 'x']),
          ),
        },
      }),
  },
  'prices of 12,000 models': {
    ...{ parsers: [], jobs: [] },
    send: () =>
      post('/api/providers', {
        ...{ name: name(), provider_type: 'openai' },
        price_table: Object.fromEntries(
          Object.keys(WIDE)
            .slice(0, 12_000)
            .map((key) => [key, { input: 1, output: 1 }]),
        ),
      }),
  },
  'JSON nested half a million deep': {
    ...{ parsers: [], jobs: [] },
    send: () => post('/api/agents', `${'['.repeat(500_000)}${']'.repeat(500_000)}`),
  },
  'a request of 45,000 values': {
    ...{ parsers: [], jobs: [] },
    send: async () => {
      const { workflow_id } = await guarded({});
      here.model.script(says('done'));
      return post(`/api/workflows/${workflow_id}/prompt`, { request: Object.fromEntries(Object.entries(WIDE).slice(0, 45_000)) });
    },
  },
  'a question of 800,000 characters': {
    ...{ parsers: [], jobs: [] },
    send: () => post('/api/knowledge-items/query', { query: LONG.slice(0, 800_000), limit: 5 }),
  },
};

/** A web page and an MCP server, both made to take as long as they can. */
const answers: Record<string, (id: unknown) => object> = {
  initialize: (asked) => ({
    ...{ jsonrpc: '2.0', id: asked },
    result: { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo: { name: 'hostile', version: '1' } },
  }),
  'tools/list': (asked) => ({
    ...{ jsonrpc: '2.0', id: asked },
    result: {
      tools: Array.from({ length: 40 }, (_, index) => ({ name: `t${index}`, inputSchema: { type: 'object', ...NESTED_SCHEMA } })),
    },
  }),
};

beforeAll(async () => {
  hostile = createServer(async (request, response) => {
    if (request.url !== '/mcp') return response.writeHead(200, { 'content-type': 'text/html' }).end(DEEP_PAGE);
    if (request.method !== 'POST') return response.writeHead(405).end();
    const { id: asked, method } = JSON.parse(await text(request));
    const answer = answers[method]?.(asked);
    if (!answer) return response.writeHead(202).end();
    return response.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(answer));
  }).listen(0, '127.0.0.1');
  await once(hostile, 'listening');
  hostile_url = `http://127.0.0.1:${(hostile.address() as AddressInfo).port}`;
  here = await startTestInstallation({ worker: false });
  const { api, client } = await startFloorService(here.setting, { JUDGE_SECONDS: '4', READ_SECONDS: '3' });
  [service, user, does] = [api, client, helpers(client, here.model)];
  prober = await startProber();
  world = await worldOf({ ...here, ...does, alice: user });
  // The first request of a kind loads its code, once in the life of a service.
  for (const filename of ['warm.html', 'warm.json']) await upload(filename, '{}');
  for (const path of ['/api/skills/import', '/api/agents', '/api/custom-tools', '/api/mcps']) await post(path, {});
  await user.ok(run('manage_todo_list', { todoList: [] }, { agent: { builtin_tools: ['manage_todo_list'] } }));
});
afterAll(async () => {
  await Promise.all([prober?.end(), service?.end('SIGTERM')]);
  await here.stop();
  hostile.closeAllConnections();
  hostile.close();
});

it('has a worst case for every parser and every job of the pool', () => {
  const cases = Object.values(CORPUS);
  expect(parsersInUse().filter((parser) => !cases.some(({ parsers }) => parsers.includes(parser)))).toEqual([]);
  expect(Object.keys(jobs).filter((job) => !cases.some((one) => (one.jobs as string[]).includes(job)))).toEqual([]);
});

const lateTries: string[] = [];
const counted = { tries: 0, late: 0 };

it.each(someOf(Object.keys(CORPUS), 3))('%s is dealt with, and answers to others do not wait for it', async (what) => {
  const probing = prober.probe(user.url, service.pid);
  const { status, body } = await CORPUS[what]!.send();
  const tries = listMeasured(await probing.stop(), WITHIN_MS);
  expect(status, JSON.stringify(body).slice(0, 500)).toBeLessThan(500);
  const late = lateOf(tries, WITHIN_MS);
  counted.tries += tries.length;
  counted.late += late.length;
  const ms = Math.round;
  lateTries.push(...late.map(({ service: took, waited }) => `${what}: ${ms(took)} ms, of which it waited ${ms(waited)}`));
});

/**
 * The service runs in a separate process, so the work of this test, of the hostile server and of the model does not count. What the
 * machine does to the service does not count either. Each try also asks a control, an idle server in another process: when that one is
 * late, no processor was free, and the try proves nothing. And of the milliseconds of a try, those that the service's main thread spent
 * ready to run but without a processor (as the kernel counts them, where it does) are taken off: a busy neighbour stretches a short
 * stop, and an idle control does not feel that. What remains is time in which the service itself ran or blocked its own thread.
 */
it('/health/live answered within 250 ms in 99 of 100 tries', () => {
  expect(counted.tries).toBeGreaterThan(100);
  expect(counted.late / counted.tries, lateTries.join('\n')).toBeLessThanOrEqual(0.01);
});

/** Every field of every JSON body, filled with the most that is taken there. */
const FIELDS = (await declaredEndpoints())
  .filter(({ path }) => /^\/(api|v1|mcp)\b/.test(path))
  .flatMap((endpoint) =>
    largestShapes(endpoint).map((shape) => ({
      ...{ endpoint, shape },
      title: `${endpoint.method} ${endpoint.path} with the largest ${shape.path || 'number of fields'}`,
    })),
  );

/** What happens by chance does not happen three times. */
const SENDS = 3;

it.each(someOf(FIELDS, 40))('$title does not hold up others', async ({ endpoint: { method, path }, shape }) => {
  const late: string[] = [];
  for (let sends = 1; sends <= SENDS && late.length === sends - 1; sends += 1) {
    const place = await world.pathOf({ method, path } as never);
    const body = JSON.stringify(shape.bodyOn(world.bodyOf({ method, path } as never)));
    const probing = prober.probe(user.url, service.pid);
    const { status, body: answer } = await user.send(method, place, { body });
    const tries = lateOf(await probing.stop(), WITHIN_MS);
    expect([429, 401, 500], JSON.stringify(answer).slice(0, 500)).not.toContain(status);
    if (tries.length > 0) late.push(tries.map(({ service: took, waited }) => `${Math.round(took - waited)} ms`).join(', '));
  }
  expect(late.length, late.join('; ')).toBeLessThan(SENDS);
});
