import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, expect, it } from 'vitest';
import type { Client } from '../support/client.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { openEvaluations } from '../support/runs/evaluations.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
/** Two runs of one workflow. */
let runs: [string, string];
beforeAll(async () => {
  here = await shareInstallation();
  here.model.script(says('one'), says('two'));
  const id = await here.workflow();
  runs = [await here.prompt(id), await here.prompt(id)];
  for (const task_id of runs) await here.ended(task_id);
});
afterAll(() => here?.stop());

/** A record, another one of the same owner, and something that belongs to the first. */
interface Family {
  parent: string;
  other: string;
  child: string;
}
type Parts = Family & { body?: object };

const chatted = async (agent_id: string): Promise<string> => {
  const path = `/api/agents/${agent_id}/chat`;
  await here.alice.ok(here.alice.post(path, { message: 'Hello' }));
  return (await here.alice.get(`${path}/sessions`)).body[0].id;
};

/** A run that waits for an approval of its call. */
async function waiting(): Promise<Family> {
  const agent = { builtin_tools: ['manage_todo_list'], approval_tools: ['manage_todo_list'] };
  here.model.script(asks({ name: 'manage_todo_list', args: { todoList: [] } }));
  const parent = await here.prompt(await here.workflow({ agent }));
  await until('the question', async () => (await here.alice.get(`/api/tasks/${parent}`)).body.status === 'waiting');
  const [{ call_id }] = await here.sql('SELECT call_id FROM tool_calls WHERE task_id = $1', parent);
  return { parent, other: runs[0], child: call_id };
}

async function evaluated(): Promise<Family> {
  const { dataset } = openEvaluations(here);
  const [parent, other] = [await dataset({ One: 'x' }), await dataset({ Two: 'x' })];
  const child = uuid();
  await here.sql(
    `INSERT INTO evaluations (id, dataset_id, workflow_id, definition_hash, graders, effects, parallel, status, items, created_by, owner_login)
     VALUES ($1, $2, $3, 'h', '[]', 'stub', 1, 'running', 0, $4, $5)`,
    ...[child, parent, await here.workflow(), here.people.alice.subject, here.people.alice.login],
  );
  return { parent, other, child };
}

async function delivered(): Promise<Family> {
  const [parent, other] = runs;
  const child = uuid();
  await here.sql(
    `INSERT INTO webhook_deliveries (id, task_id, url, payload, status) VALUES ($1, $2, 'http://127.0.0.1:1/', '{}', 'failed')`,
    ...[child, parent],
  );
  return { parent, other, child };
}

async function skilled(): Promise<Family> {
  const { id: child } = await here.alice.ok(here.alice.post('/api/skills', { name: here.unique('s'), instructions: 'x' }), 201);
  return { parent: await here.workflow({ workflow: { skill_ids: [child] } }), other: await here.workflow(), child };
}

async function granted(): Promise<Family> {
  const { alice } = here;
  const make = async () => {
    const { id, name } = await alice.ok(alice.post('/api/tokens', { name: here.unique('t').replace(' ', '-'), value: 'x' }), 201);
    const provider = { name: here.unique('p'), provider_type: 'openai', api_key_token_name: name };
    await alice.ok(alice.post('/api/providers', provider), 201);
    return id as string;
  };
  const [parent, other] = [await make(), await make()];
  return { parent, other, child: (await alice.get(`/api/tokens/${parent}/grants`)).body[0].id };
}

const item = async (dataset_id: string): Promise<string> =>
  (await here.alice.ok(here.alice.post(`/api/datasets/${dataset_id}/items`, { prompt: 'x' }), 201)).id;
const conversation = async (): Promise<string> =>
  (await here.alice.ok(here.alice.post('/v1/conversations', { items: [{ role: 'user', content: 'x' }] }))).id;
const itemOf = async (id: string): Promise<string> => (await here.alice.get(`/v1/conversations/${id}/items`)).body.data[0].id;

async function chats(): Promise<Family> {
  here.model.always(says('ok'));
  const agentOf = async () => (await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`))).agent_id;
  const [parent, other] = [await agentOf(), await agentOf()];
  return { parent, other, child: await chatted(parent) };
}

/** A message that a turn of a thread has read, with another thread. */
async function messaged(): Promise<Family & { run: string; other_run: string }> {
  const threadOf = async () => {
    const workflow_id = await here.workflow({ workflow: { remember: 'thread' } });
    const { id } = await here.alice.ok(here.alice.post('/api/threads', { workflow_id }), 201);
    here.model.script(says('Seven.'));
    const run = (await here.alice.ok(here.alice.post(`/api/threads/${id}/messages`, { message: 'x' }), 202)).id;
    await here.ended(run);
    return { id, run };
  };
  const [one, another] = [await threadOf(), await threadOf()];
  return { parent: one.id, other: another.id, child: one.run, run: one.run, other_run: another.run };
}

/** What belongs to a record, by the path of its record, with the status of a request through another record. */
const FAMILIES: Record<string, { status: number; make(): Promise<Family>; body?: object }> = {
  '/api/agents/{}/chat/sessions/{}': { status: 400, make: chats },
  '/api/datasets/{}/items/{}': {
    status: 404,
    async make() {
      const { dataset } = openEvaluations(here);
      const [parent, other] = [await dataset({}), await dataset({})];
      return { parent, other, child: await item(parent) };
    },
  },
  '/api/datasets/{}/runs/{}': { status: 404, make: evaluated },
  '/api/tasks/{}/scores/{}': {
    status: 404,
    async make() {
      const [parent, other] = runs;
      return {
        parent,
        other,
        child: (await here.alice.ok(here.alice.post(`/api/tasks/${parent}/scores`, { value: 7 }), 201)).id,
      };
    },
  },
  '/api/threads/{}/messages/{}': { status: 404, make: messaged },
  '/api/tasks/{}/messages/{}': {
    status: 404,
    async make() {
      const { child, run, other_run } = await messaged();
      return { parent: run, other: other_run, child };
    },
  },
  '/api/tasks/{}/webhooks/{}': { status: 404, make: delivered },
  '/api/tasks/{}/approvals/{}': { status: 404, make: waiting, body: { decision: 'approve' } },
  '/api/tasks/{}/reconciliations/{}': { status: 404, make: waiting, body: { decision: 'fail' } },
  '/api/tasks/{}/answers/{}': { status: 404, make: waiting, body: { question_id: uuid(), action: 'decline' } },
  '/api/tokens/{}/grants/{}': { status: 404, make: granted },
  '/api/workflows/{}/skills/{}': { status: 404, make: skilled },
  '/v1/conversations/{}/items/{}': {
    status: 404,
    async make() {
      const [parent, other] = [await conversation(), await conversation()];
      return { parent, other, child: await itemOf(parent) };
    },
  },
};

/** Paths whose second part is a number within the record, so that each record has it, or a name that the page gives to its chat; and one that takes what nobody has yet. */
const NUMBERED = [
  /^\/api\/tasks\/\{\}\/steps\/\{\}/,
  /^\/api\/workflows\/\{\}\/versions\/\{\}/,
  /^\/api\/threads\/\{\}\/ui\/\{\}\/stream/,
];
const GIVES = 'POST /api/workflows/{}/skills/{}';

const send = (client: Client, operation: string, ids: [string, string], body: object | undefined) => {
  const [method, path] = operation.split(' ') as [string, string];
  const parts = [...ids];
  return client.send(
    method,
    path.replaceAll('{}', () => parts.shift() as string),
    body ? { body } : {},
  );
};

async function listOperations(): Promise<string[]> {
  const { paths } = (await here.anonymous.get('/openapi.json')).body as { paths: Record<string, object> };
  return Object.entries(paths)
    .flatMap(([path, methods]) => Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`))
    .map((operation) => operation.replaceAll(/\{\w+\}/g, '{}'))
    .filter((operation) => operation.split('{}').length > 2 && !NUMBERED.some((path) => path.test(operation.split(' ')[1]!)));
}
const familyOf = (operation: string) =>
  Object.keys(FAMILIES).find((path) => `${operation.split(' ')[1]}/`.startsWith(`${path}/`)) as keyof typeof FAMILIES;

it('what belongs to one record is not reached through another record of the same owner, and stays as it was', async () => {
  const operations = await listOperations();
  expect(operations.filter((operation) => !familyOf(operation))).toEqual([]);
  expect([...new Set(operations.map(familyOf))].sort()).toEqual(Object.keys(FAMILIES).sort());
  const families: Record<string, Parts> = {};
  const asked = await waiting();
  for (const [path, { make }] of Object.entries(FAMILIES)) families[path] = make === waiting ? asked : await make();
  const seen: unknown[] = [];
  const wanted: unknown[] = [];
  // Deletes come last: until then, the right record still has what belongs to it.
  for (const operation of [...operations].sort((a, b) => Number(a.startsWith('DELETE')) - Number(b.startsWith('DELETE')))) {
    if (operation === GIVES) continue;
    const { status, body } = FAMILIES[familyOf(operation)]!;
    const { parent, other, child } = families[familyOf(operation)]!;
    const through = await send(here.alice, operation, [other, child], body);
    const right = await send(here.alice, operation, [parent, child], body);
    // A call that waits for an approval does not wait for another decision, which is a conflict and not an unknown call.
    seen.push([operation, through.status, right.status < 300 || right.status === 409]);
    wanted.push([operation, status, true]);
  }
  expect(seen).toEqual(wanted);
});
