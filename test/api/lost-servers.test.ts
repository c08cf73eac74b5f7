import { afterAll, beforeAll, expect, it } from 'vitest';
import { type Client, eventOf, framesIn } from '../support/client.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startApiProcess } from '../support/machine/processes.ts';
import { says } from '../support/peers/model-server.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await startTestInstallation({ fails_inside: true });
  here.model.always(says('Said once.'));
});
afterAll(() => here?.stop());

interface Request {
  /** As in the description of the API. */
  operation: string;
  path: string;
  body?: object;
  /** Counts what there is of what the request makes. */
  made: string;
}

const count = async ({ made }: Request) => Number((await here.core.database.pool.query(made)).rows[0].count);
const counts = (requests: Request[]) => Promise.all(requests.map(count));
const keyOf = ({ operation }: Request) => ({ 'idempotency-key': `lost ${operation}` });
const send = (client: Client, request: Request) => client.post(request.path, request.body, keyOf(request));

/** Replies are not kept while it holds: what a request makes is there, and its key has no answer yet. */
async function holdReplies() {
  const { pool } = here.core.database;
  const holder = await pool.connect();
  await holder.query(`SELECT pg_advisory_lock(1);
    CREATE FUNCTION hold_reply() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN PERFORM pg_advisory_xact_lock(1); RETURN NEW; END';
    CREATE TRIGGER hold_reply BEFORE UPDATE ON idempotency_keys FOR EACH ROW WHEN (NEW.reply IS NOT NULL) EXECUTE FUNCTION hold_reply()`);
  const waiting = `SELECT pid FROM pg_locks WHERE locktype = 'advisory' AND NOT granted
    AND database = (SELECT oid FROM pg_database WHERE datname = current_database())`;
  return {
    held: async () => (await pool.query(waiting)).rowCount,
    /** What was held is undone, as it is when a server dies before its statement has reached the database. */
    async drop() {
      await pool.query(`SELECT pg_terminate_backend(pid) FROM (${waiting}) AS held`);
      await holder.query('SELECT pg_advisory_unlock(1); DROP TRIGGER hold_reply ON idempotency_keys; DROP FUNCTION hold_reply');
      holder.release();
    },
  };
}

/** While it holds, each request is a try that another one has overtaken before it could write anything. */
async function overtakeAll() {
  const { pool } = here.core.database;
  await pool.query(`
    CREATE FUNCTION overtake() RETURNS trigger LANGUAGE plpgsql AS 'BEGIN NEW.claims := 2; RETURN NEW; END';
    CREATE TRIGGER overtake BEFORE INSERT ON idempotency_keys FOR EACH ROW EXECUTE FUNCTION overtake()`);
  return () => pool.query('DROP TRIGGER overtake ON idempotency_keys; DROP FUNCTION overtake; DELETE FROM idempotency_keys');
}

/** The requests that begin a run. What a schedule starts has its due time, which is served once. */
const isPrompt = ({ operation, made }: Request) =>
  /FROM (?:tasks|thread_messages|evaluations)\b/.test(made) && !operation.endsWith('_scheduled_agent');

/** Sends requests to a server that is killed when all of them have made what they make, and none has its answer. */
async function loseServer({ api, client }: { api: Child; client: Client }, requests: Request[]) {
  const replies = await holdReplies();
  const unanswered = Promise.allSettled(requests.map((request) => send(client, request)));
  try {
    await until('everything to be made', async () => (await replies.held()) === requests.length, 60_000);
  } finally {
    await api.end('SIGKILL');
    await replies.drop();
  }
  expect((await unanswered).map(({ status }) => status)).toEqual(requests.map(() => 'rejected'));
}

/** One request for each operation that takes an Idempotency-Key. */
async function requestsOf(client: Client): Promise<Request[]> {
  const make = (path: string, body: object) => client.ok(client.post(path, body));
  const provider = { provider_type: 'openai_compatible', base_url: here.model.url, default_model: 'scripted' };
  const { id: provider_id } = await make('/api/providers', { name: 'first', ...provider });
  const { id: agent_id } = await make('/api/agents', { name: 'first', provider_id });
  const workflow = async (more: object = {}) =>
    (await make('/api/workflows', { agent_id, title: 'first', ...more })).id as string;
  const { id: source_id } = await make('/api/knowledge-sources', { name: 'first' });
  const start_at = new Date(Date.now() + 3_600_000).toISOString();
  const schedule = { prompt: 'p', interval_value: 1, interval_unit: 'hours', start_at };
  const due = await workflow();
  const backfilled = await workflow();
  const yesterday = (hours: number) => new Date(Date.now() - (24 - hours) * 3_600_000).toISOString();
  const past = { name: 'past', workflow_id: backfilled, ...schedule, start_at: yesterday(0) };
  const { id: past_id } = await make('/api/scheduled-agents', past);
  const { id: schedule_id } = await make('/api/scheduled-agents', { name: 'first', workflow_id: due, ...schedule });
  const [prompted, forked, completed, responded] = [await workflow(), await workflow(), await workflow(), await workflow()];
  const { task_id } = await make(`/api/workflows/${forked}/prompt`, { prompt: 'x' });
  await until('the run', async () => (await client.ok(client.get(`/api/tasks/${task_id}`))).status === 'completed');
  const { id: dataset_id } = await make('/api/datasets', { name: 'first' });
  const { id: evaluated } = await make('/api/datasets', { name: 'evaluated' });
  await make(`/api/datasets/${evaluated}/items`, { prompt: 'x' });
  const { id: conversation_id } = await make('/v1/conversations', {});
  const thread = async () => (await make('/api/threads', { workflow_id: await workflow({ remember: 'thread' }) })).id as string;
  const [thread_id, ui, ag_ui] = [await thread(), await thread(), await thread()];
  const turnsOf = (id: string) => `SELECT count(*) FROM tasks WHERE thread_id = '${id}'`;
  const items = [
    { role: 'user', content: 'x' },
    { role: 'assistant', content: 'y' },
  ];
  const run = { workflow_id: forked, graders: [{ type: 'exact' }], effects: 'stub' };
  const bundle = { format: 'perdura-run', version: 1, task: { prompt: 'lost bundle' }, steps: [], end: { response: null } };
  const named = (operation: string, path: string, table: string, body: object = {}): Request => ({
    ...{ operation, path, body: { name: 'lost', ...body }, made: `SELECT count(*) FROM ${table} WHERE name = 'lost'` },
  });
  const tasksOf = (id: string) => `SELECT count(*) FROM tasks WHERE workflow_id = '${id}'`;
  const source_code = 'def lost() -> str:\n    """Says it."""\n    return "it"\n';
  return [
    named('create_provider', '/api/providers', 'providers', provider),
    named('create_agent', '/api/agents', 'agents'),
    named('create_skill', '/api/skills', 'skills', { instructions: 'i' }),
    named('create_guardrail', '/api/guardrails', 'guardrails', { guardrail_type: 'prompt', config: { min_length: 1 } }),
    named('create_mcp_server', '/api/mcps', 'mcp_servers', {
      ...{ transport_type: 'http', connection_config: { url: 'http://127.0.0.1:9/mcp' } },
    }),
    named('create_knowledge_source', '/api/knowledge-sources', 'knowledge_sources'),
    named('create_knowledge_item', '/api/knowledge-items', 'knowledge_items', { source_id, content: 'Some text.' }),
    named('create_stored_token', '/api/tokens', 'stored_tokens', { value: 'v' }),
    named('create_custom_tool', '/api/custom-tools', 'custom_tools', { source_code }),
    named('create_alert', '/api/alerts', 'alerts', { measure: 'backlog', threshold: 1 }),
    named('create_budget', '/api/budgets', 'budgets', { scope: 'person', period: 'day', limit_tokens: 1_000_003 }),
    named('create_scheduled_agent', '/api/scheduled-agents', 'scheduled_agents', { workflow_id: due, ...schedule }),
    named('create_dataset', '/api/datasets', 'datasets'),
    {
      ...{ operation: 'create_dataset_item', path: `/api/datasets/${dataset_id}/items`, body: { prompt: 'lost' } },
      made: `SELECT count(*) FROM dataset_items WHERE prompt = 'lost'`,
    },
    {
      ...{ operation: 'import_dataset_item', path: `/api/datasets/${dataset_id}/items/import`, body: bundle },
      made: `SELECT count(*) FROM dataset_items WHERE prompt = 'lost bundle'`,
    },
    {
      ...{ operation: 'create_evaluation', path: `/api/datasets/${evaluated}/runs`, body: run },
      made: `SELECT count(*) FROM evaluations WHERE dataset_id = '${evaluated}'`,
    },
    {
      ...{ operation: 'create_task_score', path: `/api/tasks/${task_id}/scores`, body: { thumb: 'up' } },
      made: `SELECT count(*) FROM task_scores WHERE thumb = 'up'`,
    },
    {
      ...{ operation: 'create_memory', path: '/api/memories', body: { agent_id, scope: 'agent', key: 'lost', value: 'v' } },
      made: `SELECT count(*) FROM memories WHERE key = 'lost'`,
    },
    {
      ...{ operation: 'create_workflow', path: '/api/workflows', body: { agent_id, title: 'lost' } },
      made: `SELECT count(*) FROM workflows WHERE title = 'lost'`,
    },
    {
      ...{ operation: 'create_thread', path: '/api/threads', body: { agent_id, title: 'lost' } },
      made: `SELECT count(*) FROM threads WHERE title = 'lost'`,
    },
    {
      ...{ operation: 'send_message', path: `/api/threads/${thread_id}/messages`, body: { message: 'Lost?' } },
      made: `SELECT count(*) FROM thread_messages WHERE thread_id = '${thread_id}'`,
    },
    {
      ...{ operation: 'send_ui_message', path: `/api/threads/${ui}/ui`, made: turnsOf(ui) },
      body: { messages: [{ id: 'm1', role: 'user', parts: [{ type: 'text', text: 'x' }] }] },
    },
    {
      ...{ operation: 'run_ag_ui', path: `/api/threads/${ag_ui}/ag-ui`, made: turnsOf(ag_ui) },
      body: { threadId: 't1', runId: 'r1', messages: [{ id: 'm1', role: 'user', content: 'x' }] },
    },
    {
      ...{ operation: 'chat_with_agent', path: `/api/agents/${agent_id}/chat`, body: { message: 'Say it.' } },
      made: `SELECT count(*) FROM tasks WHERE prompt = 'Say it.'`,
    },
    {
      ...{ operation: 'restore_workflow_version', path: `/api/workflows/${due}/versions/1/restore`, body: { agent: 'copy' } },
      made: `SELECT count(*) FROM agents WHERE name = 'first (version 1 of first)'`,
    },
    {
      ...{ operation: 'backfill_scheduled_agent', path: `/api/scheduled-agents/${past_id}/backfill` },
      ...{ body: { from: yesterday(0.5), to: yesterday(1.5) }, made: tasksOf(backfilled) },
    },
    { operation: 'trigger_scheduled_agent', path: `/api/scheduled-agents/${schedule_id}/trigger`, made: tasksOf(due) },
    { operation: 'prompt_workflow', path: `/api/workflows/${prompted}/prompt`, body: { prompt: 'x' }, made: tasksOf(prompted) },
    {
      ...{ operation: 'fork_task', path: `/api/tasks/${task_id}/fork`, body: { from_step: 1 } },
      made: `${tasksOf(forked)} AND forked_from IS NOT NULL`,
    },
    {
      ...{ operation: 'create_chat_completion', path: '/v1/chat/completions', made: tasksOf(completed) },
      body: { model: completed, messages: [{ role: 'user', content: 'x' }] },
    },
    {
      ...{ operation: 'update_chat_completion', path: `/v1/chat/completions/chatcmpl-${task_id}` },
      ...{ body: { metadata: { score: '7' } }, made: `SELECT count(*) FROM task_scores WHERE value = 7` },
    },
    {
      ...{ operation: 'create_response', path: '/v1/responses', made: tasksOf(responded) },
      body: { model: responded, input: 'x' },
    },
    {
      ...{ operation: 'create_conversation', path: '/v1/conversations', body: { metadata: { made: 'lost' }, items } },
      made: `SELECT count(*) FROM threads h JOIN conversation_items i ON i.thread_id = h.id AND position = 1 WHERE metadata ->> 'made' = 'lost'`,
    },
    {
      ...{ operation: 'create_conversation_items', path: `/v1/conversations/${conversation_id}/items`, body: { items } },
      made: `SELECT count(*) / 2 AS count FROM conversation_items WHERE '${conversation_id}' = 'conv_' || thread_id`,
    },
  ];
}

it('each request with an Idempotency-Key creates one thing, even if its server stands still, or is killed before it can answer', {
  timeout: 120_000,
}, async () => {
  // Each request whose reply is not kept yet has a connection, and the statement on it waits for as long as the others need.
  const { database_url } = here.setting;
  const PATIENT = 'query_timeout=600000&statement_timeout=600000';
  const DATABASE_URL = `${database_url}${database_url.includes('?') ? '&' : '?'}${PATIENT}`;
  const first = await startApiProcess(here.setting, { DATABASE_POOL_SIZE: '40', DATABASE_URL });
  const requests = await requestsOf(first.client);
  const { paths } = (await first.client.get('/openapi.json')).body;
  const operations = Object.values(paths as Record<string, Record<string, any>>).flatMap((path) => Object.values(path));
  const keyed = operations.filter(({ parameters = [] }) => parameters.some(({ name }: any) => name === 'Idempotency-Key'));
  expect(requests.map(({ operation }) => operation).sort()).toEqual(keyed.map(({ operationId }) => operationId).sort());

  // The other try may have been refused: what this one would begin has no sender any more.
  const prompts = requests.filter(isPrompt);
  expect(prompts).toHaveLength(9);
  const release = await overtakeAll();
  for (const request of prompts)
    expect([request.operation, JSON.stringify((await send(first.client, request)).body)]).toEqual([
      request.operation,
      expect.stringContaining('Another try of this request'),
    ]);
  await release();

  expect(await counts(requests)).toEqual(requests.map(() => 0));
  await loseServer(first, requests);
  expect(await counts(requests)).toEqual(requests.map(() => 1));

  const { api, client } = await startApiProcess(here.setting);
  await here.core.database.pool.query('UPDATE idempotency_keys SET created_at = now()');
  const early = await send(client, requests[0]!);
  expect(early).toMatchObject({ status: 409, body: { code: 'idempotency_key_busy' } });
  await here.core.database.pool.query(`UPDATE idempotency_keys SET created_at = created_at - interval '1 minute'`);
  for (const request of requests) {
    const resumed = await send(client, request);
    const { responses } = keyed.find(({ operationId }) => operationId === request.operation)!;
    expect([request.operation, resumed.status]).toEqual([
      request.operation,
      [201, 202, 200].find((status) => status in responses),
    ]);
    expect(resumed.headers.get('idempotent-replayed')).toBeNull();
    const again = await send(client, request);
    expect([again.status, again.headers.get('idempotent-replayed')]).toEqual([200, 'true']);
  }
  expect(await counts(requests)).toEqual(requests.map(() => 1));
  await api.end('SIGTERM');
});

/** The path of the chat with a new agent. */
async function chatPath(): Promise<string> {
  const { agent_id } = await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`));
  await here.alice.ok(here.alice.put(`/api/agents/${agent_id}`, { system_prompt: 'You are Ada.' }));
  return `/api/agents/${agent_id}/chat`;
}

it('a repeated chat request finds the message that its lost server has stored, and has one reply', {
  timeout: 60_000,
}, async () => {
  const first = await startApiProcess(here.setting);
  const { client } = first;
  const path = await chatPath();
  await client.post(path, { message: 'Hello.' });
  const [{ id: session_id }] = (await client.ok(client.get(`${path}/sessions`))) as any;
  const made = `SELECT count(*) FROM tasks WHERE prompt = 'Continue.'`;
  const request = { operation: 'continue', path, body: { message: 'Continue.', session_id }, made };
  await loseServer(first, [request]);

  const next = await startApiProcess(here.setting);
  const messages = async () => {
    const stored = await next.client.ok(next.client.get(`${path}/sessions/${session_id}`));
    expect(stored.message_count).toBe(stored.messages.length);
    return stored.messages.map(({ content }: { content: string }) => content);
  };
  await until('the reply', async () => (await messages()).length === 4);
  await here.core.database.pool.query(`UPDATE idempotency_keys SET created_at = created_at - interval '1 minute'`);
  const asked = here.model.requests.length;
  for (const _ of ['found', 'replayed']) expect((await send(next.client, request)).body).toContain('"type":"done"');
  expect(await messages()).toEqual(['Hello.', 'Said once.', 'Continue.', 'Said once.']);
  expect(here.model.requests.length).toBe(asked);
  await next.api.end('SIGTERM');
});

it('a reply continues if its server is killed: the message is answered, and the same request has the whole reply', {
  timeout: 60_000,
}, async () => {
  const path = await chatPath();
  const release = Promise.withResolvers<void>();
  here.model.script(says('Half a sentence, and then the rest.', { until: release.promise }), says('Another.'));
  const first = await startApiProcess(here.setting);
  const headers = { authorization: `Bearer ${first.token}`, 'content-type': 'application/json', 'idempotency-key': 'killed' };
  const order = { method: 'POST', headers, body: JSON.stringify({ message: 'Tell me.' }) };
  const streamed = (await fetch(`${first.client.url}${path}`, order)).body!.pipeThrough(new TextDecoderStream()).getReader();
  let said = '';
  while (!said.includes('Half')) said += (await streamed.read()).value;
  await first.api.end('SIGKILL');
  await expect(streamed.read()).rejects.toThrow();

  const { api, client } = await startApiProcess(here.setting);
  const [{ id: session_id }] = (await client.ok(client.get(`${path}/sessions`))) as any;
  const stored = () => client.ok(client.get(`${path}/sessions/${session_id}`));
  const { messages, reply } = await stored();
  expect([messages, reply]).toMatchObject([[{ role: 'user', content: 'Tell me.' }], { question_id: messages[0].id }]);
  release.resolve();
  const asked = here.model.requests.length;
  const again = await client.post(path, { message: 'Tell me.' }, { 'idempotency-key': 'killed' });
  expect(again.status).toBe(200);
  const events = framesIn(String(again.body)).map(eventOf) as any[];
  expect(events.map(({ content = '' }) => content).join('')).toBe('Half a sentence, and then the rest.');
  expect(events.at(-1)).toMatchObject({ type: 'done' });
  expect((await client.post(path, { message: 'Again, please.', session_id })).body).toContain('"type":"done"');
  expect((await stored()).messages.map(({ content }: { content: string }) => content)).toEqual([
    ...['Tell me.', 'Half a sentence, and then the rest.', 'Again, please.', 'Another.'],
  ]);
  expect(here.model.requests.length).toBe(asked + 1);
  await api.end('SIGTERM');
});

it('a request whose answer could not be stored is resumed at once when it is repeated', async () => {
  const { pool } = here.core.database;
  const agent_id = (await here.alice.ok(here.alice.get(`/api/workflows/${await here.workflow()}`))).agent_id;
  const made = `SELECT count(*) FROM workflows WHERE title = 'unkept'`;
  const request = { operation: 'unkept', path: '/api/workflows', body: { agent_id, title: 'unkept' }, made };
  await pool.query(`ALTER TABLE idempotency_keys ADD CONSTRAINT full_disk CHECK (reply IS NULL OR key <> 'lost unkept')`);
  expect((await send(here.alice, request)).status).toBe(500);
  await pool.query('ALTER TABLE idempotency_keys DROP CONSTRAINT full_disk');
  expect((await send(here.alice, request)).status).toBe(201);
  expect(await count(request)).toBe(1);
});
