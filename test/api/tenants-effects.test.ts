import { afterAll, beforeAll, expect, it } from 'vitest';
import { isTerminal } from '../../src/domain/statuses.ts';
import { type Answer, asks, says } from '../support/peers/model-server.ts';
import type { Operation } from '../support/tenants/api.ts';
import { type Matrix, startMatrix } from '../support/tenants/attempts.ts';
import { listUnexpected } from '../support/tenants/awaiting.ts';
import { kindOf } from '../support/tenants/policy.ts';
import { bodyOf, foreignValue, pathOf, withField } from '../support/tenants/requests.ts';
import { TAG } from '../support/tenants/world.ts';
import { until } from '../support/until.ts';

/**
 * What one principal writes does not reach the model of another. The second tenant writes a marked text by every operation that is
 * described: into each field that takes it, with every choice, about their own records and about the first tenant's. Each tool of
 * their runs stores one, too. Then the first tenant runs everything that is shared.
 */
let m: Matrix;
beforeAll(async () => {
  m = await startMatrix();
}, 180_000);
afterAll(() => m.stop());

const MINUTES = 600_000;
/** In the prompt of the first tenant, and in every marked text: search finds texts by their words. */
const COMMON = 'common';

const marks = new Map<string, string>();
/** A text that reveals, wherever it turns up, which request carried it. */
function mark(request: string, { bare = false } = {}): string {
  const word = `effect${(marks.size + 1).toString().padStart(5, '0')}`;
  marks.set(word, request);
  return bare ? word : `${word} ${COMMON}`;
}

const marked = (text: string) => [...new Set(text.match(/effect\d{5}/g))].map((word) => marks.get(word) ?? word);

const isText = (operation: Operation, field: string) =>
  ['plain', 'unique', 'memory_key'].includes(kindOf(operation, field) ?? '') && !(field in operation.choices);
const isReference = (operation: Operation, field: string) =>
  ['shared', 'private', 'parent'].includes(kindOf(operation, field) ?? '');

const ACCEPT = { accept: 'application/json, text/event-stream' };
async function send(operation: Operation, path: string, body: unknown): Promise<boolean> {
  return (await m.second.client.send(operation.method, path, { body, headers: ACCEPT })).status < 300;
}

/** Sends a marked text in each field alone; returns the fields that take one, and whether it must be one word. */
async function takers(operation: Operation): Promise<{ field: string; bare: boolean }[]> {
  const { name, path, fields } = operation;
  const found: { field: string; bare: boolean }[] = [];
  for (const field of fields.filter((one) => isText(operation, one)))
    for (const bare of [false, true]) {
      const body = withField(bodyOf(name, m.second), field, mark(`${name} ${field}`, { bare }));
      if (!(await send(operation, pathOf(path, m.second), body))) continue;
      found.push({ field, bare });
      break;
    }
  return found;
}

/** Every choice of a field that has some, for a body reduced to what it must have, and one without. */
function choicesOf({ choices, required }: Operation, body: object): object[] {
  const least = Object.fromEntries(Object.entries(body).filter(([name]) => required.includes(name)));
  return [body, ...Object.entries(choices).flatMap(([name, values]) => values.map((value) => ({ ...least, [name]: value })))];
}

/** Sends marked texts in all those fields at once: to the path of the first tenant, and with each reference to something of theirs. */
async function combine(operation: Operation, taking: { field: string; bare: boolean }[]): Promise<void> {
  const { name, path, fields } = operation;
  const filled = (body: object, request: string) =>
    taking
      .filter(({ field }) => (field.split(/[.[{]/)[0] as string) in body || !/[.[{]/.test(field))
      .reduce((before: unknown, { field, bare }) => withField(before, field, mark(request, { bare })), body) as object;
  const references = fields.filter((field) => isReference(operation, field));
  for (const base of choicesOf(operation, bodyOf(name, m.second) as object)) {
    const chosen = JSON.stringify(base).slice(0, 100);
    await send(operation, pathOf(path, m.first), filled(base, `${name} of the first, ${chosen}`));
    await send(operation, pathOf(path, m.second), filled(base, `${name}, ${chosen}`));
    for (const field of references) {
      const value = foreignValue(field, kindOf(operation, field) as string, { operation: path, other: m.first, own: m.second });
      const body = withField(filled(base, `${name} with the first’s ${field}, ${chosen}`), field, value);
      await send(operation, pathOf(path, m.second), body);
    }
  }
}

/** A file with a marked text, for the second tenant's records and for the first's. */
async function upload({ name, path, method }: Operation): Promise<void> {
  for (const whose of [m.first, m.second]) {
    const form = bodyOf(name, m.second) as FormData;
    const file = form.get('file') as File;
    const text = await file.text();
    form.set('file', new File([text.includes('def ') ? `# ${mark(name)}\n${text}` : `${text} ${mark(name)}`], file.name));
    if (form.has('source_id')) form.set('source_id', whose.ids['knowledge-sources'] as string);
    form.set('tags', TAG);
    await m.second.client.send(method, pathOf(path, m.second), { body: form });
  }
}

/** Calls every tool that a run can have, with marked texts and every choice, in a run of the second tenant with the first's agent. */
async function runTools(builtin_tools: Spec[]): Promise<void> {
  const { client } = m.second;
  const workflow = { agent_id: m.first.ids.agents, output_format: 'markdown', auto_memory: true, max_turns: 100 };
  const { id } = await client.ok(client.post('/api/workflows', workflow), 201);
  const facts = { facts: [{ key: mark('auto_memory', { bare: true }), value: mark('auto_memory') }] };
  m.here.model.always((response, request) => {
    const is_asked = JSON.stringify(request).includes('{\\"facts\\"');
    return says(is_asked ? JSON.stringify(facts) : 'ok')(response, request);
  });
  m.here.model.script(asks(...builtin_tools.flatMap(callsOf)));
  const { task_id } = await client.ok(client.post(`/api/workflows/${id}/prompt`, { prompt: COMMON }), 201);
  await until('the run has ended', async () => isTerminal((await client.get(`/api/tasks/${task_id}`)).body.status), 60_000);
  expect((await client.get(`/api/tasks/${task_id}`)).body).toMatchObject({ status: 'completed', error: null });
  m.here.model.always(says('ok'));
}

interface Spec {
  name: string;
  parameters: { properties?: Record<string, { type?: string; enum?: string[] }> };
}

function callsOf({ name, parameters: { properties = {} } }: Spec): { name: string; args: Record<string, string> }[] {
  const texts = Object.keys(properties).filter((key) => properties[key]?.type === 'string' && !properties[key]?.enum);
  const choices = Object.entries(properties).flatMap(([key, { enum: values = [] }]) => values.map((value) => ({ [key]: value })));
  return [{}, ...choices].map((choice) => ({
    name,
    args: { ...Object.fromEntries(texts.map((text) => [text, mark(`the tool ${name} ${JSON.stringify(choice)}`)])), ...choice },
  }));
}

/** What a run of the first tenant asks for. */
const lookUp = (...names: string[]): Answer => asks(...names.map((name) => ({ name, args: { query: COMMON, limit: 50 } })));

/** Runs the first tenant's agent by every door. */
async function runEverything(): Promise<void> {
  const { client, ids, names } = m.first;
  const workflow = `/api/workflows/${ids.idle_workflow}`;
  m.here.model.script(lookUp('search_memory', 'search_knowledge'), says('done'));
  const { task_id } = await client.ok(client.post(`${workflow}/prompt`, { prompt: COMMON }), 201);
  await m.here.ended(task_id);
  await client.post(`/api/agents/${ids.agents}/chat`, { message: COMMON });
  for (const model of [ids.idle_workflow, names.agents])
    await client.post('/v1/chat/completions', { model, messages: [{ role: 'user', content: COMMON }] });
  await client.post('/v1/responses', { model: ids.idle_workflow, input: COMMON });
  const fork = await client.ok(client.post(`/api/tasks/${task_id}/fork`, { from_step: 1, effects: 'stub' }), 201);
  await m.here.ended(fork.task_id);
}

it(
  'reaches the model of no one else, whatever a principal writes',
  async () => {
    const { first, second, here } = m;
    const specs = (await here.alice.get('/api/builtin-tools')).body as unknown as Spec[];
    const known = ['search_memory', 'search_knowledge', 'store_memory', 'manage_todo_list', 'write', 'edit'];
    const tools = specs.filter(({ name }) => known.includes(name));
    expect(tools.map(({ name }) => name).sort()).toEqual(known.sort());
    // Without a key, because a token of the first tenant opens in their runs only.
    const provider = { name: 'without a key', provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'm' };
    const { id: provider_id } = await here.alice.ok(here.alice.post('/api/providers', provider), 201);
    const builtin_tools = tools.map(({ name }) => name);
    const agent = { provider_id, builtin_tools, mcp_server_tags: [TAG], approval_tools: [], custom_tool_ids: [] };
    await here.alice.ok(here.alice.put(`/api/agents/${first.ids.agents}`, agent));
    await runTools(tools);

    // What is deleted takes no text.
    const writing = m.operations.filter(({ method, fields }) => method !== 'GET' && method !== 'DELETE' && fields.length > 0);
    expect(writing.length).toBeGreaterThan(60);
    for (const operation of writing) {
      const body = bodyOf(operation.name, second);
      if (body instanceof FormData) await upload(operation);
      else if (body !== undefined) await combine(operation, await takers(operation));
    }
    expect(marks.size).toBeGreaterThan(500);
    const open = async () =>
      ((await second.client.get('/api/tasks?limit=1000')).body as unknown as { status: string }[]).some(
        ({ status }) => !isTerminal(status) && status !== 'waiting',
      );
    await until('the runs of the second have ended', async () => !(await open()), 120_000);

    const own = { agent_id: first.ids.agents, key: 'the first’s own', value: `ownmemory ${COMMON}` };
    await here.alice.ok(here.alice.post('/api/memories', own), 201);
    const item = { source_id: first.ids['knowledge-sources'], name: 'own', content: `ownknowledge ${COMMON}` };
    await here.alice.ok(here.alice.post('/api/knowledge-items', item), 201);
    const asked = here.model.requests.length;
    await runEverything();
    const requests = here.model.requests.slice(asked).map((request) => JSON.stringify(request));
    // What the first tenant writes does get there.
    for (const word of ['ownmemory', 'ownknowledge']) expect(requests.some((text) => text.includes(word))).toBe(true);
    expect(listUnexpected('effects', [...new Set(requests.flatMap(marked))])).toEqual([]);
  },
  MINUTES,
);
