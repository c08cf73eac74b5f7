import { chmod, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { fullFor } from '../support/database/full-table.ts';
import { startTestInstallation, type TestInstallation } from '../support/installation.ts';
import { type Child, startWorkerProcess } from '../support/machine/processes.ts';
import { startHttpMcpServer } from '../support/peers/http-mcp-server.ts';
import { asks, says } from '../support/peers/model-server.ts';
import { reaches, resultsOf } from '../support/runs/run-facts.ts';
import { clientForTests } from '../support/runs/temporal-client.ts';
import { until } from '../support/until.ts';
import { MODULES, SERVERS } from '../tools/support.ts';

const ADA = 'ada.lovelace@example.com';
const WAIT = { status: 'waiting', timeout_ms: 15_000 };

const STDIO = { ALLOW_STDIO_MCP: 'true', MCP_PATHS: '/:rw' };

let here: TestInstallation;
let home: string;
let record: string;
let server_id: string;
let worker: Child;
const startWorker = () => startWorkerProcess(here.setting, STDIO);
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'perdura-questions-'));
  await chmod(home, 0o711);
  here = await startTestInstallation({ worker: false, env: { PERDURA_HOME: home, ALLOW_STDIO_MCP: 'true' } });
  worker = await startWorker();
  const shared = `${home}-shared`;
  await mkdir(shared, { mode: 0o777 });
  await chmod(shared, 0o777);
  record = join(shared, 'record');
  await writeFile(record, '', { mode: 0o666 });
  await chmod(record, 0o666);
  server_id = await stored({
    name: 'asks',
    transport_type: 'stdio',
    connection_config: { command: process.execPath, args: [`${SERVERS}/asks.mjs`, record] },
    paths: [MODULES, process.execPath, SERVERS, `${shared}:rw`],
  });
});
afterAll(async () => {
  await worker.end('SIGTERM');
  await here.stop();
  for (const folder of [home, `${home}-shared`]) await rm(folder, { recursive: true, force: true });
});

const stored = async (server: object): Promise<string> => (await here.alice.ok(here.alice.post('/api/mcps', server))).id;

interface Call {
  call_id: string;
  status: string;
  question: { id: string; message: string; schema: object } | null;
}
const callOf = async (task_id: string): Promise<Call> =>
  (await here.alice.ok(here.alice.get(`/api/tasks/${task_id}/steps`)))[0].tool_calls[0];

/** A run whose model calls the tool once. */
async function calling(name: string, id = server_id, then = [says('Finished.')]) {
  const workflow_id = await here.workflow({ agent: { mcp_server_ids: [id], required_mcp_servers: [id] } });
  here.model.script(asks({ name }), ...then);
  return { workflow_id, task_id: await here.prompt(workflow_id) };
}
async function asked(name: string, id = server_id, then = [says('Finished.')]) {
  const run = await calling(name, id, then);
  await reaches(here, run.task_id, WAIT);
  const { question } = await callOf(run.task_id);
  return { ...run, question_id: question!.id };
}
const answer = (task_id: string, body: object, client = here.alice) => client.post(`/api/tasks/${task_id}/answers/1-1`, body);
const accepted = { action: 'accept', content: { email: ADA, seats: 3 } };
const finished = async ({ task_id, workflow_id }: { task_id: string; workflow_id: string }) => {
  expect(await here.ended(task_id, 60_000)).toMatchObject({ status: 'completed', response: 'Finished.' });
  return JSON.parse((await resultsOf(here, workflow_id))[0]);
};

const inboxOf = async (id: string) =>
  ((await here.alice.ok(here.alice.get('/api/inbox'))) as unknown as { task_id: string }[]).filter(
    ({ task_id }) => task_id === id,
  );

it('a server without a handshake asks with its result, and the run waits in the same way', async () => {
  const id = await stored({
    name: 'stateless',
    transport_type: 'stdio',
    connection_config: { command: process.execPath, args: [`${SERVERS}/stateless.mjs`, 'only'] },
    paths: [MODULES, process.execPath, SERVERS],
  });
  const { question_id, ...run } = await asked('book', id);
  expect(await callOf(run.task_id)).toMatchObject({ status: 'waiting_answer', question: { message: 'Who travels?' } });
  expect(await inboxOf(run.task_id)).toMatchObject([
    { kind: 'question', question: { id: question_id, message: 'Who travels?' } },
  ]);
  expect((await answer(run.task_id, { question_id, action: 'accept', content: { email: ADA } })).status).toBe(200);
  expect(await finished(run)).toEqual({ email: ADA });
});

describe('a server over stdio that asks', () => {
  it('makes the run wait for its owner, whose answer must fit and is kept only while the call runs', async () => {
    const { task_id, workflow_id, question_id } = await asked('book');
    expect(await callOf(task_id)).toMatchObject({
      status: 'waiting_answer',
      question: {
        message: 'Who travels?',
        schema: { properties: { email: { type: 'string', format: 'email' } }, required: ['email', 'seats'] },
        expires_at: expect.any(String),
      },
    });
    await using engine = await clientForTests(here.setting);
    const execution = engine.client.workflow.getHandle(`task-${task_id}`);
    const shown = async () => (await execution.describe()).searchAttributes.PerduraStatus;
    await expect.poll(shown).toEqual(['waiting']);
    const { text } = await fetchMetrics();
    expect(text).toContain('perdura_calls_waiting{reason="answer"} 1');

    expect((await answer(task_id, { question_id, ...accepted }, here.bob)).status).toBe(403);
    expect((await answer(uuid(), { question_id, ...accepted })).status).toBe(404);
    // Not compared with the form of the open question.
    expect((await answer(task_id, { question_id: uuid(), action: 'accept', content: {} })).status).toBe(409);
    const wrong = await answer(task_id, { question_id, action: 'accept', content: { email: 'ada', seats: 1.5, more: true } });
    expect(wrong.status).toBe(422);
    expect(wrong.body.errors).toEqual([
      { path: 'content.email', message: 'Must be an email address' },
      { path: 'content.seats', message: 'Must be a whole number' },
      { path: 'content.more', message: 'The question has no such field' },
    ]);
    const nothing = await answer(task_id, { question_id, action: 'accept' });
    expect([nothing.status, nothing.body.errors]).toEqual([
      422,
      ['content.email', 'content.seats'].map((path) => ({ path, message: 'This field is required' })),
    ]);
    expect((await answer(task_id, { question_id, ...accepted })).status).toBe(200);
    expect((await answer(task_id, { question_id, ...accepted })).status).toBe(409);
    expect(await finished({ task_id, workflow_id })).toEqual(accepted);

    expect(await callOf(task_id)).toMatchObject({ status: 'done', question: null });
    const row = await here.core.store.ledger.question({ task_id, call_id: '1-1' });
    expect(row).toMatchObject({ question: null, answers: [] });
    const { logs } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    const log = logs.filter(({ event }: { event: string }) => event.startsWith('question'));
    expect(log).toMatchObject([{ detail: 'Who travels?' }, { outcome: 'accept', by: 'alice', question_id }]);
    expect(JSON.stringify(logs)).not.toContain(ADA);
    expect(JSON.stringify(await execution.fetchHistory())).not.toContain(ADA);
  });

  it('gets a decline, and asks again in the same call', async () => {
    const { task_id, workflow_id, question_id } = await asked('wizard');
    expect((await answer(task_id, { question_id, action: 'decline', content: {} })).status).toBe(422);
    await here.alice.ok(answer(task_id, { question_id, action: 'decline' }));
    const next = () => callOf(task_id).then(({ question }) => question?.message);
    await expect.poll(next, { timeout: 20_000 }).toBe('Sure?');
    const second = (await callOf(task_id)).question!.id;
    await here.alice.ok(answer(task_id, { question_id: second, action: 'cancel' }));
    expect(await finished({ task_id, workflow_id })).toEqual(['decline', { action: 'cancel' }]);
  });

  it('may withdraw its question', async () => {
    const run = await calling('impatient');
    expect(await finished(run)).toBe('withdrawn');
    const { logs } = await here.alice.ok(here.alice.get(`/api/workflows/${run.workflow_id}`));
    expect(logs).toContainEqual(expect.objectContaining({ event: 'question_answered', outcome: 'withdrawn' }));
  });

  it('is refused a question that is too long, or answered at a URL', async () => {
    expect(await finished(await calling('long'))).toMatch(/its message has more than 4000 characters/);
    expect(await finished(await calling('visit'))).toMatch(/does not support URL-mode elicitation/);
  });

  it('is asked with other characters where it used some that cannot be stored', async () => {
    const { task_id, workflow_id, question_id } = await asked('garbled');
    const { question } = await callOf(task_id);
    expect(question).toMatchObject({
      message: 'Who\ufffd?',
      schema: { properties: { 'a\ufffd': { type: 'string', title: 'half \ufffd' } } },
    });
    await here.alice.ok(answer(task_id, { question_id, action: 'decline' }));
    expect(await finished({ task_id, workflow_id })).toEqual({ action: 'decline' });
  });

  it('is refused more questions than a call may ask, while the first one waits', async () => {
    expect(await finished(await calling('flood'))).toMatch(/a call may ask at most 20 questions/);
  });

  it('asks once the database has room again', async () => {
    const full = await fullFor(here.core.database.pool, 'tool_calls', "NEW.status = 'waiting_answer'");
    const run = await calling('book');
    await expect.poll(full.refused, { timeout: 20_000 }).toBeGreaterThan(1);
    await full.end();
    await reaches(here, run.task_id, WAIT);
    await here.alice.ok(answer(run.task_id, { question_id: (await callOf(run.task_id)).question!.id, ...accepted }));
    expect(await finished(run)).toEqual(accepted);
  });

  it('asks each of two runs of one owner, over a connection for each', async () => {
    const one = await asked('book', server_id, []);
    const other = await asked('book', server_id, []);
    here.model.script(says('Finished.'), says('Finished.'));
    for (const [run, email] of [
      [other, 'grace@example.com'],
      [one, ADA],
    ] as const)
      await here.alice.ok(answer(run.task_id, { question_id: run.question_id, action: 'accept', content: { email, seats: 1 } }));
    expect(await finished(one)).toMatchObject({ content: { email: ADA } });
    expect(await finished(other)).toMatchObject({ content: { email: 'grace@example.com' } });
  });

  it('is stopped by a halt', async () => {
    const { task_id, workflow_id, question_id } = await asked('book', server_id, []);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    expect(await here.ended(task_id)).toMatchObject({ status: 'halted' });
    expect((await answer(task_id, { question_id, ...accepted })).status).toBe(409);
    expect(await resultsOf(here, workflow_id)).toEqual([expect.stringContaining('the tool may have run')]);
    expect(await here.core.store.ledger.question({ task_id, call_id: '1-1' })).toMatchObject({ question: null, answers: [] });
  });
});

const fetchMetrics = async () => {
  const reply = await fetch(`${here.url}/metrics`);
  return { text: await reply.text() };
};

describe('a worker that is lost while a person is asked', () => {
  const calls = async () => (await readFile(record, 'utf8')).split('\n').filter(Boolean).length;

  it('is replaced: an idempotent call is repeated, and takes the answer that was given meanwhile', async () => {
    const before = await calls();
    const { task_id, workflow_id, question_id } = await asked('look');
    await worker.end('SIGKILL');
    expect((await answer(task_id, { question_id, ...accepted })).status).toBe(200);
    worker = await startWorker();
    expect(await finished({ task_id, workflow_id })).toEqual(accepted);
    expect(await calls()).toBe(before + 2);
    const { logs } = await here.alice.ok(here.alice.get(`/api/workflows/${workflow_id}`));
    expect(logs.filter(({ event }: { event: string }) => event === 'question_asked')).toHaveLength(1);
  });

  it('is replaced: a call that writes is asked about first, and then asks the same question again', async () => {
    const { task_id, workflow_id, question_id } = await asked('book');
    await worker.end('SIGKILL');
    worker = await startWorker();
    const status = () => callOf(task_id).then((call) => call.status);
    await expect.poll(status, { timeout: 60_000 }).toBe('waiting_reconciliation');
    expect((await answer(task_id, { question_id, ...accepted })).status).toBe(409);
    expect(await inboxOf(task_id)).toMatchObject([{ kind: 'reconciliation', question: null }]);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/reconciliations/1-1`, { decision: 'retry' }));
    await expect.poll(status, { timeout: 30_000 }).toBe('waiting_answer');
    // The same question: a form that was open before can still be sent.
    expect((await answer(task_id, { question_id, ...accepted })).status).toBe(200);
    expect(await finished({ task_id, workflow_id })).toEqual(accepted);
  });
});

describe('a server over HTTP that asks', () => {
  let url: string;
  let stop: () => Promise<void>;
  beforeAll(async () => {
    ({ url, stop } = await asksOverHttp());
  });
  afterAll(() => stop());

  it('asks each of two runs of one owner that call it at the same time', async () => {
    const id = await stored({ name: 'asks-http', transport_type: 'http', connection_config: { url } });
    const one = await asked('name', id, []);
    const other = await asked('name', id, []);
    here.model.script(says('Finished.'), says('Finished.'));
    for (const [run, name] of [
      [other, 'Grace'],
      [one, 'Ada'],
    ] as const)
      await here.alice.ok(answer(run.task_id, { question_id: run.question_id, action: 'accept', content: { name } }));
    expect(await finished(one)).toEqual({ action: 'accept', content: { name: 'Ada' } });
    expect(await finished(other)).toEqual({ action: 'accept', content: { name: 'Grace' } });
  });
});

const asksOverHttp = () =>
  startHttpMcpServer('asks', (mcp) => {
    mcp.registerTool('name', { description: 'Asks for a name' }, async (extra) => {
      const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } }, required: ['name'] };
      const options = { timeout: 600_000, relatedRequestId: extra.requestId };
      const text = JSON.stringify(await mcp.server.elicitInput({ message: 'Name?', requestedSchema }, options));
      return { content: [{ type: 'text', text }] };
    });
  });

it('answers with a cancel when nobody has answered in time', async () => {
  await worker.end('SIGTERM');
  worker = await startWorkerProcess(here.setting, { ...STDIO, CLIENT_TOOL_SECONDS: '2' });
  const run = await asked('book');
  expect(await finished(run)).toEqual({ action: 'cancel' });
  await until('the log', async () => {
    const { logs } = await here.alice.ok(here.alice.get(`/api/workflows/${run.workflow_id}`));
    return logs.some(({ outcome }: { outcome?: string }) => outcome === 'expired');
  });
});

describe('a server that asks for a secret', () => {
  const FORM = { type: 'object' as const, properties: { login_password: { type: 'string' as const } } };
  const register: Parameters<typeof startHttpMcpServer>[1] = (mcp) => {
    mcp.registerTool('enter', { description: 'Asks for a password' }, async (extra) => {
      const options = { timeout: 600_000, relatedRequestId: extra.requestId };
      const said = await mcp.server
        .elicitInput({ message: 'Continue?', requestedSchema: FORM }, options)
        .then(JSON.stringify, () => 'I could not ask.');
      return { content: [{ type: 'text' as const, text: said }] };
    });
  };

  it('does not reach a person, and the model reads why; unless the owner of the server allows it', async () => {
    const remote = await startHttpMcpServer('secretive', register);
    const values = { name: 'secretive', transport_type: 'http', connection_config: { url: remote.url } };
    const id = await stored(values);
    const refused = await calling('enter', id);
    expect(await here.ended(refused.task_id, 60_000)).toMatchObject({ status: 'completed' });
    const [result] = await resultsOf(here, refused.workflow_id);
    expect(result).toMatch(
      /^I could not ask\.\n\[Perdura refused a question of the MCP server secretive: its field "login_password" asks for a password, .*allow_secret_questions\]$/,
    );
    await here.alice.ok(here.alice.put(`/api/mcps/${id}`, { allow_secret_questions: true }));
    const { task_id, question_id } = await asked('enter', id);
    expect((await callOf(task_id)).question).toMatchObject({
      asked_by: { server: 'secretive', host: new URL(remote.url).host },
    });
    expect((await answer(task_id, { question_id, action: 'decline' })).status).toBe(200);
    await here.ended(task_id, 60_000);
    await remote.stop();
  });
});
