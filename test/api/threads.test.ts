import { v7 as uuid } from 'uuid';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { clientOf } from '../support/client.ts';
import { shareInstallation, type TestInstallation } from '../support/installation.ts';
import { hangs, says } from '../support/peers/model-server.ts';
import { openaiAt, providerOf } from '../support/runs/fallbacks.ts';
import { until } from '../support/until.ts';

let here: TestInstallation;
beforeAll(async () => {
  here = await shareInstallation();
});
afterAll(() => here.stop());

const rememberingWorkflow = () => here.workflow({ workflow: { remember: 'thread', output_format: 'markdown' } });
const makeThread = (values: object) => here.alice.ok(here.alice.post('/api/threads', values), 201);
const listIds = async (query = '') => (await here.alice.ok(here.alice.get(`/api/threads${query}`))).map(({ id }: any) => id);

describe('threads', () => {
  it('are made for a workflow or an agent, changed and deleted by their owner', async () => {
    const workflow_id = await rememberingWorkflow();
    const values = { workflow_id, title: 'Order 4711', metadata: { customer: '17' } };
    const thread = await makeThread(values);
    expect(thread).toMatchObject({ ...values, pinned: false, head_task_id: null, active_task_id: null });
    const changed = await here.alice.ok(here.alice.put(`/api/threads/${thread.id}`, { pinned: true, metadata: {} }));
    expect(changed).toMatchObject({ title: 'Order 4711', pinned: true, metadata: {} });
    expect(await here.alice.ok(here.alice.get(`/api/threads?q=471&pinned=true&workflow_id=${workflow_id}`))).toEqual([changed]);
    expect((await here.alice.del(`/api/threads/${thread.id}`)).status).toBe(204);
    expect((await here.alice.get(`/api/threads/${thread.id}`)).status).toBe(404);
  });

  it('are named by their first message if they have no title, and again if it is taken from them', async () => {
    const workflow_id = await rememberingWorkflow();
    const { id, title } = await makeThread({ workflow_id });
    expect(title).toBeNull();
    const titleNow = async () => (await here.alice.ok(here.alice.get(`/api/threads/${id}`))).title;
    for (const message of ['Where is order 4711?', 'And 4712?']) {
      here.model.script(says('In Paris.'));
      const sent = await here.alice.ok(here.alice.post(`/api/threads/${id}/messages`, { message }), 202);
      await here.ended(sent.id);
      expect(await titleNow()).toBe('Where is order 4711?');
    }
    await here.alice.ok(here.alice.put(`/api/threads/${id}`, { title: 'Paris' }));
    expect(await titleNow()).toBe('Paris');
    expect(await here.alice.ok(here.alice.put(`/api/threads/${id}`, { title: null }))).toMatchObject({
      title: 'Where is order 4711?',
    });
    const named = await makeThread({ workflow_id, title: 'Mine' });
    here.model.script(says('Yes.'));
    const sent = await here.alice.ok(here.alice.post(`/api/threads/${named.id}/messages`, { message: 'Mine?' }), 202);
    await here.ended(sent.id);
    expect(await here.alice.ok(here.alice.get(`/api/threads/${named.id}`))).toMatchObject({ title: 'Mine' });
  });

  it('with an agent have a separate workflow, in which their turns run', async () => {
    const agent_id = await here.agent({ provider_id: await providerOf(here.alice, openaiAt(here.model.url)) });
    const thread = await makeThread({ agent_id });
    expect(await listIds(`?agent_id=${agent_id}`)).toEqual([thread.id]);
    here.model.script(says('Hello.'));
    const order = { prompt: 'Hi.', thread_id: thread.id };
    const { task_id } = await here.alice.ok(here.alice.post(`/api/workflows/${thread.workflow_id}/prompt`, order), 201);
    expect(await here.ended(task_id)).toMatchObject({ status: 'completed', response: 'Hello.', thread_id: thread.id });
    expect((await here.alice.ok(here.alice.get(`/api/tasks?thread_id=${thread.id}`))).map(({ id }: any) => id)).toEqual([
      task_id,
    ]);
  });

  it.each([
    ['neither a workflow nor an agent', () => ({}), 'workflow_id'],
    ['both', () => ({ workflow_id: uuid(), agent_id: uuid() }), 'workflow_id'],
    ['an unknown workflow', () => ({ workflow_id: uuid() }), 'workflow_id'],
    ['an unknown agent', () => ({ agent_id: uuid() }), 'agent_id'],
    [
      '17 entries of metadata',
      () => ({ agent_id: uuid(), metadata: Object.fromEntries([...'abcdefghijklmnopq'].map((c) => [c, c])) }),
      'metadata',
    ],
  ])('are refused with %s', async (_, body, path) => {
    const refused = await here.alice.post('/api/threads', body());
    expect(refused.status).toBe(422);
    expect(refused.body.errors.map((error: any) => error.path)).toContain(path);
  });

  it('are private: others see none, and neither prompt, change nor delete one', async () => {
    const workflow_id = await rememberingWorkflow();
    const { id } = await makeThread({ workflow_id });
    const own_id = (await here.bob.ok(here.bob.post('/api/workflows', { agent_id: await here.agent(), remember: 'thread' }), 201))
      .id;
    const statuses = await Promise.all([
      here.bob.get(`/api/threads/${id}`),
      here.bob.put(`/api/threads/${id}`, { title: 'mine' }),
      here.bob.del(`/api/threads/${id}`),
      here.bob.post('/api/threads', { workflow_id }),
      here.bob.post(`/api/workflows/${own_id}/prompt`, { prompt: 'x', thread_id: id }),
    ]);
    expect(statuses.map((reply) => reply.status)).toEqual([403, 403, 403, 403, 403]);
    expect(await here.bob.ok(here.bob.get('/api/threads'))).toEqual([]);
  });

  it('begin in no workflow that does not remember, and the owner of one reads why', async () => {
    const workflow_id = await here.workflow();
    const refused = await here.alice.post('/api/threads', { workflow_id });
    const message = 'This workflow has no threads; set its `remember` to thread';
    expect([refused.status, refused.body.errors]).toEqual([422, [{ path: 'workflow_id', message }]]);
    expect((await here.bob.post('/api/threads', { workflow_id })).status).toBe(403);
    expect(await listIds(`?workflow_id=${workflow_id}`)).toEqual([]);
  });

  it('continue once their workflow begins no more of them: by prompts that name them, and by messages', async () => {
    const workflow_id = await rememberingWorkflow();
    const { id: thread_id } = await makeThread({ workflow_id });
    await here.alice.ok(here.alice.put(`/api/workflows/${workflow_id}`, { remember: 'none' }));
    here.model.script(says('Two.'), says('Three.'), says('Five.'));
    const prompt = (more: object) =>
      here.alice.ok(here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'A prime?', ...more }), 201);
    const { task_id } = await prompt({ thread_id });
    expect(await here.ended(task_id)).toMatchObject({ response: 'Two.', thread_turn: 1 });
    const message = await here.alice.ok(here.alice.post(`/api/threads/${thread_id}/messages`, { message: 'And?' }), 202);
    expect(await here.ended(message.id)).toMatchObject({ response: 'Three.', thread_turn: 2 });
    const alone = await prompt({});
    expect(await here.ended(alone.task_id)).toMatchObject({ response: 'Five.', thread_id: null });
    expect((await here.bob.post(`/api/threads/${thread_id}/messages`, { message: 'Mine.' })).status).toBe(403);
  });

  it('are begun and continued by a service key with the scope run; with write it changes and deletes them', async () => {
    const keyWith = async (scope: string) => {
      const values = { name: here.unique('key'), scopes: ['read', scope] };
      return clientOf(here.url, (await here.alice.ok(here.alice.post('/api/keys', values), 201)).key);
    };
    const [runs, writes] = [await keyWith('run'), await keyWith('write')];
    const workflow_id = await rememberingWorkflow();
    const missing = { status: 403, body: { code: 'scope_missing' } };
    expect(await writes.post('/api/threads', { workflow_id })).toMatchObject(missing);
    expect((await runs.post('/api/threads', { agent_id: await here.agent() })).status).toBe(201);
    const { id } = await runs.ok(runs.post('/api/threads', { workflow_id }), 201);
    const path = `/api/threads/${id}`;
    here.model.script(hangs('Seven'));
    const asked = here.model.requests.length;
    const turn = await runs.ok(runs.post(`${path}/messages`, { message: 'A prime?' }), 202);
    await until('the model is asked', async () => here.model.requests.length === asked + 1);
    const steering = await runs.ok(runs.post(`${path}/messages`, { message: 'A larger one.', when_busy: 'steer' }), 202);
    expect((await runs.del(`${path}/messages/${steering.id}`)).body).toMatchObject({ state: 'withdrawn' });
    expect(await writes.post(`${path}/messages`, { message: 'x' })).toMatchObject(missing);
    await runs.ok(runs.post(`/api/tasks/${turn.id}/stop`));
    await here.ended(turn.id);
    expect(await runs.put(path, { title: 'Primes' })).toMatchObject(missing);
    expect(await runs.del(path)).toMatchObject(missing);
    expect(await writes.ok(writes.put(path, { title: 'Primes' }))).toMatchObject({ title: 'Primes' });
    expect((await writes.del(path)).status).toBe(204);
  });

  it('cannot be deleted while a turn is in progress; afterwards their turns and events go with them', async () => {
    const workflow_id = await rememberingWorkflow();
    here.model.scriptPrompt('Wait?', hangs('Wait'));
    const { task_id, thread_id } = await here.alice.ok(
      here.alice.post(`/api/workflows/${workflow_id}/prompt`, { prompt: 'Wait?' }),
      201,
    );
    const refused = await here.alice.del(`/api/threads/${thread_id}`);
    expect([refused.status, refused.body.code]).toEqual([409, 'thread_running']);
    const busy = await here.alice.del(`/api/workflows/${workflow_id}`);
    expect([busy.status, busy.body.code]).toEqual([409, 'workflow_running']);
    await here.alice.ok(here.alice.post(`/api/tasks/${task_id}/stop`));
    await here.ended(task_id);
    expect((await here.alice.del(`/api/threads/${thread_id}`)).status).toBe(204);
    expect(
      await here.sql('SELECT 1 FROM tasks WHERE id = $1 UNION ALL SELECT 1 FROM events WHERE task_id = $1', task_id),
    ).toEqual([]);
  });
});

describe('a prompt', () => {
  it.each([
    ['to a workflow that does not remember', async () => here.workflow(), 'has no threads'],
    ['to another workflow', rememberingWorkflow, 'belongs to the workflow'],
  ])('%s cannot continue a thread', async (_, makeWorkflow, sentence) => {
    const { id: thread_id } = await makeThread({ workflow_id: await rememberingWorkflow() });
    const refused = await here.alice.post(`/api/workflows/${await makeWorkflow()}/prompt`, { prompt: 'x', thread_id });
    expect(refused.status).toBe(422);
    expect(refused.body.errors).toMatchObject([{ path: 'thread_id', message: expect.stringContaining(sentence) }]);
  });

  it('that is repeated with its key begins no second thread', async () => {
    const id = await rememberingWorkflow();
    here.model.script(says('Once.'));
    const key = { 'Idempotency-Key': here.unique('key') };
    const send = () => here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'x' }, key);
    const [first, second] = [(await send()).body, (await send()).body];
    expect(second).toEqual(first);
    expect(await listIds(`?workflow_id=${id}`)).toEqual([first.thread_id]);
    await here.ended(first.task_id);
  });

  it('that guardrails refuse begins no thread', async () => {
    const config = { forbidden_patterns: ['secret'] };
    const guardrail = { name: here.unique('no secrets'), guardrail_type: 'prompt', config };
    const { id: guardrail_id } = await here.alice.ok(here.alice.post('/api/guardrails', guardrail), 201);
    const id = await here.workflow({ workflow: { remember: 'thread', guardrail_ids: [guardrail_id] } });
    expect((await here.alice.post(`/api/workflows/${id}/prompt`, { prompt: 'the secret' })).status).toBe(422);
    expect(await listIds(`?workflow_id=${id}`)).toEqual([]);
  });
});
